"""How slow this machine is, so that a limit in seconds means the same everywhere.

A process imports numba and compiles a fixed function.  Its CPU seconds, divided by
those on the machine for which the limits were set, multiply every limit of time.  One
measure serves all limits: where the compiler is slow, compiled code is, too.
"""

from functools import cache

from common import process_cpu

# Draws, because their code takes the compiler long and comes with numba, so that no
# change of the project can move the measure.
WORK = """
import numba, numpy as np
@numba.njit(error_model="numpy")
def work(rng, values):
    for i in range(values.size):
        values[i] = rng.standard_gamma(2.0)
    return values.sum()
work(np.random.default_rng(1), np.zeros(10))
"""
# There, the first decision of commit e978343 took 7.8 s.  Measured beside it, this is
# between 2.4 and 2.8.
REFERENCE = 2.5
TURNS = 2


@cache
def slowness() -> float:
    """Return by which factor this machine is slower; the fastest turn counts."""
    return min(process_cpu(WORK) for _ in range(TURNS)) / REFERENCE
