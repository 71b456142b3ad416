"""PyArrow, imported when it is first used, and its errors as one short line.

>>> pa.array([1, 2]).to_pylist()
[1, 2]
>>> short("loans/of/last/year/" + "a" * 70 + ".csv")[-8:]
'aaaa.csv'
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from profitable.common.extras import extra
from profitable.common.types import IntArray
from profitable.errors import InputError

LONGEST_SHOWN = 70  # letters of a path in an error


class LazyArrow:
    """The module pyarrow, or a part of it, imported when it is first used."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        with extra("backtest", "backtests read with it"):
            return getattr(import_module(self._module), name)


pa: Any = LazyArrow("pyarrow")
pc: Any = LazyArrow("pyarrow.compute")
parquet: Any = LazyArrow("pyarrow.parquet")
arrow_csv: Any = LazyArrow("pyarrow.csv")


class FileBatch(NamedTuple):
    """Rows of a file, and the share of it that is read."""

    rows: Any
    share: float
    numbers: IntArray | None = None  # of the rows, if some between them were left out
    # Columns of which some fields are not UTF-8 and missing, with escaped bytes.
    undecoded: Mapping[str, Any] = MappingProxyType({})


@contextmanager
def readable(path: Path, kind: str) -> Generator[None]:
    """Whatever goes wrong inside is an InputError that names the file."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:  # pyarrow raises both for broken content
        reason = getattr(error, "strerror", None) or one_line(error)
        is_text = kind == "a CSV file" and not isinstance(error, OSError)
        raise InputError(
            "data",
            short(path),
            f"cannot be read as {kind} ({reason})",
            "correct it there" if is_text else "is it complete? write or copy it again",
        ) from None


def short(path: object) -> str:
    """Return a path of which the end is always shown."""
    text = str(path)
    return text if len(text) <= LONGEST_SHOWN else f"...{text[3 - LONGEST_SHOWN :]}"


def one_line(error: BaseException) -> str:
    """Return the message of an error as one short line."""
    return " ".join(str(error).split())[:160].rstrip(".")
