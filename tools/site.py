"""Pages of docs that are made of the package itself: `python -m tools.site` writes them.

registries ──> docs/families.md      questions and terms ──> docs/questions.md, docs/glossary.md
"""

from collections.abc import Iterator
from pathlib import Path

from heedful.auditing.questions import questions
from heedful.auditing.terms import ANSWERS, NUMBERS, QUESTIONS
from heedful.cli.list_families import families, members

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "<!-- made by python -m tools.site -->"


def pages() -> dict[str, str]:
    """Every made page by the name of its file."""
    made = {
        "families.md": _families(),
        "glossary.md": _glossary(),
        "questions.md": _questions(),
    }
    return {name: "\n".join([NOTE, "", *lines]) + "\n" for name, lines in made.items()}


def _families() -> Iterator[str]:
    yield "# Families"
    yield ""
    yield "Everything that can be chosen by name, with its options and what they are if none are"
    yield "given. `heedful list FAMILY` prints the same; options are written after a colon, as in"
    yield "`sparsegen:sparsity=0.5`."
    for family, registry in families().items():
        yield from ["", f"## {family.capitalize()}", "", "| name | what it is | options |"]
        yield "|---|---|---|"
        for member in members(registry):
            options = ", ".join(f"`{name}={value}`" for name, value in member["options"].items())
            summary = member["summary"].replace("|", "\\|")
            yield f"| `{member['name']}` | {summary} | {options} |"


def _glossary() -> Iterator[str]:
    yield "# Glossary"
    yield ""
    yield "One plain sentence for each word that an audit uses. The report has the same list."
    for title, terms in (
        ("The ten questions", QUESTIONS),
        ("Answers", ANSWERS),
        ("Numbers and tests", NUMBERS),
    ):
        yield from ["", f"## {title}", "", "| word | what it means |", "|---|---|"]
        yield from (f"| **{term}** | {meaning} |" for term, meaning in terms.items())


def _questions() -> Iterator[str]:
    yield "# The ten questions"
    yield ""
    yield "An audit asks ten questions about a heat map. Three of them decide the verdict: telling,"
    yield "decisive and leak-free. [The audit](audit.md) has every test with its rules."
    for name in sorted(questions, key=lambda one: questions[one].place):
        question = questions[name]
        yield from ["", f"## {question.place}. {name}", "", QUESTIONS[name], ""]
        yield from ["| test | compared with (floor) | best that can be had (ceiling) | from |"]
        yield "|---|---|---|---|"
        for test in question.tests:
            yield f"| {test.name} | {test.floor} | {test.ceiling} | {test.paper} |"


if __name__ == "__main__":
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")
