"""Every address, from end to end: answers are the library's own, failures are sentences."""

import asyncio
import json
import shutil
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from heedful import runs
from heedful.auditing.document_filter import Selection, Within, select
from heedful.auditing.metrics.divergence import js_divergence
from heedful.auditing.results import Audit
from heedful.auditing.subjects.classifier import ClassifierSubject
from heedful.auditing.withholding import Withholding
from heedful.counterfactual import what_if
from heedful.counterfactual.base import counterfactuals
from heedful.importance.base import importances
from heedful.importance.explanation import USUAL_MEASURES, explain
from heedful.importance.seen import Need
from heedful.web import Limits
from heedful.web.limits import TEXT_CHARACTERS
from heedful.web.static_files import known_files
from tests.web.conftest import trained_on

OF_LAYERS = {name for name in importances if Need.LAYERS in importances[name].needs}
NO_TRANSFORMERS = [n for n in importances if n not in OF_LAYERS and n != "decomposition"]
TEXT = "positiveaaa neutralaaa neutralaab Neutralaac negativeaaa"
EXPLAIN, ATTEND, REPLACE = (f"/api/runs/words/{verb}" for verb in ("explain", "attend", "replace"))


def found(answer) -> dict:
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def problem(answer, status: int, kind: str) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    told = answer.json()
    assert set(told) == {"message", "kind"}
    assert told["kind"] == kind
    assert "Traceback" not in told["message"]
    assert told["message"].endswith(".")
    return told["message"]


def by_class(sheet: dict, field: str = "probabilities") -> list[float]:
    return [one["probability"] for one in sheet[field]]


@pytest.fixture(scope="module")
def audit(served_folder) -> Audit:
    return Audit.load(served_folder / "audits" / "words")


def test_what_is_served_is_told(client, audit):
    sheet = found(client.get("/api/served"))
    runs_ = {run["name"]: run for run in sheet["runs"]}
    assert set(runs_) == {"words", "bilstm"}
    assert runs_["words"]["classes"] == ["negative", "positive"]
    assert runs_["words"]["audits"] == ["words"]
    assert runs_["words"]["has_attention"]
    assert runs_["words"]["problem"] == ""
    assert [line["sentence"] for line in sheet["audits"]] == [audit.sentence]
    assert [one["name"] for one in sheet["measures"]] == NO_TRANSFORMERS
    assert runs_["words"]["measures"] == NO_TRANSFORMERS
    assert sheet["usual_measures"] == list(USUAL_MEASURES)
    assert [one["name"] for one in sheet["counterfactuals"]] == list(counterfactuals)
    assert sheet["limits"]["text_characters"] == TEXT_CHARACTERS


def test_the_page_has_no_list_of_usual_measures_of_its_own(client):
    script = client.get("/static/explain.js").text
    assert "usual_measures" in script
    assert "gradient-x-input" not in script


def test_status_never_waits(client):
    sheet = found(client.get("/api/status"))
    assert (sheet["waiting"], sheet["working"], sheet["at_once"]) == (0, 0, 1)


@pytest.mark.parametrize("run", ["words", "bilstm"])
@pytest.mark.parametrize("measures", [None, ["random"], NO_TRANSFORMERS, ["attention"] * 3])
def test_an_explanation_is_the_librarys(client, request, run, measures):
    form = {"text": TEXT} | ({} if measures is None else {"measures": measures})
    sheet = found(client.post(f"/api/runs/{run}/explain", json=form))
    named = list(dict.fromkeys(measures or USUAL_MEASURES))
    expected = explain(request.getfixturevalue(run), TEXT, named)
    assert sheet["run"] == run
    assert sheet["prediction"] == expected.prediction
    np.testing.assert_allclose(by_class(sheet), expected.probabilities, atol=1e-6)
    words = [TEXT[one["start"] : one["end"]] for one in sheet["words"]]
    assert words == expected.words
    assert list(sheet["scores"]) == named
    for measure in named:
        np.testing.assert_allclose(sheet["scores"][measure], expected.scores[measure], atol=1e-5)
    assert len(sheet["agreements"]) == len(named) * (len(named) - 1) // 2
    told = [(one["measure"], one["words"]) for one in sheet["deletions"]]
    assert told == [(one.measure, list(one.words)) for one in expected.deletions]


