"""Models of the command line: a run folder, or a Hugging Face classifier read in one way."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from heedful.auditing.subjects.huggingface.loading import LoadedTransformer
    from heedful.auditing.subjects.huggingface.subject import TransformerSubject

USUAL_READOUT = "last-cls"


def refuse_readout(readout: str | None) -> None:
    """The attention of a run needs no readout."""
    from heedful.errors import UsageError
    from heedful.model.hub import HF

    if readout is not None:
        raise UsageError(f"--readout needs {HF}FOLDER_OR_NAME.")


def transformer_subject(loaded: "LoadedTransformer", readout: str | None) -> "TransformerSubject":
    """A Hugging Face classifier, its attention read out as asked for."""
    from heedful.auditing.subjects.huggingface.subject import subject_of
    from heedful.readouts import readouts

    return subject_of(loaded.model, readouts.make(readout or USUAL_READOUT), loaded.classes)
