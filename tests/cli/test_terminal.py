"""Signs in data that steer a terminal, and where they could reach one."""

import csv
import json
import re
from pathlib import Path

import pytest

from tests.cli.conftest import QUICK, Answer

STEERING = "\x1b[31m\u202e\r\nheedful: all is well\x9b2J\u2066\u200f\u061c\x07"
ESCAPED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
EXACT = "שלום مرحبا 👩‍👧 می‌خواهم :smile: [red]"  # joiners and right-to-left letters steer nothing


def check(answer: Answer, code: int = 0) -> None:
    """Nothing steers the terminal, and no line is one that data made up."""
    assert answer.code == code, answer.err
    assert not ESCAPED.findall(answer.out + answer.err)
    assert not re.findall("^heedful: all is well", answer.out + answer.err, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def label() -> str:
    return f"bad{STEERING}!"


@pytest.fixture
def table(rows, label) -> Path:
    """A CSV file whose name, columns and labels steer."""
    path = Path(f"data{STEERING}.csv".replace("/", "-"))
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["text", "label", f"other{STEERING}x"])
        for row in rows:
            name = label if row["label"] == "negative" else row["label"]
            writer.writerow([row["text"], name, ""])
        writer.writerow(["", "", ""])
    return path


@pytest.fixture
def steering_run(heedful, table) -> Path:
    check(heedful("train", table, "-o", f"run{STEERING}", *QUICK))
    return Path(f"run{STEERING}")


def test_a_training_writes_out_what_steers(heedful, table):
    answer = heedful("train", table, "-o", f"run{STEERING}", *QUICK)
    check(answer)
    assert "⟨U+001B⟩[31m⟨U+202E⟩⟨U+000D⟩⟨U+000A⟩heedful: all is well⟨U+009B⟩2J" in answer.err
    assert "1 blank row skipped" in answer.err
    assert "saved in run⟨U+001B⟩[31m⟨U+202E⟩" in answer.out


def test_predictions_and_explanations_write_out_what_steers(heedful, steering_run, table):
    text = f"negativeaaa {STEERING} negativeaab"
    answer = heedful("predict", steering_run, text)
    check(answer)
    assert "⟨U+202E⟩" in answer.out
    assert len(answer.out.splitlines()) == 1
    check(heedful("predict", steering_run, "--file", table))
    answer = heedful("explain", steering_run, text)
    check(answer)
    assert "⟨U+001B⟩[31m⟨U+202E⟩" in answer.out


def test_audits_and_comparisons_write_out_what_steers(heedful, steering_run, table):
    few = ("--documents", "20", "--ask", "decisive", "--ask", "discerning", "--include-trained")
    check(heedful("audit", steering_run, table, "-o", f"audit{STEERING}", *few))
    check(heedful("train", table, "-o", f"other{STEERING}", *QUICK))
    both = (steering_run, f"other{STEERING}")
    check(heedful("compare", *both, "--data", table, "--documents", "20"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["train", f"nowhere{STEERING}.csv"],
        ["train", f"nowhere{STEERING}"],
        ["train", "TABLE", "--label", f"no{STEERING}"],
        ["train", "TABLE", "--text", "Text"],
        ["train", "TABLE", f"--no-such{STEERING}"],
        ["train", "TABLE", "--epochs", f"one{STEERING}"],
        ["predict", f"nowhere{STEERING}", "x"],
        ["audit", f"nowhere{STEERING}", "TABLE"],
        ["audit", "hf:nowhere" + STEERING, "TABLE"],
        ["compare", f"nowhere{STEERING}", "b"],
        ["serve", f"nowhere{STEERING}"],
        ["sweep", f"nowhere{STEERING}.toml", "-o", "x"],
        ["list", f"encoder{STEERING}"],
        [f"trian{STEERING}"],
    ],
)
def test_refusals_write_out_what_steers(heedful, table, arguments):
    answer = heedful(*[str(table) if a == "TABLE" else a for a in arguments])
    check(answer, code=2)
    *notes, sentence = answer.err.splitlines()
    assert sentence.startswith("heedful: ")
    assert all(note.startswith("note: ") for note in notes)


def test_failures_that_nobody_foresaw_write_out_what_steers(heedful, table, monkeypatch):
    from heedful.training import fit

    def fail(*arguments, **options):
        raise RuntimeError(STEERING)

    monkeypatch.setattr(fit.Stage, "run", fail)
    monkeypatch.setenv("HEEDFUL_TRACEBACK", "1")
    check(heedful("train", table, "-o", "run", *QUICK), code=70)


def test_json_holds_the_same_values_and_steers_nothing(heedful, steering_run, label):
    text = f"negativeaaa {STEERING} {EXACT}"
    answer = heedful("predict", steering_run, text, "--json")
    check(answer)
    told = json.loads(answer.out)
    assert told["text"] == text
    assert label in told["probabilities"]
    assert EXACT in answer.out


def test_scripts_and_emoji_are_printed_as_they_are(heedful, rows):
    path = Path("exact.jsonl")
    named = [{**row, "label": EXACT if row["label"] == "negative" else "x"} for row in rows]
    path.write_text("\n".join(map(json.dumps, named)))
    trained = heedful("train", path, "-o", EXACT, *QUICK)
    assert f"labels: x, {EXACT}" in trained.err
    assert f"saved in {EXACT}" in trained.out
    assert heedful("predict", EXACT, EXACT).out.endswith(f"\t{EXACT}\n")
    assert f"attention         {EXACT}\n" in heedful("explain", EXACT, EXACT).out
    assert f"no such file or folder: {EXACT}.csv" in heedful("train", f"{EXACT}.csv").err
