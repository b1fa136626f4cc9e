import json

import pytest

from heedful.importance.explanation import USUAL_MEASURES


def test_the_text_is_shown_once_per_measure_and_then_without_its_top_words(heedful, run):
    answer = heedful("explain", run, "neutralaaa positiveaaa positiveaab")
    assert answer.code == 0, answer.err
    first, blank, *rest = answer.out.splitlines()
    assert first.startswith("positive ")
    assert blank == ""
    for line, measure in zip(rest[::2], USUAL_MEASURES, strict=False):
        assert line == f"{measure:<16}  neutralaaa positiveaaa positiveaab"
    for line in rest[1:8:2]:
        assert line.count("aa") == 3  # the strongest words with their scores
    assert "probability of positive without the top words" in rest
    assert sum("  without " in line for line in rest) == 2 * len(USUAL_MEASURES)


def test_measures_can_be_chosen_and_json_has_them(heedful, run):
    answer = heedful(
        "explain", run, "a b", "--measure", "random", "--measure", "ablation", "--json"
    )
    word = json.loads(answer.out)["words"][0]
    assert set(word) == {"word", "start", "end", "random", "ablation"}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["x", "--measure", "atention"], "no importance measure named 'atention'. Did you mean"),
        (["  "], "the text holds no words"),
    ],
)
def test_bad_requests_are_refused(heedful, run, arguments, sentence):
    answer = heedful("explain", run, *arguments)
    assert answer.code == 2
    assert sentence in answer.err


def test_control_characters_do_not_reach_the_terminal(heedful, run):
    answer = heedful("explain", run, "a\x1b[31mb\tc\x07")
    assert answer.code == 0
    assert "\x1b" not in answer.out
    assert "\x07" not in answer.out
