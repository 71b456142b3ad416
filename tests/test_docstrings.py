"""Docstrings of the public API follow numpydoc: summary, Parameters, Returns.

To list what a room lacks: `pytest tests/test_docstrings.py -k agent`.
"""

import functools
import inspect
from collections.abc import Iterator
from types import FunctionType
from typing import Any, NamedTuple

import pytest
from numpydoc.docscrape import get_doc_object
from numpydoc.validate import ERROR_MSGS, Validator, validate

import profitable as pb

# GL: order of sections, no docstring. SS: a summary of one line that ends with a full
# stop and, for functions, begins with "Return", not "Returns". PR: exactly the
# parameters of the signature, in order, each with a type and a description. RT and YD:
# sections Returns and Yields.
SUMMARY = {"GL07", "GL08", "SS01", "SS02", "SS03", "SS06"}
PARAMETERS = {"PR01", "PR02", "PR03", "PR04", "PR07", "PR10"}
RETURNS = {"SS05", "RT01", "RT03", "YD01"}
assert set(ERROR_MSGS) >= SUMMARY | PARAMETERS | RETURNS


class Documented(NamedTuple):
    """A public name, the room it lives in, and the checks that apply to it."""

    path: str
    room: str
    checks: set[str]


def _function(value: object) -> FunctionType | None:
    """The function behind a method, a property or a cached property."""
    if isinstance(value, property):
        value = value.fget
    if isinstance(value, functools.cached_property):
        value = value.func
    value = inspect.unwrap(getattr(value, "__func__", value))  # type: ignore[arg-type]
    return value if isinstance(value, FunctionType) else None


def _members(path: str, cls: type) -> Iterator[Documented]:
    """Public methods and properties of a class that have a docstring of their own.

    An override without one inherits that of its base, which is checked there.
    """
    for attribute in inspect.classify_class_attrs(cls):
        home = attribute.defining_class
        function = _function(attribute.object)
        if attribute.name[0] == "_" or not home.__module__.startswith("profitable."):
            continue
        if function is None or function.__qualname__.startswith("_"):
            continue
        inherited = any(getattr(base, attribute.name, None) for base in home.__mro__[1:])
        if inherited and not function.__doc__:
            continue
        checks = SUMMARY if attribute.kind == "property" else SUMMARY | PARAMETERS | RETURNS
        room = home.__module__.split(".")[1]
        yield Documented(f"{path}.{attribute.name}", room, checks)


def _names() -> list[str]:
    """Public names, base classes first, so that shared methods are checked there."""
    functions = [f"bounds.{name}" for name, each in vars(pb.bounds).items() if _is_bound(each)]
    depths = {name: len(getattr(getattr(pb, name), "__mro__", ())) for name in pb.__all__}
    return [*sorted(depths, key=lambda name: (depths[name], name)), *functions]


def _is_bound(value: object) -> bool:
    return callable(value) and value.__module__.startswith("profitable.theory.")


def _public() -> Iterator[Documented]:
    """Every public name once: a method is checked in the first class that shows it."""
    seen: set[object] = set()
    for name in _names():
        value = functools.reduce(getattr, name.split("."), pb)
        if not callable(value):
            continue
        path, room = f"profitable.{name}", value.__module__.split(".")[1]
        if not isinstance(value, type):
            yield Documented(path, room, SUMMARY | PARAMETERS | RETURNS)
            continue
        yield Documented(path, room, SUMMARY | PARAMETERS)
        for member in _members(path, value):
            function = _function(inspect.getattr_static(value, member.path.rpartition(".")[2]))
            if function not in seen:
                seen.add(function)
                yield member


class ClassAware(Validator):
    """A validator that knows records and options shared by a family of classes.

    Fields of a record may be documented as Attributes, because nobody constructs a
    result; and a parameter that a base class documents need not be repeated.
    """

    def __init__(self, obj_name: str) -> None:
        super().__init__(_parsed(Validator._load_obj(obj_name)))

    @property
    def doc_all_parameters(self) -> Any:
        if inspect.isclass(self.obj) and not self.doc["Parameters"]:
            fields = set(self.signature_parameters)
            found = self._doc_parameters(["Attributes"])
            return {name: each for name, each in found.items() if name in fields}
        return self._doc_parameters(["Parameters", "Other Parameters"])

    @property
    def signature_parameters(self) -> tuple[str, ...]:
        names: tuple[str, ...] = super().signature_parameters
        if not inspect.isclass(self.obj):
            return names
        bases = [base for base in self.obj.__mro__[1:] if base.__module__.startswith("profitable.")]
        shared = {each.name for base in bases for each in _parsed(base)["Parameters"]}
        own = {each.name for each in self.doc["Parameters"]}
        return tuple(name for name in names if name in own or name not in shared)


def _parsed(value: object) -> Any:
    return get_doc_object(value, config={"show_class_members": False})


PUBLIC = list(_public())


@pytest.mark.parametrize(
    "documented",
    [
        pytest.param(each, id=f"{each.room}-{each.path.removeprefix('profitable.')}")
        for each in PUBLIC
    ],
)
def test_docstring_is_complete(documented: Documented) -> None:
    doc = ClassAware(documented.path)
    # Without parameters, "Return the table as text." says it all.
    obvious = (
        {"RT01"} if doc.summary.startswith("Return ") and not doc.signature_parameters else set()
    )
    found = validate(documented.path, validator_cls=ClassAware)["errors"]
    wrong = [f"{code}: {text}" for code, text in found if code in documented.checks - obvious]
    assert not wrong, f"{documented.path}: " + "; ".join(wrong)


def test_the_whole_public_api_is_checked() -> None:
    paths = {each.path for each in PUBLIC}
    assert {"profitable.Agent.decide", "profitable.simulate", "profitable.Backtest"} <= paths
    assert {"profitable.bounds.lower_bound", "profitable.KLUCB"} <= paths
    assert {"profitable.Family.draw", "profitable.Policy.parse"} <= paths
    assert len(paths) == len(PUBLIC)
