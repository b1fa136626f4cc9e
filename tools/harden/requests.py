"""Requests that are no form, or one with other types, to the server."""

import json
from collections.abc import Iterator
from typing import Any

from tools.harden.bench import AUDIT, RUN, Bench, Found
from tools.harden.files import chance
from tools.harden.mutations import mutated, mutated_bytes

PLACES = ("runs/run/explain", "runs/run/attend", "runs/run/replace", "compare")


def malformed_requests(bench: Bench) -> Iterator[Found]:
    """No answer is a failure of the server."""
    from starlette.testclient import TestClient

    from heedful.web import create_app

    rng, found = chance(bench), Found("malformed requests to the server")
    form: dict[str, Any] = {"text": "a b c", "measures": ["attention"], "deleted": [0], "runs": []}
    whole = json.dumps(form).encode()
    with TestClient(create_app([RUN, AUDIT]), base_url="http://127.0.0.1") as client:
        for number in range(bench.times(1200)):
            data = mutated_bytes(whole, rng) if number % 2 else json.dumps(mutated(form, rng))
            answer = client.post(f"/api/{PLACES[number % 4]}", content=data)
            is_right = answer.status_code < 500
            found.count("" if is_right else f"{data!r}: {answer.status_code} {answer.text[:200]}")
    yield found