def test_a_measure_that_a_run_cannot_give_is_refused_in_a_sentence(client):
    answer = client.post(EXPLAIN, json={"text": TEXT, "measures": ["decomposition"]})
    assert "decomposition needs a pretrained encoder" in answer.json()["message"]
    assert 400 <= answer.status_code < 500


def test_agreement_is_1_with_itself_and_has_no_sign(client):
    form = {"text": TEXT, "measures": ["attention", "attention-score", "contribution"]}
    sheet = found(client.post(EXPLAIN, json=form))
    pairs = {(one["first"], one["second"]): one["kendall_tau"] for one in sheet["agreements"]}
    assert set(pairs) == {
        ("attention", "attention-score"), ("attention", "contribution"),
        ("attention-score", "contribution"),
    }  # fmt: skip
    assert all(-1 <= tau <= 1 for tau in pairs.values())


@pytest.mark.parametrize("run", ["words", "bilstm"])
def test_other_weights_give_what_the_library_decides(client, request, run):
    weights = [0.0, 3.0, 1.0]
    form = {"text": TEXT, "deleted": [1, 3, 3], "weights": weights}
    sheet = found(client.post(f"/api/runs/{run}/attend", json=form))
    reading = what_if.read(request.getfixturevalue(run), TEXT, [1, 3])
    expected = what_if.decide(reading, weights)
    assert sheet["deleted"] == [1, 3]
    assert len(sheet["words"]) == 5
    np.testing.assert_allclose(sheet["weights"], [0, 0.75, 0.25], atol=1e-6)
    np.testing.assert_allclose(sheet["own"], reading.own, atol=1e-6)
    np.testing.assert_allclose(by_class(sheet), expected.probabilities, atol=1e-6)
    np.testing.assert_allclose(
        by_class(sheet, "own_probabilities"), reading.probabilities, atol=1e-6
    )
    assert (sheet["jsd"], sheet["tvd"]) == pytest.approx((expected.jsd, expected.tvd), abs=1e-6)
    assert sheet["same_within"] == what_if.SAME


def test_the_models_own_weights_move_nothing(client, words):
    sheet = found(client.post(ATTEND, json={"text": TEXT}))
    np.testing.assert_allclose(sheet["weights"], sheet["own"], rtol=0, atol=1e-6)
    assert sheet["prediction"] == sheet["own_prediction"]
    assert sheet["tvd"] == pytest.approx(0, abs=1e-6)
    np.testing.assert_allclose(by_class(sheet), words.probabilities([TEXT])[0], atol=1e-6)


@pytest.mark.parametrize("name", counterfactuals)
def test_a_counterfactual_is_the_librarys(client, words, name):
    form = {"text": TEXT, "by": name, "seed": 3, "deleted": [0]}
    sheet = found(client.post(REPLACE, json=form))
    expected = what_if.other_weights(what_if.read(words, TEXT, [0]), name, 3)
    np.testing.assert_allclose(sheet["weights"], expected, atol=1e-5)
    assert found(client.post(REPLACE, json=form)) == sheet


def test_runs_are_compared_on_the_words_they_share(client, words, bilstm):
    form = {"text": TEXT, "runs": ["words", "bilstm", "words"], "measures": ["random"]}
    sheet = found(client.post("/api/compare", json=form))
    assert [one["run"] for one in sheet["runs"]] == ["words", "bilstm"]
    assert list(sheet["runs"][0]["scores"]) == ["attention", "random"]
    weights = [run.attention([TEXT])[0].weights.astype(float)[None] for run in (words, bilstm)]
    (distance,) = sheet["distances"]
    assert distance["jsd"] == pytest.approx(js_divergence(*weights)[0], abs=1e-5)
    (agreement,) = sheet["agreements"]
    assert (agreement["first"], agreement["second"]) == ("words", "bilstm")


