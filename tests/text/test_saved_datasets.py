"""Data sets of the package `datasets`, which is not needed: folders as it writes them, and fakes
with what is used of its objects."""

import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace

import pyarrow
import pytest

import heedful
from heedful.errors import DataError
from heedful.text.readers import read_object

TEXTS = [f"film number {n} is {'good' if n % 2 else 'bad'}" for n in range(40)]
NAMES = ["negative", "positive"]


def save(folder: Path, texts: list[str], labels: list[int], *, shards: int = 1) -> Path:
    """What `Dataset.save_to_disk` writes (version 5.2): Arrow streams, state and features."""
    folder.mkdir(parents=True)
    table = pyarrow.table({"text": texts, "label": pyarrow.array(labels, pyarrow.int64())})
    size = -(-len(texts) // shards)
    files = []
    for shard in range(shards):
        name = f"data-{shard:05d}-of-{shards:05d}.arrow"
        with (
            pyarrow.OSFile(str(folder / name), "wb") as sink,
            pyarrow.ipc.new_stream(sink, table.schema) as writer,
        ):
            writer.write_table(table.slice(shard * size, size))
        files.append({"filename": name})
    state = {"_data_files": files, "_fingerprint": "0", "_format_type": None, "_split": None}
    features = {
        "text": {"dtype": "string", "_type": "Value"},
        "label": {"names": NAMES, "_type": "ClassLabel"},
    }
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    return folder


class Dataset:
    """A `datasets.Dataset` as far as it is used."""

    def __init__(self, columns: dict[str, list]):
        self.columns = columns

    @property
    def column_names(self) -> list[str]:
        return list(self.columns)

    @property
    def features(self) -> Mapping[str, object]:
        return {"text": SimpleNamespace(dtype="string"), "label": SimpleNamespace(names=NAMES)}

    def __len__(self) -> int:
        return len(self.columns["text"])

    def __getitem__(self, key: object) -> object:
        if isinstance(key, str):
            return self.columns[key]
        return {name: values[key] for name, values in self.columns.items()}


WHOLE = Dataset({"text": TEXTS, "label": [n % 2 for n in range(40)]})


def test_a_saved_data_set_is_read_whole_with_the_names_of_its_labels(tmp_path):
    folder = save(tmp_path / "films", TEXTS, [n % 2 for n in range(40)], shards=3)
    corpus = heedful.read(folder, dev_share=0.0, test_share=0.0)
    assert corpus.train.texts == TEXTS
    assert corpus.train.labels == [NAMES[n % 2] for n in range(40)]


def test_the_splits_of_a_saved_dict_are_the_parts_of_a_corpus(tmp_path):
    for split, count in (("train", 20), ("validation", 6), ("test", 4)):
        save(tmp_path / "films" / split, TEXTS[:count], [n % 2 for n in range(count)])
    (tmp_path / "films" / "dataset_dict.json").write_text('{"splits": []}')
    corpus = heedful.read(tmp_path / "films")
    assert [len(part) for part in (corpus.train, corpus.dev, corpus.test)] == [20, 6, 4]


def test_an_object_gives_the_same_documents_as_its_folder(tmp_path):
    folder = save(tmp_path / "films", TEXTS, WHOLE.columns["label"])
    from_folder, from_object = heedful.read(folder), heedful.read(WHOLE)
    for part in ("train", "dev", "test"):
        assert getattr(from_folder, part).texts == getattr(from_object, part).texts
        assert getattr(from_folder, part).labels == getattr(from_object, part).labels


def test_a_dict_of_objects_has_parts_by_name():
    some = Dataset({name: values[:6] for name, values in WHOLE.columns.items()})
    corpus = heedful.read({"train": WHOLE, "validation": some, "test": some})
    assert [len(part) for part in (corpus.train, corpus.dev, corpus.test)] == [40, 6, 6]
    with pytest.raises(DataError, match=r"no split named train. Its splits: unsupervised"):
        heedful.read({"unsupervised": some})


def test_a_label_of_minus_one_means_that_there_is_none():
    documents, _ = read_object(Dataset({"text": ["a b"], "label": [-1]}), needs_labels=False)
    assert documents.labels == [None]


def test_what_is_no_data_set_is_refused_in_a_sentence(tmp_path):
    with pytest.raises(DataError, match="expected a file, a folder, or a Dataset"):
        heedful.read(7)
    folder = save(tmp_path / "broken", TEXTS, WHOLE.columns["label"])
    (folder / "data-00000-of-00001.arrow").write_bytes(b"nothing")
    with pytest.raises(DataError, match="is not a data set that can be read"):
        heedful.read(folder)
    (folder / "state.json").write_text('{"_data_files": [{"filename": "../../etc/passwd"}]}')
    with pytest.raises(DataError, match="names no Arrow files in its folder"):
        heedful.read(folder)
    (folder / "state.json").write_text("[]")
    with pytest.raises(DataError, match="should hold a JSON object"):
        heedful.read(folder)
