"""Lazy compilation, on inner parts of numba; `lean_compile` has the others.

`kernels/compile.py` imports this file only under a version of numba that it was tested
with.

numba compiles whatever a kernel could call, and all of it again for each kernel.  A
lazy function stays outside.  Its callers know a place in memory, named by a symbol,
that holds its address once it is compiled.  A kernel that finds the place empty asks
Python to fill it.  So a run of kl-UCB on Bernoulli rewards never compiles gamma tails.

Example: `beta_evidence(a: float, b: float, x: float, y: float, gap: float) -> float`.
The first kernel that calls it finds its place empty.  It waits while the function is
compiled, or loaded from the cache, and no kernel waits again.
"""

# The compiler's own interface has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import ctypes
import functools
import logging
from collections.abc import Callable
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin, get_type_hints

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, event, imputils
from numba.core.typing.templates import infer_global, make_concrete_template, signature
from numba.extending import lower_builtin

from profitable.kernels.announce import ANNOUNCER

logger = logging.getLogger("profitable")

Function = TypeVar("Function", bound=Callable[..., Any])

FINDER = "profitable.find"  # the symbol of `_find`
_TYPES: dict[Any, Any] = {
    float: types.float64,
    int: types.int64,
    bool: types.boolean,
    type(None): types.none,
    np.random.Generator: types.npy_rng,
}
# By address: the name of a lazy function, and a function that compiles it.
PLACES: dict[int, tuple[str, Callable[[], None]]] = {}


def stamp(compiled: Any, sources: str) -> None:
    """Make a cached kernel stale unless it was compiled from these sources.

    As part of the version, the stamp is compared before anything else is read: an old
    cache may name structs that no longer exist.
    """
    file = compiled._cache._cache_file
    file._source_stamp = sources
    file._version = f"{file._version} {sources}"


def registered(function: Function, compiled: Any) -> Function:
    """Let kernels call `compiled` where they name `function`."""
    infer_global(function, types.Dispatcher(compiled))
    return function


def linked_on_demand(function: Function, compiled: Any) -> Function:
    """Compile a function when a kernel, or Python, calls it for the first time."""
    own = _signature_of(function)
    symbol = f"{function.__module__}.{function.__qualname__}"
    place = ctypes.c_void_p()

    def fill() -> None:
        compiled.compile(own.args)
        overload = compiled.overloads[own.args]
        if overload.signature.return_type != own.return_type:
            raise TypeError(
                f"{symbol} returns {overload.signature.return_type}, not {own.return_type}"
            )
        place.value = overload.library.get_pointer_to_function(overload.fndesc.llvm_func_name)

    @functools.wraps(function)
    def call(*values: Any) -> Any:
        return compiled(*values)

    def call_from_kernel(context: Any, builder: Any, _: Any, values: Any) -> Any:
        convention, module = context.call_conv, builder.module
        known = module.globals.get(symbol)
        place = known or cgutils.add_global_variable(module, cgutils.voidptr_t, symbol)
        with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(place))):
            kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t])
            finder = cgutils.get_or_insert_function(module, kind, FINDER)
            builder.call(finder, [builder.bitcast(place, cgutils.voidptr_t)])
            with cgutils.if_unlikely(builder, cgutils.is_null(builder, builder.load(place))):
                convention.return_user_exc(
                    builder,
                    RuntimeError,
                    (f"{symbol} is not compiled: that failed, or was interrupted",),
                )
        pointer = convention.get_function_type(own.return_type, own.args).as_pointer()
        native = builder.bitcast(builder.load(place), pointer)
        status, value = convention.call_function(builder, native, own.return_type, own.args, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return imputils.impl_ret_new_ref(context, builder, own.return_type, value)

    PLACES[ctypes.addressof(place)] = function.__qualname__, fill
    llvmlite.binding.add_symbol(symbol, ctypes.addressof(place))
    template = make_concrete_template(symbol, key=call, signatures=[own])
    infer_global(call, types.Function(template))
    lower_builtin(call, *own.args)(call_from_kernel)
    return cast(Function, call)


def entered_directly(owner: Any, function: Function, compiled: Any) -> Function:
    """Return a function that compiles `compiled` and becomes its entry in the owner."""

    @functools.wraps(function)
    def first(*values: Any) -> Any:
        own = _signature_of(function)
        compiled.compile(own.args)
        owner.call = compiled.overloads[own.args].entry_point
        return owner.call(*values)

    return cast(Function, first)


def _signature_of(function: Callable[..., Any]) -> Any:
    hints = get_type_hints(function, include_extras=True)
    result = _type_of(hints.pop("return"))
    return signature(result, *map(_type_of, hints.values()))


def _type_of(hint: Any) -> Any:
    """Return the compiler's type of an annotation.

    `Annotated` holds the dimensions of an array, or the dtype of a record.
    """
    if get_origin(hint) is Annotated:
        plain, more = get_args(hint)
        if isinstance(more, np.dtype):
            return numba.from_dtype(cast(Any, more))
        return types.Array(numba.from_dtype(_element_of(plain)), more, "C")
    if hasattr(hint, "_fields"):
        fields = get_type_hints(hint, include_extras=True).values()
        return types.BaseTuple.from_types([_type_of(each) for each in fields], hint)
    return _TYPES[hint]


def _element_of(array: Any) -> Any:
    """Return the type of an array's elements, in any version of numpy.

    >>> _element_of(np.ndarray[tuple[int], np.dtype[np.int64]]).__name__
    'int64'
    """
    while arguments := get_args(array):
        array = arguments[-1]
    return array


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _find(place: int) -> None:
    """Fill an empty place; if that fails, the kernel that asked raises an error."""
    name, fill = PLACES[place]
    try:
        fill()
    except KeyboardInterrupt:
        pass
    except Exception:
        logger.exception("%s cannot be compiled", name)


class _Compilations(event.Listener):
    """Passes the compiler's events on to the announcer."""

    def on_start(self, event: Any) -> None:
        ANNOUNCER.start(getattr(event.data["dispatcher"], "py_func", None))

    def on_end(self, event: Any) -> None:
        ANNOUNCER.end()


llvmlite.binding.add_symbol(FINDER, ctypes.cast(_find, ctypes.c_void_p).value)
event.register("numba:compile", _Compilations())
