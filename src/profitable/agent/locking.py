"""One thread at a time: agents that threads share and that survive a fork."""

import os
import threading
from collections.abc import Callable
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, TypeVar, cast
from weakref import WeakValueDictionary

from profitable.errors import ForkedError

Method = TypeVar("Method", bound=Callable[..., Any])


def alone(method: Method) -> Method:
    """Let one thread at a time into a method; into a generator from start to end."""

    @wraps(method)
    def guarded(self: Any, *args: Any, **options: Any) -> Any:
        with self._lock:
            return method(self, *args, **options)

    @wraps(method)
    def generator(self: Any, *args: Any, **options: Any) -> Any:
        with self._lock:
            yield from method(self, *args, **options)

    return cast(Method, generator if isgeneratorfunction(method) else guarded)


def lock_of(owner: object, shared: Any = None) -> Any:
    """Return a new lock, or a shared one, which the owner keeps as `_lock`.

    A thread that holds it during a fork is missing in the child: it would never release
    the lock, and its change may be half done.  So the lock then raises a ForkedError in
    the child, whoever wants it.
    """
    _owners[id(owner)] = owner
    return shared or threading.RLock()


class _Lost:
    """The lock of something that a missing thread was using."""

    def acquire(self, *, blocking: bool = True) -> bool:
        if not blocking:
            return False
        raise ForkedError(
            "process",
            os.getpid(),
            "was forked while another thread used this agent or portfolio",
            "fork while nobody uses it, or spawn the process",
        )

    def release(self) -> None:
        raise AssertionError("nobody has it")

    def __enter__(self) -> None:
        self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


_owners: WeakValueDictionary[int, Any] = WeakValueDictionary()


def _look_after_a_fork() -> None:
    for owner in list(_owners.values()):
        lock = getattr(owner, "_lock", None)  # there is none yet if the owner is just being made
        if lock is None:
            continue
        if lock.acquire(blocking=False):  # it is free, or this thread has it
            lock.release()
        else:
            owner._lock = _Lost()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_look_after_a_fork)
