"""What is given as a method of Captum: how it is made of a forward function, and what it takes."""

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from torch import nn

from heedful.errors import ConfigError, nearest
from heedful.importance.base import kebab

WORDS_AS_WHOLES = ("feature_mask", "sliding_window_shapes")
OURS = ("inputs", "target", "additional_forward_args")


def attribute_of(made: object, name: str) -> Callable[..., Any]:
    """The method that attributes, of what was made of a forward function."""
    attribute = getattr(made, "attribute", None)
    if not callable(attribute):
        raise ConfigError(
            f"{name} should turn a forward function into an object with a method `attribute`, as "
            "the classes of captum.attr do."
        )
    return cast(Callable[..., Any], attribute)


def takes(
    attribute: Callable[..., Any], options: Mapping[str, object], name: str
) -> Mapping[str, inspect.Parameter]:
    """The options that it takes; any other is refused."""
    found = inspect.signature(attribute).parameters
    has_more = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in found.values())
    for option in options:
        if option not in found and not has_more:
            raise ConfigError(
                f"{name} has no option {option!r}.{nearest(option, found)} "
                f"Known: {', '.join(one for one in found if one not in OURS)}."
            )
    return found


def made_of(method: object, options: Mapping[str, object]) -> Callable[..., Any]:
    """Whatever makes an object of a forward function; an object is copied and gets another.

    Options that heedful sets itself are refused.
    """
    if taken := sorted(set(options) & set(OURS)):
        raise ConfigError(f"{', '.join(taken)}: heedful sets these itself. Leave them out.")
    attributes = callable(getattr(method, "attribute", None))
    is_object = attributes and not inspect.isclass(method)
    if is_object and callable(getattr(method, "forward_func", None)):
        return partial(_with_forward, method)
    is_class = attributes and inspect.isclass(method)
    is_function = callable(method) and not attributes and not isinstance(method, type | nn.Module)
    if not (is_class or is_function):
        raise ConfigError(
            f"{method!r:.80} is not a Captum method. Give a class of captum.attr, an object of "
            "one, or a function that makes one from a forward function."
        )
    return cast(Callable[..., Any], method)


def usual_name(method: object) -> str:
    """From the class or the function."""
    named = method if inspect.isclass(method) or inspect.isfunction(method) else type(method)
    if named.__name__ in ("<lambda>", "partial"):
        raise ConfigError(f"{method!r:.80} has no descriptive name: give one as `name`.")
    return kebab(named.__name__)


def _with_forward(method: object, forward: Callable[..., Any]) -> object:
    """The same method, its options kept, asked of another forward function."""
    other = copy.copy(method)
    for name in ("forward_func", "model"):  # methods that hook modules keep it twice
        if name in vars(method):
            setattr(other, name, forward)
    return other