def test_an_audit_is_shown_whole(client, audit):
    sheet = found(client.get("/api/audits/words"))
    assert sheet["sentence"] == audit.sentence
    assert sheet["caveat"] == audit.caveat
    assert sheet["documents"] == audit.documents
    assert [one["was_asked"] for one in sheet["questions"]].count(True) > 4
    assert [one["place"] for one in sheet["shown"]] == [one.place for one in audit.shown]


def test_marks_of_its_charts_lead_to_documents(client):
    """Every query behind a chart is one that the server answers, with as many as it says."""
    figures = found(client.get("/api/audits/words/figures"))["figures"]
    assert {one["place"] for one in figures} >= {"scores", "decisive", "telling"}
    assert any(one["leads_to_documents"] for one in figures)
    rows = {
        row["behind"]: row
        for figure in figures
        for table in figure["chart"].get("datasets", {}).values()
        for row in [row for row in table if row.get("behind") is not None][:4]
    }
    assert len(rows) > 20
    bars = 0
    for behind, row in rows.items():
        sheet = found(client.get(f"/api/audits/words/documents?{behind}&count=1"))
        if row.keys() >= {"share", "documents", "start"}:
            assert sheet["chosen"] == row["documents"], row
            bars += 1
    assert bars > 10


@pytest.mark.parametrize(
    ("query", "selection"),
    [
        ({}, Selection()),
        ({"label": "positive"}, Selection(labels=("positive",))),
        ({"label": ["positive", "negative"]}, Selection(labels=("positive", "negative"))),
        ({"prediction": "negative", "right": "no"},
         Selection(predictions=("negative",), is_right=False)),
        ({"right": "yes"}, Selection(is_right=True)),
        ({"where": ["max_weight:[0.1,0.2)", "probability:(0.6,]"]},
         Selection(where=(Within("max_weight", 0.1, 0.2),
                          Within("probability", 0.6, has_low=False, has_high=True)))),
        ({"word": "neutralaaa", "contains": "POSITIVE"},
         Selection(word="neutralaaa", text="POSITIVE")),
        ({"sort": "max_weight"}, Selection(sort="max_weight")),
        ({"sort": "text", "order": "ascending"}, Selection(sort="text", is_descending=False)),
    ],
)  # fmt: skip
def test_documents_are_chosen_as_the_library_chooses(client, audit, query, selection):
    expected = select(audit, selection).tolist()
    sheet = found(client.get("/api/audits/words/documents", params=query))
    assert (sheet["total"], sheet["chosen"]) == (audit.documents, len(expected))
    assert [row["place"] for row in sheet["rows"]] == expected[:50]
    rest = {**query, "offset": 7, "count": 3}
    sheet = found(client.get("/api/audits/words/documents", params=rest))
    assert [row["place"] for row in sheet["rows"]] == expected[7:10]


def test_a_document_carries_its_numbers(client, audit):
    place = 5
    sheet = found(client.get(f"/api/audits/words/documents/{place}"))
    assert sheet["text"] == audit.texts[place]
    assert sheet["is_whole"]
    assert sheet["label"] == audit.labels[place]
    assert sheet["is_right"] == (audit.labels[place] == audit.predictions[place])
    for name, column in audit.columns.items():
        number = sheet["numbers"][name]
        assert number is None if np.isnan(column[place]) else number == column[place]
    columns = ["max_weight", "probability"]
    listed = found(client.get("/api/audits/words/documents", params={"column": columns}))
    assert listed["shown"] == columns
    assert set(listed["rows"][0]["numbers"]) == set(columns)


def test_answers_say_how_long_they_took(client):
    for path in ("/api/served", "/api/audits/words", "/api/audits/words/documents"):
        timing = client.get(path).headers["server-timing"]
        assert timing.startswith("wait;dur=")
        assert ", work;dur=" in timing


@pytest.mark.parametrize(
    ("path", "form", "sentence"),
    [
        ("/api/runs/word/explain", {"text": "a"}, "no run named 'word' is served. Did you mean"),
        ("/api/runs/%00/attend", {"text": "a"}, "no run named '\\x00' is served."),
        ("/api/compare", {"text": "a", "runs": ["words", "x"]}, "no run named 'x' is served."),
    ],
)
def test_unknown_names_are_not_found(client, path, form, sentence):
    assert sentence in problem(client.post(path, json=form), 404, "unknown")


