"""Rules that every profile keeps, new ones included."""

import json

import pytest

from heedful.model.build import ModelSettings
from heedful.text.tokenize import TextSettings
from heedful.training.fit import TrainingSettings
from heedful.training.settings import STAGE_OF, Settings, profiles

every_profile = pytest.mark.parametrize("name", profiles)


@every_profile
def test_a_profile_is_settings_of_every_stage(name):
    settings = profiles.make(name)()
    assert isinstance(settings.text, TextSettings)
    assert isinstance(settings.model, ModelSettings)
    assert isinstance(settings.training, TrainingSettings)
    assert settings.flat().keys() == STAGE_OF.keys()


@every_profile
def test_a_profile_is_written_as_tables_and_read_back(name):
    settings = profiles.make(name)()
    written = json.loads(json.dumps(settings.plain()))
    assert Settings.from_plain(written) == settings
    assert Settings().with_tables(written) == settings


@every_profile
def test_a_profile_takes_changes_and_keeps_the_rest(name):
    settings = profiles.make(name)()
    changed = settings.with_(seed=7, encoder="lstm:hidden_size=3")
    assert changed.training.seed == 7
    others = {**changed.flat(), "seed": None, "encoder": None}
    assert others == {**settings.flat(), "seed": None, "encoder": None}


def test_no_two_profiles_are_the_same():
    made = [json.dumps(profiles.make(name)().plain(), sort_keys=True) for name in profiles]
    assert len(set(made)) == len(made)
