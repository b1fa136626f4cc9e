"""Rules that every family and every member of it keeps, new ones included."""

import dataclasses
import inspect
import pickle
import typing
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import heedful
from heedful.analysis.shortcuts.arms import arms
from heedful.cli.list_families import families
from heedful.errors import ConfigError, UnknownName
from heedful.papers.measures import measures
from heedful.registry import Registry

INTERNAL = {"arms": arms, "paper_measures": measures}  # of one probe, of reproducing papers
FAMILIES: dict[str, Registry[Any]] = {**families(), **INTERNAL}
every_family = pytest.mark.parametrize("family", FAMILIES)


def registries_of_the_package() -> list[Registry[Any]]:
    """Those in modules whose text speaks of registries: importing all modules takes long."""
    root = Path(heedful.__file__).parent
    paths = [path for path in root.rglob("*.py") if "Registry" in path.read_text()]
    names = [".".join(path.relative_to(root.parent).with_suffix("").parts) for path in paths]
    values = [value for name in names for value in vars(import_module(name)).values()]
    return [value for value in values if isinstance(value, Registry)]


def test_every_registry_of_the_package_is_held_to_these_rules():
    found = {registry.noun for registry in registries_of_the_package()}
    assert found == {registry.noun for registry in FAMILIES.values()}


@pytest.mark.parametrize("family", families())
def test_every_listed_family_has_rules_of_its_own(family):
    assert Path(__file__).with_name(f"test_{family}.py").is_file()


@every_family
def test_a_family_has_members_and_a_name_near_one_of_them_is_pointed_out(family):
    registry = FAMILIES[family]
    longest = max(registry, key=len)
    with pytest.raises(UnknownName) as error:
        registry.make(f"{longest}x")
    assert f"no {registry.noun} named '{longest}x'. Did you mean '{longest}'?" in str(error.value)


@every_family
def test_names_are_words_and_summaries_are_sentences(family):
    registry = FAMILIES[family]
    for name in registry:
        assert not set(name) & set(":=+, \t\n"), name  # a name with options is read by these
        assert registry.summary(name)[0].isupper(), name
        assert registry.summary(name).endswith((".", ")")), name


@every_family
def test_members_are_made_of_their_names_described_and_made_again(family):
    registry = FAMILIES[family]
    for name in registry:
        member = registry.make(name)
        assert registry.name_of(member) == name
        assert registry.make(member) is member
        described = registry.describe(member)
        assert described == {"name": name, **registry.options(name)}
        assert registry.make(described) == member
        if name != "all-of":  # its parts are recipes with options of their own
            assert registry.make(registry.spec(member)) == member
        assert pickle.loads(pickle.dumps(member)) == member  # as it travels to other processes


@every_family
def test_classes_are_frozen_and_no_member_extends_another(family):
    registry = FAMILIES[family]
    classes = [member for member in registry.values() if inspect.isclass(member)]
    for one in classes:
        with pytest.raises(dataclasses.FrozenInstanceError):
            one().anything = 1
        assert not any(issubclass(one, other) for other in classes if other is not one), one


def choices(registry: Registry[Any]) -> list[tuple[str, str, tuple[Any, ...]]]:
    """Member, option and the words that it may be, for every option that is one of some words."""
    return [
        (name, option, typing.get_args(hint))
        for name, member in registry.items()
        if inspect.isclass(member)
        for option, hint in typing.get_type_hints(member).items()
        if option in registry.options(name) and typing.get_origin(hint) is typing.Literal
    ]


def test_the_gradient_of_vats_learner_is_such_an_option():
    assert ("vat", "learner_holds", ("parameters", "weights")) in choices(FAMILIES["recipes"])


@every_family
def test_an_option_that_is_one_of_some_words_takes_each_of_them_and_no_other(family):
    registry = FAMILIES[family]
    for name, option, words in choices(registry):
        for word in words:
            made = registry.make(f"{name}:{option}={word}")
            assert registry.describe(made)[option] == word
        with pytest.raises(ConfigError, match=f"{option} should be"):
            registry.make(f"{name}:{option}=neither")


@every_family
def test_an_unknown_option_is_refused_with_the_nearest(family):
    registry = FAMILIES[family]
    for name in registry:
        options = list(registry.options(name))
        wrong = f"{options[0]}x" if options else "sizex"
        for spec in (f"{name}:{wrong}=1", {"name": name, wrong: 1}):
            with pytest.raises(ConfigError) as error:
                registry.make(spec)
            said = str(error.value)
            assert f"{registry.noun} {name!r}" in said
            assert wrong in said
            assert not options or f"Did you mean {options[0]!r}?" in said
