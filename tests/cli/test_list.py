import json

import pytest

from heedful.cli.list_families import families
from heedful.training.settings import STAGE_OF


@pytest.mark.parametrize("family", families())
def test_every_member_is_listed_with_a_sentence(heedful, family):
    answer = heedful("list", family)
    assert answer.code == 0
    for name in families()[family]:
        assert f"  {name} " in answer.out
    listed = json.loads(heedful("list", family, "--json").out)[family]
    assert all(member["summary"].endswith((".", ")")) for member in listed if member["summary"])
    assert all(member["summary"] for member in listed)


def test_all_families_are_listed_at_once(heedful):
    answer = heedful("list")
    titles = [line for line in answer.out.splitlines() if line and line[0] != " "]
    assert titles == [*families(), "papers"]


def test_papers_are_listed_with_what_can_be_done_again(heedful):
    answer = heedful("list", "papers")
    assert "  sun-lu " in answer.out
    assert "table-2=Test accuracy of four models" in answer.out


def test_an_unknown_family_is_answered_with_the_nearest(heedful):
    answer = heedful("list", "encoder")
    assert answer.code == 2
    assert "no family named 'encoder'. Did you mean 'encoders'?" in answer.err


def test_corpora_of_a_data_folder_are_listed(heedful, tmp_path):
    (tmp_path / "data" / "mine").mkdir(parents=True)
    (tmp_path / "data" / "mine" / "train.csv").write_text("text,label\n")
    assert "  mine " in heedful("list", "corpora", "--data-dir", tmp_path / "data").out
    answer = heedful("list", "corpora", "--data-dir", "nowhere")
    assert answer.code == 2
    assert "no data folder at nowhere" in answer.err


def test_every_setting_is_listed_with_its_default(heedful):
    answer = heedful("list", "settings")
    assert "patience" in answer.out
    rows = json.loads(heedful("list", "settings", "--json").out)
    assert {row["name"] for row in rows} == set(STAGE_OF)
    by_name = {row["name"]: row for row in rows}
    assert by_name["max_words"]["default"] == 500
    assert by_name["max_words"]["meaning"] == "maximum number of words; longer documents are cut"


def test_help_and_version_answer(heedful):
    assert "train" in heedful("--help").out
    assert heedful("--version").out.startswith("heedful ")


def test_the_words_of_an_audit_are_listed_with_what_they_mean(heedful):
    answer = heedful("list", "terms")
    assert answer.code == 0, answer.err
    assert "decisive: Whether the prediction changes" in answer.out
