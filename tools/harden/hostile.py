"""Texts, labels, names of columns and files, and command lines that attack what reads them."""

import io
import json
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from heedful import runs
from heedful.text.documents import whole_characters
from tools.harden.bench import ASK, AUDIT, DATA, MODEL, QUICK, RUN, Bench, Found
from tools.harden.in_process import line_defect

ATTACKS = (
    "<script>alert(1)</script>", "</style><img src=x onerror=alert(1)>", "\x1b[2J\x1b]0;own\x07",
    "\u202eevil\u202c", "=cmd|' /C calc'!A0", "{{7*7}}", "a\x00b", "\ud83d half", "${jndi:ldap://x}",
    "</script><script>alert(1)", "javascript:alert(1)", "%s%n", "'; DROP TABLE x; --", "\r\nX: y",
    "<svg onload=alert(1)>", "]]><x>", "<!--", "\u2028", "[bold red]x[/]", "--help", "-",
    "&lt;&#60;",
)  # fmt: skip


def as_file_name(attack: str) -> str:
    """The attack as far as a file can have it as its name."""
    return "x" + re.sub("[/\x00\ud800-\udfff]", "_", attack)[:60]


def hostile_world(attack: str) -> Iterator[tuple[str, ...]]:
    """Commands by which an attack passes as text, label, column and file through every output."""
    name, column = as_file_name(attack), f"{attack} column"
    rows = [
        {column: f"{attack} w{n} v{n % 2}", f"{attack}?": f"{attack}{n % 2}"} for n in range(80)
    ]
    Path(f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    columns = ("--text", column, "--label", f"{attack}?")
    run = f"{name}-run"
    yield ("train", f"{name}.jsonl", "-o", run, *columns, *QUICK)
    yield ("explain", run, "--html", f"{name}.html", "--", f"{attack} w1")
    yield ("predict", run, "--json", "--", attack)
    yield (
        *("audit", run, f"{name}.jsonl", "-o", f"{name}-audit", *columns),
        *("--include-trained", *ASK),
    )
    yield ("analyse", "word-scores", run, f"{name}.jsonl", "-o", f"{name}-words", *columns)
    yield ("analyse", "statistics", f"{name}.jsonl", "-o", f"{name}-statistics", *columns)
    yield ("verify", run, f"{name}-audit")


def hostile_texts(bench: Bench, part: int = 0, parts: int = 1) -> Iterator[Found]:
    """What attacks is text in the terminal, in HTML and SVG, and itself in JSON and Parquet."""
    found = Found("hostile texts, labels, columns and file names through every output")
    mine = ATTACKS[part::parts]
    for attack in bench.rng.sample(mine, bench.times(len(mine))):
        if "\x00" in attack:  # no command line can hold it
            attack = attack.replace("\x00", "\x01")
        try:
            attack.encode()
        except UnicodeEncodeError:  # nor half a character: it comes from files alone
            attack = attack.replace("\ud83d", "\ufffd")
        for words in hostile_world(attack):
            found.count(line_defect(words, (0,)))
        for path in Path().rglob("*.html"):
            found.count(_in_page(path, attack))
        found.count(_in_table(Path(f"{as_file_name(attack)}-audit"), attack))
        for path in Path().glob("x*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    yield found


def _in_page(page: Path, attack: str) -> str:
    """Nothing, if a page shows an attack as text: without its signs for tags, and written out."""
    text = page.read_text()
    shown = re.sub(r"<script\b.*?</script>", "", text, flags=re.DOTALL)
    is_raw = "<" in attack and attack in shown
    steers = re.search("[\x00-\x08\x0b-\x1f\x7f\x9b\u202a-\u202e\u2066-\u2069\u2028]", shown)
    if is_raw:
        return f"{attack!r} is in {page} as it is"
    return f"{steers[0]!r} is in {page}" if steers else ""


def _in_table(folder: Path, attack: str) -> str:
    """Nothing, if the table and the JSON of an audit hold the texts as they were."""
    import pandas

    try:
        texts = pandas.read_parquet(io.BytesIO((folder / runs.PER_EXAMPLE).read_bytes()))["text"]
        json.loads((folder / runs.AUDIT).read_text())
    except (OSError, ValueError) as error:
        return f"{folder}: {error}"
    is_kept = texts.str.startswith(whole_characters(attack)).all()
    return "" if is_kept else f"{folder}: {texts.iloc[0]!r} instead of {attack!r}"


WORDS = (
    *(RUN, AUDIT, DATA, MODEL, f"hf:{MODEL}", "hf:no-such", "hf:", "no-such", "", "-", "--"),
    *("a b", "\x1b[31m", "🙂", "../..", "/", "/dev/null", "w1 w2", "grid.toml", "out", "--resume"),
    *("nan", "-1", "1e999", "0", "1", "99999999999999999999", "x" * 5000, "a=b", "{}", "[", "%s"),
    *("attention", "telling", "planted:documents=50", "epochs=0", "hidden_size=9e9", "\ud800"),
    *("statistics", "attention-mass", "word-scores", "cpu", "cuda", "5m", "0.5", "text", "label"),
    *("may-not", "last-cls", "table", "captum", "scores.npz", "scores.jsonl", "whole-heal"),
    *("whole-sweep", "whole-calibrate", "embedding", "faithful", "adam:learning_rate=x"),
)
# What would work for minutes or for ever, and words by which it is refused.
REFUSED = {
    "serve": ("--host", "256.0.0.1"), "calibrate": ("--on", "nowhere"),
    "sweep": ("--on", "nowhere"), "probe": ("no-such",), "reproduce": ("--on", "nowhere"),
}  # fmt: skip
SECONDS = 1.5


class TookLong(KeyboardInterrupt):
    """A command that found work to do."""


@contextmanager
def limited_time() -> Iterator[None]:
    """Stop what works on: it was not refused, and that is no defect."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TookLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    except TookLong:
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def command_lines(bench: Bench) -> Iterator[Found]:
    """Every command with words and options at random: a sentence, an exit code, nothing steers."""
    commands = _commands()
    found = Found("command lines of random words and options, every command")
    for number in range(bench.times(2000)):
        name = list(commands)[number % len(commands)]
        words = [
            word for _ in range(bench.rng.randrange(4)) for word in _some(bench, commands[name])
        ]
        words += bench.rng.choices(WORDS, k=bench.rng.randrange(4))
        wrong = ""
        with limited_time():
            given = (name, *words, *REFUSED.get(name, ()))
            wrong = line_defect(given, (0, 1, 2, 3, 130))  # 130: it was stopped
        found.count(wrong)
        for left in ("out", "a b", "scores.npz", "scores.jsonl", "0", "1"):
            shutil.rmtree(left, ignore_errors=True)
            Path(left).unlink(missing_ok=True)
    yield found


def _commands() -> dict[str, list[Any]]:
    """The options of every command, by its name; the demonstration takes none that matter."""
    import typer

    from heedful.cli.app import app

    group: Any = typer.main.get_command(app)
    found = {name: command for name, command in group.commands.items() if name != "demo"}
    return {
        name: [one for one in command.params if one.param_type_name == "option"]
        for name, command in found.items()
    }


def _some(bench: Bench, options: list[Any]) -> list[str]:
    """An option at random, with a value if it takes one; or a word."""
    if not options or bench.rng.random() < 0.3:
        return [bench.rng.choice(WORDS)]
    option = bench.rng.choice(options)
    if "--help" in option.opts:
        return []
    value = [] if option.is_flag else [bench.rng.choice(WORDS)]
    return [bench.rng.choice(option.opts), *value]
