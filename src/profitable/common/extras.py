"""Libraries that only some uses need.

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

from collections.abc import Generator
from contextlib import contextmanager

from profitable.errors import MissingLibraryError


@contextmanager
def extra(name: str, use: str, *, otherwise: str = "") -> Generator[None]:
    """Import what the extra `name` installs; MissingLibraryError if it is missing.

    MissingLibraryError if one is missing.

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
