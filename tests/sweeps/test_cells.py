"""Cells of a grid: their settings, names and order."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import ConfigError, DataError
from heedful.sweeps.cells import cells_of
from heedful.sweeps.grid import Grid
from heedful.training.settings import profiles

SMALL = "planted:documents=60"


def cells(**plain):
    return cells_of(Grid.from_plain({"data": SMALL, **plain}))


def test_cells_come_in_the_order_of_the_grid_the_seed_fastest():
    variants = [{"name": "a", "encoder": "embedding"}, {"name": "b", "encoder": "affine"}]
    found = cells(variants=variants, axes={"dropout": [0.0, 0.1]}, seeds=[2, 1])
    assert [tuple(cell.record.values())[1:] for cell in found] == [
        *(("a", 0.0, 2), ("a", 0.0, 1), ("a", 0.1, 2), ("a", 0.1, 1)),
        *(("b", 0.0, 2), ("b", 0.0, 1), ("b", 0.1, 2), ("b", 0.1, 1)),
    ]
    assert found[0].label == "planted, a, dropout 0.0, seed 2"
    assert all(re.fullmatch(r"planted-[0-9a-f]{10}-seed[12]", cell.name) for cell in found)


def test_settings_add_up_profile_tables_variant_axes():
    (cell,) = cells(
        profile="sun-lu",
        model={"embedding_size": 7, "dropout": 0.3},
        training={"batch_size": 11},
        variants=[{"name": "v", "dropout": 0.2, "alignment": "additive", "alignment.width": 5}],
        axes={"dropout": [0.1], "alignment.scale": [3]},
    )
    model, training = cell.settings.model, cell.settings.training
    assert (model.embedding_size, model.dropout, training.batch_size) == (7, 0.1, 11)
    assert (model.alignment.width, model.alignment.scale) == (5, 3.0)
    assert training.optimizer == profiles["sun-lu"]().training.optimizer
    assert cell.settings.text.split == "spaces"  # of the corpus, as `heedful train` has it


def test_the_same_cell_has_the_same_name_in_every_grid():
    (plain,) = cells(model={"dropout": 0.25}, seeds=[3])
    by_axis = cells(axes={"dropout": [0.0, 0.25]}, seeds=[1, 3])
    assert [cell.name == plain.name for cell in by_axis] == [False, False, False, True]
    (other_data,) = cells(data="planted:documents=80", model={"dropout": 0.25}, seeds=[3])
    assert other_data.settings == plain.settings
    assert other_data.name != plain.name
    by_name = {cell.name.rpartition("-")[0] for cell in by_axis}
    assert len(by_name) == 2  # seeds share the digest


def test_the_same_documents_elsewhere_are_the_same_cell():
    rows = [{"text": f"word{n} x", "label": "ab"[n % 2]} for n in range(40)]
    for place in ("one", "two"):
        Path(place).mkdir()
        Path(place, "d.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (one,), (two,) = (cells_of(Grid.from_plain({"data": f"{p}/d.jsonl"})) for p in ("one", "two"))
    assert one.name == two.name
    assert two.source.facts["source"] == "two/d.jsonl"
    with pytest.raises(ConfigError, match=r"two cells are the same: \(d.jsonl, seed 1\) and"):
        cells_of(Grid.from_plain({"data": ["one/d.jsonl", "two/d.jsonl"]}))


@given(st.lists(st.floats(0.01, 100), min_size=2, max_size=4, unique=True))
def test_names_differ_where_settings_do(scales):
    names = [cell.name for cell in cells(axes={"alignment.scale": scales})]
    assert len(set(names)) == len(scales)


def test_two_ways_to_write_one_cell_are_refused():
    sentence = r"two cells are the same: .*alignment additive, seed 1.* and .*additive:scale=1"
    with pytest.raises(ConfigError, match=sentence):
        cells(axes={"alignment": ["additive", "additive:scale=1"]})


def test_an_option_that_does_not_fit_names_its_cell():
    sentence = (
        r"the cell with alignment.scale = 'x': alignment 'additive': scale should be a finite"
    )
    with pytest.raises(ConfigError, match=sentence):
        cells(axes={"alignment.scale": ["x"]})
    with pytest.raises(ConfigError, match=r"the cell with variant 'd', .*'dot' has no option"):
        cells(variants=[{"name": "d", "alignment": "dot"}], axes={"alignment.width": [3]})


def test_documents_that_are_not_there_are_refused():
    with pytest.raises(DataError, match=r"data = 'gone.csv': no such file or folder: gone.csv"):
        cells_of(Grid.from_plain({"data": "gone.csv"}))
    with pytest.raises(DataError, match=r"data = 'plantet': no corpus .*Did you mean 'planted'"):
        cells_of(Grid.from_plain({"data": "plantet"}))
    with pytest.raises(DataError, match="audit: planted:documents=9 has no test part"):
        cells_of(Grid.from_plain({"data": "planted:documents=9", "audit": {}}))


def test_a_variants_seed_holds_where_the_grid_names_none():
    variants = [{"name": "a", "seed": 5}, {"name": "b"}]
    assert [cell.settings.training.seed for cell in cells(variants=variants)] == [5, 1]
