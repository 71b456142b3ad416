"""An endless sequence of Exp(1) draws that can be saved and continued bit for bit."""

from typing import Any

import numpy as np

from profitable.common.types import FloatArray
from profitable.errors import ParameterError

# Draws made at a time, so that not every decision over five categories pays for a NumPy
# call.  Many categories fill their own array: nothing is gained by a buffer.
BUFFER, UNBUFFERED = 1024, 256


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
        # From which the buffer can be made again; without one, the generator has it.
        self._start = self._generator.bit_generator.state if size else None
        self._buffer = self._generator.standard_exponential(size)
        self._used, self._size = 0, size

    def take(self, size: int) -> FloatArray:
        """Return the next `size` draws, [size]."""
        draws = np.empty(size)
        self.fill(draws)
        return draws

    def fill(self, out: FloatArray) -> None:
        """Write the next draws into an array, [size]."""
        start, end = self._used, self._used + len(out)
        if end <= self._size:
            out[:] = self._buffer[start:end]
            self._used = end
            return
        left = self._size - start
        if left:
            out[:left] = self._buffer[start:]
        if len(out) > UNBUFFERED:
            self._generator.standard_exponential(out=out[left:])
            if self._size:
                self._refill(0)
        else:
            self._refill(BUFFER)
            self._used = end = len(out) - left
            out[left:] = self._buffer[:end]

    def dump(self) -> dict[str, str | int]:
        """Return the position in the sequence as JSON-ready values.

        Integers of 128 bits are text.
        """
        state: dict[str, Any] = (self._start or self._generator.bit_generator.state)["state"]
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
