"""Options that are declared once, as fields of a frozen dataclass.

From a declaration come the keyword arguments of a function and their documentation, the
options of a command, the keys of a file, the checks, and the values that a result
repeats.  Adding an option is one line:

>>> from profitable.common import check
>>> @dataclass(frozen=True, kw_only=True)
... class Sampling(DeclaredOptions):
...     seed: int = option(1, "Seed of the draws.", check=check.whole)
...     size: "float | None" = option(None, "Size of the sample.", check=check.positive)
...     share: "float | None" = option(None, "Share to keep.", excludes=("size",))
>>> Sampling(size=2).size
2.0
>>> try:
...     Sampling(size=2, share=0.5)
... except ParameterError as error:
...     print(error)
share = 0.5 cannot be combined with size; give one of the two.
>>> print(parameters_section(Sampling))
seed : int, default 1
    Seed of the draws.
size : float | None
    Size of the sample.
share : float | None
    Share to keep.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from textwrap import fill
from typing import Any, NamedTuple, Self, TypeVar, cast

from profitable.errors import ParameterError

Value = TypeVar("Value")
DOC_WIDTH = 84  # of a section that is indented


class OptionField(NamedTuple):
    """An option as it was declared."""

    help: str  # names of other options are in backticks
    group: str
    flag: str | None  # of the command, where it is not the name
    check: Callable[[str, Any], Any] | None
    needs: tuple[str, ...]  # one of them must be given, too
    excludes: tuple[str, ...]  # none of them may be given, too
    name: str = ""
    type: str = ""
    default: Any = None

    @property
    def shown_default(self) -> str:
        """The default as a reader sees it; empty if there is none."""
        value = self.default
        if value is None or value is False:
            return ""
        return ", ".join(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else str(value)


def option(
    default: Value,
    help: str,
    *,
    check: Callable[[str, Any], Any] | None = None,
    group: str = "",
    flag: str | None = None,
    needs: tuple[str, ...] = (),
    excludes: tuple[str, ...] = (),
) -> Value:
    """Declare an option as a field; `check` returns the value to keep."""
    declared = OptionField(help, group, flag, check, needs, excludes)
    return field(default=default, metadata={"option": declared})


def options_of(cls: type[Any]) -> dict[str, OptionField]:
    """Return the declared options of a dataclass, by name."""
    return {
        each.name: each.metadata["option"]._replace(
            name=each.name, type=_written(each.type), default=each.default
        )
        for each in fields(cls)
    }


def _written(kind: Any) -> str:
    return kind if isinstance(kind, str) else inspect.formatannotation(kind)


@dataclass(frozen=True, kw_only=True)
class DeclaredOptions:
    """Values of declared options, checked one by one and against each other."""

    def __post_init__(self) -> None:
        declared = options_of(type(self)).values()
        for each in declared:
            value = getattr(self, each.name)
            if each.check is not None and (value is not None or "None" not in each.type):
                object.__setattr__(self, each.name, each.check(each.name, value))
        for each in declared:
            for other in each.excludes if self.is_given(each.name) else ():
                if self.is_given(other):
                    problem = f"cannot be combined with {other}"
                    self._refuse(each.name, problem, "give one of the two")
        for each in declared:
            if each.needs and self.is_given(each.name) and not any(map(self.is_given, each.needs)):
                needed = " or ".join(each.needs)
                self._refuse(each.name, f"is given without {needed}", f"give {needed}, too")

    def is_given(self, name: str) -> bool:
        """Whether an option differs from its default."""
        return getattr(self, name) != type(self).__dataclass_fields__[name].default

    def _refuse(self, name: str, problem: str, remedy: str) -> None:
        raise ParameterError(name, getattr(self, name), problem, remedy)

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Self:
        """Pick the options of this class among all that are given."""
        return cls(**{name: given[name] for name in options_of(cls) if name in given})


def parameters_section(cls: type[Any]) -> str:
    """Document the options of a dataclass as numpydoc parameters."""
    lines: list[str] = []
    for each in options_of(cls).values():
        default = f", default {each.shown_default}" if each.shown_default else ""
        text = fill(each.help, DOC_WIDTH, initial_indent="    ", subsequent_indent="    ")
        lines += [f"{each.name} : {each.type}{default}", text]
    return "\n".join(lines)
