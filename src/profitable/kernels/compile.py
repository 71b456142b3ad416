"""The one decorator that compiles: `kernel`.

Every compiled function of the project carries it, so that the compile options stand in one place.
Kernels are cached on disk: beside the source where that is writable, otherwise in the user's own cache folder
(numba's rule), and where neither is writable they are compiled anew in each process.
"""

import logging
from collections.abc import Callable
from typing import Any, TypeVar, cast

from numba import njit
from numba.core import event

logger = logging.getLogger("profitable")

Function = TypeVar("Function", bound=Callable[..., Any])

# nogil: threads can run kernels at the same time.  error_model="numpy": 1/0 is inf, as IEEE says, without a branch.
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}


def kernel(function: Function) -> Function:
    """Compile `function` on its first call, and keep the machine code on disk for later processes."""
    try:
        compiled = njit(cache=True, **_OPTIONS)(function)
    except RuntimeError:  # numba found no writable folder at all
        compiled = njit(**_OPTIONS)(function)
    return cast(Function, compiled)


class _Announcer(event.Listener):
    """Says once per process that kernels are being compiled; loading them from the disk cache is silent."""

    announced = False

    def on_start(self, event: Any) -> None:
        source = getattr(event.data["dispatcher"], "py_func", None)
        if not self.announced and getattr(source, "__module__", "").startswith("profitable."):
            self.announced = True
            # A warning, because Python shows those unless told otherwise: a silent half minute looks like a hang.
            logger.warning("compiling numerical kernels at their first use on this machine (up to half a minute) ...")

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _Announcer())  # pyright: ignore[reportUnknownMemberType]
