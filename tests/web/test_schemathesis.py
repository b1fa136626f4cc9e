"""Whatever the description of the API allows, and much that it does not, is asked for."""

from collections.abc import Iterator

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.python import asgi

from heedful.web import create_app
from heedful.web.security import Access

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SERVED = {"run": "words", "audit": "words"}
OPERATIONS = [
    ("/api/served", "GET"),
    ("/api/status", "GET"),
    ("/api/runs/{run}/explain", "POST"),
    ("/api/runs/{run}/attend", "POST"),
    ("/api/runs/{run}/replace", "POST"),
    ("/api/compare", "POST"),
    ("/api/audits/{audit}", "GET"),
    ("/api/audits/{audit}/figures", "GET"),
    ("/api/audits/{audit}/documents", "GET"),
    ("/api/audits/{audit}/documents/{place}", "GET"),
]


@pytest.fixture(scope="module")
def described(served_folder) -> Iterator[schemathesis.BaseSchema]:
    access = Access(names=frozenset({"localhost", asgi.HOST}))
    app = create_app([served_folder], access=access)
    yield schemathesis.openapi.from_asgi("/api/openapi.json", app)
    asgi.shutdown_lifespans()


def test_every_operation_is_asked_for_here(described):
    found = [result.ok() for result in described.get_all_operations()]
    assert [(one.path, one.method.upper()) for one in found] == OPERATIONS


def has_more_than_names(path: str, method: str) -> bool:
    return method == "POST" or path.endswith(("documents", "{place}"))


CASES = [
    (path, method, mode, are_served)
    for path, method in OPERATIONS
    for mode in GenerationMode
    for are_served in ((True, False) if "{" in path else (False,))
    # Nothing can be wrong with a request that has no parts.
    if mode is GenerationMode.POSITIVE
    or has_more_than_names(path, method)
    or ("{" in path and not are_served)
]


# The server's own threads check types while the next request is drawn, and checking draws too.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@pytest.mark.parametrize(("path", "method", "mode", "are_served"), CASES)
def test_every_answer_is_one_that_is_described(described, path, method, mode, are_served):
    operation = described[path][method]
    names = {name: SERVED[name] for name in SERVED if are_served and f"{{{name}}}" in path}

    @given(case=operation.as_strategy(mode, path_parameters=names or None))
    @settings(
        max_examples=12,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def ask(case: schemathesis.Case) -> None:
        case.call_and_validate(checks=CHECKS)

    ask()
