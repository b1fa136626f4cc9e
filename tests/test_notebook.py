"""What a notebook shows: one fragment, its own style, no script, no address, nothing hidden."""

import re
from dataclasses import replace

import numpy as np
import pytest

from heedful.auditing.next_step import COMMANDS
from heedful.importance.explanation import Explanation
from heedful.training.trained import WordWeights
from tests.report.audits import HOSTILE, hostile_audit, made_audit
from tests.report.test_render import Tags

TEXT = "A very </div> funny movie"
OFFSETS = np.array([match.span() for match in re.finditer(r"\S+", TEXT)])
EXPLAINED = Explanation(
    text=TEXT,
    offsets=OFFSETS,
    classes=("negative", "positive"),
    probabilities=np.array([0.1, 0.9]),
    scores={
        "attention": np.array([0.1, 0.1, 0.1, 0.6, 0.1]),
        "leave-one-out": np.array([0.0, -0.2, 0.0, 0.4, 0.0]),
    },
    deletions=(),
)
ATTENDED = WordWeights(TEXT, OFFSETS, EXPLAINED.scores["attention"])


@pytest.mark.parametrize("shown", [made_audit(), hostile_audit(), EXPLAINED, ATTENDED])
def test_a_view_is_one_fragment_that_runs_and_asks_for_nothing(shown):
    view = shown._repr_html_()
    assert view.count("<div") == view.count("</div>") == 1
    assert view.endswith("</div>")
    tags = Tags(view)
    assert not {"script", "img", "link", "iframe"} & set(tags.tags)
    assert not tags.asks_for | tags.listens
    assert not re.search(r"https?:|url\(|@import", view)
    assert view.count("<style>") == view.count("</style>") == 1
    view.encode("utf-8")


@pytest.mark.parametrize("shown", [made_audit(), EXPLAINED, ATTENDED])
def test_a_view_has_colours_for_both_themes(shown):
    view = shown._repr_html_()
    assert "prefers-color-scheme:dark" in view
    assert '[data-jp-theme-light="false"]' in view


def test_an_audits_view_says_the_verdict_in_plain_words():
    audit = made_audit()
    view = audit._repr_html_()
    assert audit.sentence in view
    assert audit.in_plain_words.found in view
    assert all(answer.question in view for answer in audit.answers)
    refused = replace(audit, verdict="may-not", about={COMMANDS: ["heedful train a&b"]})
    assert "run the commands below" in refused._repr_html_()
    assert "<pre>heedful train a&amp;b</pre>" in refused._repr_html_()


def test_hostile_texts_stay_text():
    view = hostile_audit()._repr_html_()
    assert HOSTILE[0] not in view
    assert "\u202e" not in view


def test_attention_is_not_painted_as_speaking_for_the_prediction():
    attention, *others = EXPLAINED._repr_html_().split("leave-one-out")
    assert "--unsigned) / 1.0" in attention
    assert "(--for)" not in attention
    assert "(--for) / 1.0" in others[0]
    assert "(--against) / 0.5" in others[0]
    assert "(--for)" not in ATTENDED._repr_html_()


def test_what_is_withheld_is_not_drawn():
    withheld = replace(EXPLAINED, shown=False, why="Its score is too low.")
    view = withheld._repr_html_()
    assert "attention should not be shown. Its score is too low." in view
    assert "--unsigned) /" not in view
    kept = replace(ATTENDED, withheld="The models disagree.")
    assert "<mark" not in kept._repr_html_()
    assert "The models disagree." in kept._repr_html_()
    assert "funny" not in repr(kept)


def test_what_is_shown_in_a_line_is_short():
    assert repr(EXPLAINED) == "<Explanation of 'positive' (0.900): attention, leave-one-out>"
    assert repr(ATTENDED) == "<WordWeights of 5 words: funny 0.60 · movie 0.10 · </div> 0.10>"
