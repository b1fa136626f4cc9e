"""One decorated function or class is enough: a new member is seen wherever its family is."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas
import pytest
import torch
from starlette.testclient import TestClient

import heedful as package
from heedful.analysis.instruments import analyses
from heedful.analysis.instruments.base import OfRun
from heedful.analysis.result import Result
from heedful.auditing.explanation import subject_of_any
from heedful.auditing.metrics.base import Metric, metrics
from heedful.auditing.questions import AuditSettings
from heedful.auditing.subjects.huggingface.loading import of_pair
from heedful.auditing.subjects.huggingface.readings import subjects_of
from heedful.errors import ConfigError
from heedful.estimator import Classifier
from heedful.importance import Need, importances
from heedful.readouts import readouts
from heedful.readouts.base import OfEveryLayer
from heedful.registry import Registry
from heedful.text.datasets import corpora
from heedful.text.datasets.planted import Planted
from heedful.web import create_app
from tests.auditing.doubles import a_subject
from tests.auditing.subjects.test_modules import Wrapped
from tests.cli.conftest import QUICK
from tests.readouts.tiny import PLANTED, planted_documents, tiny_model, tiny_tokenizer

Add = Callable[..., None]
QUICK_AUDIT = AuditSettings(sampled_documents=20)
TEXT = "neutralaaa positiveaaa neutralaab"


@pytest.fixture
def add(monkeypatch) -> Add:
    """Enter a member as its author would; after the test the family is as it was."""

    def enter(registry: Registry[Any], name: str, member: object, **options: object) -> None:
        for field, value in list(vars(registry).items()):
            if isinstance(value, dict | set):
                monkeypatch.setattr(registry, field, value.copy())
        registry.register(name, **options)(member)

    return enter


@pytest.fixture(scope="module")
def classifier(planted) -> Classifier:
    made = Classifier(
        encoder="embedding", embedding_size=8, recipe="standard:epochs=2", dropout=0.0,
        optimizer="adam:learning_rate=0.05", split="spaces",
    )  # fmt: skip
    return made.fit(planted.train.texts, planted.train.labels)


@pytest.fixture
def run(classifier) -> Path:
    classifier.save("runs/one")
    return Path("runs/one")


@pytest.fixture
def documents(planted) -> Path:
    path = Path("documents.jsonl")
    rows = [{"text": one.text, "label": one.label} for one in planted.test[:24]]
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def from_the_left(model, batch, target):
    """How far a word stands from the end of its batch."""
    places = torch.arange(batch.token_ids.shape[1], 0, -1, device=batch.token_ids.device)
    return places * batch.is_token.double()


def listed(heedful, family: str) -> dict[str, str]:
    rows = json.loads(heedful("list", family, "--json").out)[family]
    return {row["name"]: row["summary"] for row in rows}


def ranked(audit: dict[str, Any]) -> list[str]:
    return [row["measure"] for row in audit["evidence"]["measures"]]


def test_a_new_measure_is_listed_explained_by_audited_and_reported(heedful, add, run, documents):
    add(importances, "dummy", from_the_left)
    assert listed(heedful, "importances")["dummy"].startswith("How far a word stands")
    answer = heedful("explain", run, TEXT, "--measure", "dummy")
    assert answer.code == 0, answer.err
    assert "dummy" in answer.out
    answer = heedful("audit", run, documents, "--ask", "telling", "-o", "audit", "--json")
    assert answer.code == 0, answer.err
    assert "dummy" in ranked(json.loads(answer.out))
    assert "comprehensiveness_dummy" in pandas.read_parquet("audit/per_example.parquet")
    assert '"measure": "dummy"' in Path("audit/report.html").read_text()
    answer = heedful("analyse", "deletion:measure=dummy", run, documents, "--json")
    assert json.loads(answer.out)["about"]["measure"] == "dummy"


def test_a_new_measure_is_offered_by_the_web_api(add, run):
    add(importances, "dummy", from_the_left)
    with TestClient(create_app(["runs"]), base_url="http://127.0.0.1") as client:
        served = client.get("/api/served").json()
        assert "dummy" in [measure["name"] for measure in served["measures"]]
        form = {"text": TEXT, "measures": ["dummy"]}
        sheet = client.post("/api/runs/one/explain", json=form).json()
        assert sheet["scores"]["dummy"] == [3.0, 2.0, 1.0]
        schemas = client.get("/api/openapi.json").json()["components"]["schemas"]
    measures, _ = schemas["ExplainForm"]["properties"]["measures"]["anyOf"]  # or none
    assert "dummy" in measures["items"]["enum"]


def test_a_measure_that_is_not_audited_by_default_is_there_by_name(
    heedful, add, classifier, planted, run, documents
):
    add(importances, "slow", from_the_left, is_audited=False)
    assert "slow" in listed(heedful, "importances")
    assert "slow" in heedful("explain", run, TEXT, "--measure", "slow").out
    usual = heedful("audit", run, documents, "--ask", "telling", "--json").out
    needs = {Need.HELD_LAYERS, Need.LAYERS}
    for_transformers = {name for name in importances if importances[name].needs & needs}
    assert set(ranked(json.loads(usual))) == {*importances.audited} - for_transformers
    named = package.audit(classifier, planted.test[:24], asked=["telling"], measures=["slow"])
    assert "slow" in ranked({"evidence": named.evidence})


def alone(seen):
    """How sure the model is of its prediction when it reads the word alone."""
    rows, places = seen.is_token.nonzero(as_tuple=True)
    is_kept = torch.zeros_like(seen.is_token)[rows]
    is_kept[torch.arange(len(rows)), places] = True
    scores = torch.zeros(seen.is_token.shape, dtype=torch.double)
    scores[rows, places] = seen.of_kept(rows, is_kept)
    return scores


@pytest.fixture(scope="module")
def every_kind(classifier) -> dict[str, object]:
    """One of each kind of model that can be audited."""
    return {
        "a classifier": classifier,
        "a module": Wrapped(classifier.trained_),
        "a function": a_subject({"good": 2.0, "bad": -2.0}),
        "a Hugging Face model": (tiny_model("Bert", PLANTED), tiny_tokenizer(PLANTED)),
    }


def texts_for(kind: str, planted) -> list[str]:
    is_ours = kind in ("a classifier", "a module")
    return list((planted.test if is_ours else planted_documents(24)).texts[:24])


KINDS_OF_MODELS = ("a classifier", "a module", "a function", "a Hugging Face model")
every_kind_of_model = pytest.mark.parametrize("kind", KINDS_OF_MODELS)


@every_kind_of_model
def test_a_measure_that_needs_only_deletions_reaches_every_kind_of_model(
    heedful, add, every_kind, planted, kind
):
    add(importances, "dummy", alone, needs=[Need.DELETIONS])
    assert listed(heedful, "importances")["dummy"].startswith("How sure the model is")
    model, texts = every_kind[kind], texts_for(kind, planted)
    found = package.audit(model, texts, QUICK_AUDIT, ["telling"])
    assert "dummy" in ranked({"evidence": found.evidence})
    assert "comprehensiveness_dummy" in found.columns
    explained = package.explain(model, texts[0], ["attention", "dummy"])
    assert (explained.scores["dummy"] > 0).all()


def longest_state(seen):
    """Length of a state's gradient."""
    return seen.by_parts(lambda part: part.states()[0].norm(dim=-1))


