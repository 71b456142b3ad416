"""Names, ids and keys are data, whatever is in them: SQL, markup, options, spaces,
other scripts.

Each name goes through every command that takes one.  It must come out as it went in,
and nothing else may happen.
"""

import csv
import io
import json
import os
import sqlite3
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import profitable as pb
from profitable.common.text_tables import guarded, unguarded
from profitable.portfolio.spelling import normal
from tests.cli.books import Done, head, made, told
from tests.cli.test_app import call
from tests.waiting import said

LONGEST = 500
WORDS = [
    "'; DROP TABLE profitable_journal; --",
    '"; DELETE FROM profitable_state; --',
    "x' OR '1'='1",
    "%s %(name)s :name ? $1 {0}",
    "[bold red]x[/] [link=file:///etc/passwd]",
    "--help",
    "-",
    "a,b=c;d|e",
    "=1+2",
    "NULL",
    "../../x",
    "名前 مرحبا ß 😀",
    "\\n \\x00 \\",
    "`$(x)`",
    "a" * LONGEST,
]
hostile = (  # in the form in which ids are kept
    st.text(
        st.characters(codec="utf-8", exclude_categories=["C", "Z"])
        | st.sampled_from(" '\";%[]{}=,-\\"),
        max_size=30,
    )
    | st.lists(st.sampled_from(WORDS[:-1]), min_size=1, max_size=3).map(" ".join)
)
hostile = hostile.map(normal).filter(
    lambda text: (
        text == text.strip() and text.isprintable() and text.strip("¶") == text != "other" and text
    )
)


def run(folder: Path, *arguments: str) -> Done:
    """A command that must succeed, and say nothing beside."""
    done = call(*arguments, cwd=folder)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)
    assert said(done.stderr) == [], (arguments, done.stderr)
    return done


def write_rows(path: Path, header: list[str], *rows: list[str]) -> None:
    """Write a file as our own CSV files are written."""
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *(map(guarded, row) for row in rows)])


def toml(name: str) -> str:
    return (
        f"[[category]]\nname = {json.dumps(name, ensure_ascii=False)}\nfamily = "
        f'"bernoulli"\nthreshold = 0.5\n'
    )


def through_every_command(folder: Path, name: str) -> None:
    given = json.dumps(name, ensure_ascii=False)
    (folder / "a.toml").write_text(
        f"name = {given}\npolicy = 'kl-ucb'\n{toml('other')}{toml(name)}", encoding="utf-8"
    )
    assert (
        name
        in run(folder, "portfolio", "create", "a.db", "--from", "a.toml", f"--actor={name}").stdout
    )
    decided = json.loads(
        run(folder, "decide", "a.db", f"--key={name}", f"--available={name}", "--json").stdout
    )
    assert (decided["key"], decided["accepted"]) == (name, [name])
    assert (
        name
        in run(
            folder,
            "decide",
            "a.db",
            "--key=2",
            f"--demand={name}=2",
            "--demand=other=1",
            "--places=2",
        ).stdout
    )
    write_rows(folder / "clients.csv", ["id", "category", "matures"], [name, name, "3"])
    assert (
        json.loads(run(folder, "open", "a.db", "clients.csv", "--json").stdout)["rows"][0]["id"]
        == name
    )
    write_rows(
        folder / "o.csv",
        [name, "category", "reward"],
        [name, name, "1"],
        [f"{name[:-1]}¶", name, "0"],
    )
    column = f"--column=id={name}"
    trial = run(folder, "observe", "a.db", "o.csv", column, "--dry-run").stdout
    assert trial.count(name) >= 2  # the column, and the id
    assert (
        json.loads(run(folder, "observe", "a.db", "o.csv", column, "--json").stdout)["counted"] == 2
    )
    corrected = run(folder, "correct", "a.db", "--reward=0", f"--reason={name}", "--", name)
    assert corrected.stdout.startswith(f"{name}: corrected")
    for options in (f"--threshold={name}=0.6", f"--pause={name}", f"--resume={name}"):
        assert name in run(folder, "portfolio", "change", "a.db", options, f"--actor={name}").stdout
    (folder / "b.toml").write_text(toml(f"¶{name[1:]}"), encoding="utf-8")
    run(folder, "portfolio", "change", "a.db", "--add", "b.toml")
    assert name in run(folder, "status", "a.db").stdout
    assert (
        json.loads(run(folder, "status", "a.db", "--json").stdout)["categories"][1]["category"]
        == name
    )
    rows = list(
        csv.DictReader(io.StringIO(run(folder, "status", "a.db", "--csv").stdout, newline=""))
    )
    assert [unguarded(row["category"]) for row in rows] == ["other", name, f"¶{name[1:]}"]
    assert name in run(folder, "explain", "a.db", "--", name).stdout
    assert run(folder, "explain", "a.db", f"--key={name}", "--", name).stdout.startswith(name)
    assert run(folder, "log", "a.db", f"--category={name}").stdout.count(name) >= 5
    of_client = [
        json.loads(line)
        for line in run(folder, "log", "a.db", f"--id={name}", "--format=json").stdout.splitlines()
    ]
    assert [line["kind"] for line in of_client] == ["decide", "open", "outcome", "correct"]
    run(folder, "log", "a.db", "--out", "lines.csv")
    with (folder / "lines.csv").open(encoding="utf-8", newline="") as file:
        assert unguarded(next(csv.DictReader(file))["actor"]) == name
    run(folder, "copy", "a.db", "b.db")
    assert name in run(folder, "compare", "a.db", "b.db").stdout
    run(folder, "portfolio", "export", "b.db", "agent.json")
    run(folder, "portfolio", "import", "c.db", "agent.json", f"--name={name}")
    for book in ("a.db", "b.db", "c.db"):
        assert json.loads(run(folder, "verify", book, "--json").stdout)["clean"] is True


