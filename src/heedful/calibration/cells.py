"""Members of the zoo -> cells of a sweep: trained, audited, and looked at where the truth shows."""

from collections.abc import Iterable, Mapping
from typing import Any

from heedful.calibration.zoo import EVIDENCE, Member, Zoo
from heedful.sweeps.cells import Cell, Source
from heedful.sweeps.grid import Data
from heedful.sweeps.steps import AnalysisStep, AuditStep, read_audit
from heedful.training.settings import Settings


def cells_of_zoo(zoo: Zoo, members: Iterable[Member]) -> list[Cell]:
    """A cell per member, in their order."""
    members = list(members)
    used = dict.fromkeys(member.setting.data for member in members)
    sources = {data: Source.read(Data(data), None) for data in used}
    plain, deep = (read_audit({**zoo.audit, "deep": is_deep}) for is_deep in (False, True))
    return [
        _cell(member, sources[member.setting.data], zoo.shared, deep if member.is_deep else plain)
        for member in members
    ]


def _cell(member: Member, source: Source, shared: Mapping[str, Any], audit: AuditStep) -> Cell:
    settings = Settings().with_(split=source.corpus.split, **{**shared, **member.kind.model})
    return Cell.named(
        source,
        member.kind.name,
        {"setting": member.setting.name},
        settings.with_(seed=member.seed),
        audit,
        (AnalysisStep(EVIDENCE),),
    )
