"""Which documents, in which order: against a plain filter of pandas, and as a query."""

import json
import math
import re
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing.document_filter import Selection, Within, select
from heedful.auditing.results import Audit
from heedful.errors import DataError, UnknownName
from heedful.report.figures import charts
from tests.report.audits import hostile_audit, made_audit

ends = st.floats(allow_nan=False, width=64)
numbers = st.one_of(st.floats(-1, 1), st.sampled_from([math.nan, math.inf, -math.inf, 0.0, 0.5]))
names = st.text(min_size=1, max_size=12).filter(lambda name: name == name.strip())
# Ends and fields, not objects: making those checks types, which draws numbers of its own.
intervals = st.tuples(names, ends, ends, st.booleans(), st.booleans())
BASE = made_audit(documents=4)


def rows_of(*rows: tuple[str | None, str, float, str]) -> Audit:
    """An audit of documents given as label, prediction, number and text."""
    labels, predictions, found, texts = zip(*rows, strict=True)
    return replace(
        BASE,
        texts=texts,
        labels=labels,
        predictions=predictions,
        columns={"number": np.array(found, dtype=np.float64)},
    )


documents = st.lists(
    st.tuples(
        st.sampled_from(["a", "b", "c d", None]),
        st.sampled_from(["a", "b", "c d"]),
        numbers,
        st.sampled_from(["Dull film.", "a dullard", "DULL, dull", "", "straße", "naïve, (x)"]),
    ),
    min_size=1,
    max_size=12,
)
some_labels = st.lists(st.sampled_from(["a", "b", "c d", "other"]), max_size=3).map(tuple)
bounds = numbers.filter(lambda number: not math.isnan(number))
selections = st.fixed_dictionaries(
    {
        "labels": some_labels,
        "predictions": some_labels,
        "is_right": st.sampled_from([None, True, False]),
        "where": st.lists(
            st.tuples(st.just("number"), bounds, bounds, st.booleans(), st.booleans()), max_size=2
        ),
        "word": st.sampled_from(["", "dull", "(x)", "film"]),
        "text": st.sampled_from(["", "dull", "STRASSE", ", "]),
        "sort": st.sampled_from(["", "number", "label", "prediction", "text"]),
        "is_descending": st.booleans(),
    }
)


def made(fields: dict[str, Any]) -> Selection:
    return Selection(**{**fields, "where": tuple(Within(*one) for one in fields["where"])})


def read(query: str) -> Selection:
    """A query as the server reads it."""
    given = parse_qs(query, keep_blank_values=True, strict_parsing=bool(query))
    first = {name: values[0] for name, values in given.items()}
    return Selection(
        labels=tuple(given.get("label", [])),
        predictions=tuple(given.get("prediction", [])),
        is_right={"yes": True, "no": False}.get(first.get("right", "")),
        where=tuple(map(Within.parse, given.get("where", []))),
        word=first.get("word", ""),
        text=first.get("contains", ""),
        sort=first.get("sort", ""),
        is_descending=first.get("order", "descending") == "descending",
    )


@given(interval=intervals)
def test_an_interval_reads_back_as_it_was_written(interval):
    within = Within(*interval)
    assert Within.parse(str(within)) == within


@given(interval=intervals, number=ends)
def test_an_interval_holds_what_lies_between_its_ends(interval, number):
    _, low, high, has_low, has_high = interval
    above = low == -math.inf or number > low or (has_low and number == low)
    below = high == math.inf or number < high or (has_high and number == high)
    held = Within(*interval).holds(np.array([number, math.nan]))
    assert held.tolist() == [above and below, False]


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("x:[0,1]", [0.0, 0.5, 1.0]),
        ("x:(0,1)", [0.5]),
        ("x: [ 0 , 1 ) ", [0.0, 0.5]),
        ("x:[,0]", [-math.inf, -1.0, 0.0]),
        ("x:(1,)", [math.inf]),
        ("x:(,)", [-math.inf, -1.0, 0.0, 0.5, 1.0, math.inf]),
        ("x:[1,0]", []),
        ("a:b:[5e-1,0.5]", [0.5]),
    ],
)
def test_intervals_are_written_as_mathematicians_do(text, held):
    values = np.array([-math.inf, -1.0, 0.0, 0.5, 1.0, math.inf, math.nan])
    assert values[Within.parse(text).holds(values)].tolist() == held


@pytest.mark.parametrize("text", ["", "x", "x:0,1", "x:[0;1]", "x:[0,1", "x:[0,1,2]", "[0,1]"])
def test_what_is_no_interval_is_refused(text):
    with pytest.raises(DataError, match=r"an interval such as max_weight:\[0.5,1\], got "):
        Within.parse(text)


@pytest.mark.parametrize("text", ["x:[a,1]", "x:[0,nan]", "x:[--1,]"])
def test_ends_that_are_no_numbers_are_refused(text):
    with pytest.raises(DataError, match="the ends of an interval should be numbers or empty"):
        Within.parse(text)


