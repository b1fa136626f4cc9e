"""Rules for every analysis: what it says of itself holds, and one file is all it takes."""

import inspect
import re
from pathlib import Path

import pytest

from heedful import plots
from heedful.analysis.instruments import analyses
from heedful.analysis.instruments.base import (
    Analysis,
    OfAttention,
    OfCorpus,
    OfHistory,
    OfRun,
    OfTraining,
)
from heedful.cli.analyse import _arguments
from heedful.errors import UsageError
from heedful.training.settings import profiles

DOCS = Path(__file__).parents[2] / "docs" / "analysis.md"
PARTS = {"train": "training", "dev": "dev", "test": "test"}


def usage(name: str, analysis: type[Analysis]) -> str:
    """An analysis as `heedful analyse` is asked for it."""
    if issubclass(analysis, OfCorpus):
        return f"{name} DATA"
    if issubclass(analysis, OfTraining):
        return f"{name} DATA" if analysis.needs_data else name
    if issubclass(analysis, OfAttention):
        return f"{name} RUN DATA"
    has_data = issubclass(analysis, OfRun) and analysis.part is not None
    return f"{name} RUN DATA" if has_data else f"{name} RUN"


def rows_of_the_docs() -> dict[str, str]:
    """The first table of docs/analysis.md: analysis -> what it looks at."""
    table = DOCS.read_text(encoding="utf-8").partition("| analysis |")[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", table, flags=re.MULTILINE))


def test_the_docs_list_every_analysis_as_it_is_asked_for():
    assert set(rows_of_the_docs()) == {usage(name, analyses[name]) for name in analyses}


@pytest.mark.parametrize("name", analyses)
def test_the_docs_say_which_part_of_a_corpus_an_analysis_looks_at(name):
    analysis = analyses[name]
    if issubclass(analysis, OfRun) and analysis.part is not None:
        looks_at = rows_of_the_docs()[usage(name, analysis)]
        assert looks_at == f"a run on the {PARTS[analysis.part]} part"


@pytest.mark.parametrize("name", analyses)
def test_an_analysis_knows_its_own_name_and_question(name):
    assert analyses[name].name == name
    assert analyses[name].asks.endswith("?")


@pytest.mark.parametrize("name", analyses)
def test_every_figure_of_an_analysis_can_be_drawn(name):
    for figure in analyses[name].figures:
        assert figure.draw in plots.__all__
        inspect.signature(getattr(plots, figure.draw)).bind("rows", **figure.options)


every_analysis = pytest.mark.parametrize("name", analyses)


@every_analysis
def test_an_analysis_asks_a_question_under_its_name(name):
    analysis = analyses.make(name)
    assert analysis.name == name
    assert analysis.asks.endswith("?")
    assert analysis.asks[0].isupper()


@every_analysis
def test_an_analysis_looks_at_one_kind_of_thing_and_says_which(name):
    analysis = analyses.make(name)
    every_kind = (OfCorpus, OfTraining, OfRun, OfAttention, OfHistory)
    assert sum(isinstance(analysis, kind) for kind in every_kind) == 1
    if isinstance(analysis, OfTraining):
        assert analysis.profile in profiles
        assert isinstance(analysis.needs_data, bool)
    if isinstance(analysis, OfRun):
        assert analysis.part in ("train", "dev", "test", None)


@every_analysis
def test_an_analysis_that_is_given_something_else_says_how_it_is_asked(name):
    with pytest.raises(UsageError, match=f"expected `heedful analyse {name}"):
        _arguments(analyses.make(name), ["one", "two", "three"])
