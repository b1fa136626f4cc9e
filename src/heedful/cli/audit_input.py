"""What every command that audits does first: find the documents, and look into the folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from heedful.auditing.folder import AuditFolder
    from heedful.text.documents import Documents


def documents_to_audit(
    data: str,
    text: str | None,
    label: str | None,
    data_dir: Path | None,
    usual: Mapping[str, Any] | None = None,
) -> "tuple[Documents, int | None]":
    """The documents to audit on, a file's or the test part of a corpus; how long rationales are in
    its training part, if there is one.

    `usual` are the columns that the run was trained on: read unless others are named.
    """
    from heedful.auditing.measuring import mean_rationale_words
    from heedful.cli import show
    from heedful.errors import DataError
    from heedful.text.readers import read_documents
    from heedful.text.saved_datasets import is_saved_dataset
    from heedful.training.task import find_corpus

    if Path(data).is_file() or is_saved_dataset(Path(data)):
        found, notes = read_documents(data, text, label, needs_labels=False, usual=usual)
        for sentence in notes:
            show.note(f"note: {sentence}")
        return found, None
    corpus = find_corpus(data, text=text, label=label, data_dir=data_dir, test_share=0.0)
    if not len(corpus.test):
        raise DataError(f"{data} has no test part to audit on. Give a file of documents.")
    has_marks = any(document.rationale for document in corpus.train)
    return corpus.test, mean_rationale_words(corpus.train) if has_marks else None


def enter(output: Path | None, resume: bool, quiet: bool) -> "AuditFolder | None":
    """The folder of an audit, if it may be written into."""
    from heedful.auditing.folder import AuditFolder
    from heedful.cli import show
    from heedful.errors import UsageError

    if output is None:
        if resume:
            raise UsageError("--resume needs the folder of the interrupted audit: give it with -o.")
        return None
    place = AuditFolder(output)
    note = place.check(resume)
    if note and not quiet:
        show.note(f"note: {note}")
    return place
