"""After a crash, a lost answer or a lost disk: what is sent again, what is put back,
and which heads do not fit.
"""

import json
import shutil
from pathlib import Path

import pytest

import profitable as pb
from tests.cli.books import head, made, told
from tests.cli.test_app import call


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return made(tmp_path)


def run(folder: Path, *arguments: str, code: int = 0) -> str:
    done = call(*arguments, cwd=folder)
    assert done.returncode == code, (arguments, done.stdout, done.stderr)
    return done.stdout


def decided(folder: Path, key: str, *options: str) -> None:
    """Decide, and keep the JSON as the nightly job does."""
    (folder / f"{key}.json").write_text(
        run(folder, "decide", "lending.db", "--key", key, *options, "--json")
    )


# ---------------------------------------------------------------------------- restoring


def test_the_drill(book: Path, tmp_path: Path) -> None:
    """The backup of last night is restored: today's decision is put back, and its
    clients are accepted.
    """
    run(tmp_path, "copy", "lending.db", "backup.db")
    with pb.Portfolio(book) as before:
        before.observe(
            [pb.Outcome(f"l-{i}", "shops", reward=0.01, decision=1) for i in range(2, 60)]
        )
    decided(tmp_path, "day-2")
    decided(tmp_path, "day-3", "--places", "3", "--demand", "students=5,shops=1")
    acted_on = [json.loads((tmp_path / f"day-{day}.json").read_text()) for day in (2, 3)]
    assert [each["accepted"] for each in acted_on] == [["students"], ["students"]]
    with pb.Portfolio(book) as before:
        numbers = [before.decision(day).evidence.tolist() for day in (2, 3)]
    book.unlink()
    run(tmp_path, "copy", "backup.db", "lending.db")
    shutil.copy(book, tmp_path / "anew.db")
    assert json.loads(run(tmp_path, "decide", "anew.db", "--key", "day-2", "--json"))[
        "accepted"
    ] == [
        "students",
        "shops",
    ]
    table = run(tmp_path, "decide", "lending.db", "--as", "day-2.json", "--actor", "ann")
    assert "round 2, kl-ucb: 1 of 2 categories accepted (key day-2, reinstated)" in table
    again = json.loads(run(tmp_path, "decide", "lending.db", "--as", "day-3.json", "--json"))
    assert again["categories"] == acted_on[1]["categories"]
    assert again["record"] == acted_on[1]["record"]
    end = head(book)
    for day in ("day-2", "day-3"):  # once more, and by its key
        run(tmp_path, "decide", "lending.db", "--as", f"{day}.json")
    run(tmp_path, "decide", "lending.db", "--key", "day-2")
    assert head(book) == end
    with pb.Portfolio(book) as restored:
        assert [restored.decision(day).evidence.tolist() for day in (2, 3)] == numbers
    (tmp_path / "outcomes.csv").write_text(
        "id,category,reward,decision\nn-1,students,1,3\nn-2,shops,1,3\n"
    )
    rows = run(tmp_path, "observe", "lending.db", "outcomes.csv", code=3)
    assert "1 counted, 1 refused" in rows
    assert "decision = 3 did not accept 'shops'" in rows
    found = run(tmp_path, "verify", "lending.db")
    assert "note: 2 decisions were reinstated from JSON" in found


MISTAKES: list[tuple[list[str], str]] = [
    (["--as", "missing.json"], "no such file"),
    (["--as", "."], "is a directory"),
    (["--as", "torn.json"], "is not JSON, or is torn"),
    (["--as", "other.json"], "is a decision of another portfolio"),
    (["--as", "day-3.json"], "the next one here is 2"),
    (["--as", "day-2.json", "--key", "day-2"], "cannot be combined with --as"),
    (["--as", "day-2.json", "--places", "0"], "cannot be combined with --as"),
    (["--as", "day-2.json", "--explore", "0.1"], "cannot be combined with --as"),
    (["--as", "day-2.json", "--json", "--csv"], "cannot be combined with"),
]


