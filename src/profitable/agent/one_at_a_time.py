"""One thread at a time: what makes it safe to share an agent between threads."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar


class Locked(Protocol):
    """Something with a lock of its own that a thread may take more than once."""

    @property
    def _lock(self) -> AbstractContextManager[Any]: ...


Owner = TypeVar("Owner", bound=Locked)
Given = ParamSpec("Given")
Answer = TypeVar("Answer")


def alone(method: Callable[Concatenate[Owner, Given], Answer]) -> Callable[Concatenate[Owner, Given], Answer]:
    """Let one thread at a time into the methods of an agent."""

    @wraps(method)
    def guarded(self: Owner, *args: Given.args, **options: Given.kwargs) -> Answer:
        with self._lock:
            return method(self, *args, **options)

    return guarded
