import enum
import functools
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import ConfigError
from heedful.jobs.fingerprint import digest, fingerprint
from heedful.jobs.job import Job
from heedful.training.settings import Settings
from tests.jobs import works


@dataclass(frozen=True)
class Pair:
    first: object
    second: object = None


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(plain, plain)
def test_digests_are_equal_when_values_are_and_only_then(one, other):
    # repr tells 1 from 1.0 and from True, which == does not; keys stand in no order
    def ordered(value):
        if isinstance(value, dict):
            return "{" + ",".join(sorted(f"{k!r}:{ordered(v)}" for k, v in value.items())) + "}"
        return f"[{','.join(map(ordered, value))}]" if isinstance(value, list) else repr(value)

    assert (digest(one) == digest(other)) == (ordered(one) == ordered(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ((1, 2), [1, 2]),
        ({"x", "y", "z"}, {"z", "y", "x"}),
        (np.float64(0.5), 0.5),
        (Path("a/b"), PurePosixPath("a/b")),
        (np.arange(6).reshape(2, 3).T, np.arange(6).reshape(2, 3).T.copy()),
        (Pair([1], Path("x")), Pair([1], Path("x"))),
        (Settings(), Settings.from_plain(Settings().plain())),
    ],
)
def test_the_same_content_has_the_same_digest(one, other):
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Path("a"), "a"),
        (b"a", "a"),
        ([["a"], "b"], ["a", ["b"]]),
        (["ab"], ["a", "b"]),
        (np.arange(4), np.arange(4).reshape(2, 2)),
        (np.arange(4), np.arange(4).astype(np.int32)),
        (np.array(["a", None], object), np.array(["b", None], object)),
        (Pair(1, 2), {"first": 1, "second": 2}),
        (Pair(1, 2), Pair(2, 1)),
        (Colour.RED, Colour.BLUE),
        (works.write, works.refuse),
        (Settings(), Settings().with_(seed=2)),
        (Settings(), Settings().with_(encoder="lstm")),
    ],
)
def test_other_content_has_another_digest(one, other):
    assert digest(one) != digest(other)


def test_another_process_finds_the_same_digest():
    # sets of strings have another order in every process
    code = "from heedful.jobs.fingerprint import digest; print(digest({*'heedful'}).hex())"
    for seed in "12":
        out = subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        )
        assert out.stdout.strip() == digest({*"heedful"}).hex()


def test_a_job_is_told_by_its_function_and_arguments_and_nothing_else():
    job = Job("a", works.write, {"text": "x", "work": 1})
    same = replace(job, name="b", after=("a",), memory=9.0)
    assert fingerprint(job, {}) == fingerprint(same, {})
    assert fingerprint(job, {}) != fingerprint(replace(job, work=works.refuse), {})
    assert fingerprint(job, {}) != fingerprint(replace(job, arguments={"text": "y", "work": 1}), {})


def test_an_argument_that_many_jobs_share_is_read_once():
    texts, known = ["a", "b"], {}
    first = fingerprint(Job("a", works.write, {"text": texts}), known)
    known[id(texts)] = "remembered"
    assert first.arguments["text"] != "remembered"
    again = fingerprint(Job("b", works.write, {"text": texts}), known)
    assert again.arguments["text"] == "remembered"


def test_what_has_no_stable_content_is_refused():
    with pytest.raises(ConfigError, match=r"job 'a', argument 'text': a object cannot be given"):
        fingerprint(Job("a", works.write, {"text": [object()]}), {})


@pytest.mark.parametrize("work", [lambda folder, tell: None, pytest.param(None, id="local")])
def test_work_that_cannot_be_imported_is_refused(work):
    def local(folder, tell):
        """Only this test sees it."""

    with pytest.raises(ConfigError, match=r"job 'a': .* cannot be imported by another process"):
        fingerprint(Job("a", work or local), {})
    with pytest.raises(ConfigError, match="job 'a': a partial cannot be given to a job"):
        fingerprint(Job("a", functools.partial(works.write)), {})
