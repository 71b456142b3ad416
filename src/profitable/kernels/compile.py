"""The decorators that compile: `kernel`, `direct`, `lazy`, `part` and `inlined`.

Every compiled function of the project carries one of them, so the compile options stand
in one place.  Kernels are cached on disk: next to the source where that is writable,
otherwise in the user's own cache folder (numba's rule).  Where neither is writable they
are compiled in each process.

`lazy` and `part` save most of the compiler's work, by inner parts of numba that all
stand in `kernels/lazy_compile.py` and `kernels/lean_compile.py`.  Those are imported
only under a version of numba they were tested with (`TESTED`).  Under any other
version, or with PROFITABLE_LATE=0 in the environment, numba's public interface does it
all: the same numbers, compiled more slowly.
"""

import hashlib
import os
import platform
import re
from collections.abc import Callable
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numba
from llvmlite.binding import get_host_cpu_name
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])

# The oldest and the newest numba of `make soak`.  Before 0.68, kernels could not name
# the rows of a table by an IntEnum.
TESTED = ((0, 68), (0, 68))
# nogil: threads can run kernels at the same time.  error_model="numpy": 1/0 is inf, as
# IEEE says, without a branch.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_COMPILED: list[Any] = []  # all of them: for parts, numba keeps only weak references


def is_tested(version: str) -> bool:
    """Return whether the inner parts of this version of numba are known.

    >>> is_tested("0.68.1"), is_tested("1.0.0"), is_tested("0+unknown")
    (True, False, False)
    """
    found = re.match(r"(\d+)\.(\d+)", version)
    return found is not None and TESTED[0] <= (int(found[1]), int(found[2])) <= TESTED[1]