@settings(max_examples=100 if os.environ.get("PROFITABLE_SOAK") == "1" else 2)
@given(hostile)
@example(" ".join(WORDS[:5]))
@example("--help")
@example("a,b=c;d|e")
@example(WORDS[-1])
def test_names_are_data(name: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        through_every_command(Path(folder), name)


UNFIT = [
    "",
    " ",
    "\n",
    "a\nb",
    "a\x00b",
    "\x1b[2J",
    " a",
    "a ",
    "\u202eb",
    "\ud800",
    "a" * (LONGEST + 1),
    "\u2028",
]


@pytest.mark.parametrize("name", UNFIT, ids=ascii)
def test_names_that_no_database_keeps_are_refused(tmp_path: Path, name: str) -> None:
    book = made(tmp_path)
    end = head(book)
    for arguments in (
        ["decide", "lending.db", f"--key={name}"],
        ["decide", "lending.db", "--key=x", f"--available={name}"],
        ["decide", "lending.db", "--key=x", f"--actor={name}"],
        ["correct", "lending.db", "--reward=0", "--", name],
        ["correct", "lending.db", "--reward=0", f"--reason={name * 4}", "--", "l-1"],
        ["explain", "lending.db", "--", name],
        ["portfolio", "change", "lending.db", f"--pause={name}"],
    ):
        told(call(*arguments, cwd=tmp_path))
    write_rows(
        tmp_path / "o.csv",
        ["id", "category", "reward"],
        [name.replace("\ud800", "\x01"), "students", "1"],
    )
    done = call("observe", "lending.db", "o.csv", "--json", cwd=tmp_path)
    if name == name.strip():  # spaces around a cell make no difference
        assert (done.returncode, json.loads(done.stdout)["refused"]) == (3, 1)
        assert head(book) == end
    escaped = json.dumps(name)
    (tmp_path / "a.toml").write_text(
        f'[[category]]\nname = {escaped}\nfamily = "bernoulli"\nthreshold = 0.5\n'
    )
    told(call("portfolio", "create", "a.db", "--from", "a.toml", "--policy", "ts", cwd=tmp_path))
    assert not (tmp_path / "a.db").exists()


@pytest.mark.parametrize(
    "name", ["'; DROP TABLE x; --.db", "%s[bold].db", "-x.db", "a b?mode=memory&x#y.db", "名.db"]
)
def test_files_of_any_name(tmp_path: Path, name: str) -> None:
    made(tmp_path).rename(tmp_path / name)
    run(tmp_path, "decide", "--key=2", "--", name)
    assert name in run(tmp_path, "verify", "--", name).stdout
    run(tmp_path, "copy", "--", name, f"copy of {name}")
    (tmp_path / f"{name}.csv").write_text("id,category,reward\nl-2,nobody,1\n")
    done = call("observe", "--", name, f"{name}.csv", cwd=tmp_path)
    assert done.returncode == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(
        [name, f"copy of {name}", f"{name}.csv", f"{name}.refused.csv"]
    )
    with pb.Portfolio(tmp_path / name) as book:
        assert book.round == 2


def test_the_tables_are_there_after_all(tmp_path: Path) -> None:
    """A table that was recreated, which the tests above would not notice."""
    made(tmp_path)
    for word in WORDS:
        run(tmp_path, "decide", "lending.db", f"--key={word}")
    connection = sqlite3.connect(tmp_path / "lending.db")
    keys = [
        key
        for (key,) in connection.execute(
            "SELECT id FROM profitable_journal WHERE kind = 'decide' ORDER BY line"
        )
    ]
    connection.close()
    assert keys == ["day-1", *WORDS]
