"""Keeper: the folder in which a running simulation keeps its result.  Nobody else may fill it at the same time."""

import logging
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Self

from profitable.common.folder_lock import occupied
from profitable.errors import BrokenResultError, NewerResultError, OtherResultError, ResultFolderError
from profitable.simulation.result import Result
from profitable.simulation.result_folder import (
    MANIFEST,
    NOT_SETTINGS,
    arrow,
    check_manifest,
    load,
    manifest,
    read_manifest,
    save,
)
from profitable.simulation.settings import BLOCK

logger = logging.getLogger("profitable")


class Keeper:
    """A context in which a folder is occupied; an error, before the work starts, if it cannot be filled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._occupied: AbstractContextManager[None] = occupied(folder)

    def __enter__(self) -> Self:
        arrow()
        self._refuse_foreign()
        self._occupied.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._occupied.__exit__(None, None, None)

    def _refuse_foreign(self) -> None:
        """An error if the folder has a result of a newer version, or a file of the same name that is not ours."""
        if not (self.folder / MANIFEST).exists():
            return
        try:
            settings, text = read_manifest(self.folder)
        except BrokenResultError:
            problem = f"holds a {MANIFEST} that is not ours"
            remedy = f"choose another folder, or delete {self.folder / MANIFEST}"
            raise ResultFolderError("out", str(self.folder), problem, remedy) from None
        try:
            check_manifest(self.folder, settings, text)
        except NewerResultError:
            raise
        except BrokenResultError:
            return  # ours, but altered: `start` decides

    def save(self, result: Result) -> None:
        """Save the finished runs, if there are any."""
        if result.finished:
            save(result, self.folder)

    def start(self, wanted: Result, *, resume: bool, fresh: bool) -> Result:
        """The result to continue: what an earlier run of the same simulation left here, or else `wanted`.

        With `fresh` it is always `wanted`.  With `resume` a broken result is an error; without, it is computed again.
        """
        if fresh:
            return wanted
        try:
            return self.earlier(wanted) or wanted
        except BrokenResultError as error:
            if resume:
                raise
            logger.warning("%s It is computed again.", error)
            return wanted

    def earlier(self, wanted: Result) -> Result | None:
        """The result that an earlier run of the same simulation left in the folder; None if there is none.

        It may have fewer runs than wanted, if it ended with a full block.
        """
        if not (self.folder / MANIFEST).exists():
            return None
        found = load(self.folder)
        old, new = manifest(found), manifest(wanted)
        if found.finished == wanted.runs or (found.finished < wanted.runs and found.finished % BLOCK == 0):
            old["runs"] = new["runs"]  # a result with more runs starts with the same runs
        for key in old:
            if (key not in NOT_SETTINGS or key in ("runs", "version")) and old[key] != new[key]:
                problem = f"holds another simulation: its {key} is {old[key]!r}, not {new[key]!r}"
                remedy = "choose another folder, or replace it with --fresh (fresh=True in Python)"
                raise OtherResultError("out", str(self.folder), problem, remedy)
        found.runs = wanted.runs
        return found
