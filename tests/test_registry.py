from dataclasses import dataclass

import pytest

from heedful.errors import ConfigError, UnknownName
from heedful.registry import Registry

shapes: Registry = Registry("shape")


@shapes.register("circle")
def circle() -> None:
    """Round.

    More about it.
    """


@shapes.register("polygon")
@dataclass(frozen=True)
class Polygon:
    """Many corners."""

    corners: int = 3
    size: float = 1.0
    colours: tuple[str, ...] = ()
    is_filled: bool = False
    name_of_it: str | None = None


def test_an_unknown_name_is_answered_with_the_nearest_and_all_known_ones():
    with pytest.raises(UnknownName) as error:
        shapes["circel"]
    expected = "no shape named 'circel'. Did you mean 'circle'? Known: circle, polygon."
    assert str(error.value) == expected


def test_names_mappings_and_objects_mean_the_same_member():
    wanted = Polygon(corners=5, colours=("red", "blue"), is_filled=True)
    spec = "polygon:corners=5:colours=red+blue:is_filled=true"
    assert shapes.make(spec) == wanted
    assert (
        shapes.make(
            {"name": "polygon", "corners": 5, "colours": ["red", "blue"], "is_filled": True}
        )
        == wanted
    )
    assert shapes.make(wanted) is wanted
    assert shapes.make("circle") is circle


def test_describe_is_the_inverse_of_make():
    member = Polygon(corners=7, size=0.5)
    assert shapes.make(shapes.describe(member)) == member
    assert shapes.describe(circle) == {"name": "circle"}


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("polygon:corner=5", "no option named 'corner'. Did you mean 'corners'?"),
        ("polygon:corners=many", "corners should be a whole number, not 'many'."),
        ("polygon:corners", "options are written name:option=value, not 'corners'."),
        ("circle:size=2", "shape 'circle' has no options"),
        ({"corners": 3}, "shape: expected a 'name' and options"),
        (3.5, "3.5 is not a known shape"),
    ],
)
def test_a_wrong_spec_is_refused_with_a_sentence(spec, sentence):
    with pytest.raises(ConfigError) as error:
        shapes.make(spec)
    assert sentence in str(error.value)


def test_two_members_cannot_share_a_name():
    with pytest.raises(ValueError, match="two shape members are named 'circle'"):
        shapes.register("circle")(circle)


def test_summary_and_options_come_from_docstring_and_fields():
    assert shapes.summary("circle") == "Round."
    assert shapes.options("circle") == {}
    assert shapes.options("polygon")["corners"] == 3
