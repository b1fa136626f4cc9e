"""A setting is declared once, in its stage: the estimator and the commands have the same."""

import dataclasses
import inspect
import json
import typing
from pathlib import Path
from typing import Literal

import pytest

from heedful.cli.train import train
from heedful.config import to_plain
from heedful.estimator import Classifier
from heedful.training.settings import STAGE_OF, STAGES, Settings

FIELDS = {f.name: f for stage in STAGES.values() for f in dataclasses.fields(stage)}
TYPES = {
    name: kind for stage in STAGES.values() for name, kind in typing.get_type_hints(stage).items()
}
FLAGS = {n: p for n, p in inspect.signature(train).parameters.items() if n in STAGE_OF}
FLAGS.pop("output")  # of `train`: the run folder


@pytest.mark.parametrize("name", STAGE_OF)
def test_every_setting_is_a_parameter_of_the_estimator_with_its_default(name):
    given = inspect.signature(Classifier).parameters[name].default
    family = FIELDS[name].metadata.get("family")
    usual = FIELDS[name].default_factory() if family else FIELDS[name].default
    assert (family.make(given) if family else given) == usual


@pytest.mark.parametrize("name", [n for n in STAGE_OF if "family" not in FIELDS[n].metadata])
def test_the_estimator_takes_the_default_from_the_settings(name):
    stage = STAGES[STAGE_OF[name]].__name__
    assert f"= {stage}.{name}\n" in inspect.getsource(Classifier)


@pytest.mark.parametrize("name", FLAGS)
def test_a_flag_of_train_has_no_default_of_its_own_and_the_type_of_its_setting(name):
    is_word = "family" in FIELDS[name].metadata or typing.get_origin(TYPES[name]) is Literal
    kind = str if is_word else TYPES[name]
    assert FLAGS[name].default is None
    assert typing.get_args(FLAGS[name].annotation)[0] == kind | None


def test_every_setting_can_be_set_by_name_on_the_command_line(heedful):
    words = {name: _as_word(value) for name, value in Settings().flat().items()}
    assigned = [part for name, word in words.items() for part in ("--set", f"{name}={word}")]
    answer = heedful("train", "planted:documents=120", "-o", "run", "--epochs", 1, *assigned)
    assert answer.code == 0, answer.err
    kept = json.loads(Path("run/config.json").read_text())
    assert kept["model"] == to_plain(Settings().model)
    assert kept["text"] == to_plain(Settings().text)


def _as_word(value: object) -> str:
    return str(value).lower() if value is None or isinstance(value, bool) else str(value)
