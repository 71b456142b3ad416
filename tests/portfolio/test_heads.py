"""A file of heads: what was cut off, rewritten, or replaced by an earlier backup does
not fit what was kept.
"""

import base64
import shutil
import subprocess
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, rsa

import profitable as pb
from profitable.agent.state_parts import CLOCK_PART
from profitable.portfolio import state
from profitable.portfolio.heads import FORM
from profitable.portfolio.journal import Line, chained
from profitable.portfolio.new_store import copy_portfolio, recomputed
from tests.portfolio.places import Place
from tests.portfolio.small import outcomes, small


@pytest.fixture
def heads(tmp_path: Path) -> Path:
    return tmp_path / "heads.txt"


def lines_of(heads: Path) -> list[str]:
    return heads.read_text().splitlines()


def nights(book: pb.Portfolio, heads: Path, number: int) -> None:
    """So many days, with a head at the end of each."""
    for _ in range(number):
        day = book.round + 1
        book.observe(outcomes("students", 1, 0, prefix=f"day {day}"))
        book.decide(key=f"day {day}")
        assert book.verify(heads=heads).is_clean


def test_each_night_adds_its_head(place: Place, heads: Path) -> None:
    book = small(place)
    found = book.verify(heads=heads)
    assert found.notes == (f"{heads} had no head, so earlier cuts or rewrites cannot be detected",)
    nights(book, heads, 2)
    book.decide(key="later")
    found = book.verify(heads=heads)
    assert found.notes == (f"the journal continues all 3 heads of {heads}; 1 line since line 8",)
    kept = [FORM.fullmatch(line) for line in lines_of(heads)]
    assert [int(line["line"]) for line in kept if line] == [2, 5, 8, 9]
    assert kept[-1]
    assert (kept[-1]["hash"], kept[-1]["journal"]) == (book.head.hash, book.origin)
    before = heads.read_bytes()
    assert book.verify(heads=heads).is_clean  # the same night once more
    assert heads.read_bytes() == before


def restore(place: Place, book: pb.Portfolio, line: int) -> None:
    """Put the portfolio back to what it was at a line: what copying an old file over it
    does.
    """
    place.change("DELETE FROM profitable_journal WHERE line > :line", line=line)
    with book._store.write():
        agent, end = recomputed(book._store.connection)
        book._store.connection.execute(
            sa.delete(state.state).where(state.state.c.part != CLOCK_PART)
        )
        state.save(book._store.connection, agent, end.line, settings=True)


def test_an_earlier_backup_is_found(place: Place, heads: Path) -> None:
    """Without the heads it is clean, for it is a portfolio that was right once."""
    book = small(place)
    nights(book, heads, 3)
    before = heads.read_bytes()
    restore(place, book, 6)
    restored = place.open()
    assert restored.verify().is_clean
    found = restored.verify(heads=heads)
    assert len(found.findings) == 1
    assert (
        f"the journal does not continue line 8, which was kept on {lines_of(heads)[1][:10]}"
        in found.findings[0]
    )
    assert (
        "it ends at line 6. Lines were cut off, or an earlier backup was put in its place"
        in found.findings[0]
    )
    assert "(the last that fits is line 5, " in found.findings[0]
    restored.observe(outcomes("students", *[1] * 20, prefix="other"))  # and the days go on
    assert restored.verify().is_clean
    found = restored.verify(heads=heads)
    assert "it has another hash. Lines were rewritten, or an earlier backup" in found.findings[0]
    assert heads.read_bytes() == before


def test_the_file_with_the_last_lines_is_lost(tmp_path: Path, heads: Path) -> None:
    """SQLite keeps them in a second file until they are moved; a copy without it is a
    portfolio that ends earlier.
    """
    place = Place(str(tmp_path / "a.db"))
    book = small(place)
    book.verify(heads=heads)
    shutil.copy(tmp_path / "a.db", tmp_path / "cut.db")
    cut = Place(str(tmp_path / "cut.db"))
    shorter = cut.open()
    assert shorter.head.line < book.head.line
    assert shorter.verify().is_clean
    assert "Lines were cut off" in shorter.verify(heads=heads).findings[0]
    for each in (place, cut):
        each.close()


