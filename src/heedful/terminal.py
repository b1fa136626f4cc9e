"""The one door to the terminal: everything that heedful prints passes through it.

Labels, column names, file names and documents come from strangers, and may hold signs that steer a
terminal or a reader's eyes: escape sequences, line ends, bidirectional overrides. Here they are
written out as ⟨U+001B⟩. Styles of ours are rich's, added to what is written out already.
"""

import io
import json
import sys
from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Span, Text

from heedful.visible import HIDDEN, places, written_out

SEEN = "\t"  # inside a line


class Terminal(Console):
    """A console that no text can steer."""

    def __init__(
        self,
        file: io.StringIO | None = None,
        *,
        stderr: bool = False,
        is_terminal: bool | None = None,
        width: int | None = None,
    ) -> None:
        super().__init__(
            file=file,
            stderr=stderr,
            force_terminal=is_terminal,
            width=width,
            soft_wrap=True,
            highlight=False,
            markup=False,
            emoji=False,
        )

    def say(self, line: str | Text) -> None:
        """Print a line. Line ends before and after it make blank lines; one inside it is data."""
        plain = line.plain if isinstance(line, Text) else line
        start = len(plain) - len(plain.lstrip("\n"))
        stop = max(start, len(plain.rstrip("\n")))
        shown = _written_out(line[start:stop])
        self.print("\n" * start, shown, "\n" * (len(plain) - stop), sep="")

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Everything that is printed, the cells of tables and the words beside bars included."""
        for segment in super().render(renderable, options):
            if segment.control:  # rich's own, such as moving a bar's cursor
                yield segment
            else:
                yield Segment(written_out(segment.text, seen="\n\t"), segment.style)


def write_row(*cells: str) -> None:
    """A row on standard output, its cells separated by tabs; for many rows, so without styles."""
    sys.stdout.write("\t".join(map(written_out, cells)) + "\n")


def write_json(value: object) -> None:
    """A JSON value as a line on standard output; what steers is escaped, which JSON allows."""
    is_utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    dumped = json.dumps(value, ensure_ascii=not is_utf8)
    sys.stdout.write(HIDDEN.sub(lambda found: f"\\u{ord(found[0]):04x}", dumped) + "\n")


def write_error(text: str, seen: str = SEEN) -> None:
    """A line on standard error, without styles and whatever state the program is in."""
    sys.stderr.write(written_out(text, seen) + "\n")


def _written_out(line: str | Text) -> Text:
    """The line with all that steers written out; its styles move with the signs they are on."""
    if isinstance(line, str):  # written out first, because a `Text` drops some signs when made
        return Text(written_out(line, SEEN))
    place = places(line.plain, SEEN)
    spans = [Span(place[span.start], place[span.end], span.style) for span in line.spans]
    return Text(written_out(line.plain, SEEN), style=line.style, spans=spans)
