"""Finding a corpus by its name."""

import os
from collections.abc import Callable
from pathlib import Path

from heedful.errors import DataError, nearest
from heedful.registry import Registry
from heedful.text.documents import Corpus, Split
from heedful.text.readers import find_part, read

corpora: Registry[Callable[[], Corpus]] = Registry("corpus")

# Corpora that papers published as words joined by single spaces. Cutting them again would change
# their words, and with them every published count.
ALREADY_CUT = {
    *("sst5", "sst2", "sst2_jw", "imdb_jw", "20news_sports", "20news_3class"),
    *("subj", "trec", "mr", "eraser_movies"),
}


def load(name: str, data_dir: str | Path | None = None) -> Corpus:
    """Load a corpus by name: a built-in one, or a folder in `data_dir` (default: $HEEDFUL_DATA).

    A data folder holds one folder per corpus with train, dev and test files (.jsonl.gz, .csv, …).
    """
    found = names_in(data_dir)
    plain_name = name.partition(":")[0]
    if plain_name in corpora:
        return corpora.make(name)()
    if name in found:
        split: Split = "spaces" if name in ALREADY_CUT else "words"
        return read(found[name], split=split, test_share=0.0)
    known = [*corpora, *found]
    where = "" if found else " For corpora in a data folder, give --data-dir or set HEEDFUL_DATA."
    raise DataError(
        f"no corpus named {name!r}.{nearest(name, known)} Known: {', '.join(known)}.{where}"
    )


def names_in(data_dir: str | Path | None = None) -> dict[str, Path]:
    """The corpora of a data folder: name -> folder."""
    place = data_dir or os.environ.get("HEEDFUL_DATA")
    if not place:
        return {}
    folder = Path(place)
    if not folder.is_dir():
        raise DataError(
            f"no data folder at {folder}. Expected a folder with one folder per corpus "
            "(from --data-dir or HEEDFUL_DATA)."
        )
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    return {path.name: path for path in folders if find_part(path, "train")}
