"""`heedful list`: every member of every family, read from the registries."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from heedful.registry import Registry

PAPERS = "papers"  # folders, not a registry
TERMS_FAMILY = "terms"  # what the words of an audit mean


def list_members(
    family: Annotated[
        str | None, typer.Argument(help="A family, settings or terms. Default: all families.")
    ] = None,
    data_dir: Annotated[
        str | None, typer.Option(help="Folder of named corpora. Default: $HEEDFUL_DATA.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False,
) -> None:
    """List every member of every family: encoders, projections, recipes, corpora, …"""
    from heedful.cli import show
    from heedful.errors import UnknownName, nearest
    from heedful.text.datasets import names_in

    known_families = families()
    if family == "settings":
        _list_settings(json)
        return
    if family == TERMS_FAMILY:
        _list_terms(json)
        return
    known = [*known_families, PAPERS, "settings", TERMS_FAMILY]
    if family is not None and family not in known:
        names = ", ".join(known)
        raise UnknownName(f"no family named {family!r}.{nearest(family, known)} Known: {names}.")
    chosen = {name: of for name, of in known_families.items() if family in (None, name)}
    rows = {name: members(registry) for name, registry in chosen.items()}
    if family in (None, PAPERS):
        rows[PAPERS] = list(_papers())
    if "corpora" in rows:
        found = names_in(data_dir)
        rows["corpora"] += [
            {"name": name, "summary": "A corpus of the data folder.", "options": {}}
            for name in found
        ]
    if json:
        show.as_json(rows)
        return
    for name, listed in rows.items():
        show.result(name)
        width = max(len(member["name"]) for member in listed)
        for member in listed:
            show.result(f"  {member['name']:<{width}}  {member['summary']}")
            if member["options"]:
                options = ", ".join(f"{k}={v}" for k, v in member["options"].items())
                show.result(f"  {'':<{width}}  options: {options}")
        show.result("")


def _list_terms(json: bool) -> None:
    from heedful.auditing.terms import TERMS
    from heedful.cli import show

    if json:
        show.as_json(TERMS)
        return
    for term, meaning in TERMS.items():
        show.result(f"{term}: {meaning}")


def _list_settings(json: bool) -> None:
    from heedful.cli import show
    from heedful.training.settings import explain_settings

    rows = explain_settings()
    if json:
        show.as_json(rows)
        return
    for row in rows:
        show.result(
            f"{row['stage']:<8}  {row['name']:<15}  {row['default']!s:<32}  {row['meaning']}"
        )


def families() -> dict[str, "Registry[Any]"]:
    """Every family with a registry, by the name that `heedful list` takes."""
    from heedful.analysis.instruments import analyses
    from heedful.auditing.metrics import metrics
    from heedful.auditing.questions import questions
    from heedful.counterfactual import counterfactuals
    from heedful.importance import importances
    from heedful.importance.attributions.formats import formats
    from heedful.model.alignments import alignments
    from heedful.model.encoders import encoders
    from heedful.model.outputs import outputs
    from heedful.model.projections import projections
    from heedful.readouts import readouts
    from heedful.text.datasets import corpora
    from heedful.training.optimizers import optimizers
    from heedful.training.recipes import recipes
    from heedful.training.settings import profiles

    return {
        "encoders": encoders,
        "alignments": alignments,
        "projections": projections,
        "outputs": outputs,
        "recipes": recipes,
        "optimizers": optimizers,
        "profiles": profiles,
        "importances": importances,
        "counterfactuals": counterfactuals,
        "readouts": readouts,
        "formats": formats,
        "questions": questions,
        "metrics": metrics,
        "analyses": analyses,
        "corpora": corpora,
    }


def _papers() -> Iterator[dict[str, Any]]:
    from heedful.papers.paper import load_paper, paper_names

    for name in paper_names():
        paper = load_paper(name)
        experiments = {key: one.title for key, one in paper.experiments.items()}
        yield {"name": name, "summary": paper.title, "options": experiments}


def members(registry: "Registry[Any]") -> list[dict[str, Any]]:
    """Name, summary and options of each member."""
    return [
        {"name": name, "summary": registry.summary(name), "options": registry.options(name)}
        for name in registry
    ]