@pytest.mark.parametrize(
    ("path", "form", "sentence"),
    [
        (EXPLAIN, {"text": "a", "measures": ["atention"]}, "Did you mean 'attention'"),
        (REPLACE, {"text": "a", "by": "permuted:count=9"}, "no counterfactual named"),
    ],
)
def test_members_of_families_go_by_their_bare_names(client, path, form, sentence):
    assert sentence in problem(client.post(path, json=form), 422, "request")


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/api/audits/nothing", "no audit named 'nothing' is served."),
        ("/api/audits/words/documents?sort=max_weigth", "Did you mean 'max_weight'?"),
        ("/api/audits/words/documents?column=no", "this audit has no column 'no'."),
        ("/api/audits/words/documents?where=no:[0,1]", "this audit has no column 'no'."),
        ("/api/nothing", "Not Found: GET /api/nothing."),
        ("/static/nothing.js", "Not Found: GET /static/nothing.js."),
        ("/nothing", "Not Found: GET /nothing."),
    ],
)
def test_addresses_of_nothing_are_not_found(client, path, sentence):
    assert sentence in problem(client.get(path), 404, "unknown")


@pytest.mark.parametrize(
    ("path", "form", "sentence"),
    [
        (EXPLAIN, {}, "text: field required."),
        (EXPLAIN, {"text": ""}, "the text contains no words, so there is nothing to explain."),
        (EXPLAIN, {"text": "   "}, "the text contains no words"),
        (EXPLAIN, {"text": 5}, "text: input should be a valid string."),
        (EXPLAIN, {"text": "a", "measure": []}, "measure: extra inputs are not permitted."),
        (EXPLAIN, {"text": "a", "measures": []}, "measures: list should have at least 1 item"),
        (EXPLAIN, {"text": "a", "measures": ["random"] * 21}, "at most 20 items"),
        (EXPLAIN, {"text": "a" * 20_001}, "text: string should have at most 20000 characters"),
        (EXPLAIN, [], "the request: input should be a valid dictionary"),
        (ATTEND, {"text": ""}, "the text contains no words, so there is nothing to attend to."),
        (ATTEND, {"text": "a b", "deleted": [2]}, "no word 2"),
        (ATTEND, {"text": "a b", "deleted": [0, 1]}, "no word is left"),
        (ATTEND, {"text": "a b", "deleted": [-1]}, "deleted.0: input should be greater than"),
        (ATTEND, {"text": "a b", "weights": [1]}, "expected a weight for each of 2 words"),
        (ATTEND, {"text": "a b", "weights": [0, 0]}, "all weights are 0"),
        (ATTEND, {"text": "a b", "weights": [1, -1]}, "weights.1: input should be greater than"),
        (REPLACE, {"text": "a b"}, "by: field required."),
        (REPLACE, {"text": "a b", "by": "random", "seed": -1}, "seed: input should be greater"),
        (REPLACE, {"text": "a b", "by": "random", "seed": 2**32}, "seed: input should be less"),
        ("/api/compare", {"text": "a", "runs": []}, "runs: list should have at least 1 item"),
        ("/api/compare", {"text": "a", "runs": ["words"] * 7}, "at most 6 items"),
    ],
)
def test_bad_forms_are_refused_in_a_sentence(client, path, form, sentence):
    assert sentence in problem(client.post(path, json=form), 422, "request")


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "the request: field required."),
        (b"{", "the request is not JSON: expecting property name"),
        (b"\xff\xfe", "."),
        (b'{"text": "a", "weights": [NaN]}', "weights.0: input should be a finite number."),
        (b'{"text": "a", "weights": [1e999]}', "weights.0: input should be a finite number."),
        (b'{"text": "a \\ud800 b"}', "text: input should be a valid string"),
        (b'{"text": "a", "\\ud800": 1}', "the request: input should be a valid string"),
        (b"[" * 100_000, "."),
        (b'{"text": "a", "deleted": [' + b"9" * 5000 + b"]}", "."),
    ],
)
def test_bodies_that_are_no_form_are_refused(client, body, sentence):
    answer = client.post(ATTEND, content=body, headers={"content-type": "application/json"})
    assert answer.status_code in (400, 422)
    assert sentence in problem(answer, answer.status_code, answer.json()["kind"])


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("where=max_weight", "expected a column and an interval such as max_weight:[0.5,1]"),
        ("where=max_weight:[a,b]", "the ends of an interval should be numbers or empty"),
        ("count=0", "count: input should be greater than or equal to 1."),
        ("count=201", "count: input should be less than or equal to 200."),
        ("offset=-1", "offset: input should be greater than or equal to 0."),
        ("right=maybe", "right: input should be 'yes' or 'no'."),
        ("order=up", "order: input should be 'ascending' or 'descending'."),
        ("word=" + "a" * 101, "word: string should have at most 100 characters."),
        ("&".join(["where=max_weight:[0,1]"] * 101), "where: list should have at most 100 items"),
        ("&".join(["label=a"] * 1001), "label: list should have at most 1000 items"),
        ("where=" + "a" * 201, "where.0: string should have at most 200 characters."),
    ],
)
def test_bad_queries_are_refused_in_a_sentence(client, query, sentence):
    answer = client.get(f"/api/audits/words/documents?{query}")
    assert sentence in problem(answer, 422, "request")


