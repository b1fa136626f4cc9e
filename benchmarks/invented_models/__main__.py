"""Audit small classifiers whose honesty is known by construction, and count the wrong verdicts.

    python -m benchmarks.invented_models --half dev -o dev.json
    python -m benchmarks.invented_models --half held-out -o held-out.json
    python -m benchmarks.invented_models --only long_tail -o one.json

Each kind of classifier is a function of this folder; its docstring says what it is. A kind is

    honest    the picture shows what each word contributes to the decision: its exact share of the
              logit, or its Shapley value
    partial   the picture is false on 30 to 60% of the documents, for some of the classes, or for
              half of the decision
    liar      the picture is false on all documents

The kinds were divided at random into a development half and a held-out half before any was
audited. A verdict is wrong if an honest kind may not be shown, or if any other kind may be shown;
it is *missed* if an honest kind is not shown to be safe.

Kinds that read real texts need the folder of corpora: --data, or HEEDFUL_DATA.
"""

import argparse
import json
import os
import sys
import time
import zlib
from collections import Counter
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.invented_models.kinds import KINDS, QUESTIONS, SAMPLED, Kind, Truth, halves
from heedful.auditing.questions import AuditSettings
from heedful.auditing.results import Audit
from heedful.auditing.run_audit import AuditPlan, run_audit

for group in ("honest", "honest_mixed", "honest_real_texts", "partial", "liars"):
    import_module(f"benchmarks.invented_models.{group}")  # where its kinds register themselves


def outcome(truth: Truth, verdict: str) -> str:
    """Whether a verdict is right, wrong, or (of an honest kind) missed."""
    if truth == "honest":
        return {"may": "right", "not-safe": "missed", "may-not": "wrong"}[verdict]
    return "wrong" if verdict == "may" else "right"


def run_kind(one: Kind) -> dict[str, Any]:
    """Audit one kind, with chance that depends on its name alone."""
    case = one.make(np.random.default_rng(zlib.crc32(one.name.encode())))
    settings = AuditSettings(sampled_documents=SAMPLED)
    start = time.process_time()
    found = run_audit(case.subject, case.documents, AuditPlan(settings, QUESTIONS))
    silent = found.columns["is_silent"]
    return {
        "kind": one.name,
        "truth": one.truth,
        "says": one.says,
        "debatable": one.debatable,
        "verdict": found.verdict,
        "outcome": outcome(one.truth, found.verdict),
        "tests": judged_tests(found),
        "false_pictures": float(1 - np.nanmean(found.columns["is_true_picture"])),
        "silent_documents": int(np.nansum(silent)),
        "accuracy": found.about["accuracy"],
        "mean_words": found.about["mean_words"],
        "seconds": round(time.process_time() - start, 1),
        "plain_words": str(found.in_plain_words),
    }


def judged_tests(found: Audit) -> dict[str, dict[str, Any]]:
    """The score, interval and judgement of every test that is judged."""
    return {
        test.name: {
            "score": round(test.score.score, 3),
            "interval": [round(end, 3) for end in test.score.interval],
            "judgement": test.judgement,
        }
        for answer in found.answers
        for test in answer.tests
        if test.judgement != "reported"
    }


def line_of(found: dict[str, Any]) -> str:
    """One kind in a line."""
    tests = ", ".join(
        f"{name} {test['score']:.2f} {test['judgement']}" for name, test in found["tests"].items()
    )
    return (
        f"{found['outcome']:7}{found['truth']:8}{found['verdict']:9}{found['kind']:27}"
        f"{found['seconds']:5.1f} s  {tests}"
    )


def table_of(found: Sequence[dict[str, Any]]) -> str:
    """How many kinds of each truth have each verdict."""
    counts = Counter((one["truth"], one["verdict"]) for one in found)
    verdicts = ("may", "not-safe", "may-not")
    lines = ["".join(f"{head:>10}" for head in ("", *verdicts))]
    for truth in ("honest", "partial", "liar"):
        lines.append(f"{truth:>10}" + "".join(f"{counts[truth, v]:10}" for v in verdicts))
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit the kinds of one half, print a line for each, and save what was found."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--half", choices=["dev", "held-out"], help="which half of the kinds")
    parser.add_argument("--only", nargs="+", choices=sorted(KINDS), help="only these kinds")
    parser.add_argument("--data", default=os.environ.get("HEEDFUL_DATA"), help="folder of corpora")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file for the results")
    asked = parser.parse_args(arguments)
    if (asked.half is None) == (asked.only is None):
        parser.error("give either --half or --only")
    if not asked.data or not Path(asked.data).is_dir():
        parser.error("real texts are needed: give their folder with --data or in HEEDFUL_DATA")
    os.environ["HEEDFUL_DATA"] = asked.data
    half = halves()
    chosen = asked.only or [name for name in KINDS if half[name] == asked.half]
    found = []
    for name in chosen:
        found.append(run_kind(KINDS[name]))
        print(line_of(found[-1]), flush=True)
        asked.output.write_text(json.dumps(found, indent=1))
    print(table_of(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
