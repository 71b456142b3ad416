"""Without a library that is an extra: one line that names the extra, from every command
and method that needs it.

Each library is hidden from a process of its own, forked before it is imported, which
then tries everything that needs it.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import profitable as pb
from tests.cli.books import LENDING, made
from tests.waiting import LIMIT, said

PACKAGE = Path(pb.__file__).parent
ROOT = Path(__file__).parent.parent
SERVER = "postgresql+psycopg://nobody@localhost/none"
PAGES = ("altair", "jinja2", "vl_convert")  # what makes pages
DRAWING = dict.fromkeys(("altair", "vl_convert"), "plot")  # what makes charts
SIMULATE = ["simulate", "world.toml", "--policy", "ts", "--horizon", "50", "--runs", "5"]
ADD_UP = [
    "backtest",
    "past.csv",
    "--category",
    "a",
    "--time",
    "b",
    "--reward",
    "c",
    "--cost",
    "1",
    "--cells",
    "c.parquet",
]
DEMO = ["backtest", "--demo", "--policy", "ts", "--seeds", "1"]


class Entry(NamedTuple):
    """Something that a user does: a command if it is a list, or else Python."""

    what: list[str] | str
    needs: dict[str, str]  # library: the extra that installs it, or nothing if none does
    code: int = 2  # how it ends without the library


ENTRIES = [
    Entry(
        ["paper", "--quick", "--experiment", "bernoulli", "--runs", "20", "--out", "paper"],
        dict.fromkeys((*PAGES, "pyarrow"), "paper"),
    ),
    Entry(["credit", "--plays", "2", "--rounds", "5", "--out", "credit"], DRAWING, 0),
    Entry(SIMULATE, {}),
    Entry([*SIMULATE, "--out", "result"], {"pyarrow": "results"}),
    Entry([*SIMULATE, "--out", "result"], DRAWING, 0),
    Entry([*SIMULATE, "--cluster", "tcp://127.0.0.1:1"], {"distributed": "dask"}),
    Entry(
        ["paper", "--quick", "--cluster", "tcp://127.0.0.1:1", "--out", "cluster"],
        {"distributed": "dask"},
    ),
    Entry(
        ["study", "forget", "--runs", "100", "--out", "study"],
        dict.fromkeys((*PAGES, "pyarrow"), "paper"),
    ),
    Entry(["backtest", "--demo", "--describe"], {"pyarrow": "backtest"}),
    Entry(ADD_UP, {"duckdb": "cells"}),
    Entry(DEMO, {"pyarrow": "backtest"}),
    Entry([*DEMO, "--scorecard", "duration"], {"sklearn": "bands", "pyarrow": "backtest"}),
    Entry([*DEMO, "--out", "backtest"], dict.fromkeys((*PAGES, "pyarrow"), "backtest")),
    Entry([*DEMO, "--excel", "tables.xlsx"], {"openpyxl": "excel", "pyarrow": "backtest"}),
    Entry(["log", "lending.db", "--format", "csv", "--out", "log.csv"], {}),
    Entry(
        ["log", "lending.db", "--format", "parquet", "--out", "log.parquet"], {"pyarrow": "results"}
    ),
    Entry(["portfolio", "create", SERVER, "--from", "lending.toml"], {"psycopg": "postgres"}),
    Entry(["decide", SERVER, "--key", "day-1"], {"psycopg": "postgres"}),
    Entry(["copy", "lending.db", SERVER], {"psycopg": "postgres"}),
    Entry(["verify", "lending.db", "--heads", "heads.txt"], {}),
    Entry(
        ["verify", "lending.db", "--heads", "heads.txt", "--sign", "key.pem"],
        {"cryptography": "sign"},
    ),
    Entry(
        ["verify", "lending.db", "--heads", "heads.txt", "--public-key", "key.pub"],
        {"cryptography": "sign"},
    ),
    Entry("agent.decide().to_json()", {}),
    Entry("agent.plot()", DRAWING),
    Entry("result.plot()", DRAWING),
    Entry("result.save('saved')", {"pyarrow": "results"}),
    Entry("pb.Result.load('kept')", {"pyarrow": "results"}),
    Entry("pb.simulate(world, ['ts'], horizon=50, runs=5, out='out')", {"pyarrow": "results"}),
    Entry(
        "pb.backtest(past, category='a', time='b', reward='c', cost=0.5)", {"pyarrow": "backtest"}
    ),
    Entry("report_writer()", dict.fromkeys(PAGES, "backtest")),
    Entry("pb.Portfolio(server)", {"psycopg": "postgres"}),
    *(
        Entry(f"agent.to_frame({library!r})", {library: ""})
        for library in ("pandas", "polars", "pyarrow")
    ),
]
LIBRARIES = sorted({library for entry in ENTRIES for library in entry.needs})

# One process imports the package and uses what needs no extra.  From there a child is
# forked for each library, in a folder of its own.
HIDING = """
import contextlib, io, json, os, pathlib, sys, traceback
server, jobs = json.load(sys.stdin)

