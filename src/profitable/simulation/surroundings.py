"""Surroundings: what a worker's numbers depend on besides the settings.

The same everywhere, they give the same numbers to the last bit.
"""

import platform
from typing import NamedTuple

import numpy as np

from profitable.errors import ExecutorError
from profitable.kernels.compile import SOURCES, compiler
from profitable.version import VERSION


class Surroundings(NamedTuple):
    """Versions of what computes; that of numba with the processor for which it compiles."""

    profitable: str
    kernels: str
    python: str
    numpy: str
    numba: str

    def check(self, here: "Surroundings") -> str:
        """A note on what differs from `here` and may change the last digits; ExecutorError if it is this package.

        >>> HERE.check(HERE)
        ''
        >>> HERE.check(HERE._replace(numpy="1.0"))[:18]
        'a worker has numpy'
        """
        if (self.profitable, self.kernels) != (here.profitable, here.kernels):
            problem = f"is not the version here, {here.profitable}"
            if self.profitable == here.profitable:
                problem = "has other source files than the same version here"
            remedy = f"install profitable {here.profitable} on every worker"
            raise ExecutorError("profitable on a worker", self.profitable, problem, remedy)
        differences = [
            f"{name} {theirs} instead of {ours}"
            for name, theirs, ours in zip(self._fields, self, here, strict=True)
            if theirs != ours
        ]
        return (
            f"a worker has {', '.join(differences)}: its numbers may differ in the last digits" if differences else ""
        )


HERE = Surroundings(VERSION, SOURCES, platform.python_version(), np.__version__, compiler())
