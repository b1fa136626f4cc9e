"""The default-token experiment -> one HTML file that needs no network."""

from pathlib import Path

import pandas as pd

from heedful.analysis.shortcuts.arms import ORDINARY, arms
from heedful.analysis.shortcuts.findings import Probe
from heedful.analysis.shortcuts.outcomes import Finding
from heedful.plots.shortcuts import arm_accuracies, mask_by_label
from heedful.report.figures import Drawn, panel
from heedful.report.html import flat, make_page
from heedful.storage import write_atomically
from heedful.visible import visible


def probe_page(probe: Probe) -> str:
    """The page: the sentence, the table, the two figures, and how it was made."""
    findings = {ORDINARY: probe.ordinary, **probe.arms}
    masks = probe.to_frame()
    masks["label"] = [visible(label) for label in masks["label"]]
    figures = [
        arm_accuracies(_accuracies(findings), _by_seed(findings), probe.majority_accuracy),
        mask_by_label(masks),
    ]
    drawn = [
        Drawn(figure.title, figure.caption, (panel("", figure, f"probe-{number}"),))
        for number, figure in enumerate(figures)
    ]
    return make_page(
        "probe.html",
        title=f"Shortcuts: {probe.about['data'].get('name', 'documents')}",
        probe=probe,
        findings=findings,
        meanings={ORDINARY: "May read the text: the same encoder, mean-pooled."}
        | {name: arms.summary(name) for name in probe.arms},
        figures=drawn,
        facts=list(flat(probe.about)),
        charts={one.name: one.chart for figure in drawn for one in figure.panels},
    )


def write_probe(path: str | Path, probe: Probe) -> None:
    """The page as a file."""
    write_atomically(Path(path), probe_page(probe).encode("utf-8", "backslashreplace"))


def _accuracies(findings: dict[str, Finding]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "arm": name,
            "accuracy": finding.accuracy.mean,
            "low": finding.accuracy.interval[0],
            "high": finding.accuracy.interval[1],
        }
        for name, finding in findings.items()
    )


def _by_seed(findings: dict[str, Finding]) -> pd.DataFrame:
    return pd.DataFrame(
        {"arm": name, "seed": one.seed, "accuracy": one.accuracy}
        for name, finding in findings.items()
        for one in finding.seeds
    )
