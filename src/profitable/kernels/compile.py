"""The decorators that compile: `kernel`, and `part` and `inlined` for what only kernels call.

Every compiled function of the project carries one of them, or `late` (`kernels/late.py`), so that the compile options
stand in one place.  Kernels are cached on disk: beside the source where that is writable, otherwise in the user's own
cache folder (numba's rule).  Where neither is writable they are compiled anew in each process.
"""

import hashlib
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite.binding import get_host_cpu_name
from numba import njit, types
from numba.core.typing.templates import infer_global  # pyright: ignore[reportUnknownVariableType]

from profitable.kernels.announce import ANNOUNCER

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


def compiled_so_far() -> int:
    """How many functions of the package this process has compiled; those that it found on disk do not count."""
    return ANNOUNCER.compiled


def compiler() -> str:
    """What machine code depends on besides its source, such as `0.61.0 for znver3, Linux x86_64`."""
    return f"{numba.__version__} for {get_host_cpu_name()}, {platform.system()} {platform.machine()}"


def cache_folder() -> Path | None:
    """Where compiled kernels are kept; None if no folder can be written."""
    folder = _PARTS[0].stats.cache_path if _PARTS else None
    return Path(folder) if folder else None


def _sources() -> str:
    """What all kernels together are made from: a change in any of these files makes every cached kernel stale."""
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), folder.parent / "common" / "check.py"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _sources()
