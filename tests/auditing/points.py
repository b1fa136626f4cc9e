"""Operating points made by hand: what the package ships is measured anew now and then."""

from heedful.auditing.operating_points import OperatingPoint, OperatingPoints, Share


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


POINTS = OperatingPoints(
    (
        a_point("permutation", 0.1),
        a_point("comprehensiveness", 0.5, "telling"),
        a_point("auprc", 0.45, "plausible"),
        a_point("sufficiency", 0.2, "telling", is_judged=False, power=0.3, note="too weak"),
        a_point("own influence", None, "grounded", is_judged=False, power=None,
                note="it defines the truth"),
    ),
    {"version": "by-hand-3", "models": 77, "seeds": 1},
    {
        "liars": 30, "honest": 20, "liars_caught": 0.92, "liars_not_passed": 0.98,
        "honest_refused": 0.05, "honest_passed": 0.6,
    },
)  # fmt: skip
