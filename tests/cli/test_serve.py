"""`heedful serve`: sentences for what cannot be served, and one real server."""

import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from heedful.web.security import Access
from heedful.web.server import Server


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere"], "no run folder at "),
        (["file"], "file is a file. Expected a run folder made by `heedful train`."),
        (["empty"], "empty does not contain a run or an audit."),
        (["empty", "--port", "65536"], "--port must be a number from 0 to 65535, not 65536."),
        (["empty", "--port", "-1"], "--port must be a number from 0 to 65535, not -1."),
        (["empty", "--port", "x"], "Invalid value for '--port'"),
        (["empty", "--host", "no.such.host.invalid"], "is not an address of this machine."),
        (["empty", "--host", "a" * 300], "is not an address of this machine."),
        (["empty", "--host", "203.0.113.7"], "cannot listen at 203.0.113.7, port 0: "),
        (["empty", "--token", "short"], "--token is too short to be safe"),
        (["empty", "--device", "tpu"], "no device named 'tpu'. Known: auto, cpu, cuda"),
        (["empty", "--cores", "0"], "--cores should be at least 1, not 0."),
        ([], "Missing argument"),
        (["hf-prompt:some/model"], "hf-prompt:some/model needs a prompt: give --template and"),
        (["empty", "--template", "{text}"], "a prompted model needs both a template and label"),
        (
            ["empty", "--template", "{text}", "--label-words", "bad,good"],
            "--template and --label-words need hf-prompt:FOLDER_OR_NAME.",
        ),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_sentence(heedful, tmp_path, arguments, sentence):
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    where = [] if "--port" in arguments else ["--port", "0"]
    answer = heedful("serve", *arguments, *where)
    assert answer.code == 2
    assert sentence in " ".join(answer.err.split())
    assert "Traceback" not in answer.err
    assert answer.out == ""


def test_a_port_that_is_taken_is_named(heedful, tmp_path):
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = taken.getsockname()[1]
        answer = heedful("serve", tmp_path, "--port", port)
    assert answer.code == 2
    said = f"cannot listen at 127.0.0.1, port {port}: address already in use. Try another --port"
    assert said in " ".join(answer.err.split())


def test_what_was_opened_in_vain_is_closed(tmp_path):
    """A socket left open would be a warning, and so an error here."""
    for _ in range(2):
        with pytest.raises(Exception, match="does not contain a run"):
            Server.at([tmp_path])


def test_help_says_what_it_does(heedful):
    answer = heedful("serve", "--help")
    assert answer.code == 0
    said = " ".join(re.sub(r"[│╭╮╰╯─]", " ", answer.out).split())
    assert "Open a page to explore runs" in said
    assert "Everything stays on this machine." in said
    for option in ("--port", "--host", "--name", "--token", "--cores", "--device", "--no-browser"):
        assert option in said
    assert "None" not in said


def test_the_printed_address_is_one_that_is_answered(run):
    for host in ("127.0.0.1", "localhost", "0.0.0.0"):
        server = Server.at([run], host=host, device="cpu", cores=1)
        server.socket.close()
        shown = re.fullmatch(r"http://([^/]+)/(\?token=[\w-]{32})?", server.address)
        assert shown is not None, server.address
        assert (shown[2] is None) == (host != "0.0.0.0")
        names = [socket.gethostname()] if host == "0.0.0.0" else []
        assert Access.of(host, names).lets_host(shown[1])
        (guard,) = [layer for layer in server.app.user_middleware if "access" in layer.kwargs]
        assert guard.kwargs["access"].lets_host(shown[1])


def status_at(address: str) -> dict[str, int]:
    with urllib.request.urlopen(f"{address}api/status", timeout=10) as answer:
        assert answer.headers["server"] is None
        return json.load(answer)


def code_of_answer(asked: urllib.request.Request) -> int:
    """An error is an answer with an open socket: left to the collector, it is a warning."""
    try:
        with urllib.request.urlopen(asked, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


def leave_early(address: str) -> None:
    """Ask and hang up before the answer comes, which once ended the server."""
    host, port = re.fullmatch(r"http://(.+):(\d+)/", address).groups()
    for _ in range(20):
        with socket.create_connection((host, int(port))) as visitor:
            visitor.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            visitor.sendall(f"GET /static/charts.js HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())


SERVE_TWICE = """
from heedful.cli import main

for _ in range(2):
    try:
        main()
    except SystemExit as left:
        print(left.code or 0, flush=True)
"""


@pytest.mark.workers
def test_a_server_that_is_stopped_with_long_work_under_way_answers_and_is_gone(heedful, data):
    options = ["--encoder", "bilstm", "--epochs", "1", "--embedding-size", "8", "--split", "spaces"]
    assert heedful("train", data, "-o", "slow", "-q", *options).code == 0
    command = "from heedful.cli import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", command, "serve", "slow", "--port", "0", "--cores", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as process:
        try:
            address = process.stdout.readline().strip()
            asked = urllib.request.Request(
                f"{address}api/runs/slow/explain",
                json.dumps({"text": "a b c d " * 2400, "measures": ["leave-one-out"]}).encode(),
                {"content-type": "application/json"},
            )
            with ThreadPoolExecutor(2) as clients:
                answers = [clients.submit(code_of_answer, asked) for _ in "ab"]
                while status_at(address)["waiting"] < 1:
                    time.sleep(0.05)
                process.send_signal(signal.SIGTERM)
                codes = [one.result() for one in answers]
            _, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert codes == [503, 503]
    assert process.returncode == 0, err
    assert err.splitlines() == ["serving 1 run and 0 audits", "stop with Ctrl-C"]


@pytest.mark.workers
def test_a_server_prints_its_address_answers_and_stops_when_told(run):
    """One process serves twice, since to start takes seconds."""
    options = ["--port", "0", "--device", "cpu", "--cores", "1"]
    with subprocess.Popen(
        [sys.executable, "-c", SERVE_TWICE, "serve", str(run), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                address = process.stdout.readline().strip()
                assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
                leave_early(address)
                assert status_at(address)["at_once"] == 1
                process.send_signal(number)
                assert process.stdout.readline() == "0\n"
            out, err = process.communicate(timeout=20)
        finally:
            process.kill()
    assert process.returncode == 0, err
    assert out == ""
    assert err.splitlines() == ["serving 1 run and 0 audits", "stop with Ctrl-C"] * 2
