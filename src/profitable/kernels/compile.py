"""The decorators that compile: `kernel`, and `part` and `inlined` for what only kernels call.

Every compiled function of the project carries one of them, or `late` (`kernels/late.py`), so that the compile options
stand in one place.  Kernels are cached on disk: beside the source where that is writable, otherwise in the user's own
cache folder (numba's rule).  Where neither is writable they are compiled anew in each process.
"""

import hashlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit, types
from numba.core import event
from numba.core.typing.templates import infer_global  # pyright: ignore[reportUnknownVariableType]

logger = logging.getLogger("profitable")

Function = TypeVar("Function", bound=Callable[..., Any])

# nogil: threads can run kernels at the same time.  error_model="numpy": 1/0 is inf, as IEEE says, without a branch.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
_PARTS: list[Any] = []


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, and keep the machine code on disk for later processes."""
    return _compiled(function, _OPTIONS)


def part(function: Function) -> Function:
    """Compile `function` for the kernels that call it; called from Python it is the plain function.

    So the compiler need not write the code that turns Python's objects into its own, a fifth of its work.
    """
    compiled = _compiled(function, {**_OPTIONS, "no_cpython_wrapper": True})
    _PARTS.append(compiled)  # the compiler itself keeps only weak references
    infer_global(function, types.Dispatcher(compiled))
    return function


def _compiled(function: Function, options: dict[str, Any]) -> Function:
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable folder at all
        compiled = njit(**options)(function)
    else:
        # Kernels are compiled into each other, but numba renews a cached one only when its own file has changed.  As
        # part of the version, the stamp is compared before anything else is read: an old cache may name structs that
        # are gone.
        file = cast(Any, compiled)._cache._cache_file
        file._source_stamp = SOURCES
        file._version = f"{file._version} {SOURCES}"
    return cast(Function, compiled)


def inlined(function: Function) -> Function:
    """A part of a kernel with a name of its own: it is written into the kernels that call it.

    Steps are handed large structs.  As a call, that would take longer than many a step itself.
    """
    return cast(Function, njit(inline="always", **_OPTIONS)(function))


def _sources() -> str:
    """What all kernels together are made from: a change in any of these files makes every cached kernel stale."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), folder.parent / "common" / "check.py"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _sources()


class _Announcer(event.Listener):
    """Says once per process that kernels are being compiled; loading them from the disk cache is silent."""

    announced = False

    def on_start(self, event: Any) -> None:
        source = getattr(event.data["dispatcher"], "py_func", None)
        if not self.announced and getattr(source, "__module__", "").startswith("profitable."):
            self.announced = True
            # A warning, because Python shows those unless told otherwise: a silent half minute looks like a hang.
            logger.warning("compiling numerical kernels at their first use on this machine (up to a minute) ...")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())  # pyright: ignore[reportUnknownMemberType]