@pytest.mark.parametrize(("options", "why"), MISTAKES, ids=[" ".join(each) for each, _ in MISTAKES])
def test_mistakes_put_nothing_back(
    book: Path, tmp_path: Path, options: list[str], why: str
) -> None:
    shutil.copy(book, tmp_path / "backup.db")
    for day in ("day-2", "day-3"):
        decided(tmp_path, day)
    shutil.copy(tmp_path / "backup.db", book)
    (tmp_path / "torn.json").write_text((tmp_path / "day-2.json").read_text()[:300])
    with pb.Portfolio.create(
        tmp_path / "other.db", [pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="ts"
    ) as b:
        (tmp_path / "other.json").write_text(b.decide(key="day-2").to_json())
    end = head(book)
    assert why in told(call("decide", "lending.db", *options, cwd=tmp_path)).lower().replace(
        "json", "JSON"
    )
    assert head(book) == end


# ------------------------------------------------------------------------ sending again


def test_a_correction_is_sent_again(book: Path, tmp_path: Path) -> None:
    ann = ("correct", "lending.db", "l-1", "--reward", "0", "--actor", "ann")
    assert run(tmp_path, *ann) == "l-1: corrected in line 4.\n"
    assert run(tmp_path, *ann) == "l-1: already as requested; nothing was stored.\n"
    run(tmp_path, "correct", "lending.db", "l-1", "--reward", "1", "--actor", "bob")
    end = head(book)
    message = told(call(*ann, cwd=tmp_path))
    assert (
        "was corrected in the same way by ann in line 4, and corrected again by bob in line 5; "
        "give a key" in message
    )
    assert head(book) == end
    assert run(tmp_path, *ann, "--key", "k") == "l-1: corrected in line 6.\n"
    run(tmp_path, "correct", "lending.db", "l-1", "--reward", "1", "--actor", "bob", "--key", "bob")
    assert run(tmp_path, *ann, "--key", "k") == "l-1: corrected in line 6; nothing was stored.\n"
    assert json.loads(run(tmp_path, *ann, "--key", "k", "--json"))["status"] == "known"
    assert "key = 'k' belongs to line 6" in told(
        call(*ann, "--cost", "2", "--key", "k", cwd=tmp_path)
    )


CHANGES = [
    (["--threshold", "students=0.75"], ["--threshold", "students=0.5"]),
    (["--pause", "shops"], ["--resume", "shops"]),
    (["--policy", "ts"], ["--policy", "kl-ucb"]),
    (["--shadow"], ["--acted-on"]),
]


@pytest.mark.parametrize(("change", "back"), CHANGES, ids=[" ".join(each) for each, _ in CHANGES])
def test_a_change_is_sent_again(
    book: Path, tmp_path: Path, change: list[str], back: list[str]
) -> None:
    start = ("portfolio", "change", "lending.db")
    run(tmp_path, *start, *change, "--actor", "ann", "--key", "k")
    run(tmp_path, *start, *back, "--actor", "bob")
    end = head(book)
    again = run(tmp_path, *start, *change, "--actor", "ann", "--key", "k")
    assert again == "This was done in line 4 already; nothing was stored.\n"
    message = told(call(*start, *change, "--actor", "ann", cwd=tmp_path))
    assert (
        "was set to this by ann in line 4 of this round, and changed since; give a key" in message
    )
    assert head(book) == end
    assert run(tmp_path, *start, *back, "--actor", "bob") == run(
        tmp_path, *start, *back, "--actor", "carl"
    )


def test_categories_are_sent_again(book: Path, tmp_path: Path) -> None:
    (tmp_path / "more.toml").write_text(
        '[[category]]\nname = "cards"\nreturns = { required = 0.05 }\n'
    )
    add = ("portfolio", "change", "lending.db", "--add", "more.toml")
    assert run(tmp_path, *add) == "Added: cards.\n"
    end = head(book)
    assert run(tmp_path, *add) == "Added: cards.\n"
    assert "leave it out: a category is added once" in told(call(*add, "--key", "k", cwd=tmp_path))
    assert head(book) == end


# -------------------------------------------------------------------------------- heads


def test_a_night_after_an_earlier_backup(book: Path, tmp_path: Path) -> None:
    night = ("verify", "lending.db", "--heads", "heads.txt")
    assert "heads.txt had no head" in run(tmp_path, *night)
    shutil.copy(book, tmp_path / "backup.db")
    with pb.Portfolio(book) as later:
        later.decide(key="day-2")
    assert "continues all 1 head of heads.txt; 1 line since line 3" in run(tmp_path, *night)
    kept = (tmp_path / "heads.txt").read_text()
    assert run(tmp_path, *night).count("note:") == 1
    shutil.copy(tmp_path / "backup.db", book)
    assert "fits the one before it" in run(tmp_path, "verify", "lending.db")
    found = run(tmp_path, *night, code=4)
    assert "FOUND: the journal does not continue line 4" in found
    assert json.loads(run(tmp_path, *night, "--json", code=4))["clean"] is False
    assert (tmp_path / "heads.txt").read_text() == kept


def test_mistakes_with_heads(book: Path, tmp_path: Path) -> None:
    (tmp_path / "text.txt").write_text("lending.db: 3 lines\n")
    before = book.read_bytes()
    for options, why in (
        (["--heads", "lending.db"], "is the portfolio itself"),
        (["--heads", "text.txt"], "is not a head"),
        (["--heads", "."], "cannot be read"),
        (["--heads", "no/such/folder/heads.txt"], "cannot be read"),
        (["--sign", "key.pem"], "is given without --heads"),
        (["--public-key", "key.pub"], "is given without --heads"),
        (["--heads", "heads.txt", "--sign", "key.pem"], "openssl genpkey"),
    ):
        assert why in told(call("verify", "lending.db", *options, cwd=tmp_path))
    assert book.read_bytes() == before
    assert not (tmp_path / "heads.txt").exists()


def test_a_head_that_cannot_be_kept(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Findings are printed all the same."""

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("profitable.portfolio.heads.os.write", full)
    done = call("verify", "lending.db", "--heads", "heads.txt", cwd=tmp_path)
    assert done.returncode == 1
    assert "fits the one before it" in done.stdout
    assert "may lack the new head (no space left on device)" in done.stderr