import profitable as pb
from profitable.cli import main

coin = pb.Category("coin", pb.Bernoulli(), threshold=0.5)
world = pb.Scenario("world", [pb.Truth(coin, mean=0.6, clients=2)])
result = pb.simulate(world, ["ts"], horizon=50, runs=5, seed=1)
past = {"a": ["x", "y"] * 10, "b": list(range(20)), "c": [1, 0] * 10}
from profitable.replay.backtest_result import report_writer
names = {"agent": pb.Agent([coin], policy="ts"), "report_writer": report_writer, "pb": pb}
names |= {"world": world, "result": result, "past": past, "server": server}
pb.Portfolio.create("here.db", [coin], policy="ts").close()

def answers(entries):
    pathlib.Path("world.toml").write_text(world.to_toml())
    for what in entries:
        code, errors = 0, io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            try:
                if isinstance(what, list):
                    sys.argv = ["profitable", *what]
                    main()
                else:
                    exec(what, dict(names))
            except SystemExit as left:
                code = left.code
            except pb.errors.MissingLibraryError as error:
                code = 2
                print(f"profitable: {error}", file=sys.stderr)
        yield [code, errors.getvalue()]

for hidden, folder, entries in jobs:
    assert hidden not in sys.modules, f"{hidden} is imported by what does not need it"
    child = os.fork()
    if child == 0:
        try:
            os.chdir(folder)
            # Importing it, or a part of it, says that there is no such module.
            sys.modules[hidden] = None
            pathlib.Path("answers.json").write_text(json.dumps(list(answers(entries))))
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, hidden
"""


def entries(library: str) -> list[Entry]:
    """What is tried without a library: all that needs it, and what needs none."""
    return [entry for entry in ENTRIES if library in entry.needs or not entry.needs]


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each library, with the answers of all its entries."""
    saved = tmp_path_factory.mktemp("results") / "saved"
    truth = pb.Truth(pb.Category("a", pb.Bernoulli(), threshold=0.5), mean=0.4, clients=1)
    pb.simulate(pb.Scenario("small", [truth]), ["ts"], horizon=5, runs=2, seed=1).save(saved)
    found: dict[str, Path] = {}
    for library in LIBRARIES:
        found[library] = tmp_path_factory.mktemp(library)
        (found[library] / "lending.toml").write_text(LENDING)
        made(found[library])
        shutil.copytree(saved, found[library] / "kept")
    jobs = [
        [library, str(folder), [entry.what for entry in entries(library)]]
        for library, folder in found.items()
    ]
    done = subprocess.run(
        [sys.executable, "-c", HIDING],
        input=json.dumps([SERVER, jobs]),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path_factory.mktemp("parent"),
        timeout=LIMIT,
    )
    assert done.returncode == 0, done.stderr
    return found


