"""The verdict that ships, on models that had no part in it.

    python benchmarks/fresh_models.py -o DIR [--cores 2]
    python benchmarks/fresh_models.py -o DIR --shortcuts minilm [--seeds 3]

The kinds and settings of the zoo, with documents and trainings of other seeds, none of them deep,
judged by the operating points that came with the package. Resumable. Prints rates with intervals.

`--shortcuts`: instead, Transformers of a kind that the zoo does not have, trained on the shortcuts
of Bastings et al. (2022) in real text: a word, a word in the context of another, the order of two
words. Pictures of known truth are placed beside them; in the last two, true ones show both words.
"""

import argparse
from dataclasses import replace
from pathlib import Path

import machine

from heedful.auditing.operating_points import shipped
from heedful.calibration.calibrate import calibrate, verdict_rates
from heedful.calibration.operating_point_fit import judge_models
from heedful.calibration.planted_transformers import BASES, Base
from heedful.calibration.zoo import ExactKind, Setting, Zoo, read_zoo
from heedful.sweeps.progress import SweepLines

DOCUMENTS_SEED = 7  # those of the zoo are drawn with 2
TRAINING_SEED = 7  # those of the zoo are trained with 1
FALSE_SHARES = (0.1, 0.2, 0.4, 1.0)


def fresh_zoo() -> Zoo:
    """The zoo on other documents, trained from other numbers."""
    zoo = read_zoo()
    settings = [replace(one, data=f"{one.data}:seed={DOCUMENTS_SEED}") for one in zoo.settings]
    kinds = [replace(kind, deep=()) for kind in zoo.kinds]
    return replace(zoo, settings=tuple(settings), kinds=tuple(kinds), first_seed=TRAINING_SEED)


def shortcut_zoo(base: Base) -> Zoo:
    """Transformers that decide by planted words, with pictures beside them."""
    settings = tuple(
        Setting(
            name, 1, f"planted-text:documents=3000:seed={DOCUMENTS_SEED}:pattern={name}", words=20,
            evidence=1 + needs_all, language="real", needs_all=needs_all,
        )
        for name, needs_all in (("words", False), ("context", True), ("order", True))
    )  # fmt: skip
    names = tuple(setting.name for setting in settings)
    known = {"false-documents": 0.0, "written-choice": 0.0}
    placed = ExactKind("placed", "", ("transformer",), names, doses=known, base=base)
    false = ExactKind(
        "false", "", ("transformer",), names, vary="false_share", values=FALSE_SHARES, base=base
    )
    return replace(
        read_zoo(), settings=settings, kinds=(), exact=(placed, false), first_seed=TRAINING_SEED
    )


def main() -> None:
    """Train, audit, judge, count."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--shortcuts", choices=list(BASES))
    options = parser.parse_args()
    zoo = shortcut_zoo(options.shortcuts) if options.shortcuts else fresh_zoo()
    with SweepLines() as watcher:
        found = calibrate(
            options.output, seeds=options.seeds, zoo=zoo, cores=options.cores, watcher=watcher
        )
    found.save(options.output)
    architectures = {kind for point in shipped().points for kind in point.cuts}
    cuts = {
        kind: {p.test: p.cuts[kind] for p in shipped().points if kind in p.cuts}
        for kind in architectures
    }
    judged = judge_models(found.known, found.models, cuts)
    print(machine.describe())
    print(f"judged by {shipped().origin}; {found.seconds:.0f} s")
    for kind, rates in verdict_rates(judged).items():
        for name, rate in rates.items():
            ends = f"[{rate['low']:.1%}, {rate['high']:.1%}]"
            print(f"{kind}: {name} {rate['value']:.1%} {ends} of {rate['models']}")
    for one in judged:
        if one.verdict != ("may" if one.explains else "may-not"):
            print(f"{one.member}: {one.verdict}, decisive {one.decisive}, telling {one.telling}")
    for model in found.models:
        if model.left_out:
            print(f"left out: {model.member}: {model.left_out}")


if __name__ == "__main__":
    main()
