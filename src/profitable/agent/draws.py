"""An endless sequence of Exp(1) draws that can be saved and continued bit for bit."""

from typing import Any

import numpy as np

from profitable.common.types import FloatArray
from profitable.errors import ParameterError

# Draws made at a time, so that not every decision over five categories pays for a NumPy
# call.
BUFFER = 1024


class ExponentialStream:
    """Exp(1) draws; the sequence depends on the seed alone, not on sizes taken.

    >>> stream, copy = ExponentialStream(7), ExponentialStream(7)
    >>> taken = [stream.take(3), stream.take(2000)]
    >>> bool((np.concatenate(taken) == copy.take(2003)).all())
    True
    """

    def __init__(self, seed: int | None) -> None:
        if seed is not None and (
            isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0
        ):
            raise ParameterError(
                "seed", seed, "is not a seed", "give a whole number, 0 or more, or None"
            )
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._refill(0)

    def _refill(self, size: int) -> None:
        self._start = self._generator.bit_generator.state  # from which the buffer can be made again
        self._buffer = self._generator.standard_exponential(size)
        self._used = 0

    def take(self, size: int) -> FloatArray:
        """Return the next `size` draws, [size]; do not write to them."""
        draws = self._buffer[self._used : self._used + size]
        if draws.size == size:
            self._used += size
            return draws
        missing = size - draws.size
        if size > BUFFER:
            fresh = self._generator.standard_exponential(missing)
            self._refill(0)
        else:
            self._refill(BUFFER)
            self._used = missing
            fresh = self._buffer[:missing]
        return np.concatenate([draws, fresh])

    def fill(self, out: FloatArray) -> None:
        """Write the next draws into an array, [size]."""
        if self._used < self._buffer.size or out.size <= BUFFER:
            out[:] = self.take(out.size)
        else:
            self._generator.standard_exponential(out=out)
            self._refill(0)

    def dump(self) -> dict[str, str | int]:
        """Return the position in the sequence as JSON-ready values.

        Integers of 128 bits are text.
        """
        state: dict[str, Any] = self._start["state"]
        return {
            "state": str(state["state"]),
            "increment": str(state["inc"]),
            "buffered": self._buffer.size,
            "used": self._used,
        }

    def restore(self, *, state: str, increment: str, buffered: int, used: int) -> None:
        """Continue the sequence from where `dump` saved it."""
        self._generator.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {"state": int(state), "inc": int(increment)},
            "has_uint32": 0,
            "uinteger": 0,
        }
        self._refill(buffered)
        self._used = used