def rewritten(place: Place, since: int, **changed: object) -> None:
    """Change a line, and write all hashes anew from there on."""
    rows = place.rows("SELECT * FROM profitable_journal ORDER BY line")
    lines = [Line(*row) for row in rows]
    lines[since - 1] = lines[since - 1]._replace(**changed)
    before = lines[since - 2].hash if since > 1 else "0" * 64
    for line in chained(lines[since - 1 :], before):
        update = "UPDATE profitable_journal SET actor = :actor, hash = :hash WHERE line = :line"
        place.change(update, actor=line.actor, hash=line.hash, line=line.line)


def test_a_rewritten_chain_is_found(place: Place, heads: Path) -> None:
    book = small(place)
    nights(book, heads, 3)
    book.observe(outcomes("students", 1, prefix="since the last head"))
    rewritten(place, 12, actor="eve")
    assert place.open().verify(heads=heads).is_clean  # what came after the newest head: never found
    heads.write_text("".join(f"{line}\n" for line in lines_of(heads)[:3]))
    rewritten(place, 7, actor="eve")
    again = place.open()
    assert again.verify().is_clean
    before = heads.read_bytes()
    found = again.verify(heads=heads)
    assert "the journal does not continue line 8" in found.findings[0]
    assert heads.read_bytes() == before
    rewritten(place, 1, actor="eve")
    found = place.open().verify(heads=heads)
    assert "another portfolio, or it was rewritten from its beginning" in found.findings[0]


def test_the_heads_of_another_portfolio(two_places: tuple[Place, Place], heads: Path) -> None:
    first, second = (small(place) for place in two_places)
    first.verify(heads=heads)
    before = heads.read_bytes()
    found = second.verify(heads=heads)
    assert f"whose first line has the hash {first.origin[:12]}..., and here" in found.findings[0]
    assert "this is another portfolio" in found.findings[0]
    assert heads.read_bytes() == before


def test_a_copy_continues_the_same_heads(two_places: tuple[Place, Place], heads: Path) -> None:
    book = small(two_places[0])
    nights(book, heads, 2)
    copy_portfolio(two_places[0].where, two_places[1].where)
    copied = two_places[1].open()
    copied.decide(key="later")
    assert copied.verify(heads=heads).is_clean
    assert len(lines_of(heads)) == 3


def test_nothing_is_added_if_anything_is_found(place: Place, heads: Path) -> None:
    book = small(place)
    nights(book, heads, 1)
    book.decide(key="later")
    place.change("UPDATE profitable_journal SET actor = 'eve' WHERE line = 3")
    before = heads.read_bytes()
    assert "line 3 was changed" in place.open().verify(heads=heads).findings[0]
    assert heads.read_bytes() == before


@pytest.mark.parametrize("left", [1, 25, 60, 120, -1])
def test_a_torn_last_line(tmp_path: Path, heads: Path, left: int) -> None:
    """A power failure in the middle of writing: the line is left out, and marked when
    the next one is written.
    """
    place = Place(str(tmp_path / "a.db"))
    book = small(place)
    nights(book, heads, 2)
    first, second = lines_of(heads)
    heads.write_text(f"{first}\n{second[:left]}")
    book.decide(key="later")
    found = book.verify(heads=heads)
    assert found.is_clean
    assert found.notes[0] == f"the last line of {heads} is torn, and was left out"
    assert lines_of(heads)[:2] == [first, f"{second[:left]} # torn"]
    assert len(lines_of(heads)) == 3
    assert book.verify(heads=heads).notes == (
        f"the journal continues all 2 heads of {heads}; 0 lines since line 9",
    )
    place.close()