@pytest.mark.parametrize("library", LIBRARIES)
def test_what_is_missing_is_named(library: str, folders: dict[str, Path]) -> None:
    folder = folders[library]
    answers = json.loads((folder / "answers.json").read_text())
    for entry, (code, errors) in zip(entries(library), answers, strict=True):
        lines = said(errors)
        if not entry.needs:
            assert (code, lines) == (0, []), entry
            continue
        assert (code, len(lines)) == (entry.code, 1), (entry, errors)
        extra = entry.needs[library]
        wanted = f"'profitable[{extra}]'" if extra else library
        beginning = "profitable: note: no picture: " if entry.code == 0 else "profitable: "
        assert lines[0].startswith(f"{beginning}library = '{library}' is not installed, and "), (
            lines
        )
        assert re.search(
            rf"; run: pip install {re.escape(wanted)}(, or (write csv|take the CSV files))?\.$",
            lines[0],
        ), lines
    assert not (folder / "paper").exists(), "work was begun"


def test_a_library_that_is_broken() -> None:
    """One that is installed and cannot be loaded is not called missing; and a mistake
    of ours stays one.
    """
    from profitable.common.extras import extra

    with (
        pytest.raises(
            pb.errors.MissingLibraryError,
            match=r"'pyarrow' cannot be loaded \(no symbol x y\), and",
        ) as one,
        extra("results", "it is needed"),
    ):
        raise ImportError("no symbol\n x y", name="pyarrow")
    assert one.value.remedy == "run: pip install 'profitable[results]'"
    with (
        pytest.raises(ModuleNotFoundError, match=r"profitable\.nothing"),
        extra("results", "it is needed"),
    ):
        import profitable.nothing  # type: ignore[import-not-found]  # noqa: F401


def project() -> dict[str, list[str]]:
    """The import names of what each extra installs; those of the package itself have
    the name "".
    """
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = {"": table["dependencies"], **table["optional-dependencies"]}
    other = {"vl-convert-python": "vl_convert", "scikit-learn": "sklearn"}
    names = {
        extra: [re.split(r"[^\w-]", line)[0] for line in lines] for extra, lines in named.items()
    }
    return {extra: [other.get(name, name) for name in lines] for extra, lines in names.items()}


class Imported(NamedTuple):
    """A module that a file imports when it runs, and whether it does so inside `with
    extra(...)`.
    """

    module: str
    by: str
    guarded: bool


def imports(node: ast.AST, by: str, guarded: bool = False) -> Iterator[Imported]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from (Imported(name.name, by, guarded) for name in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield Imported(str(child.module), by, guarded)
            yield from (
                Imported(f"{child.module}.{name.name}", by, guarded) for name in child.names
            )
        else:
            inside = isinstance(child, ast.With) and ast.unparse(child.items[0]).startswith(
                "extra("
            )
            yield from imports(child, by, guarded or inside)


def test_every_import_of_an_extra_is_guarded() -> None:
    """Either by `extra`, or because the whole file is imported so; and what no extra
    installs is imported nowhere.
    """
    found: list[Imported] = []
    for path in PACKAGE.rglob("*.py"):
        module = "profitable." + ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        found += imports(ast.parse(path.read_text(encoding="utf-8")), module)
    declared = project()
    optional = {name for extra, names in declared.items() if extra for name in names}
    comes_with = {"llvmlite": "numba", "markupsafe": "jinja2", "pydantic_core": "pydantic"}
    tops = (
        {each.module.partition(".")[0] for each in found}
        - set(sys.stdlib_module_names)
        - {"profitable"}
    )
    used = {comes_with.get(name, name) for name in tops}
    assert used <= optional | set(declared[""])
    assert set(declared[""]) <= used, "a dependency that nobody imports"
    # Files that import an extra openly may only be imported by such files, or with
    # `extra`. Begin with it.
    open_files = {
        each.by for each in found if each.module.partition(".")[0] in optional and not each.guarded
    }
    while (
        more := {each.by for each in found if each.module in open_files and not each.guarded}
        - open_files
    ):
        open_files |= more
    assert {
        "profitable.paper.paper_report",
        "profitable.replay.backtest_report",
        "profitable.common.pages",
    } <= open_files
    behind = {each.module for each in found if each.guarded}
    roots = {
        each
        for each in open_files
        if not any(other.module == each for other in found if not other.guarded)
    }
    assert roots <= behind, roots - behind
