"""What a grid may say, and the sentence for everything else."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import ConfigError, HeedfulError
from heedful.sweeps.grid import Data, Grid
from heedful.sweeps.keys import FAMILIES, FIELDS, OPTIONS, Key, with_keys
from heedful.sweeps.steps import AuditStep
from heedful.training.settings import STAGE_OF, Settings


def test_a_grid_is_read_as_it_is_written():
    Path("g.toml").write_text(
        """
        data = ["planted", {source = "a.csv", text = "body", label = "stars"}]
        seeds = [1, 2]
        profile = "sun-lu"
        [model]
        dropout = 0.1
        [[variants]]
        name = "add"
        alignment = {name = "additive", scale = 2.0}
        encoder.hidden_size = 5
        [axes]
        patience = ["none", 3]
        alignment.scale = [0.1, 1]
        "training.recipe" = ["standard:epochs=2"]
        [audit]
        documents = 50
        ask = ["telling"]
        """
    )
    grid = Grid.read(Path("g.toml"))
    assert grid.data == (Data("planted"), Data("a.csv", "body", "stars"))
    assert grid.axes == {
        Key("patience"): (None, 3),
        Key("alignment", "scale"): (0.1, 1),
        Key("recipe"): ("standard:epochs=2",),
    }
    member = {"name": "additive", "scale": 2.0}
    assert grid.variants == {"add": {Key("alignment"): member, Key("encoder", "hidden_size"): 5}}
    assert grid.audit == AuditStep(documents=50, ask=("telling",))
    assert grid.cells == 2 * 1 * 2 * 2 * 1 * 2
    assert grid.base("words").model.dropout == 0.1
    assert grid.base("words").model.embedding_bound == 0.1  # of the profile


BAD = [
    ({"axis": {}}, "a grid has no key named 'axis'. Did you mean 'axes'? Known: data, seeds,"),
    ({"encoder": "gru"}, "encoder is a setting: write it in the table [model], or in [axes]"),
    ({"data": None}, "the grid has no data."),
    ({"data": []}, "data is empty."),
    ({"data": [3]}, 'data should be a string, as in "reviews.csv"'),
    ({"data": {"source": "a.csv", "txt": "b"}}, "data: no option named 'txt'. Did you mean 'text'"),
    ({"data": ["a", "a"]}, "data: 'a' is given twice"),
    ({"seeds": []}, "seeds should be a list of whole numbers, as in [1, 2, 3], not []."),
    ({"seeds": [1, "2"]}, "seeds: each should be a whole number, not '2'."),
    ({"seeds": [-1]}, "seeds: each should be from 0 to below 4294967296, not -1."),
    ({"seeds": [1, 1]}, "seeds: 1 is given twice. Give it once."),
    ({"profile": "sun"}, "no profile named 'sun'. Did you mean 'sun-lu'?"),
    ({"model": {"dropuot": 0.1}}, "[model] no option named 'dropuot'. Did you mean 'dropout'?"),
    ({"model": {"dropout": "much"}}, "[model] dropout should be a finite number, not 'much'."),
    ({"axes": []}, "axes should be a table of settings, not []."),
    ({"axes": {"dropuot": [0.1]}}, "axes: no setting named 'dropuot'. Did you mean 'dropout'?"),
    ({"axes": {"scale": [1]}}, "axes: no setting named 'scale'. Did you mean 'alignment.scale'?"),
    (
        {"axes": {"alignment.scael": [1]}},
        "axes: no alignment has an option 'scael'. Did you mean 'scale'? Known: width,",
    ),
    ({"axes": {"dropout.x": [1]}}, "axes: dropout has no options, so 'dropout.x' does not exist."),
    ({"axes": {"text.dropout": [0.1]}}, "axes: dropout belongs in [model], not in [text]."),
    ({"axes": {"dropout": []}}, "axes: dropout has no values. Give at least one, or drop the axis"),
    ({"axes": {"dropout": 0.5}}, "axes: dropout should be a list of values, not 0.5. Write [0.5]."),
    ({"axes": {"dropout": [0.1, "x"]}}, "axes: dropout should be a finite number, not 'x'."),
    ({"axes": {"dropout": [0.1, 0.1]}}, "axes: dropout: 0.1 is given twice"),
    ({"axes": {"dropout": [1], "model.dropout": [0]}}, "axes: dropout is given twice."),
    ({"axes": {"batch_size": [True]}}, "axes: batch_size should be a whole number, not True."),
    ({"axes": {"seed": [1]}}, "axes: write seeds above the tables instead: seeds = [1, 2, 3]."),
    (
        {"axes": {"encoder": ["bilstn"]}},
        "axes: encoder = 'bilstn': no encoder named 'bilstn'. Did you mean 'bilstm'?",
    ),
    ({"axes": {"alignment": [3]}}, "axes: alignment = 3: 3 is not a known alignment"),
    ({"variants": []}, "variants should be tables"),
    ({"variants": [{"encoder": "gru"}]}, "variant 1 has no name."),
    ({"variants": [{"name": "a"}, {"name": "a"}]}, "two variants are named 'a'."),
    ({"variants": [{"name": "a", "dropout": "x"}]}, "variant 'a': dropout should be a finite"),
    ({"audit": True}, "audit should be a table, [audit], not True."),
    ({"audit": {"docs": 3}}, "audit: no option named 'docs'. Did you mean 'documents'?"),
    ({"audit": {"documents": 0}}, "audit: documents should be at least 1, not 0."),
    ({"audit": {"ask": ["teling"]}}, "audit: no question named 'teling'. Did you mean 'telling'?"),
    ({"audit": {"part": "all"}}, "audit: part should be 'test' or 'dev' or 'train', not 'all'."),
]


@pytest.mark.parametrize(("plain", "sentence"), BAD, ids=[sentence for _, sentence in BAD])
def test_a_bad_grid_is_refused_with_a_sentence(plain, sentence):
    with pytest.raises(HeedfulError, match=re.escape(sentence)):
        Grid.from_plain({"data": "planted", **plain})


def test_what_is_no_file_or_no_toml_is_refused():
    with pytest.raises(ConfigError, match=r"no grid at g\.toml"):
        Grid.read(Path("g.toml"))
    Path("g.toml").write_text("data = [")
    with pytest.raises(ConfigError, match=r"g\.toml is not a TOML file"):
        Grid.read(Path("g.toml"))


def test_too_many_cells_are_refused_with_the_sum():
    plain = {"data": "planted", "seeds": [1, 2, 3], "axes": {"dropout": [0.0, 0.1]}}
    grid = Grid.from_plain(plain)
    grid.check_size(6)
    sentence = r"has 6 cells \(1 data x 1 variants x 2 dropout x 3 seeds\), more than 5\. Give --max-cells 6"  # noqa: E501
    with pytest.raises(ConfigError, match=sentence):
        grid.check_size(5)


AXES = {
    "dropout": st.floats(0, 0.9),
    "batch_size": st.integers(1, 500),
    "alignment.scale": st.floats(0.01, 100),
    "recipe.epochs": st.integers(1, 90),
    "projection": st.sampled_from(["softmax", "sparsemax", "entmax"]),
    "output_bias": st.booleans(),
}


@st.composite
def axes(draw):
    names = draw(st.lists(st.sampled_from(list(AXES)), unique=True))
    return {name: draw(st.lists(AXES[name], min_size=1, max_size=3, unique=True)) for name in names}


@given(axes())
def test_combinations_are_the_product_and_every_value_arrives_where_it_belongs(axes):
    grid = Grid.from_plain({"data": "planted", "axes": axes})
    combinations = list(grid.combinations())
    assert len(combinations) == grid.cells == math.prod(map(len, axes.values()))
    for _, _, values in combinations:
        flat = with_keys(grid.base("words"), values)
        for key, value in values.items():
            held = getattr(getattr(flat, STAGE_OF[key.setting]), key.setting)
            if key.option is not None:
                assert getattr(held, key.option) == value
            elif key.setting == "projection":
                assert FAMILIES["projection"].name_of(held) == value
            else:
                assert held == value
    assert len({str(sorted(map(str, v.items()))) for _, _, v in combinations}) == len(combinations)


@given(st.sampled_from([(s, o) for s, options in OPTIONS.items() for o in [None, *options]]))
def test_every_key_can_be_written_with_and_without_its_table(pair):
    key = Key(*pair)
    assert Key.parse(str(key), "axes") == key
    assert Key.parse(f"{STAGE_OF[key.setting]}.{key}", "axes") == key


def test_every_setting_is_a_key_and_none_stands_for_none():
    for name in FIELDS:
        assert Key.parse(name, "axes") == Key(name)
    assert Key("vectors").checked("none", "axes") is None
    assert with_keys(Settings(), {Key("alignment", "width"): "none"}).model.alignment.width is None


def test_an_option_that_the_member_has_not_is_refused():
    with pytest.raises(ConfigError, match=r"alignment 'dot' has no option 'width'\. Known: scale"):
        with_keys(Settings(), {Key("alignment"): "dot", Key("alignment", "width"): 3})
