"""Others' scores of words in, ours out, in the formats that people have them in."""

from heedful.importance.attributions.base import Attributions, ScoredText
from heedful.importance.attributions.reading import (
    check_file,
    read_attributions,
    write_attributions,
)

__all__ = ["Attributions", "ScoredText", "check_file", "read_attributions", "write_attributions"]