@every_kind_of_model
def test_a_slow_measure_is_ranked_in_the_audit_of_any_model_that_names_it(
    add, every_kind, planted, kind
):
    add(importances, "slow", alone, needs=[Need.DELETIONS], is_audited=False)
    model, texts = every_kind[kind], texts_for(kind, planted)
    usual = package.audit(model, texts, QUICK_AUDIT, ["telling"])
    assert "slow" not in ranked({"evidence": usual.evidence})
    named = package.audit(model, texts, QUICK_AUDIT, ["telling"], measures=["slow"])
    assert "slow" in ranked({"evidence": named.evidence})
    with pytest.raises(ConfigError, match=r"^every audit already ranks attention: leave it out"):
        package.audit(model, texts, QUICK_AUDIT, ["telling"], measures=["attention"])
    if kind != "a classifier":
        with pytest.raises(ConfigError, match="no polarity, which needs the internals of"):
            package.audit(model, texts, QUICK_AUDIT, ["telling"], measures=["polarity"])


@every_kind_of_model
def test_a_measure_goes_only_where_its_needs_are_given(add, every_kind, planted, kind):
    add(importances, "dummy", longest_state, needs=[Need.STATES])
    model, text = every_kind[kind], texts_for(kind, planted)[0]
    if kind in ("a classifier", "a module"):
        assert (package.explain(model, text, ["dummy"]).scores["dummy"] > 0).all()
        return
    sentence = f"^{kind.replace('a function', 'a plain function')} has no dummy, which needs "
    sentence += "gradients with respect to states. Available: attention, leave-one-out, "
    with pytest.raises(ConfigError, match=sentence):
        package.explain(model, text, ["dummy"])
    assert "dummy" not in subject_of_any(*[model] if kind == "a function" else model).measures


@every_kind_of_model
def test_a_measure_that_looks_inside_is_refused_by_other_models(add, every_kind, planted, kind):
    add(importances, "dummy", from_the_left)
    model, text = every_kind[kind], texts_for(kind, planted)[0]
    if kind == "a classifier":
        assert "dummy" in package.explain(model, text, ["dummy"]).scores
        return
    with pytest.raises(ConfigError, match="no dummy, which needs the internals of a heedful"):
        package.explain(model, text, ["dummy"])


def test_no_kind_of_model_has_a_list_of_measures_of_its_own():
    subjects = Path(package.__file__).parent / "auditing" / "subjects"
    for path in subjects.rglob("*.py"):
        # Readouts have names of their own, two of them those of measures.
        named = {name for name in importances if f'"{name}"' in path.read_text()}
        assert not named - set(readouts), path.name