def test_a_document_that_is_not_there_is_refused(client):
    message = problem(client.get("/api/audits/words/documents/60"), 422, "request")
    assert message == "no document 60: the audit has 60 documents, numbered from 0."
    problem(client.get("/api/audits/words/documents/-1"), 422, "request")
    problem(client.get("/api/audits/words/documents/x"), 422, "request")


HARD_TEXTS = {
    "emoji": "👩‍👩‍👧‍👦 positiveaaa 😀",
    "right to left": "שלום عليكم positiveaaa",
    "overrides": "a\u202eb \u2028 \x00 \x1b[31m",
    "combining": "e" + "\u0301" * 500,
    "markup": "<script>alert(1)</script> {{7*7}} ' OR 1=1 --",
    "one long word": "x" * 20_000,
    "many words": ("positiveaaa " * 1666).strip(),
}


@pytest.mark.parametrize("text", HARD_TEXTS.values(), ids=HARD_TEXTS)
@pytest.mark.parametrize("run", ["words", "bilstm"])
def test_any_text_comes_back_as_it_was(client, run, text):
    form = {"text": text, "measures": ["attention", "gradient-x-input"]}
    sheet = found(client.post(f"/api/runs/{run}/explain", json=form))
    assert sheet["text"] == text
    assert all(text[one["start"] : one["end"]].strip(" ") for one in sheet["words"])
    assert len(sheet["scores"]["attention"]) == len(sheet["words"])
    sheet = found(client.post(f"/api/runs/{run}/attend", json={"text": text}))
    assert len(sheet["own"]) == len(sheet["words"])


def test_a_text_that_is_cut_says_so(client, words):
    sheet = found(client.post(ATTEND, json={"text": HARD_TEXTS["many words"]}))
    assert sheet["is_cut"]
    assert len(sheet["words"]) == 500
    assert sheet["longest"] == words.longest_text == "500 words"
    assert not found(client.post(ATTEND, json={"text": "a b !?"}))["is_cut"]


@pytest.mark.parametrize(
    "path",
    [
        *("/static/../app.py", "/static/..%2fapp.py", "/static/..%2f..%2f__init__.py"),
        *("/static/%2e%2e/app.py", "/static/....//app.py", "/static//etc/passwd", "/static/"),
        *("/static/%2fetc%2fpasswd", "/static/..\\app.py", "/static/index.html%00.js"),
        *("/api/audits/..%2f..%2fetc", "/api/audits/../../etc", "/app.py", "//etc/passwd"),
        *("/api/audits/words/documents/../../../x", "/.git/config", "/static/__init__.py"),
    ],
)
def test_no_path_leads_out_of_the_page(client, path):
    problem(client.get(path), 404, "unknown")