def test_a_file_that_people_edit(tmp_path: Path, heads: Path) -> None:
    place = Place(str(tmp_path / "a.db"))
    book = small(place)
    nights(book, heads, 2)
    kept = lines_of(heads)
    # And no end of line.
    heads.write_text(f"# heads of the lending portfolio\r\n\r\n{kept[1]}  \r\n{kept[0]}")
    book.decide(key="later")
    assert "continues all 2 heads" in book.verify(heads=heads).notes[0]
    assert lines_of(heads)[-2] == kept[0]
    assert FORM.fullmatch(lines_of(heads)[-1])
    for nonsense in (
        "head: 12",
        kept[0][:-1],
        f"{kept[0]} signature abc",
        kept[0].replace("line", "lime"),
    ):
        heads.write_text(f"{kept[0]}\n{nonsense}\n")
        before = heads.read_bytes()
        with pytest.raises(
            pb.errors.InputError, match=r"heads.txt: line = 2 is not a head; put it back as it was"
        ):
            book.verify(heads=heads)
        assert heads.read_bytes() == before
    place.close()


def test_many_at_once(tmp_path: Path, heads: Path) -> None:
    """Each adds whole lines, and all of them fit."""
    place = Place(str(tmp_path / "a.db"))
    book = small(place)
    nights(book, heads, 1)
    heads.write_text(heads.read_text() + "torn")
    book.decide(key="later")
    users = [place.open() for _ in range(6)]
    threads = [threading.Thread(target=user.verify, kwargs={"heads": heads}) for user in users]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    whole = [line for line in lines_of(heads) if FORM.fullmatch(line)]
    assert 2 <= len(whole) <= 7
    assert book.verify(heads=heads).is_clean
    place.close()


def test_a_head_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(str(tmp_path / "a.db"))
    book = small(place)
    with pytest.raises(pb.errors.InputError, match="cannot be read"):
        book.verify(heads=tmp_path)
    with pytest.raises(pb.errors.InputError, match="cannot be read"):
        book.verify(heads=tmp_path / "no/such/heads.txt")
    monkeypatch.setattr("profitable.portfolio.heads.os.fsync", failing)
    with pytest.raises(
        pb.errors.NotSavedError, match=r"may lack the new head \(no space"
    ) as failed:
        book.verify(heads=tmp_path / "heads.txt")
    assert "portfolio" in failed.value.result.to_dict()  # type: ignore[union-attr]
    place.close()


def failing(_: int) -> None:
    raise OSError(28, "No space left on device")


# --------------------------------------------------------------------------- signatures


PEM, PLAIN = serialization.Encoding.PEM, serialization.NoEncryption()
Private = ed25519.Ed25519PrivateKey | rsa.RSAPrivateKey


def pem(key: Private, secret: serialization.KeySerializationEncryption = PLAIN) -> bytes:
    return key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, secret)


