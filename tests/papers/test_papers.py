import pytest

from heedful.errors import ConfigError, UnknownName
from heedful.model.outputs import BottleneckOutput
from heedful.papers.claims import test_claims
from heedful.papers.measures import measures
from heedful.papers.paper import load_paper, paper_names, read_paper, with_vectors
from heedful.sweeps.grid import Grid
from heedful.sweeps.keys import with_keys


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
            known = {"data", "class", "arm", "kind", "of", "scale"}
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


@pytest.mark.parametrize("key", ["vat", "sentiment", "iterations"])
def test_zhous_models_start_alike_and_end_in_the_same_head(key):
    grid = Grid.from_plain(with_vectors(load_paper("zhou").experiments[key].asked()))
    base = grid.base("words")
    heads = set()
    for _, changes, values in grid.combinations():
        settings = with_keys(base, {**changes, **values})
        assert settings.model.weight_bound == settings.model.embedding_bound == 0.1
        output = settings.model.output.build(10, 2, settings.model.output_bias)
        heads.add(str(output.learner if isinstance(output, BottleneckOutput) else output))
        if isinstance(output, BottleneckOutput):
            assert settings.training.recipe.learner_holds == "parameters"
    assert len(heads) == 1


def test_zhous_tables_and_figures_lead_to_what_they_show():
    paper = load_paper("zhou")
    names = {
        "vat": ["table-2", "table-3", "table-4", "figure-3", "figure-4", "figure-5"],
        "sentiment": ["table-5"],
        "iterations": ["table-6", "figure-6"],
    }
    for key, others in names.items():
        assert [paper.experiment(name).key for name in others] == [key] * len(others)
    assert "sentence-vectors" in paper.experiment("figure-3").asked()["analyse"]


def test_an_unknown_table_or_figure_is_told_which_are_known():
    sentence = (
        r"zhou has no figure-2 here\..* Known: vat \(tables 2, 3, 4, figures 3, 4, 5\), "
        r"sentiment \(table 5\), iterations \(table 6, figure 6\), bert, bert-sentiment\."
    )
    with pytest.raises(UnknownName, match=sentence):
        load_paper("zhou").experiment("figure-2")


@pytest.mark.parametrize("name", paper_names())
def test_no_two_experiments_of_a_paper_share_a_name(name):
    experiments = load_paper(name).experiments.values()
    names = [each for one in experiments for each in (one.key, *one.also)]
    assert len(names) == len(set(names))


def test_tutek_and_snajders_adversaries_are_compared_at_the_same_distance():
    paper = load_paper("tutek-snajder")
    for key, experiment in paper.experiments.items():
        assert len(experiment.asked()["audit"]["settings"]["adversary_weights"]) >= 4
        about = [claim for claim in paper.claims[key] if "harder to replace" in claim.says]
        assert about
        for claim in about:
            assert claim.number.of == "audit.matched"
            assert "at_jsd" in claim.each
    assert ":layers=2" in paper.experiments["layers"].asked()["model"]["encoder"]


def test_meisters_table_1_has_its_standard_deviations():
    numbers = load_paper("meister").published["table-1"]
    spreads = [one for one in numbers if "sd_of" in one.number.column]
    assert len(spreads) == 12
    by_hand = {"data": "sst2_jw", "variant": "BiLSTM sparsemax"}
    assert [one.value for one in spreads if one.where == by_hand] == [0.07]


def test_sun_and_lus_penalty_is_tested_where_the_scale_is_large():
    paper = load_paper("sun-lu")
    assert paper.experiments["penalty"].asked()["axes"]["alignment.scale"] == [10.0, 100.0, 1000.0]
    assert all("alignment.scale" in claim.each for claim in paper.claims["penalty"])


def test_sun_and_lus_scores_are_of_all_four_corpora():
    paper = load_paper("sun-lu")
    corpora = paper.experiments["scores"].asked()["data"]
    assert set(corpora) == set(paper.experiments["table-2"].asked()["data"])
    asked = [claim.where["data"] for claim in paper.claims["scores"]]
    assert {"20news_3class"} == {where for where in asked if isinstance(where, str)}


def test_statistics_are_a_row_per_corpus_and_number():
    rows = measures["statistics"]({"data": ["planted"]}).rows
    numbers = {row["of"]: row["number"] for row in rows}
    parts = [numbers[f"documents, {part}"] for part in ("train", "dev", "test")]
    assert numbers["documents, all"] == sum(parts)
    assert numbers["mean words"] == 12  # ten neutral words and two that decide
    published = {one.where["of"] for one in load_paper("sun-lu").published["statistics"]}
    assert published <= set(numbers)


def test_the_claims_about_terms_find_what_they_speak_of_at_every_scale():
    planted = "planted:documents=300"
    options = {"data": [planted], "seeds": [1, 2], "scales": [1.0, 10.0, 100.0], "epochs": 1}
    measured = measures["gradient-flow"]({**options, "profile": "sun-lu-planted"})
    rows, setup = measured.rows, measured.setup["all runs"]
    assert setup["alignment"] == ", ".join(
        f"dot:scale={one}:start=none" for one in (1.0, 10.0, 100.0)
    )
    assert setup["recipe"] == "standard:epochs=1"
    assert "seed" not in setup
    found = test_claims({"": rows}, load_paper("sun-lu").claims["gradient-flow-planted"])
    assert [one.claim.says for one in found if one.found is None] == []
    for row in rows:
        # D = (V · W / scale) pi: its size does not know the sign of V · W
        assert abs(row["D_by_sign"]) == abs(row["D"])
        if row["kind"] == "positive":
            assert row["A_over_B"] == pytest.approx(abs(row["A"] / row["B"]))