def test_no_name_leads_to_a_folder(client, served_folder):
    for name in ("..%2f..%2fetc", "..", ".", "%2e%2e", str(served_folder / "words")[1:], "audits"):
        for verb in ("explain", "attend"):
            answer = client.post(f"/api/runs/{name}/{verb}", json={"text": "a"})
            problem(answer, 404, "unknown")


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "PUT", "DELETE", "PATCH", "TRACE", "BREW"])
@pytest.mark.parametrize("path", ["/api/status", EXPLAIN, "/", "/static/app.js"])
def test_other_methods_are_refused(client, method, path):
    answer = client.request(method, path)
    if method == "HEAD" and not path.startswith("/api"):
        assert answer.status_code == 200
        return
    assert answer.status_code == 405
    assert answer.headers["allow"]
    assert "access-control-allow-origin" not in answer.headers


def test_files_are_packed_and_sent_once(client):
    for name, file in known_files().items():
        plain = client.get(f"/static/{name}", headers={"accept-encoding": "identity"})
        packed = client.get(f"/static/{name}", headers={"accept-encoding": "gzip"})
        assert plain.content == packed.content == file.data
        assert "content-encoding" not in plain.headers
        assert (packed.headers.get("content-encoding") == "gzip") == (len(file.data) > 1024)
        assert plain.headers["content-type"] == file.kind
        assert plain.headers["vary"] == "accept-encoding"
        again = client.get(f"/static/{name}", headers={"if-none-match": plain.headers["etag"]})
        assert again.status_code == 304
        assert again.content == b""
        other = client.get(f"/static/{name}", headers={"if-none-match": '"other"'})
        assert other.status_code == 200


def test_the_page_is_its_first_file(client):
    assert client.get("/").content == known_files()["index.html"].data


def test_every_file_that_the_page_names_is_there(client):
    page = client.get("/").text
    for name in ("app.js", "page.css", "report.css"):
        assert f"/static/{name}" in page or f'"static/{name}' in page
        assert name in known_files()


def test_no_file_names_an_outside_address():
    allowed = {b"http://www.w3.org/2000/svg", b"http://www.w3.org/1999/xlink",
               b"http://www.w3.org/1999/xhtml", b"http://www.w3.org/XML/1998/namespace",
               b"http://www.w3.org/2000/xmlns/", b"http://www.w3.org/1998/Math/MathML"}  # fmt: skip
    for name, file in known_files().items():
        data = file.data
        for namespace in sorted(allowed, key=len, reverse=True):
            data = data.replace(namespace, b"")
        for scheme in (b"http://", b"https://", b"//cdn", b"ws://", b"wss://"):
            assert scheme not in data, (name, data[max(0, data.find(scheme) - 60) :][:160])


def test_the_description_names_every_status(client):
    described = found(client.get("/api/openapi.json"))
    statuses = {"200", "400", "401", "403", "404", "408", "410", "413", "421", "422", "500", "503"}
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert set(operation["responses"]) == statuses, (method, path)
            assert operation["description"]
    forms = described["components"]["schemas"]
    measures, _ = forms["ExplainForm"]["properties"]["measures"]["anyOf"]  # or none
    assert measures["items"]["enum"] == list(importances)
    assert "HTTPValidationError" not in forms


def test_a_run_that_goes_is_gone_and_the_others_stay(own_folder, serve):
    opened = serve(own_folder / "words", own_folder / "bilstm")
    form = {"text": TEXT}
    before = found(opened.post(EXPLAIN, json=form))
    shutil.move(own_folder / "words", own_folder.parent / "away")
    for path in (EXPLAIN, ATTEND):
        assert "words is missing: " in problem(opened.post(path, json=form), 410, "gone")
    asked = {"text": TEXT, "runs": ["bilstm", "words"]}
    problem(opened.post("/api/compare", json=asked), 410, "gone")
    found(opened.post("/api/runs/bilstm/explain", json=form))
    listed = {run["name"]: run["problem"] for run in found(opened.get("/api/served"))["runs"]}
    assert listed["bilstm"] == ""
    assert "words is missing" in listed["words"]
    shutil.move(own_folder.parent / "away", own_folder / "words")
    assert found(opened.post(EXPLAIN, json=form)) == before