IS_LAZY = is_tested(numba.__version__) and os.environ.get("PROFITABLE_LATE") != "0"
lazy_compile: Any = import_module("profitable.kernels.lazy_compile") if IS_LAZY else None
lean_compile: Any = import_module("profitable.kernels.lean_compile") if IS_LAZY else None
if IS_LAZY:
    _OPTIONS["no_cfunc_wrapper"] = True  # nobody calls a kernel from C
    _OPTIONS["pipeline_class"] = lean_compile.LeanCompiler


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, and cache the machine code on disk."""
    return _cached(function, _OPTIONS)


def direct(function: Function) -> "Direct[Function]":
    """Compile `function` for a Python caller that asks for a microsecond of work.

    It has one signature, that of its annotations: numba would look for the code by the
    types of all arguments, and that takes as long as the work.  For the same reason it
    keeps the interpreter's lock.
    """
    return Direct(function, _cached(function, {**_OPTIONS, "nogil": False}))


class Direct(Generic[Function]):
    """A kernel with one signature; `call` calls its compiled code."""

    __slots__ = ("call",)

    def __init__(self, function: Function, compiled: Function) -> None:
        self.call: Function = (
            lazy_compile.entered_directly(self, function, compiled)
            if IS_LAZY
            else _with_floats(function, compiled)
        )


def _with_floats(function: Function, compiled: Function) -> Function:
    """Convert what a function annotates as float: so it has one signature, too."""
    kinds = [each.annotation for each in signature(function).parameters.values()]

    def call(*arguments: Any) -> Any:
        pairs = zip(arguments, kinds, strict=True)
        return compiled(*(float(each) if kind is float else each for each, kind in pairs))

    return cast(Function, call)


def lazy(function: Function) -> Function:
    """Compile `function` when it is first called, not when its callers are compiled.

    It has one signature, that of its annotations: numbers, structs (NamedTuples),
    generators, records and arrays.
    """
    compiled = kernel(function)
    return lazy_compile.linked_on_demand(function, compiled) if IS_LAZY else compiled


def part(function: Function) -> Function:
    """Compile `function` for kernels that call it; in Python it is the plain function.

    So the compiler does not write the code that converts Python's objects, a fifth of
    its work.
    """
    if not IS_LAZY:
        return cast(Any, register_jitable(**_OPTIONS))(function)
    compiled = _cached(function, {**_OPTIONS, "no_cpython_wrapper": True})
    return lazy_compile.registered(function, compiled)


def inlined(function: Function) -> Function:
    """Write `function` into the kernels that call it.

    Steps take large structs.  Passing those in a call would take longer than many
    steps.
    """
    return cast(Function, njit(inline="always", **_OPTIONS)(function))


@cast(Any, intrinsic)
def borrowed(_: Any, value: Any) -> Any:
    """Return an argument of a kernel, its arrays and generators no longer counted.

    Kernels count the references to an array or a generator whenever it is bound to a
    name, also within a struct and by each inlined step: 5 nanoseconds each.  The
    caller of a kernel keeps its arguments alive, so they need no count.  What the
    kernel itself has allocated must not be borrowed.
    """

    def code(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return _without_owner(context, builder, signature.args[0], values[0])

    return value(value), code


def _without_owner(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        for place, each in enumerate(cast(Any, kind)):
            inner = _without_owner(context, builder, each, builder.extract_value(value, place))
            value = builder.insert_value(value, inner, place)
    elif isinstance(kind, types.Array | types.NumPyRandomGeneratorType):
        struct = cast(Any, cgutils).create_struct_proxy(kind)(context, builder, value)
        struct.meminfo = cast(Any, cgutils).get_null_value(struct.meminfo.type)
        value = struct._getvalue()
    return value


def lazy_functions() -> list[tuple[str, Callable[[], None]]]:
    """Return all lazy functions: name, and a function that compiles or loads it."""
    # Otherwise kernels contain them.
    return list(lazy_compile.PLACES.values()) if IS_LAZY else []


def compiled_so_far() -> int:
    """Return how many functions this process compiled; cached ones do not count."""
    return sum(len(each.signatures) - sum(each.stats.cache_hits.values()) for each in _COMPILED)


def compiler() -> str:
    """Name compiler and processor, such as `0.68.0 for znver3, Linux x86_64`."""
    return (
        f"{numba.__version__} for {get_host_cpu_name()}, {platform.system()} {platform.machine()}"
    )


def cache_folder() -> Path | None:
    """Return the folder of compiled kernels; None if no folder can be written."""
    folder = _COMPILED[0].stats.cache_path if _COMPILED else None
    return Path(folder) if folder else None


def _cached(function: Function, options: dict[str, Any]) -> Function:
    """Compile `function`; a change in any file of kernels makes its cache stale.

    Kernels are compiled into each other, but numba compares only the function's own
    file.
    """
    compiled = _stamped(function, options) if IS_LAZY else _in_own_folder(function, options)
    _COMPILED.append(compiled)
    return cast(Function, compiled)


def _stamped(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Cache where numba does, under a version that names the sources."""
    try:
        compiled = njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable folder at all
        return njit(**options)(function)
    lazy_compile.stamp(compiled, SOURCES)
    lean_compile.keep_parts(compiled)
    return compiled


def _in_own_folder(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Cache in a folder that names the sources, or not at all."""
    config = cast(Any, numba).config
    given = config.CACHE_DIR
    folder = Path(given or Path(__file__).parent / "__pycache__") / f"plain-{SOURCES[:16]}"
    config.CACHE_DIR = str(folder)
    try:
        compiled = cast(Any, njit(cache=True, **options)(function))
    except RuntimeError:
        return njit(**options)(function)
    finally:
        config.CACHE_DIR = given
    if not Path(compiled.stats.cache_path).is_relative_to(folder):
        return njit(**options)(function)
    return compiled


def _sources() -> str:
    """Hash all files that kernels are compiled from."""
    folder = Path(__file__).parent
    common = folder.parent / "common"
    digest = hashlib.sha256()
    for path in (*sorted(folder.glob("*.py")), common / "check.py", common / "types.py"):
        digest.update(path.read_bytes())
    return digest.hexdigest()


SOURCES = _sources()
