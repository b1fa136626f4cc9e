"""Every experiment of every paper, on a few made-up documents under the names of its corpora."""

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest

from heedful.papers.paper import Experiment, load_paper, paper_names
from heedful.papers.reproduce import reproduce
from heedful.text.datasets.planted import Planted, word_form
from tests.model.tiny_pretrained import save_tiny

EXPERIMENTS = [
    (name, key)
    for name in paper_names()
    for key, experiment in load_paper(name).experiments.items()
    if experiment.measure is None and key != "imbalance"  # that compares corpora
]

# Adversaries of models as small as these need not reach a JSD in common.
MAY_BE_MISSING = ("audit.matched",)


def write_corpora(folder: Path, names: list[str]) -> None:
    """Planted documents as the named corpora, each word with a label of its own."""
    folder.mkdir()
    documents = Planted(documents=400, neutral_vocabulary=60, evidence_vocabulary=5)()
    for name in names:
        (folder / name).mkdir(parents=True, exist_ok=True)
        for part in ("train", "dev", "test"):
            with gzip.open(folder / name / f"{part}.jsonl.gz", "wt") as file:
                for document in getattr(documents, part):
                    words = document.text.split()
                    labels = [4 if w[0] == "p" else 0 if w[:3] == "neg" else 2 for w in words]
                    label = int(document.label == "positive")
                    row = {"text": document.text, "label": label, "tokens": words}
                    file.write(json.dumps({**row, "token_labels": labels}) + "\n")


def made_small(experiment: Experiment, folder: Path) -> Experiment:
    """One corpus, few documents; a long training on made-up documents becomes a short one."""
    grid = dict(experiment.grid)
    if "minilm" in grid.get("model", {}).get("encoder", ""):
        save_tiny(folder / "tiny")
        grid["model"] = {**grid["model"], "encoder": f"pretrained:source={folder / 'tiny'}"}
    is_made_up = grid["data"][0].startswith("planted")
    grid["data"] = grid["data"][:1]
    if "audit" in grid:
        grid["audit"] = {**grid["audit"], "documents": 25}
    if is_made_up:
        grid["variants"] = [
            {**one, "recipe": one["recipe"].replace("epochs=400", "epochs=5")}
            for one in grid.get("variants", [{"name": "", "recipe": "standard:epochs=400"}])
            if one["name"]
        ] or [{"name": "plain", "recipe": "standard:epochs=5"}]
    return replace(experiment, grid=grid)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "key"), EXPERIMENTS)
def test_every_number_and_claim_finds_what_it_speaks_of(name, key, tmp_path, monkeypatch):
    paper = load_paper(name)
    small = made_small(paper.experiments[key], tmp_path)
    write_corpora(tmp_path / "data", [d for d in small.grid["data"] if ":" not in d])
    vectors = "\n".join(f"{word_form('positive', n)} {' '.join(['0.1'] * 100)}" for n in range(3))
    (tmp_path / "vectors.txt").write_text(vectors)
    monkeypatch.setenv("HEEDFUL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("HEEDFUL_VECTORS", str(tmp_path / "vectors.txt"))
    found = reproduce(paper, small, tmp_path / "runs", seeds=(1, 2), cores=2)
    assert found.about["cells"] == {"done": len(found.rows)}
    missing = [one.where for one in found.numbers if one.ours is None]
    missing += [
        one.claim.says
        for one in found.claims
        if one.found is None and one.claim.number.of not in MAY_BE_MISSING
    ]
    assert missing == []
    assert len(found.pictures) == len(paper.pictures.get(key, ()))
