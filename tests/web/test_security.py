"""Who may ask, and what a browser is told to refuse."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator

import pytest
from starlette.testclient import TestClient

from heedful.web import security
from heedful.web.limits import Limits
from heedful.web.security import COOKIE, HEADERS, Access, Guard, is_loopback
from tests.web.conftest import HERE

TOKEN = "a token of some length; with signs, ü"


def refusal(answer, status: int) -> str:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    problem = answer.json()
    assert set(problem) == {"message", "kind"}
    assert problem["kind"] == "refused"
    assert problem["message"].endswith(".")
    return problem["message"]


@pytest.mark.parametrize(
    "host",
    ["localhost", "LocalHost:8642", "127.0.0.1", "127.0.0.1:80", "127.8.9.1", "[::1]", "[::1]:9"],
)
def test_this_machine_is_reached_by_its_own_names(client, host):
    assert client.get("/api/status", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "evil.example:8642"),
        *("0.0.0.0", "192.168.0.7", "[2001:db8::1]", "[::1", "", ":80", "2130706433", "0x7f.1"),
        *("evil.example#localhost", "localhost@evil.example", "localhost,evil.example"),
    ],
)
@pytest.mark.parametrize("path", ["/", "/api/status", "/static/app.js"])
def test_a_name_that_points_here_is_refused(client, host, path):
    message = refusal(client.get(path, headers={"host": host}), 421)
    assert f"does not answer to the name {host!r}" in message


def test_beyond_this_machine_addresses_are_let_in_and_names_only_when_named():
    access = Access.of("0.0.0.0", names=["Lab.Example"], token="t" * 16)
    for host in ("192.168.0.7:8642", "[2001:db8::1]", "127.0.0.1", "lab.example", "lab.example.:1"):
        assert access.lets_host(host), host
    for host in ("evil.example", "other.lab.example", ""):
        assert not access.lets_host(host), host


def test_a_token_is_drawn_where_the_server_listens_beyond_this_machine():
    assert Access.of("127.0.0.1").token is None
    assert Access.of("localhost").token is None
    drawn = {Access.of(host).token for host in ("0.0.0.0", "::", "192.168.0.7", "lab.example")}
    assert len(drawn) == 4
    assert min(map(len, drawn)) >= 32
    assert Access.of("0.0.0.0", token=TOKEN).token == TOKEN
    assert Access.of("lab.example").lets_host("lab.example:8642")


def test_loopback_is_what_only_this_machine_reaches():
    assert all(map(is_loopback, ["localhost", "127.0.0.1", "127.1.2.3", "::1", "[::1]"]))
    assert not any(map(is_loopback, ["0.0.0.0", "::", "10.0.0.1", "lab.example", ""]))


SAME_SITE = [
    {},
    {"origin": HERE},
    {"origin": HERE, "sec-fetch-site": "same-origin"},
    {"sec-fetch-site": "none"},
]
ANOTHER_SITE = [
    {"origin": "http://evil.example"},
    {"origin": "null"},
    {"origin": f"{HERE}:81"},
    {"origin": "https://127.0.0.1"},
    {"origin": "http://localhost"},
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"},
    {"origin": HERE, "sec-fetch-site": "cross-site"},
]


@pytest.mark.parametrize("headers", SAME_SITE)
def test_the_page_may_ask(client, headers):
    assert client.get("/api/status", headers=headers).status_code == 200


@pytest.mark.parametrize("headers", ANOTHER_SITE)
def test_pages_of_other_sites_may_not(client, headers):
    asked = client.post("/api/runs/words/explain", json={"text": "a"}, headers=headers)
    for answer in (asked, client.get("/api/status", headers=headers)):
        assert "a page of another site" in refusal(answer, 403)
        assert "access-control-allow-origin" not in answer.headers


def test_a_link_from_elsewhere_opens_the_page_and_nothing_else(client):
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/", headers=followed).status_code == 200
    refusal(client.get("/api/served", headers=followed), 403)
    refusal(client.get("/static/app.js", headers=followed), 403)
    refusal(client.get("/", headers={**followed, "sec-fetch-mode": "no-cors"}), 403)


@pytest.fixture(scope="module")
def locked(served_folder) -> Iterator[TestClient]:
    from heedful.web import create_app

    app = create_app([served_folder / "words"], access=Access(token=TOKEN))
    with TestClient(app, base_url=HERE, follow_redirects=False) as opened:
        yield opened


@pytest.fixture(autouse=True)
def no_cookies(locked):
    locked.cookies.clear()


NAME = f"{COOKIE}_80"  # of the port that the client asks at


def test_two_servers_on_one_machine_keep_their_cookies_apart(locked, served_folder, serve):
    other = serve(served_folder / "words", access=Access(token="another"), base_url=f"{HERE}:81")
    (name,) = other.get("/", params={"token": "another"}, follow_redirects=False).cookies
    assert name == f"{COOKIE}_81" != NAME


def test_without_a_token_only_this_machine_is_answered():
    async def comes() -> AsyncIterator[dict]:
        yield {"type": "http.request", "body": b""}

    for client, status in {("10.0.0.7", 5): 403, ("::ffff:10.0.0.7", 5): 403}.items():
        start, _ = asyncio.run(answered(Guard(never, Access(), SMALL), comes(), client=client))
        assert start["status"] == status


def test_without_the_token_the_page_opens_and_nothing_is_told(locked):
    assert locked.get("/").status_code == 200
    assert locked.get("/static/app.js").status_code == 200
    for path in ("/api/served", "/api/status", "/api/openapi.json", "/api/nowhere", "/api"):
        assert "requires a token" in refusal(locked.get(path), 401)


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer "},
        {"authorization": f"Basic {TOKEN}".encode()},
        {"authorization": f"Bearer {TOKEN}x".encode()},
        {"cookie": f"{NAME}=wrong"},
        {"cookie": f"{NAME}="},
        {"cookie": f"{NAME}"},
        {"cookie": "\x7f=;;;==" + NAME},
    ],
)
def test_a_wrong_token_is_none(locked, headers):
    refusal(locked.get("/api/status", headers=headers), 401)


def test_programs_send_the_token_along(served_folder, serve):
    token = "plain-token-of-a-program"
    opened = serve(served_folder / "words", access=Access(token=token))
    headers = {"authorization": f"Bearer {token}"}
    assert opened.get("/api/status", headers=headers).status_code == 200


def test_whoever_arrives_with_the_token_keeps_it_as_a_cookie(locked):
    arrived = locked.get("/", params={"token": TOKEN})
    assert arrived.status_code == 303
    assert arrived.headers["location"] == "/"
    cookie = arrived.headers["set-cookie"]
    assert re.fullmatch(rf"{NAME}=[\w%.-]+; Path=/; HttpOnly; SameSite=Strict", cookie)
    assert locked.get("/api/status").status_code == 200


def test_the_cookie_is_found_beside_those_of_other_servers(locked):
    locked.get("/", params={"token": TOKEN})
    own = locked.cookies[NAME]
    locked.cookies.clear()
    for beside in ("a[b]=1; ", "nonsense; ", 'x="; ', "@=2;"):
        headers = {"cookie": f"{beside}{NAME}={own}; z=1"}
        assert locked.get("/api/status", headers=headers).status_code == 200, beside


def test_a_wrong_token_in_the_address_sets_nothing(locked):
    for wrong in ("wrong", "", f"{TOKEN}x"):
        answer = locked.get("/", params={"token": wrong})
        assert "set-cookie" not in answer.headers
        assert answer.status_code == (401 if wrong else 200)


def test_without_a_token_to_ask_for_the_address_is_left_alone(client):
    answer = client.get("/?token=x", follow_redirects=False)
    assert answer.status_code == 200
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/", {}, 200),
        ("/static/app.js", {}, 200),
        ("/static/nothing.js", {}, 404),
        ("/api/status", {}, 200),
        ("/api/audits/nothing", {}, 404),
        ("/api/nothing", {}, 404),
        ("/api/status", {"host": "evil.example"}, 421),
        ("/api/status", {"origin": "http://evil.example"}, 403),
        ("/api/audits/words/documents?count=0", {}, 422),
    ],
)
def test_every_answer_tells_the_browser_to_be_strict(client, path, headers, status):
    answer = client.get(path, headers=headers)
    assert answer.status_code == status
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert answer.headers["cache-control"] == ("no-store" if "/api" in path else "no-cache")


def test_the_policy_allows_nothing_but_the_servers_own_files():
    policy = dict(part.split(" ", 1) for part in HEADERS["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert not any(word in " ".join(policy.values()) for word in ("unsafe", "*", "http"))


SMALL = Limits(body_bytes=2048, body_seconds=0.05)


@pytest.fixture(scope="module")
def small(served_folder) -> Iterator[TestClient]:
    from heedful.web import create_app

    app = create_app([served_folder / "words"], limits=SMALL)
    with TestClient(app, base_url=HERE) as opened:
        yield opened


def test_a_body_is_refused_that_says_it_is_too_large(small):
    message = refusal(small.post("/api/runs/words/explain", content=b"x" * 2049), 413)
    assert message == "the request is too large: the limit is 2 KiB."


def test_a_body_is_refused_that_turns_out_too_large(small):
    def chunks() -> Iterator[bytes]:
        for _ in range(3):
            yield b"x" * 1000

    refusal(small.post("/api/runs/words/explain", content=chunks()), 413)


def test_a_body_of_just_the_right_size_is_read(small):
    body = b'{"text": "a"}'.ljust(2048)
    headers = {"content-type": "application/json"}
    answer = small.post("/api/runs/words/explain", content=body, headers=headers)
    assert answer.status_code == 200


async def answered(guard: Guard, messages: AsyncIterator[dict], **scope) -> list[dict]:
    sent: list[dict] = []

    async def receive() -> dict:
        return await anext(messages)

    async def send(message: dict) -> None:
        sent.append(message)

    given = {
        "type": "http", "method": "POST", "path": "/", "scheme": "http", "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }  # fmt: skip
    await guard({**given, **scope}, receive, send)
    return sent


async def never(*_) -> None:
    raise AssertionError("the request should not get through")


def test_a_body_that_drips_is_not_waited_for():
    async def drips() -> AsyncIterator[dict]:
        while True:
            yield {"type": "http.request", "body": b"x", "more_body": True}
            await asyncio.sleep(0.01)

    guard = Guard(never, Access(), SMALL)
    start, body = asyncio.run(answered(guard, drips()))
    assert start["status"] == 408
    assert b"did not arrive within 0.05 s." in body["body"]


def test_a_connection_that_closes_before_the_request_came_is_let_go():
    async def closes() -> AsyncIterator[dict]:
        yield {"type": "http.request", "body": b"x", "more_body": True}
        yield {"type": "http.disconnect"}

    start, _ = asyncio.run(answered(Guard(never, Access(), SMALL), closes()))
    assert start["status"] == 400


def test_what_fails_inside_is_a_problem_without_a_traceback(monkeypatch):
    logged = []
    monkeypatch.setattr(security.logger, "exception", lambda *said: logged.append(said))

    async def fails(*_) -> None:
        raise RuntimeError("half a \ud83d thing")

    async def comes() -> AsyncIterator[dict]:
        yield {"type": "http.request", "body": b""}

    start, body = asyncio.run(answered(Guard(fails, Access(), SMALL), comes()))
    assert start["status"] == 500
    assert b'"kind": "bug"' in body["body"]
    assert b"RuntimeError: half a " in body["body"]
    assert b"Traceback" not in body["body"]
    assert logged == [("%s %s failed", "POST", "/")]


def test_sockets_of_other_kinds_are_not_spoken_to():
    wall = Guard(never, Access(), SMALL)
    assert asyncio.run(answered(wall, aiter_of(), type="websocket")) == []


async def aiter_of() -> AsyncIterator[dict]:
    yield {"type": "websocket.connect"}
