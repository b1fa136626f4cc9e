import pytest

from heedful.errors import ConfigError, UnknownName
from heedful.papers.measures import measures
from heedful.papers.paper import load_paper, paper_names, read_paper, with_vectors
from heedful.sweeps.grid import Grid


@pytest.fixture(autouse=True)
def vectors(monkeypatch):
    monkeypatch.setenv("HEEDFUL_VECTORS", "vectors.txt")


@pytest.mark.parametrize("name", paper_names())
@pytest.mark.parametrize("is_quick", [False, True])
def test_every_paper_can_be_run_as_it_is_written(name, is_quick):
    paper = load_paper(name)
    assert paper.about.startswith("# ")
    for experiment in paper.experiments.values():
        plan = experiment.asked(is_quick)
        if experiment.measure is None:
            grid = Grid.from_plain(with_vectors(plan))
            assert grid.cells > 0
            known = {"data", "variant", *map(str, grid.axes)}
        else:
            assert experiment.measure in measures
            known = {"data", "class", "arm", "kind"}
        for one in paper.published.get(experiment.key, ()):
            assert one.number.of or set(one.where) <= known, one
            assert one.tolerance >= 0
        for claim in paper.claims.get(experiment.key, ()):
            forms = [claim.cells, claim.higher, claim.at]
            assert sum(form is not None for form in forms) == 1, claim.says
            assert (claim.lower is None) == (claim.higher is None), claim.says
            wheres = [claim.cells or {}, claim.higher or {}, claim.lower or {}, claim.at or {}]
            assert claim.number.of or set().union(*wheres, claim.each) <= known, claim.says


def test_every_published_number_names_a_cell_of_its_grid():
    for name in paper_names():
        paper = load_paper(name)
        for key, numbers in paper.published.items():
            experiment = paper.experiments[key]
            if experiment.measure is not None:
                continue
            grid = Grid.from_plain(with_vectors(experiment.asked()))
            values = {
                "data": {data.source for data in grid.data},
                "variant": set(grid.variants),
                **{str(axis): set(of) for axis, of in grid.axes.items()},
            }
            for one in numbers:
                for column, value in one.where.items():
                    if column in values or not one.number.of:
                        assert value in values[column], (name, key, one.where)


def test_the_numbers_of_sun_and_lus_table_2_are_all_there():
    numbers = load_paper("sun-lu").published["table-2"]
    assert len(numbers) == 7 * 16
    by_hand = {"data": "sst2_jw", "variant": "DP", "alignment.scale": 10.0}
    assert [one.value for one in numbers if one.where == by_hand] == [82.2]
    comparable = [one for one in numbers if not one.why_not]
    assert len(comparable) == 72


def test_an_experiment_has_other_names_and_says_which_vectors_it_lacks(monkeypatch):
    paper = load_paper("meister")
    assert paper.experiment("figure-3") is paper.experiments["table-2"]
    plan = paper.experiments["table-2"].asked()
    assert with_vectors(plan)["model"]["vectors"] == "vectors.txt"
    monkeypatch.delenv("HEEDFUL_VECTORS")
    with pytest.raises(ConfigError, match="Set HEEDFUL_VECTORS to a file"):
        with_vectors(plan)


def test_what_is_written_wrongly_is_refused():
    with pytest.raises(UnknownName, match="Did you mean 'sun-lu'"):
        load_paper("sun-lo")
    with pytest.raises(UnknownName, match=r"has no table-9 here\."):
        load_paper("sun-lu").experiment("table-9")
    runs = {"title": "T", "table-1": {"title": "x", "grid": {}}}
    with pytest.raises(ConfigError, match=r"speaks of 'table-2', which runs\.toml does not have"):
        read_paper("p", runs, {"table-2": {}}, "# P")
    with pytest.raises(ConfigError, match="either a grid or a measure"):
        read_paper("p", {"title": "T", "table-1": {"title": "x"}}, {}, "# P")
    block = {"columns": ["a"], "values": [[1, 2.0]]}
    numbers = {"row": "r", "column_of": "c", "column": "x", "tolerance": 1, "source": "R"}
    with pytest.raises(ConfigError, match="marked S, A or P, not 'R'"):
        read_paper("p", runs, {"table-1": {**numbers, "blocks": [block]}}, "# P")