@given(rows=documents, fields=selections)
def test_a_query_selects_what_its_selection_does(rows, fields):
    audit, selection = rows_of(*rows), made(fields)
    np.testing.assert_array_equal(select(audit, read(selection.query)), select(audit, selection))


@given(rows=documents, fields=selections)
def test_a_selection_is_a_filter_of_the_table(rows, fields):
    selection = made(fields)
    frame = pd.DataFrame(rows, columns=["label", "prediction", "number", "text"], dtype=object)
    kept = frame
    if selection.labels:
        kept = kept[kept["label"].isin(selection.labels)]
    if selection.predictions:
        kept = kept[kept["prediction"].isin(selection.predictions)]
    if selection.is_right is not None:
        kept = kept[kept["label"].notna()]
        kept = kept[(kept["label"] == kept["prediction"]) == selection.is_right]
    for one in selection.where:
        kept = kept[one.holds(kept["number"].to_numpy(dtype=np.float64))]
    texts = kept["text"].astype(object)
    kept = kept[texts.map(lambda text: selection.text.casefold() in text.casefold()).astype(bool)]
    if selection.word:
        words = kept["text"].map(lambda text: re.split(r"[ ,.]+", text.lower()))
        kept = kept[words.map(lambda found: selection.word in found).astype(bool)]
    found = select(rows_of(*rows), selection).tolist()
    assert sorted(found) == kept.index.tolist()
    if not selection.sort:
        assert found == sorted(found)


@given(rows=documents, is_descending=st.booleans())
def test_documents_without_a_number_come_last_either_way(rows, is_descending):
    audit = rows_of(*rows)
    found = select(audit, Selection(sort="number", is_descending=is_descending))
    ordered = audit.columns["number"][found]
    is_number = ~np.isnan(ordered)
    assert (np.diff(is_number.astype(int)) <= 0).all()
    real = ordered[is_number].tolist()
    assert real == sorted(real, reverse=is_descending)
    assert sorted(found.tolist()) == list(range(len(rows)))


def test_equals_keep_the_order_of_the_audit():
    audit = rows_of(*[("a", "a", float(n % 2), "") for n in range(6)])
    assert select(audit, Selection(sort="number")).tolist() == [1, 3, 5, 0, 2, 4]
    ascending = Selection(sort="label", is_descending=False)
    assert select(audit, ascending).tolist() == [0, 1, 2, 3, 4, 5]


def test_a_word_is_whole_and_its_signs_mean_themselves():
    texts = ["A dull film", "a dullard", "Dull.", "what?", "what (x)", ".*"]
    audit = rows_of(*[("a", "a", 0.0, text) for text in texts])
    assert select(audit, Selection(word="dull")).tolist() == [0, 2]
    assert select(audit, Selection(word="(x)")).tolist() == [4]
    assert select(audit, Selection(word=".*")).tolist() == [5]


def test_signs_and_scripts_without_spaces_stand_by_themselves():
    texts = ["great!", "!", "很好的电影", "naïve", "na ïve"]
    audit = rows_of(*[("a", "a", 0.0, text) for text in texts])
    assert select(audit, Selection(word="!")).tolist() == [0, 1]
    assert select(audit, Selection(word="好")).tolist() == [2]
    assert select(audit, Selection(word="naïve")).tolist() == [3]


def test_a_hostile_interval_is_refused_at_once():
    with pytest.raises(DataError, match="expected a column and an interval"):
        Within.parse("x:[" + " " * 20_000 + "," + " " * 20_000 + "x")


def test_an_unknown_column_is_named_with_the_nearest():
    for selection in (Selection(sort="max_weigth"), Selection(where=(Within("max_weigth"),))):
        with pytest.raises(UnknownName, match=r"no column 'max_weigth'\. Did you mean 'max_w"):
            select(made_audit(), selection)


def behinds(audit: Audit) -> list[tuple[dict, str]]:
    """Every row of every chart that stands for documents, and the query that says which."""
    found = [figure.chart.to_dict(validate=False) for _, figure in charts({"run": audit})]
    rows = [row for chart in found for table in chart["datasets"].values() for row in table]
    return [(row, row["behind"]) for row in rows if row.get("behind") is not None]


def counted(audit: Audit) -> int:
    """How many rows say their number of documents; each selects exactly so many."""
    rows = [(row, behind) for row, behind in behinds(audit) if "documents" in row]
    for row, behind in rows:
        assert len(select(audit, read(behind))) == row["documents"], (row, behind)
    return len(rows)


@pytest.mark.parametrize("audit", [made_audit(), made_audit(0.9, 30, 1), hostile_audit()])
def test_every_mark_leads_to_as_many_documents_as_it_stands_for(audit):
    assert counted(audit) > 100


def test_queries_are_plain_text_that_json_can_hold():
    found = behinds(hostile_audit())
    assert found
    for _, behind in found:
        assert json.loads(json.dumps(behind)) == behind
        assert behind.isascii()