@pytest.fixture
def keys(tmp_path: Path) -> tuple[Path, Path]:
    """The files of a private key and its public key."""
    private, public, key = (
        tmp_path / "key.pem",
        tmp_path / "key.pub",
        ed25519.Ed25519PrivateKey.generate(),
    )
    private.write_bytes(pem(key))
    public.write_bytes(
        key.public_key().public_bytes(PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return private, public


def test_signed_heads(place: Place, heads: Path, keys: tuple[Path, Path]) -> None:
    private, public = keys
    book = small(place)
    assert book.verify(heads=heads, sign=private).is_clean
    book.decide(key="later")
    assert book.verify(heads=heads, sign=private).is_clean
    found = book.verify(heads=heads, public_key=public)
    assert (found.findings, len(found.notes)) == ((), 1)
    first, second = lines_of(heads)
    assert FORM.fullmatch(first)["signature"] != FORM.fullmatch(second)["signature"]  # type: ignore[index]
    for line in (
        first.replace(" line 2 ", " line 1 "),
        first.replace("2026", "2025", 1),
        first.partition(" sig")[0],
    ):
        heads.write_text(f"{line}\n{second}\n")
        before = heads.read_bytes()
        for options in ({"public_key": public}, {"sign": private}):
            found = book.verify(heads=heads, **options)
            assert (
                "does not fit: it was altered, or signed with another key, or not at all"
                in found.findings[0]
            )
        assert heads.read_bytes() == before


def test_signed_heads_get_no_unsigned_one(
    place: Place, heads: Path, keys: tuple[Path, Path]
) -> None:
    """One night without the key must not spoil the file for all later ones."""
    private, public = keys
    book = small(place)
    book.verify(heads=heads, sign=private)
    before = heads.read_bytes()
    book.decide(key="later")
    found = book.verify(heads=heads)
    assert found.is_clean
    assert found.notes[-1].endswith("whose heads are signed: give --sign")
    assert heads.read_bytes() == before
    assert book.verify(heads=heads, sign=private).is_clean
    assert book.verify(heads=heads, public_key=public).is_clean
    assert len(lines_of(heads)) == 2


def test_a_signature_that_is_torn_off(tmp_path: Path, heads: Path, keys: tuple[Path, Path]) -> None:
    private, public = keys
    place = Place(str(tmp_path / "a.db"))
    book = small(place)
    book.verify(heads=heads, sign=private)
    book.decide(key="later")
    book.verify(heads=heads, sign=private)
    first, second = lines_of(heads)
    heads.write_text(f"{first}\n{second.partition(' signature')[0]}")
    book.decide(key="last")
    found = book.verify(heads=heads, sign=private)
    assert found.is_clean
    assert "is torn" in found.notes[0]
    assert book.verify(heads=heads, public_key=public).is_clean
    place.close()


def test_nothing_is_added_by_those_who_only_check(
    place: Place, heads: Path, keys: tuple[Path, Path]
) -> None:
    private, public = keys
    book = small(place)
    book.verify(heads=heads, sign=private)
    before = heads.read_bytes()
    book.decide(key="later")
    assert book.verify(heads=heads, public_key=public).is_clean
    assert heads.read_bytes() == before


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl here")
def test_keys_and_signatures_of_openssl(tmp_path: Path, heads: Path) -> None:
    """As in audit.md: openssl makes the keys, and checks a head by itself."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=tmp_path, check=True, capture_output=True)

    place = Place(str(tmp_path / "a.db"))
    openssl("genpkey", "-algorithm", "ed25519", "-out", "key.pem")
    openssl("pkey", "-in", "key.pem", "-pubout", "-out", "key.pub")
    book = small(place)
    book.verify(heads=heads, sign=tmp_path / "key.pem")
    assert book.verify(heads=heads, public_key=tmp_path / "key.pub").is_clean
    text, _, signature = lines_of(heads)[0].partition(" signature ")
    (tmp_path / "text").write_text(text)
    (tmp_path / "signature").write_bytes(base64.b64decode(signature))
    openssl(
        *[
            "pkeyutl",
            "-verify",
            "-pubin",
            "-inkey",
            "key.pub",
            "-rawin",
            "-in",
            "text",
            "-sigfile",
            "signature",
        ]
    )
    place.close()


def test_what_is_no_key(tmp_path: Path, heads: Path, keys: tuple[Path, Path]) -> None:
    private, public = keys
    place = Place(str(tmp_path / "a.db"))
    book = small(place)
    other, locked, nonsense = (
        tmp_path / name for name in ("rsa.pem", "locked.pem", "nonsense.pem")
    )
    other.write_bytes(pem(rsa.generate_private_key(65_537, 2_048)))
    locked.write_bytes(
        pem(ed25519.Ed25519PrivateKey.generate(), serialization.BestAvailableEncryption(b"x"))
    )
    nonsense.write_text("-----BEGIN PRIVATE KEY-----\nnonsense\n")
    for path in (public, other, locked, nonsense, tmp_path / "missing.pem", tmp_path):
        with pytest.raises(pb.errors.InputError, match="openssl genpkey -algorithm ed25519"):
            book.verify(heads=heads, sign=path)
    for path in (private, other, tmp_path / "missing.pub"):
        with pytest.raises(pb.errors.InputError, match=r"openssl pkey -in key\.pem -pubout"):
            book.verify(heads=heads, public_key=path)
    with pytest.raises(pb.errors.InputError, match="cannot be combined with sign"):
        book.verify(heads=heads, sign=private, public_key=public)
    assert not heads.exists()
    place.close()
