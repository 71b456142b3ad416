"""Kernels finished as a whole: their errors, their cache, other functions of users."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from numba import njit
from numba.core.registry import cpu_target

from profitable.kernels.compile import kernel, part

PARTS = """
from profitable.kernels.compile import kernel, part

@part
def root(x: float) -> float:
    if x < 0.0:
        raise ValueError("negative")
    return x**0.5

@part
def twice(x: float) -> float:
    return 2.0 * root(x)

@kernel
def first(x: float) -> float:
    return twice(x) + 1.0

@kernel
def second(x: float) -> float:
    return twice(x) + root(x)
"""


@part
def checked(x: float) -> float:
    if x < 0.0:
        raise ValueError("negative")
    return x + 1.0


@part
def factorial(n: int) -> int:
    return 1 if n <= 1 else n * factorial(n - 1)


@kernel
def twice_checked(x: float) -> float:
    return 2.0 * checked(x)


@kernel
def ways(n: int) -> int:
    return factorial(n)


@kernel
def drawn(rng: np.random.Generator, mean: float) -> float:
    return rng.poisson(mean) + rng.standard_gamma(mean)


def library_of(function: Any) -> Any:
    """The compiled code of a part, which numba knows by the plain function."""
    compiled = cpu_target.typing_context.resolve_value_type(function).dispatcher
    return next(iter(compiled.overloads.values())).library


def test_a_part_is_not_made_native_and_its_error_leaves_the_kernel() -> None:
    assert twice_checked(1.0) == 4.0
    with pytest.raises(ValueError, match="negative"):
        twice_checked(-1.0)
    assert not library_of(checked)._finalized


def test_a_part_may_call_itself() -> None:
    assert ways(5) == 120


def test_functions_of_users_call_what_kernels_have_compiled() -> None:
    @cast(Any, njit)(nogil=True, error_model="numpy", no_cfunc_wrapper=True)
    def mine(rng: np.random.Generator, mean: float) -> float:
        return rng.poisson(mean) + rng.standard_gamma(mean)

    @njit
    def more(x: float) -> float:
        return checked(x) + 1.0

    expected = np.random.default_rng(3)
    here = [float(expected.poisson(20.0) + expected.standard_gamma(20.0)) for _ in range(5)]
    for function in (drawn, mine):
        rng = np.random.default_rng(3)
        assert [function(rng, 20.0) for _ in range(5)] == here
    assert twice_checked(1.0) == 4.0
    assert more(1.0) == 3.0


def test_parts_are_read_from_the_cache_into_another_kernel(tmp_path: Path) -> None:
    (tmp_path / "roots.py").write_text(PARTS, encoding="utf-8")

    def printed(name: str) -> list[str]:
        code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import roots
from profitable.kernels import compile
for value in (9.0, -1.0):
    try:
        print(roots.{name}(value))
    except ValueError as error:
        print(error)
print(compile.compiled_so_far())
"""
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        done = subprocess.run(
            [sys.executable, "-c", code],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    assert printed("first") == ["7.0", "negative", "3"]
    assert printed("second") == ["9.0", "negative", "1"]  # its parts came from the cache
    assert printed("second") == ["9.0", "negative", "0"]
