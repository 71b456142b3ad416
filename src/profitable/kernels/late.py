"""`late`: functions that are compiled when they are first called, not when their callers are.

numba compiles whatever a kernel could call, and all of it again for each kernel.  A late function stays outside.  Its
callers know a place in memory, named by a symbol, in which its address stands once it is compiled.  A kernel that finds
the place empty asks Python to fill it.  So a run of kl-UCB on Bernoulli rewards never compiles gamma tails.

A late function has one signature, that of its annotations: numbers, structs (NamedTuples), generators, records and
arrays.

Example: `beta_evidence(a: float, b: float, x: float, y: float, gap: float) -> float`.  The first kernel that calls it
finds its place empty.  It waits while the function is compiled, or loaded from the cache, and no kernel waits again.
"""

# The compiler's own interface has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import ctypes
import functools
import logging
from collections.abc import Callable
from typing import Annotated, Any, cast, get_args, get_origin, get_type_hints

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils, imputils
from numba.core.typing.templates import infer_global, make_concrete_template, signature
from numba.extending import lower_builtin

from profitable.common.types import FloatArray, IntArray
from profitable.kernels.compile import Function, kernel

logger = logging.getLogger("profitable")

# Arrays as late functions take them: dimensions belong to the signature.
Vector = Annotated[FloatArray, 1]
IntVector = Annotated[IntArray, 1]
Matrix = Annotated[FloatArray, 2]

FINDER = "profitable.find"  # the symbol of `_find`
_TYPES: dict[Any, Any] = {
    float: types.float64,
    int: types.int64,
    bool: types.boolean,
    type(None): types.none,
    np.random.Generator: types.npy_rng,
}
_PLACES: dict[int, tuple[str, Callable[[], None]]] = {}  # by address: the name of the function, and what compiles it


def late(function: Function) -> Function:
    """Compile `function` when a kernel, or Python, calls it for the first time."""
    compiled = cast(Any, kernel(function))
    own = _signature_of(function)
    symbol = f"{function.__module__}.{function.__qualname__}"
    place = ctypes.c_void_p()

    def fill() -> None:
        compiled.compile(own.args)
        overload = compiled.overloads[own.args]
        if overload.signature.return_type != own.return_type:
            raise TypeError(f"{symbol} returns {overload.signature.return_type}, not {own.return_type}")
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
                    builder, RuntimeError, (f"{symbol} is not compiled: that failed, or was interrupted",)
                )
        pointer = convention.get_function_type(own.return_type, own.args).as_pointer()
        native = builder.bitcast(builder.load(place), pointer)
        status, value = convention.call_function(builder, native, own.return_type, own.args, values)
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return imputils.impl_ret_new_ref(context, builder, own.return_type, value)

    _PLACES[ctypes.addressof(place)] = function.__qualname__, fill
    llvmlite.binding.add_symbol(symbol, ctypes.addressof(place))
    template = make_concrete_template(symbol, key=call, signatures=[own])
    infer_global(call, types.Function(template))
    lower_builtin(call, *own.args)(call_from_kernel)
    return cast(Function, call)


def late_functions() -> list[tuple[str, Callable[[], None]]]:
    """All late functions: their names, and what compiles each, or loads it from the cache."""
    return list(_PLACES.values())


def _signature_of(function: Callable[..., Any]) -> Any:
    hints = get_type_hints(function, include_extras=True)
    result = _type_of(hints.pop("return"))
    return signature(result, *map(_type_of, hints.values()))


def _type_of(hint: Any) -> Any:
    """The compiler's type of an annotation; `Annotated` says the dimensions of an array, or the dtype of a record."""
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
    """The type of an array's elements: the innermost argument, for versions of numpy differ in what is around it.

    >>> _element_of(np.ndarray[tuple[int], np.dtype[np.int64]]).__name__
    'int64'
    """
    while arguments := get_args(array):
        array = arguments[-1]
    return array


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def _find(place: int) -> None:
    """Called by a kernel that finds a place empty; if this fails it stays empty, and the kernel raises an error."""
    name, fill = _PLACES[place]
    try:
        fill()
    except KeyboardInterrupt:
        pass
    except Exception:
        logger.exception("%s cannot be compiled", name)


llvmlite.binding.add_symbol(FINDER, ctypes.cast(_find, ctypes.c_void_p).value)
