from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.config import check, parse, read_toml
from heedful.errors import ConfigError
from heedful.training.settings import STAGE_OF, STAGES, Settings, profiles


@pytest.mark.parametrize("profile", profiles)
def test_plain_settings_read_back_as_the_same_settings(profile):
    settings = profiles[profile]()
    assert Settings.from_plain(settings.plain()) == settings


def test_field_names_are_unique_over_all_stages():
    total = sum(len(cls.__dataclass_fields__) for cls in STAGES.values())
    assert total == len(STAGE_OF)


@given(st.integers(-(10**6), 10**6))
def test_a_number_on_the_command_line_means_that_number(number):
    assert parse(str(number), int, "n") == number
    assert parse(str(number), float | None, "n") == float(number)


@pytest.mark.parametrize(
    ("word", "annotation", "value"),
    [
        ("none", int | None, None),
        ("1e-3", float, 0.001),
        ("1+3+5", tuple[int, ...], (1, 3, 5)),
        ("no", bool, False),
        ("none", str | None, None),
        ("glove.txt", str | None, "glove.txt"),
    ],
)
def test_words_become_the_annotated_type(word, annotation, value):
    assert parse(word, annotation, "x") == value


def test_true_is_not_taken_for_the_number_one():
    with pytest.raises(ConfigError, match="n should be a whole number, not True"):
        check(True, int, "n")


@pytest.mark.parametrize(
    ("plain", "sentence"),
    [
        ({"txt": {}}, "no settings table named 'txt'. Did you mean 'text'?"),
        ({"text": 3}, "text should be a table of settings, not 3."),
        ({"text": {"max_word": 3}}, "[text] no option named 'max_word'. Did you mean 'max_words'?"),
        ({"training": {"patience": 0}}, "patience should be at least 1"),
        ({"model": {"pooling": "sum"}}, "[model] pooling should be 'attention' or 'mean'"),
        ({"model": {"encoder": "bilsmt"}}, "no encoder named 'bilsmt'. Did you mean 'bilstm'?"),
        ({"model": {"dropout": 1.0}}, "dropout should be from 0 to below 1"),
        ({"text": {"max_words": 0}}, "max_words should be at least 1, not 0."),
        ({"text": {"min_documents": 0}}, "min_documents should be at least 1, not 0."),
    ],
)
def test_a_wrong_setting_is_refused_with_a_sentence(plain, sentence):
    with pytest.raises((ConfigError, KeyError)) as error:
        Settings.from_plain(plain)
    assert sentence in str(error.value)


def test_a_file_that_is_no_toml_is_refused(tmp_path: Path):
    (tmp_path / "bad.toml").write_text("a = = 3")
    with pytest.raises(ConfigError, match=r"bad\.toml is not a TOML file"):
        read_toml(tmp_path / "bad.toml")
