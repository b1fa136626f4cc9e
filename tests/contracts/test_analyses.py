"""Rules that every analysis keeps, new ones included; tests/cli/test_analyse.py runs them all."""

import pytest

from heedful.analysis.instruments import analyses
from heedful.analysis.instruments.base import OfHistory, OfRun, OfTraining
from heedful.cli.analyse import _arguments
from heedful.errors import UsageError
from heedful.training.settings import profiles

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
    kinds = [kind for kind in (OfTraining, OfRun, OfHistory) if isinstance(analysis, kind)]
    assert len(kinds) == 1
    if isinstance(analysis, OfTraining):
        assert analysis.profile in profiles
        assert isinstance(analysis.needs_data, bool)
    if isinstance(analysis, OfRun):
        assert analysis.part in ("train", "dev", "test", None)


@every_analysis
def test_an_analysis_that_is_given_something_else_says_how_it_is_asked(name):
    with pytest.raises(UsageError, match=f"{name} is asked like this: heedful analyse {name}"):
        _arguments(analyses.make(name), ["one", "two", "three"])
