import json
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from heedful.errors import ConfigError, EnvironmentFailure
from heedful.jobs.budget import Budget
from heedful.jobs.engine import Engine
from heedful.jobs.fingerprint import fingerprint
from heedful.jobs.folder import JobFolder
from heedful.jobs.job import Job
from heedful.jobs.ray_workers import TOLD, RayWorkers, _connect, _teller
from tests.jobs import works

pytestmark = pytest.mark.workers


def test_without_ray_a_sentence_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ConfigError, match=r"pip install 'heedful\[ray\]', or use --on local"):
        RayWorkers()


def test_a_cluster_that_is_not_there_is_a_sentence():
    class Refusing:
        def init(self, **options):
            assert options["address"] == "auto"
            raise ConnectionError("Could not find any running Ray instance.\nMore.")

    sentence = r"no Ray cluster at auto could be reached \(Could not find any .*\)\. Start one with"
    with pytest.raises(EnvironmentFailure, match=sentence):
        _connect(Refusing(), "auto", Budget())
    for address in ("127.0.0.1:1", "ray://127.0.0.1:1"):  # found out before Ray is asked
        with pytest.raises(EnvironmentFailure, match=rf"at {address} could be reached \(.*refused"):
            _connect(Refusing(), address, Budget())


def test_a_cluster_of_its_own_is_quiet_and_small():
    class Hearing:
        def init(self, **options):
            self.options = options

    ray = Hearing()
    _connect(ray, None, Budget(2, 1.5))
    assert ray.options["address"] == "local"  # never one that happens to run
    assert (ray.options["num_cpus"], ray.options["_memory"]) == (2, 1.5 * 2**30)
    assert ray.options["include_dashboard"] is ray.options["log_to_driver"] is False
    assert ray.options["object_store_memory"] <= 200 * 2**20
    assert ray.options["runtime_env"]["env_vars"]["OMP_NUM_THREADS"] == "1"


def test_what_a_job_tells_stands_in_a_file(tmp_path: Path):
    tell = _teller(tmp_path)
    tell(0.25, "epoch 1")
    tell(0.5, "epoch 1")  # too soon
    said = json.loads((tmp_path / TOLD).read_text())
    assert (said["fraction"], said["words"]) == (0.25, "epoch 1")
    tell(7.0, "epoch 2")
    assert json.loads((tmp_path / TOLD).read_text())["fraction"] == 1.0
    assert [path.name for path in tmp_path.iterdir()] == [TOLD]


def test_a_job_is_done_where_the_caller_stands(tmp_path: Path):
    code = """
import pickle, sys
from heedful.jobs.folder import JobFolder
from heedful.jobs.ray_workers import do
pickled, folder = pickle.loads(bytes.fromhex(sys.argv[1]))
print(do(pickled, folder, [sys.argv[2]], sys.argv[3]))
"""
    job = Job("a", works.write, {"text": "hello"})
    folder = JobFolder(tmp_path / "a", fingerprint(job, {}))
    given = pickle.dumps((pickle.dumps(job), folder)).hex()
    root = str(Path(works.__file__).parents[2])
    out = subprocess.run(
        [sys.executable, "-c", code, given, root, str(tmp_path)], capture_output=True, text=True
    )
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "a" / "text").read_text() == "hello"
    assert isinstance(RayWorkers.__new__(RayWorkers), Engine)
