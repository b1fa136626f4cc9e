"""The command line, as the tests of it call it."""

from tests.cli.conftest import heedful

__all__ = ["heedful"]
