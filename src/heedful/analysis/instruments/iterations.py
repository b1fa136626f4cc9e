"""Learner and compressor in turn: dev accuracy and entropy by iteration (Zhou et al. 2021)."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from heedful.analysis.instruments.base import OfHistory, analyses
from heedful.analysis.result import FigureSpec, Result
from heedful.errors import DataError

PHASE_NAME = re.compile(r"(?P<role>learner|compressor) (?P<iteration>\d+)")


@analyses.register("iterations")
@dataclass(frozen=True)
class Iterations(OfHistory):
    """Dev accuracy and attention entropy at the end of each phase of a VAT run (Zhou et al.)."""

    name = "iterations"
    asks = "Does alternating training help, and does attention become sharper?"
    figures = (FigureSpec("iterations", "ends"),)

    def analyse(self, history: Sequence[Mapping[str, Any]]) -> Result:
        """One row per phase: the epoch whose weights it ended with."""
        ends = ends_of_phases(history)
        if not ends:
            raise DataError(
                "iterations needs a run with alternating learner and compressor, and no phase of "
                "this run is named learner 1 or compressor 1. Train one with --recipe vat."
            )
        epochs = tuple(
            _row(number, row) for number, row in enumerate(history, start=1) if _turn(row)
        )
        return Result(
            analysis=self.name,
            asks=self.asks,
            summary=ends,
            tables={"ends": ends, "epochs": epochs},
            rows={name: [row[name] for row in epochs] for name in epochs[0]},
            notes=(
                "A phase ends with its best epoch on dev. That epoch was chosen on dev, so its "
                "accuracy is optimistic. Learner and compressor are scored by their own heads.",
            ),
            figures=self.figures,
        )


def ends_of_phases(history: Sequence[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The row whose weights each learner and compressor phase ended with, in order.

    The last one that was best on dev; the last one where none was.
    """
    by_phase: dict[tuple[Any, str], list[tuple[int, Mapping[str, Any]]]] = {}
    for number, row in enumerate(history, start=1):
        if _turn(row):
            by_phase.setdefault((row.get("phase"), row["name"]), []).append((number, row))
    ends = []
    for rows in by_phase.values():
        best = [(number, row) for number, row in rows if row.get("is_best")] or rows
        ends.append(_row(*best[-1]))
    return tuple(ends)


def _turn(row: Mapping[str, Any]) -> re.Match[str] | None:
    name = row.get("name")
    return PHASE_NAME.fullmatch(name) if isinstance(name, str) else None


def _row(number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    turn = _turn(row)
    assert turn is not None
    notes = row.get("notes")
    notes = notes if isinstance(notes, Mapping) else {}
    return {
        "iteration": int(turn["iteration"]),
        "role": turn["role"],
        "epoch": number,  # of the whole training
        "dev_accuracy": _number(row.get("dev_accuracy")),
        "attention_entropy": _number(notes.get("attention_entropy")),
    }


def _number(value: Any) -> float:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number else float("nan")
