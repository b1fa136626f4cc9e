"""Clients that hold connections and do not ask."""

import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from heedful.web.app import create_app
from heedful.web.limits import Limits
from heedful.web.server import Server

GET = b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
HALF = b"GET /api/status HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@contextmanager
def listening(folder: Path, limits: Limits) -> Iterator[tuple[str, int]]:
    """A server with other limits than usual."""
    opened = socket.create_server(("127.0.0.1", 0))
    server = Server(create_app([folder], limits=limits), opened, "", "").answering()
    thread = threading.Thread(target=server.run, args=([opened],))
    thread.start()
    try:
        yield opened.getsockname()
    finally:
        server.should_exit = True
        thread.join()


def answered(client: socket.socket) -> bytes:
    """Everything until the connection is closed, or the first answer."""
    client.settimeout(20)
    found = b""
    while part := client.recv(65536):
        found += part
        if b"at_once" in found:
            break
    return found


def test_a_head_that_does_not_come_is_not_waited_for(served_folder):
    with listening(served_folder, Limits(header_seconds=0.2)) as place:
        for sent in (b"", HALF):
            with socket.create_connection(place) as client:
                client.sendall(sent)
                assert answered(client).startswith(b"HTTP/1.1 408 Request Timeout")


def test_a_second_head_that_does_not_come_is_not_waited_for_either(served_folder):
    with (
        listening(served_folder, Limits(header_seconds=0.5)) as place,
        socket.create_connection(place) as client,
    ):
        client.sendall(GET)
        assert b"at_once" in answered(client)
        client.sendall(HALF)
        assert answered(client).startswith(b"HTTP/1.1 408 Request Timeout")


def test_a_request_that_is_answered_may_be_followed_by_another(served_folder):
    with (
        listening(served_folder, Limits(header_seconds=0.5)) as place,
        socket.create_connection(place) as client,
    ):
        for _ in range(3):
            client.sendall(GET)
            assert answered(client).startswith(b"HTTP/1.1 200")


def test_an_address_with_too_many_connections_keeps_nobody_else_out(served_folder):
    with (
        listening(served_folder, Limits(connections_per_address=20)) as place,
        ExitStack() as held,
    ):
        for _ in range(20):
            held.enter_context(socket.create_connection(place)).sendall(HALF)
        with socket.create_connection(place) as one_more:
            assert answered(one_more).startswith(b"HTTP/1.1 503")
        with socket.create_connection(place, source_address=("127.0.0.2", 0)) as another:
            another.sendall(GET)
            assert answered(another).startswith(b"HTTP/1.1 200")
        held.close()
        with socket.create_connection(place) as again:
            again.sendall(GET)
            assert answered(again).startswith((b"HTTP/1.1 200", b"HTTP/1.1 503"))


def test_thousands_of_half_sent_heads_keep_nobody_else_out(served_folder):
    with listening(served_folder, Limits()) as place, ExitStack() as held:
        for _ in range(2100):
            with suppress(ConnectionError):
                held.enter_context(socket.create_connection(place)).sendall(HALF)
        with socket.create_connection(place, source_address=("127.0.0.2", 0)) as another:
            another.sendall(GET)
            assert answered(another).startswith(b"HTTP/1.1 200")
