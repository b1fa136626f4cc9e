"""Order, dependencies, budget and second tries, with an engine that does nothing by itself."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from heedful.errors import ConfigError, RunError, UnknownName
from heedful.jobs.budget import Budget
from heedful.jobs.engine import Died, Ended, Told
from heedful.jobs.job import Job
from heedful.jobs.progress import JobWatcher
from heedful.jobs.scheduler import run_jobs
from tests.jobs import works

ROOM = Budget(cores=2, memory=4.0)


@dataclass
class Script:
    """An engine that ends one running job per call, as written: None, a failure or a death."""

    ends: dict[str, list] = field(default_factory=dict)
    newest_first: bool = False
    running: list[Job] = field(default_factory=list)
    started: list[str] = field(default_factory=list)
    together: list[set[str]] = field(default_factory=list)
    is_stopped: bool = False

    def start(self, job, folder):
        self.running.append(job)
        self.started.append(job.name)
        self.folder = folder
        self.together.append({other.name for other in self.running})

    def wait(self):
        job = self.running.pop(-1 if self.newest_first else 0)
        end = self.ends.get(job.name, [])
        event = end.pop(0) if end else None
        is_death = isinstance(event, Died)
        return [Told(job.name, 0.5, "half"), event if is_death else Ended(job.name, event)]

    def stop(self):
        self.is_stopped = True


class Hearing(JobWatcher):
    def __init__(self):
        self.heard = []

    def begin(self, names, done_before):
        self.heard.append(("begin", len(names), len(done_before)))

    def begin_job(self, name):
        self.heard.append(("begins", name))

    def tell(self, name, fraction, words):
        self.heard.append((name, fraction, words))

    def lose_job(self, name, reason):
        self.heard.append((name, reason))

    def end_job(self, outcome):
        self.heard.append((outcome.name, outcome.state, outcome.reason))

    def note(self, sentence):
        self.heard.append(sentence)


def jobs(*specs: str) -> list[Job]:
    """'c<a,b' is a job named c that comes after a and b."""
    parts = [spec.partition("<") for spec in specs]
    return [
        Job(name, works.write, after=tuple(after.split(",")) if after else ())
        for name, _, after in parts
    ]


def states(outcomes):
    return {name: outcome.state for name, outcome in outcomes.items()}


def test_independent_jobs_start_in_the_given_order(tmp_path: Path):
    engine = Script()
    outcomes = run_jobs(jobs("c", "a", "b"), tmp_path, ROOM, engine=engine)
    assert engine.started == ["c", "a", "b"]
    assert list(outcomes) == ["c", "a", "b"]
    assert set(states(outcomes).values()) == {"done"}
    assert engine.is_stopped


def test_a_job_starts_when_all_before_it_are_done_and_others_fill_the_wait(tmp_path: Path):
    engine = Script(newest_first=True)
    run_jobs(jobs("late<a,b", "a", "b", "c"), tmp_path, ROOM, engine=engine)
    # b ends first: `late` still waits for a, so c starts; c ends, then a, then `late` starts
    assert engine.started == ["a", "b", "c", "late"]


@given(
    memory=st.lists(st.floats(0.1, 6.0), min_size=1, max_size=12),
    cores=st.integers(1, 4),
    newest_first=st.booleans(),
)
def test_no_more_run_at_once_than_the_budget_allows(tmp_path_factory, memory, cores, newest_first):
    todo = [Job(f"j{i}", works.write, memory=gib) for i, gib in enumerate(memory)]
    needs = {job.name: job.memory for job in todo}
    engine = Script(newest_first=newest_first)
    folder = tmp_path_factory.mktemp("jobs")
    outcomes = run_jobs(todo, folder, Budget(cores, memory=4.0), engine=engine)
    assert set(states(outcomes).values()) == {"done"}
    assert engine.started == list(needs)
    for together in engine.together:
        assert len(together) <= cores
        assert sum(needs[name] for name in together) <= 4.0 + 1e-6 or len(together) == 1


def test_a_job_larger_than_the_budget_runs_alone_and_that_is_said(tmp_path: Path):
    engine, watcher = Script(), Hearing()
    todo = [Job("a", works.write), Job("big", works.write, memory=9.5), Job("b", works.write)]
    run_jobs(todo, tmp_path, ROOM, watcher, engine)
    assert engine.together == [{"a"}, {"big"}, {"b"}]
    note = "big may need 9.5 GiB, more than the 4 GiB available to all jobs, so it runs alone."
    assert watcher.heard.count(note) == 1


def test_a_failure_leaves_out_what_comes_after_it_and_nothing_else(tmp_path: Path):
    watcher = Hearing()
    engine = Script({"base": ["the loss became nan."]})
    todo = jobs("base", "other", "adversary<base,other", "audit<adversary", "last<other")
    outcomes = run_jobs(todo, tmp_path, ROOM, watcher, engine)
    assert states(outcomes) == {
        "base": "failed",
        "other": "done",
        "adversary": "not run",
        "audit": "not run",
        "last": "done",
    }
    assert outcomes["base"].reason == "the loss became nan."
    assert outcomes["adversary"].reason == outcomes["audit"].reason == "base failed"
    assert engine.started == ["base", "other", "last"]
    assert ("audit", "not run", "base failed") in watcher.heard


def test_a_job_whose_worker_dies_is_tried_once_more(tmp_path: Path):
    killed = Died("a", "was killed by SIGKILL")
    watcher, engine = Hearing(), Script({"a": [killed]})
    outcomes = run_jobs(jobs("a", "b", "c"), tmp_path, ROOM, watcher, engine)
    assert set(states(outcomes).values()) == {"done"}
    assert engine.started == ["a", "b", "a", "c"]
    assert ("a", "its worker was killed by SIGKILL; the job is restarted") in watcher.heard

    outcomes = run_jobs(jobs("a", "b"), tmp_path, ROOM, engine=Script({"a": [killed, killed]}))
    assert states(outcomes) == {"a": "failed", "b": "done"}
    assert outcomes["a"].reason.startswith("its worker was killed by SIGKILL on the second")


def test_a_worker_that_dies_after_its_work_is_done_costs_nothing(tmp_path: Path):
    class DoneThenDead(Script):
        def start(self, job, folder):
            super().start(job, folder)
            folder.path.mkdir(parents=True)
            folder.finish(1.0)

    engine = DoneThenDead({"a": [Died("a", "was killed by SIGKILL")]})
    assert states(run_jobs(jobs("a"), tmp_path, ROOM, engine=engine)) == {"a": "done"}
    assert engine.started == ["a"]


def test_the_watcher_hears_everything_in_order(tmp_path: Path):
    watcher = Hearing()
    run_jobs(jobs("a", "b"), tmp_path, Budget(1, 4.0), watcher, Script())
    assert watcher.heard == [
        ("begin", 2, 0),
        *(("begins", "a"), ("a", 0.5, "half"), ("a", "done", "")),
        *(("begins", "b"), ("b", 0.5, "half"), ("b", "done", "")),
    ]


def test_workers_are_stopped_whatever_happens(tmp_path: Path):
    class Interrupted(Script):
        def wait(self):
            raise KeyboardInterrupt

    engine = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs("a"), tmp_path, ROOM, engine=engine)
    assert engine.is_stopped


@pytest.mark.parametrize(
    ("specs", "sentence"),
    [
        (["a<b", "b<c", "c<a", "d"], "so none could start: a after b after c after a"),
        (["d", "e<a", "a<a"], "so none could start: a after a"),
        (["a", "a"], "two jobs are named 'a'"),
    ],
)
def test_jobs_that_cannot_be_ordered_are_refused_before_anything_starts(
    tmp_path: Path, specs, sentence
):
    engine = Script()
    with pytest.raises(ConfigError, match=sentence):
        run_jobs(jobs(*specs), tmp_path, ROOM, engine=engine)
    assert engine.started == []


def test_an_unknown_job_is_named_with_its_nearest(tmp_path: Path):
    with pytest.raises(UnknownName, match=r"'b' comes after 'basse', .* Did you mean 'base'\?"):
        run_jobs(jobs("base", "b<basse"), tmp_path, ROOM, engine=Script())


@pytest.mark.parametrize("name", ["", "..", "a/b", "a b", ".hidden", "ü"])
def test_a_name_that_is_no_harmless_folder_is_refused(name):
    with pytest.raises(ConfigError, match="a job has the name of its folder"):
        Job(name, works.write)


def test_a_file_in_the_way_is_refused(tmp_path: Path):
    (tmp_path / "a").write_text("x")
    with pytest.raises(RunError, match="is a file"):
        run_jobs(jobs("a"), tmp_path, ROOM, engine=Script())


def test_no_jobs_are_no_trouble(tmp_path: Path):
    assert run_jobs([], tmp_path, ROOM, engine=Script()) == {}


def test_a_job_may_be_kept_within_the_folder_of_another(tmp_path: Path):
    todo = [Job("run", works.write), Job("audit", works.write, folder="run/audit")]
    engine = Script()
    run_jobs(todo, tmp_path, Budget(1, 4.0), engine=engine)
    assert engine.folder.path == tmp_path / "run" / "audit"
    with pytest.raises(ConfigError, match="'run' and 'other' have the same folder, run"):
        run_jobs([todo[0], Job("other", works.write, folder="run")], tmp_path, ROOM, engine=engine)
    for folder in ("a/../b", "/a", "a b"):
        with pytest.raises(ConfigError, match=r"job 'a': .* is not a valid folder"):
            Job("a", works.write, folder=folder)
