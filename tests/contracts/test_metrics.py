"""Rules that every metric keeps, new ones included."""

import inspect
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.auditing.metrics import metrics, rows

every_metric = pytest.mark.parametrize("name", metrics)
TOKEN_ROWS = {
    "first", "second", "weights", "importance", "states", "is_token", "is_marked", "is_chosen",
}  # fmt: skip


def draw_arguments(seed: int, examples: int = 7) -> dict[str, np.ndarray]:
    """One value for each parameter name that metrics use; some rows short, empty or full of ties.

    A new metric that takes something else adds it here.
    """
    rng = np.random.default_rng(seed)
    tokens, steps = rng.integers(1, 12), rng.integers(1, 6)
    is_token = np.arange(tokens) < rng.integers(0, tokens + 1, examples)[:, None]

    def distributions() -> np.ndarray:
        sparse = rng.dirichlet(np.full(tokens, 0.2), size=examples) * is_token
        sparse[np.arange(examples), is_token.argmax(axis=1)] += 0.05
        sparse *= is_token
        return sparse / np.maximum(sparse.sum(axis=1, keepdims=True), 1e-300)

    def of_steps(draw) -> dict[str, np.ndarray]:
        return {
            f"{name}_when_{change}": draw((examples, steps))
            for name in ("probability", "prediction")
            for change in ("erased", "kept")
            if name in draw.__name__
        }

    def probability(shape) -> np.ndarray:
        return rng.random(shape)

    def prediction(shape) -> np.ndarray:
        return rng.integers(0, 3, shape)

    return {
        "first": distributions(),
        "second": distributions(),
        "weights": distributions(),
        "importance": rng.normal(size=(examples, tokens)).round(rng.integers(0, 3)),
        "is_token": is_token,
        "states": rng.normal(size=(examples, tokens, 3)),
        "is_marked": rng.random((examples, tokens)) < 0.4,
        "is_chosen": rng.random((examples, tokens)) < 0.4,
        "k": rng.integers(1, 8, examples),
        "label": prediction(examples),
        "prediction": prediction(examples),
        "probability": probability(examples),
        **of_steps(probability),
        **of_steps(prediction),
        "is_flipped": rng.random((examples, steps)) < 0.3,
        "share_erased": np.sort(rng.random((examples, steps)), axis=1),
    }


def arguments_of(name: str, drawn: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    parameters = inspect.signature(metrics[name].compute).parameters.values()
    return {p.name: drawn[p.name] for p in parameters if p.default is p.empty}


@every_metric
@given(seed=st.integers(0, 2**32 - 1))
def test_values_lie_within_the_bounds_or_are_nan(name, seed):
    metric = metrics[name]
    values = metric.compute(**arguments_of(name, draw_arguments(seed)))
    low, high = metric.bounds
    assert values.dtype == np.float64
    assert ((low <= values) & (values <= high) | np.isnan(values)).all()


@pytest.mark.parametrize(
    "name", [n for n in metrics if "is_token" in inspect.signature(metrics[n].compute).parameters]
)
def test_a_text_without_words_cannot_be_asked(name):
    drawn = draw_arguments(1)
    drawn["is_token"] = np.zeros_like(drawn["is_token"])
    assert np.isnan(metrics[name].compute(**arguments_of(name, drawn))).all()


@every_metric
@given(seed=st.integers(0, 2**32 - 1))
def test_reordering_examples_reorders_the_values_and_nothing_else(name, seed):
    arguments = arguments_of(name, draw_arguments(seed))
    order = np.random.default_rng(seed).permutation(7)
    reordered = metrics[name].compute(**{key: a[order] for key, a in arguments.items()})
    expected = metrics[name].compute(**arguments)[order]
    # Products of matrices may add the last rows of a block up in another order than the first.
    np.testing.assert_allclose(reordered, expected, rtol=1e-12, atol=1e-14)


@every_metric
@given(seed=st.integers(0, 2**32 - 1), columns=st.integers(1, 9))
def test_padding_changes_nothing(name, seed, columns):
    arguments = arguments_of(name, draw_arguments(seed))
    padded = {
        key: np.pad(a, [(0, 0), (0, columns), (0, 0)][: a.ndim]) if key in TOKEN_ROWS else a
        for key, a in arguments.items()
    }
    np.testing.assert_allclose(
        metrics[name].compute(**padded), metrics[name].compute(**arguments), atol=1e-12
    )


@every_metric
@given(seed=st.integers(0, 2**32 - 1))
def test_working_in_chunks_changes_nothing(name, seed):
    arguments = arguments_of(name, draw_arguments(seed))
    at_once = metrics[name].compute(**arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "CELLS_AT_ONCE", 25)
        in_chunks = metrics[name].compute(**arguments)
    np.testing.assert_allclose(in_chunks, at_once, atol=1e-15)


@every_metric
def test_arguments_are_left_as_they_were(name):
    arguments = arguments_of(name, draw_arguments(0))
    before = {key: a.copy() for key, a in arguments.items()}
    metrics[name].compute(**arguments)
    for key, array in arguments.items():
        np.testing.assert_array_equal(array, before[key])


@every_metric
def test_no_examples_give_no_values(name):
    arguments = arguments_of(name, draw_arguments(0))
    assert metrics[name].compute(**{key: a[:0] for key, a in arguments.items()}).shape == (0,)


@every_metric
def test_single_precision_is_taken_and_answered_closely(name):
    arguments = arguments_of(name, draw_arguments(3))
    single = {k: a.astype(np.float32) if a.dtype == float else a for k, a in arguments.items()}
    values = metrics[name].compute(**single)
    # Rounding may tie two values or move an infinity, so most rows, not all, must agree.
    is_close = np.isclose(values, metrics[name].compute(**arguments), atol=1e-5, equal_nan=True)
    assert is_close.mean() > 0.7


@every_metric
def test_a_metric_says_how_to_read_it(name):
    metric = metrics[name]
    assert metric.name == name
    assert metric.better in ("higher", "lower", "neither")
    assert metrics.summary(name) == metric.compute.__doc__.partition("\n")[0]


def test_metrics_and_summaries_know_nothing_of_torch():
    code = "import sys, heedful.auditing.metrics, heedful.auditing.bootstrap; print(*sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "sklearn", "heedful.model"} & set(out.stdout.split())
