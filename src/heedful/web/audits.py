"""Audits -> sheets: answers, figures, documents."""

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from heedful.auditing.document_filter import Rows, Selection, column_of, select
from heedful.auditing.next_step import LEAD, next_steps
from heedful.auditing.questions import audit_tests
from heedful.auditing.results import Audit, plain
from heedful.auditing.scope import scope
from heedful.auditing.terms import TERMS
from heedful.errors import DataError, UsageError
from heedful.report import tables
from heedful.report.figures import charts
from heedful.report.html import flat, without_folders
from heedful.web import schemas
from heedful.web.store import Store

PREVIEW = 240  # characters of a document in a row
ORDERS_KEPT = 16  # selections that are remembered: scrolling asks for the same one again and again


def usual_columns(audit: Audit) -> list[str]:
    """The columns that a table shows by default, as far as the audit has them."""
    of_tests = [test.column for test in audit_tests().values() if test.is_usual_column]
    return [column for column in ("probability", *of_tests) if column in audit.columns]


class AuditViews:
    """Finds things in the audits of a store."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._orders: OrderedDict[tuple[str, Selection], tuple[Audit, Rows]] = OrderedDict()
        self._figures: dict[str, tuple[Audit, list[schemas.FigureSheet]]] = {}

    def line(self, name: str) -> schemas.AuditLine:
        """An audit in a line, or what became of it."""
        try:
            audit = self.store.audit(name)
        except UsageError as error:
            return schemas.AuditLine(
                name=name, problem=str(error), run=None, sentence="", verdict="", documents=0
            )
        return schemas.AuditLine(name=name, problem="", **self._in_short(audit))

    def sheet(self, name: str) -> schemas.AuditSheet:
        """An audit with its answers."""
        audit = self.store.audit(name)
        return schemas.AuditSheet(
            name=name,
            problem="",
            **self._in_short(audit),
            in_plain_words=str(audit.in_plain_words),
            terms=TERMS,
            why=tables.why(audit),
            scope=scope(audit),
            single_texts="" if (rule := audit.single_texts()) is None else rule.sentence,
            tally=tables.tally(audit),
            instead=audit.instead,
            lead=LEAD,
            next_steps=list(next_steps(audit)),
            caveat=audit.caveat,
            record=audit.calibration.track_record,
            about=[(name, without_folders(value)) for name, value in flat(audit.about)],
            questions=[
                plain({**asdict(one), "was_asked": one.was_asked})
                for one in tables.questions({name: audit})
            ],
            shown=[
                schemas.ShownSheet(why=one.why, place=one.place, text=one.text[:PREVIEW])
                for one in audit.shown
            ],
        )

    def figures(self, name: str) -> schemas.Figures:
        """The figures of an audit; drawing them takes a second or two, once."""
        audit = self.store.audit(name)
        known = self._figures.get(name)
        if known is None or known[0] is not audit:
            known = (audit, list(_figures(name, audit)))
            self._figures[name] = known
        return schemas.Figures(audit=name, figures=known[1])

    def documents(
        self, name: str, selection: Selection, columns: Sequence[str], offset: int, count: int
    ) -> schemas.Documents:
        """Some rows of the chosen documents."""
        audit = self.store.audit(name)
        shown = list(columns) or usual_columns(audit)
        for column in shown:
            column_of(audit, column)
        chosen = self._chosen(name, audit, selection)
        return schemas.Documents(
            audit=name,
            total=audit.documents,
            chosen=len(chosen),
            offset=offset,
            columns=list(audit.columns),
            shown=shown,
            labels=sorted({label for label in audit.labels if label is not None}),
            predictions=sorted(set(audit.predictions)),
            rows=[_row(audit, row, shown) for row in chosen[offset : offset + count].tolist()],
        )

    def document(self, name: str, place: int) -> schemas.Document:
        """One document, whole."""
        audit = self.store.audit(name)
        if place >= audit.documents:
            raise DataError(
                f"no document {place}: the audit has {audit.documents:,} documents, "
                "numbered from 0."
            )
        return _row(audit, place, list(audit.columns), len(audit.texts[place]))

    def _in_short(self, audit: Audit) -> dict[str, Any]:
        return {
            "run": self.store.run_of(audit),
            "sentence": audit.sentence,
            "verdict": audit.verdict,
            "documents": audit.documents,
        }

    def _chosen(self, name: str, audit: Audit, selection: Selection) -> Rows:
        key = (name, selection)
        with self._lock:
            known = self._orders.get(key)
            if known is not None and known[0] is audit:
                self._orders.move_to_end(key)
                return known[1]
        found = select(audit, selection)
        with self._lock:
            self._orders[key] = (audit, found)
            while len(self._orders) > ORDERS_KEPT:
                self._orders.popitem(last=False)
        return found


def _figures(name: str, audit: Audit) -> Iterator[schemas.FigureSheet]:
    for place, figure in charts({name: audit}):
        chart = figure.chart.to_dict(validate=False)
        chart.pop("$schema", None)
        yield schemas.FigureSheet(
            place=place,
            title=figure.title,
            caption=figure.caption,
            chart=plain(chart),
            leads_to_documents=any(
                row.get("behind") is not None
                for rows in chart.get("datasets", {}).values()
                for row in rows
            ),
        )


def _row(
    audit: Audit, row: int, columns: Sequence[str], characters: int = PREVIEW
) -> schemas.Document:
    text, label, prediction = audit.texts[row], audit.labels[row], audit.predictions[row]
    return schemas.Document(
        place=row,
        text=text[:characters],
        is_whole=len(text) <= characters,
        label=label,
        prediction=prediction,
        is_right=None if label is None else label == prediction,
        numbers={name: plain(float(audit.columns[name][row])) for name in columns},
    )
