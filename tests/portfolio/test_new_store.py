"""A new file, made or copied, is whole when it gets its name, or it is not there:
whatever the disk does meanwhile.
"""

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import profitable as pb
from profitable.errors import NotStoredError, ProfitableError
from profitable.portfolio import new_store
from profitable.portfolio.new_store import copy_portfolio
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories, outcomes, small
from tests.portfolio.test_store_faults import fork, in_a_child

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def large(folder: Path) -> Path:
    """A portfolio of some hundred kilobytes."""
    where = folder / "large.db"
    with small(Place(str(where))) as book:
        book.observe(outcomes("students", *[1, 0] * 600))
    return where


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# -------------------------------------------------------------------------- a full disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """A new empty disk of some bytes."""
    made: list[Path] = []

    def mounted(size: int) -> Path:
        folder = tmp_path / f"disk {len(made)}"
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
        if subprocess.run(command, check=False, capture_output=True).returncode:
            pytest.skip("only root can mount a small disk; the tests below do without one")
        made.append(folder)
        return folder

    yield mounted
    for folder in made:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_copy_on_a_disk_of_any_size_is_right_or_not_there(
    tmp_path: Path, disk: Callable[[int], Path]
) -> None:
    source = large(tmp_path)
    size, made = source.stat().st_size, 0
    for share in (0.1, 0.9, 1.05, 1.2, 1.3, 1.5, 1.8, 2.1, 3.0):
        folder = disk(int(share * size))
        target = folder / "copy.db"
        try:
            copy_portfolio(source, target)
        except NotStoredError:
            assert names(folder) == []
        else:
            made += 1
            assert names(folder) == ["copy.db"]
            assert in_a_child(is_clean, target) is True
    assert made >= 5  # it needs little more than its own size


def is_clean(where: Path) -> bool:
    with pb.Portfolio(where) as book:
        return book.verify().is_clean


def test_a_new_portfolio_on_a_disk_of_any_size_is_right_or_not_there(
    disk: Callable[[int], Path],
) -> None:
    made = 0
    for pages in (1, 5, 10, 15, 18, 20, 22, 25, 30, 40, 100):
        folder = disk(4096 * pages)
        try:
            pb.Portfolio.create(folder / "book.db", categories(), policy="ts").close()
        except NotStoredError:
            assert names(folder) == [], pages
        else:
            made += 1
            assert names(folder) == ["book.db"]
    assert 0 < made < 11


def test_a_copy_that_is_not_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that loses the end of a file, or a page in the middle, or keeps an earlier
    state of it.
    """
    source, target = large(tmp_path), tmp_path / "copies" / "copy.db"
    target.parent.mkdir()
    read_back = new_store._read_back

    def cut(path: Path) -> None:
        os.truncate(path, path.stat().st_size - 4096)

    def zeros(path: Path) -> None:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 4096 // 2 * 4096)
            file.write(bytes(4096))

    def empty_table(path: Path) -> None:
        Place(str(path)).change("DELETE FROM profitable_journal WHERE line > 700")

    def other_state(path: Path) -> None:
        Place(str(path)).change("UPDATE profitable_state SET line = 1 WHERE part = 'clock'")

    def log(path: Path) -> None:
        Path(f"{path}-wal").write_bytes(b"frames")

    for damage in (cut, zeros, empty_table, other_state, log):

        def damaged(path: Path, *given: object, damage: Callable[[Path], None] = damage) -> None:
            damage(path)
            read_back(path, *given)  # type: ignore[arg-type]

        monkeypatch.setattr(new_store, "_read_back", damaged)
        with pytest.raises(NotStoredError, match=r"copy\.db' could not be read back"):
            copy_portfolio(source, target)
        assert names(target.parent) == [], damage
    monkeypatch.undo()
    copy_portfolio(source, target)
    assert is_clean(target)


# ------------------------------------------------------------------ a process that ends


def test_what_a_killed_copy_leaves_is_removed_by_the_next(tmp_path: Path) -> None:
    source, folder = large(tmp_path), tmp_path / "copies"
    folder.mkdir()

    def killed() -> None:
        copy_portfolio(
            source, folder / "monday.db", progress=lambda _: os.kill(os.getpid(), signal.SIGKILL)
        )

    child = fork.Process(target=killed)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert [re.sub("[0-9a-f]{16}", "...", name) for name in names(folder)] == [
        ".monday.db.....part"
    ]
    (folder / ".not ours.part").mkdir()
    copy_portfolio(source, folder / "tuesday.db")
    assert names(folder) == [".not ours.part", "tuesday.db"]


def test_a_copy_under_way_is_left_alone(tmp_path: Path) -> None:
    source, folder = large(tmp_path), tmp_path / "copies"
    folder.mkdir()

    def another(_: int) -> None:
        command = [sys.executable, "-m", "profitable", "copy", str(source), str(folder / "fast.db")]
        subprocess.run(command, check=True, capture_output=True)

    copy_portfolio(source, folder / "slow.db", progress=another)
    assert names(folder) == ["fast.db", "slow.db"]
    assert is_clean(folder / "slow.db")


# ------------------------------------------------------------------------------- rights


def test_files_are_for_their_owner(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with small(Place(str(tmp_path / "book.db"))) as book:
            book.observe(outcomes("students", 1))
            copy_portfolio(tmp_path / "book.db", tmp_path / "copy.db")
            assert {
                path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()
            } == dict.fromkeys(("book.db", "book.db-wal", "book.db-shm", "copy.db"), 0o600)
            assert_clean(book)
    finally:
        os.umask(before)


def test_a_folder_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(ProfitableError, match="cannot be created \\(permission denied\\)"):
        pb.Portfolio.create(tmp_path / "book.db", categories(), policy="ts")
    assert names(tmp_path) == []
