"""Operating points made by hand: what the package ships is measured again from time to time."""

from heedful.auditing.operating_points import Cut, OperatingPoint, OperatingPoints, Share

KINDS = ("classifier", "module", "transformer", "function")
STRAIGHT = ((0.0, 1.0), (1.0, 0.0))  # the score is what is left of the dose


def a_share(value: float, models: int) -> Share:
    return Share(value, max(value - 0.1, 0.0), min(value + 0.1, 1.0), models)


def a_point(
    test: str, cut: float | None, question: str = "decisive", *, is_judged: bool = True,
    power: float | None = 0.94, note: str = "",
) -> OperatingPoint:  # fmt: skip
    """A point that catches most of 41 models that fail; without power, one that knows nothing."""
    shares = (None, None, None)
    if power is not None:
        shares = (a_share(power, 41), a_share(0.028, 36), a_share(0.97, 77))
    return OperatingPoint(question, test, cut, is_judged, *shares, note)


def a_dose_point(
    test: str, question: str, dose: str, tolerated: float, kinds: tuple[str, ...] = KINDS
) -> OperatingPoint:
    """A point at a tolerated dose, the same for some kinds of models."""
    score = 1 - tolerated
    cut = Cut(score, score - 0.02, score + 0.02, 40, STRAIGHT)
    shares = (a_share(0.94, 41), a_share(0.028, 36), a_share(0.97, 77))
    cuts = dict.fromkeys(kinds, cut)
    return OperatingPoint(question, test, score, True, *shares, "", dose, tolerated, cuts)


POINTS = OperatingPoints(
    (
        a_dose_point("look away", "decisive", "bypass", 0.45, ("classifier", "module")),
        a_dose_point("true pictures", "telling", "false-documents", 0.15),
        a_dose_point("word choice", "leak-free", "written-choice", 0.5),
        a_point("sufficiency", 0.2, "telling", is_judged=False, power=0.3, note="too weak"),
        a_point("own influence", None, "grounded", is_judged=False, power=None,
                note="it defines the truth"),
    ),
    {"version": "by-hand-3", "models": 77, "seeds": 1},
    {
        "all": {
            "liars_passed": {"value": 0.02, "low": 0.0, "high": 0.06, "models": 30},
            "honest_refused": {"value": 0.05, "low": 0.01, "high": 0.11, "models": 20},
        },
    },
)  # fmt: skip
CUTS_OF_FUNCTIONS = {"true pictures": 0.85, "word choice": 0.5}