def test_a_run_trained_anew_answers_anew(own_folder, serve, planted):
    opened = serve(own_folder / "words")
    before = found(opened.post(ATTEND, json={"text": TEXT}))
    shutil.rmtree(own_folder / "words")
    again = trained_on(planted, seed=7)
    again.save(own_folder / "words")
    after = found(opened.post(ATTEND, json={"text": TEXT}))
    np.testing.assert_allclose(by_class(after), again.probabilities([TEXT])[0], atol=1e-6)
    assert by_class(after) != by_class(before)


def test_an_audit_that_goes_is_gone(own_folder, serve):
    opened = serve(own_folder)
    (own_folder / "audits" / "words" / runs.AUDIT).unlink()
    for path in ("", "/documents", "/documents/0"):
        problem(opened.get(f"/api/audits/words{path}"), 410, "gone")
    (line,) = found(opened.get("/api/served"))["audits"]
    assert "words is missing" in line["problem"]


def test_an_audit_made_anew_is_sorted_anew(own_folder, serve):
    opened, folder = serve(own_folder), own_folder / "audits" / "words"
    path = "/api/audits/words/documents?sort=max_weight"
    first = [row["place"] for row in found(opened.get(path))["rows"]]
    stored = Audit.load(folder)
    stored.columns["max_weight"] = -stored.columns["max_weight"]
    stored.save(folder)
    again = [row["place"] for row in found(opened.get(path))["rows"]]
    assert again == select(stored, Selection(sort="max_weight")).tolist()[:50]
    assert again != first


def test_a_model_that_fails_on_a_text_is_a_bug_and_others_still_work(own_folder, serve):
    app_client = serve(own_folder)
    model = app_client.app.state.handlers.store.run("words").trained.model

    def fails(module: torch.nn.Module, given: tuple) -> None:
        if given[0].token_ids.shape[1] == 2:
            raise FloatingPointError("the sum of no numbers")

    model.register_forward_pre_hook(fails)
    message = problem(app_client.post(EXPLAIN, json={"text": "a b"}), 500, "bug")
    assert message == (
        "the request failed (FloatingPointError: the sum of no numbers). Other texts and views "
        "still work."
    )
    found(app_client.post(EXPLAIN, json={"text": "a b c"}))
    found(app_client.post("/api/runs/bilstm/explain", json={"text": "a b"}))
    assert found(app_client.get("/api/status"))["working"] == 0


def test_a_model_without_attention_has_nothing_to_explain(tmp_path, serve, planted):
    trained_on(planted, pooling="mean").save(tmp_path / "mean")
    opened = serve(tmp_path / "mean")
    (run,) = found(opened.get("/api/served"))["runs"]
    assert not run["has_attention"]
    for verb in ("explain", "attend"):
        answer = opened.post(f"/api/runs/mean/{verb}", json={"text": "a b"})
        assert "pooling = 'mean'" in problem(answer, 422, "request")


def test_whoever_comes_when_the_line_is_full_is_told_when_to_come_back(served_folder, serve):
    limits = Limits(waiting=1, patience_seconds=0.05)
    began, go = threading.Event(), threading.Event()

    def waits(*_) -> None:
        began.set()
        go.wait(10)

    with serve(served_folder / "words", limits=limits) as opened:
        opened.app.state.handlers.store.run("words").trained.model.register_forward_pre_hook(waits)
        asked = {"args": (ATTEND,), "kwargs": {"json": {"text": "a b"}}}
        first = threading.Thread(target=opened.post, **asked)
        first.start()
        try:
            assert began.wait(5)
            assert found(opened.get("/api/status"))["working"] == 1
            answer = opened.post(ATTEND, json={"text": "a b c"})
            assert "without being served" in problem(answer, 503, "busy")
            assert int(answer.headers["retry-after"]) > 0
        finally:
            go.set()
            first.join()
        found(opened.post(ATTEND, json={"text": "a b c"}))


