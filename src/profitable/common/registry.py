"""Registry: families and policies are listed by their classes when defined.

Public names, the command line, the tables of the documentation, the look of curves and
the test matrix are all made from these lists.
"""

import inspect
from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import Any, TypeVar

Kind = TypeVar("Kind")


def register(registry: dict[str, type[Kind]], cls: type[Any], *, needed: Sequence[str]) -> None:
    """Enter a class under its name.

    TypeError if it lacks a `needed` attribute or takes another class's name.

    The same class may be defined again, for example when a notebook cell is run twice.
    """
    for attribute in needed:
        if not hasattr(cls, attribute) or getattr(
            getattr(cls, attribute), "__isabstractmethod__", False
        ):
            raise TypeError(
                f"{cls.__name__} has no {attribute}; every subclass of "
                f"{cls.__mro__[1].__name__} needs one"
            )
    taken = registry.get(cls.name)
    same = taken is not None and (taken.__module__, taken.__qualname__) == (
        cls.__module__,
        cls.__qualname__,
    )
    if taken is not None and not same:
        raise TypeError(
            f"{cls.__name__} has the name {cls.name!r}, which belongs to {taken.__name__}"
        )
    registry[cls.name] = cls


def exported(registry: dict[str, type[Kind]]) -> dict[str, type[Kind]]:
    """Return the classes of this package by their exported names.

    A user's own classes are left out.
    """
    return {
        cls.__name__: cls for cls in registry.values() if cls.__module__.startswith("profitable.")
    }


HEADERS = ("name", "class", "what it is")


def rows(registry: dict[str, type[Any]]) -> list[tuple[str, str, str]]:
    """Return a table of the registered classes.

    Name in files and on the command line, call in Python, first sentence.

    >>> from profitable.model.families import FAMILIES
    >>> rows(FAMILIES)[0]
    ('bernoulli', 'Bernoulli()', 'Rewards 0 or 1: bought or not, repaid or not.')
    """
    return [
        (name, f"{cls.__name__}({_parameters(cls)})", _summary(cls))
        for name, cls in registry.items()
    ]


def _parameters(cls: type[Any]) -> str:
    """Return the parameters as in a call, with their defaults: `c=0, inflate=1`.

    Required ones have none: `shape=`.

    What all classes of a registry have in common is left out.
    """
    texts: list[str] = []
    for each in fields(cls):
        if "common" in each.metadata:
            continue
        text = f'"{each.default}"' if isinstance(each.default, str) else str(each.default)
        number = f"{each.default:g}" if isinstance(each.default, float) else text
        texts.append(f"{each.name}={'' if each.default is MISSING else number}")
    return ", ".join(texts)


def _summary(cls: type[Any]) -> str:
    return " ".join((inspect.getdoc(cls) or "").partition("\n\n")[0].split())
