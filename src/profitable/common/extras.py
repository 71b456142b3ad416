"""Libraries that only some uses need, and dataframes of the one that is there.

They are *extras*: `pip install 'profitable[plot]'`.

Whoever needs one imports it inside `extra`.  So what is missing is said in the same
words everywhere:

>>> with extra("plot", "charts need it"):
...     import no_such_library
Traceback (most recent call last):
    ...
profitable.errors.MissingLibraryError: library = 'no_such_library' is not installed,
and charts need it; run: pip install 'profitable[plot]'.
"""

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from profitable.errors import MissingLibraryError, ParameterError

BACKENDS = ("pandas", "polars", "pyarrow")


@contextmanager
def extra(name: str, use: str, *, otherwise: str = "") -> Generator[None]:
    """Import what the extra `name` installs; MissingLibraryError if it is missing.

    The error has the command that installs it.  `use` says what it is for, and
    `otherwise` what one can do without it.
    """
    try:
        yield
    except ImportError as error:
        missing = (error.name or "a part of it").partition(".")[0]
        if missing == "profitable":
            raise  # a bug of this package
        absent = isinstance(error, ModuleNotFoundError)
        problem = (
            "is not installed" if absent else f"cannot be loaded ({' '.join(str(error).split())})"
        )
        raise MissingLibraryError(
            "library",
            missing,
            f"{problem}, and {use}",
            f"run: pip install 'profitable[{name}]'" + (f", or {otherwise}" if otherwise else ""),
        ) from None


def frame_of(columns: Mapping[str, Sequence[Any]], backend: str | None = None) -> Any:
    """Return a dataframe of `backend`.

    By default of a library that is imported already, or else of one that is
    installed.
    """
    if backend is not None and backend not in BACKENDS:
        raise ParameterError("backend", backend, "is unknown", f"choose from {', '.join(BACKENDS)}")
    wanted = [backend] if backend else sorted(BACKENDS, key=lambda name: name not in sys.modules)
    installed = [name for name in wanted if find_spec(name)]
    if not installed:
        missing = backend or "pandas"  # any of them would do
        raise MissingLibraryError(
            "library",
            missing,
            "is not installed, and a dataframe is made with it",
            f"run: pip install {missing}",
        )
    import narwhals

    return narwhals.from_dict(dict(columns), backend=installed[0]).to_native()  # type: ignore[arg-type]