def test_whoever_has_left_is_not_worked_for(served_folder, serve):
    """Also where nothing was sent but an address: its end comes after an empty body."""
    opened = serve(served_folder)
    coming = iter([{"type": "http.request", "body": b""}, {"type": "http.disconnect"}])
    sent = []

    async def receive() -> dict:
        return next(coming)

    async def send(message: dict) -> None:
        sent.append(message)

    scope = {
        "type": "http", "method": "GET", "path": "/api/audits/words", "query_string": b"",
        "scheme": "http", "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    asyncio.run(opened.app(scope, receive, send))
    assert sent[0]["status"] == 400
    assert b"the client disconnected" in sent[1]["body"]


@pytest.mark.parametrize("run", ["words", "bilstm"])
def test_a_measure_that_takes_too_long_is_stopped_between_batches(served_folder, serve, run):
    with serve(served_folder, limits=Limits(work_seconds=0.0)) as opened:
        asked = {"text": "a b " * 2000, "measures": ["leave-one-out"]}
        answer = opened.post(f"/api/runs/{run}/explain", json=asked)
        assert "the request was stopped after 0 s" in problem(answer, 422, "request")
        answer = opened.post(f"/api/runs/{run}/replace", json={"text": "a b", "by": "adversarial"})
        assert "the request was stopped after 0 s" in problem(answer, 422, "request")


def test_nothing_is_kept_of_what_is_asked(client, served_folder):
    """No file is written or changed by questions."""
    before = {path: path.stat().st_mtime_ns for path in served_folder.rglob("*")}
    found(client.post(EXPLAIN, json={"text": "a secret"}))
    found(client.get("/api/audits/words"))
    assert {path: path.stat().st_mtime_ns for path in Path(served_folder).rglob("*")} == before


def test_a_drag_asks_the_model_once(own_folder, serve):
    opened = serve(own_folder / "words")
    readings = []
    opened.app.state.handlers.store.run("words").trained.model.register_forward_pre_hook(
        lambda *_: readings.append(time.time())
    )
    for weight in (0.1, 0.5, 0.9):
        found(opened.post(ATTEND, json={"text": "a b", "weights": [1, weight]}))
    assert len(readings) == 1


def test_answers_hold_no_number_that_json_has_not(client):
    for path in ("/api/served", "/api/audits/words", "/api/audits/words/documents?count=200"):
        json.loads(client.get(path).text, parse_constant=pytest.fail)


# ----- Whether a heat map may be shown -----


def test_an_explanation_says_whether_its_heat_map_may_be_shown_by_the_served_audit(
    client, served_folder, words, planted
):
    subject = ClassifierSubject(words)
    withholding = Withholding.by_audit(Audit.load(served_folder / "audits" / "words"), subject)
    texts = [planted.test.texts[0], "qqq www eee"]
    for text, wanted in zip(texts, withholding.decide(texts), strict=True):
        found = client.post("/api/runs/words/explain", json={"text": text}).json()
        assert (found["shown"], found["why"]) == (wanted.is_shown, wanted.why)
    assert not wanted.is_shown
    compared = client.post("/api/compare", json={"text": texts[1], "runs": ["words", "bilstm"]})
    assert [one["shown"] for one in compared.json()["runs"]] == [False, None]
    sheet = client.get("/api/audits/words").json()
    assert sheet["single_texts"].startswith("For single texts: ")
    assert sheet["in_plain_words"].startswith("A heat map claims")
    assert "decisive" in sheet["terms"]


def test_an_audit_of_other_weights_says_nothing_about_showing(serve, own_folder, bilstm):
    """By name and settings it is an audit of the run; by its weights it is not."""
    path = own_folder / "audits" / "words" / "audit.json"
    stored = json.loads(path.read_text())
    stored["about"]["identity"]["model"] = "0" * 16
    path.write_text(json.dumps(stored))
    with serve(own_folder) as client:
        found = client.post("/api/runs/words/explain", json={"text": "qqq www eee"}).json()
        assert (found["shown"], found["why"]) == (None, "")
        path.write_text(json.dumps(stored | {"documents": "many"}))  # broken while it is served
        found = client.post("/api/runs/words/explain", json={"text": "qqq www eee"})
        assert found.json()["shown"] is None