def test_every_measure_is_audited_but_those_that_take_very_many_passes():
    by_name = {"decomposition-with-biases", "kernel-shap", "lime"}
    assert importances.audited == [name for name in importances if name not in by_name]


@dataclass(frozen=True)
class Backwards(OfEveryLayer):
    """Later positions have more weight."""

    step: float = 1.0

    def __call__(self, attended):
        places = torch.arange(attended.is_read.shape[1], dtype=attended.weights[0].dtype)
        return (self.step * places).expand(attended.is_read.shape)


def test_a_new_readout_is_listed_audited_and_reported(heedful, add):
    add(readouts, "dummy", Backwards)
    assert listed(heedful, "readouts")["dummy"] == "Later positions have more weight."
    model = tiny_model("Bert", PLANTED, id2label={0: "bad", 1: "good"})
    tokenizer = tiny_tokenizer(PLANTED)
    model.save_pretrained("model")
    tokenizer.save_pretrained("model")
    documents = planted_documents(24)
    rows = [{"text": one.text, "label": one.label} for one in documents]
    Path("documents.jsonl").write_text("\n".join(map(json.dumps, rows)))
    chosen = ("--readout", "dummy", "--readout", "dummy:step=2.0", "--ask", "agreeing")
    chosen = (*chosen, "--device", "cpu")
    answer = heedful("audit", "hf:model", "documents.jsonl", *chosen, "-o", "audit")
    assert answer.code == 0, answer.err
    verdicts = json.loads(Path("audit/readings.json").read_text())["verdicts"]
    assert list(verdicts) == ["dummy", "dummy:step=2.0"]
    assert "dummy:step=2.0" in Path("audit/report.html").read_text()
    shown = package.explain((model, tokenizer), "a good film", readout="dummy")
    # [CLS] a good film [SEP]: positions 1, 2 and 3 of the words, out of 6
    assert shown.scores["attention"] == pytest.approx([1 / 6, 2 / 6, 3 / 6])


@pytest.mark.parametrize("is_audited", [False, True])
def test_a_readout_says_whether_it_is_audited_by_default(add, is_audited):
    loaded = of_pair(tiny_model("Bert", PLANTED), tiny_tokenizer(PLANTED))
    usual = ["last-cls", "mean-layers", "rollout", "attention-x-gradient", "value-norm"]
    assert list(subjects_of(loaded, None)[0]) == usual
    add(readouts, "dummy", Backwards, is_audited=is_audited)
    assert list(subjects_of(loaded, None)[0]) == [*usual, *["dummy"] * is_audited]


def small_corpus():
    """A dummy of two labels."""
    return Planted(documents=200, neutral_vocabulary=30, evidence_vocabulary=4)()


def test_a_new_corpus_is_listed_loaded_trained_on_and_audited_on(heedful, add):
    add(corpora, "dummy-corpus", small_corpus)
    assert listed(heedful, "corpora")["dummy-corpus"] == "A dummy of two labels."
    assert package.load("dummy-corpus").train.texts == small_corpus().train.texts
    answer = heedful("train", "dummy-corpus", "-o", "run", *QUICK)
    assert answer.code == 0, answer.err
    answer = heedful("audit", "run", "dummy-corpus", "--ask", "agreeing", "--json")
    assert answer.code == 0, answer.err
    assert json.loads(answer.out)["about"]["data"] == "dummy-corpus"


@dataclass(frozen=True)
class CountWords(OfRun):
    """Counts the words of documents."""

    name = "dummy"
    asks = "How many words are there?"
    most: int = 1000

    def analyse(self, trained, documents, seed):
        words = sum(len(text.split()) for text in documents.texts)
        return Result(self.name, self.asks, ({"words": min(words, self.most)},), {})


def test_a_new_analysis_is_listed_run_saved_and_reported(heedful, add, run, documents, planted):
    add(analyses, "dummy", CountWords)
    assert listed(heedful, "analyses")["dummy"] == "Counts the words of documents."
    answer = heedful("analyse", "dummy:most=7", run, documents, "-o", "found", "--json")
    assert answer.code == 0, answer.err
    found = json.loads(Path("found/analysis.json").read_text())
    assert found["summary"] == [{"words": 7}]
    assert found["about"]["most"] == 7
    assert "How many words are there?" in Path("found/report.html").read_text()
    answer = heedful("analyse", "dummy", run)
    assert answer.code == 2
    assert "expected `heedful analyse dummy RUN DATA`." in answer.err


def test_a_new_metric_is_listed(heedful, add):
    def longest(weights):
        """Largest weight."""
        return weights.max(axis=1)

    add(metrics, "dummy", Metric("dummy", longest, "neither", (0.0, 1.0)))
    assert listed(heedful, "metrics")["dummy"] == "Largest weight."
