"""Commands that are the only writer of their output folder while they run."""

from collections.abc import Callable
from functools import wraps

from heedful.storage import held


def holds_output(command: Callable[..., None]) -> Callable[..., None]:
    """The command, refused while another process writes into the folder it is given with -o."""

    @wraps(command)
    def holding(**arguments: object) -> None:
        output = arguments["output"]
        with held(None if output is None else str(output)):
            command(**arguments)

    return holding
