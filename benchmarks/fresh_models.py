"""The verdict that ships, on models that had no part in it.

    python benchmarks/fresh_models.py -o DIR [--cores 2]

The kinds and settings of the zoo, with documents and trainings of other seeds, none of them deep,
judged by the operating points that came with the package. Resumable. Prints rates with intervals.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import machine

from heedful.auditing.operating_points import shipped
from heedful.calibration.calibrate import calibrate, verdict_rates
from heedful.calibration.operating_point_fit import by_test, judge_models
from heedful.calibration.roc import share
from heedful.calibration.zoo import Zoo, read_zoo
from heedful.sweeps.progress import SweepLines

DOCUMENTS_SEED = 7  # those of the zoo are drawn with 2
TRAINING_SEED = 7  # those of the zoo are trained with 1


def fresh_zoo() -> Zoo:
    """The zoo on other documents, trained from other numbers."""
    zoo = read_zoo()
    settings = [replace(one, data=f"{one.data}:seed={DOCUMENTS_SEED}") for one in zoo.settings]
    kinds = [replace(kind, deep=()) for kind in zoo.kinds]
    return replace(zoo, settings=tuple(settings), kinds=tuple(kinds), first_seed=TRAINING_SEED)


def main() -> None:
    """Train, audit, judge, count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    with SweepLines() as watcher:
        found = calibrate(options.output, zoo=fresh_zoo(), cores=options.cores, watcher=watcher)
    found.save(options.output)
    cuts = shipped().cuts
    judged = judge_models(found.known, found.models, {1: cuts, 2: cuts})
    rates = verdict_rates(judged)
    print(machine.describe())
    print(f"judged by {shipped().origin}; {found.seconds:.0f} s")
    for name in ("liars_caught", "liars_not_passed", "honest_refused", "honest_passed"):
        low, high = rates[f"{name}_low"], rates[f"{name}_high"]
        print(f"{name}: {rates[name]:.1%} [{low:.1%}, {high:.1%}]")
    print({name: rates[name] for name in ("liars", "honest", "honest_asked")})
    for test, cut in cuts.items():
        scored = [one for one in by_test(found.known)[test] if one.is_scored]
        for fails, what in ((True, "catches"), (False, "false alarms")):
            some = [one for one in scored if one.fails == fails]
            alarmed = share(sum(one.score < cut for one in some), len(some))
            ends = f"[{alarmed.low:.0%}, {alarmed.high:.0%}]"
            print(f"{test}: {what} {alarmed.value:.0%} {ends} of {alarmed.models}")
    for one in judged:
        if one.verdict != ("may" if one.explains else "may-not"):
            print(f"{one.member}: {one.verdict}, decisive {one.decisive}, telling {one.telling}")
    for model in found.models:
        if model.left_out:
            print(f"left out: {model.member}: {model.left_out}")


if __name__ == "__main__":
    main()
