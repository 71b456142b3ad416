"""What commands share: exit codes, help texts, the output folder, and the exception for an interrupted command."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

DONE, WRONG_INPUT, INTERRUPTED = 0, 2, 130
POLICY_HELP = "A policy by name, as ts or kl-ucb:c=3; `profitable policies` lists all."
SEED_HELP = "The same seed gives the same numbers."
WORKERS_HELP = "Threads; one per core unless given."
JSON_HELP = "Print the numbers as one JSON object instead."


class Stopped(Exception):
    """A command was interrupted; the message is what to tell the user."""


@contextmanager
def output_folder(folder: Path) -> Generator[None]:
    """Make a folder before the work that fills it; remove it again if the work fails and it is empty."""
    from profitable.errors import InputError

    made: list[Path] = []
    try:
        made = [path for path in (folder, *folder.parents) if not path.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        yield
    except BaseException as error:
        for path in made:
            with suppress(OSError):
                path.rmdir()
        if isinstance(error, OSError):
            problem = f"cannot be written ({error.strerror or error})"
            raise InputError("out", str(folder), problem, "choose another folder") from None
        raise
