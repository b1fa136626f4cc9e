"""The limits of requests."""

from dataclasses import dataclass

# What a form may hold: these are written into the description of the API.
TEXT_CHARACTERS = 20_000
MEASURES = 20
RUNS_COMPARED = 6
ROWS = 200  # of documents in one answer


@dataclass(frozen=True)
class Limits:
    """What one request, and all requests together, may use."""

    body_bytes: int = 256 * 1024
    body_seconds: float = 10.0  # to send it
    waiting: int = 256  # requests that wait for a worker; more are refused with 503
    patience_seconds: float = 30.0  # the longest wait for a worker; then 503
    work_seconds: float = 30.0  # of a model on one request; then it is stopped
    header_seconds: float = 10.0  # to send the head of a request
    connections_per_address: int = 256
    readings_kept: int = 32  # texts whose states are remembered between two drags
