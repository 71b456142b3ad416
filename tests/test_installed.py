"""The wheel, installed into an empty environment, does what the README says.

In `make test` the environment gets links to the distributions that the wheel declares,
and to no others; pip then checks that nothing is missing.  So this needs no network.
`make soak` installs from the registry: every extra by itself, and everything on every
Python that the machine has.
"""

import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from release.dist import build

import profitable as pb
from tests.waiting import LIMIT

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
PYTHONS = ("3.11", "3.12", "3.13")
# Variables by which our environment would leak.
NOT_OURS = ("PYTHON", "PYTEST", "NUMBA", "COVERAGE", "VIRTUAL_ENV")
CATEGORY = "pb.Category('a', pb.Bernoulli(), threshold=0.5)"
DEMO = f"import profitable as pb; pb.Agent([{CATEGORY}], policy='ts')"
NO_SERVER = "postgresql+psycopg://nobody@127.0.0.1:1/none"


class Installed:
    """An environment with the wheel in it, and a folder in which commands run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scripts = folder / "environment" / "bin"
        self.work = folder / "work"
        self.work.mkdir(exist_ok=True)

    def run(self, *command: str, code: int = 0) -> subprocess.CompletedProcess[str]:
        """A command of the environment, which must end with `code`."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith(NOT_OURS)}
        kept |= {
            "HOME": str(self.folder),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "MPLCONFIGDIR": str(self.folder),
        }
        done = subprocess.run(
            [str(self.scripts / command[0]), *command[1:]],
            capture_output=True,
            text=True,
            check=False,
            cwd=self.work,
            env=kept,
            timeout=4 * LIMIT,
        )
        assert done.returncode == code, (command, done.stdout[-3000:], done.stderr[-3000:])
        return done

    def python(self, code: str) -> str:
        """Return the output of a program."""
        return self.run("python", "-c", code).stdout

    def check(self) -> None:
        """The README's first example, and what the command line says of itself."""
        example = re.search(r"```python\n(.*?)```\n\n```text\n(.*?)```", README, re.S)
        assert example is not None
        assert self.python(example[1]) == example[2]
        assert self.run("profitable", "--version").stdout == f"profitable {pb.__version__}\n"
        assert "Usage: profitable" in self.run("profitable", "--help").stdout
        assert str(ROOT) not in self.python("import profitable; print(profitable.__file__)")
        self.run("python", "-m", "pip", "check")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (path,) = build(tmp_path_factory.mktemp("dist"), kind="wheel")
    return path


def declared(of: Distribution, found: dict[str, Distribution]) -> dict[str, Distribution]:
    """The distributions that one needs without extras, and those that they need."""
    for line in of.requires or []:
        requirement = Requirement(line)
        name = requirement.name.lower()
        if (
            requirement.marker is None or requirement.marker.evaluate({"extra": ""})
        ) and name not in found:
            found[name] = distribution(name)
            declared(found[name], found)
    return found


def test_the_readme_s_ten_lines_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    place = tmp_path / "environment"
    venv.create(place, with_pip=False, symlinks=True)
    library = next(place.glob("lib/python*/site-packages"))
    # What the wheel says, not what is installed here: the metadata are those inside it.
    shutil.unpack_archive(wheel, tmp_path / "unpacked", format="zip")
    about = Distribution.at(tmp_path / "unpacked" / f"profitable-{pb.__version__}.dist-info")
    needed = declared(about, {})
    assert {"numpy", "numba", "pydantic", "sqlalchemy"} <= set(needed)
    assert not {"pyarrow", "altair", "scipy", "pandas", "psycopg", "distributed"} & set(needed)
    for each in [*needed.values(), distribution("pip")]:
        for top in {
            file.parts[0] for file in each.files or [] if file.parts[0] not in ("..", "__pycache__")
        }:
            (library / top).symlink_to(each.locate_file(top))
    here = Installed(tmp_path)
    # Without a registry, pip fails unless every requirement of the wheel is met
    # already.
    here.run(
        "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-index",
        "--disable-pip-version-check",
        str(wheel),
    )
    here.check()
    refused = here.run("profitable", "paper", code=2)
    assert refused.stderr.count("\n") == 1
    assert refused.stderr.endswith("run: pip install 'profitable[paper]'.\n")


# ---------------------------------------------------------------------------- make soak


def interpreter(version: str) -> str | None:
    """A Python of that version: ours, one on the path, or one that pyenv keeps."""
    kept = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [
        sys.executable,
        shutil.which(f"python{version}"),
        *sorted(kept.glob(f"{version}.*/bin/python")),
    ]
    for candidate in filter(None, candidates):
        command = [str(candidate), "-c", "import sys, venv; print('%d.%d' % sys.version_info[:2])"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
        if done.stdout.strip() == version:
            return str(candidate)
    return None


def installed(wheel: Path, extras: str, folder: Path, version: str) -> Installed:
    """The wheel with extras, from the registry, with the versions of the lock file."""
    found = interpreter(version)
    if found is None:
        pytest.skip(f"no Python {version} on this machine")
    subprocess.run([found, "-m", "venv", str(folder / "environment")], check=True, timeout=LIMIT)
    here = Installed(folder)
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pinned = re.findall(r"^(\S+==\S+(?: ; [^\\\n]*)?)", lock, re.M)
    (folder / "constraints.txt").write_text("\n".join(line.rstrip() for line in pinned))
    install = ["python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    here.run(
        *install, "-c", str(folder / "constraints.txt"), f"{wheel}{f'[{extras}]' if extras else ''}"
    )
    return here


def plots(here: Installed) -> None:
    here.python(f"{DEMO}.plot('agent.png')")
    assert (here.work / "agent.png").read_bytes().startswith(b"\x89PNG")
    here.run("profitable", "credit", "--plays", "2", "--rounds", "20", "--out", "credit")
    assert (here.work / "credit/credit.png").is_file()


def keeps_results(here: Installed) -> None:
    code = (
        "import profitable as pb\n"
        "truth = pb.Truth(pb.Category('a', pb.Bernoulli(), threshold=0.5), mean=0.6, clients=3)\n"
        "pb.simulate(pb.Scenario('one', [truth]), ['ts'], horizon=100, runs=20, out='kept')\n"
        "print(pb.Result.load('kept').finished)"
    )
    assert here.python(code) == "20\n"


def makes_the_paper(here: Installed) -> None:
    here.run("profitable", "paper", "--quick", "--out", "paper")
    assert (here.work / "paper/report.html").stat().st_size > 100_000


def backtests(here: Installed) -> None:
    here.run("profitable", "backtest", "--demo", "--out", "backtest")
    assert list((here.work / "backtest").glob("*.html"))


def reaches_a_server(here: Installed) -> None:
    """There is none; so the driver is there, and says so."""
    refused = here.run("profitable", "decide", NO_SERVER, "--key", "day-1", code=1)
    assert refused.stderr.count("\n") == 1
    assert "is not installed" not in refused.stderr


def adds_up(here: Installed) -> None:
    rows = [f"{i},{i // 5},clerk,{i % 2}" for i in range(100)]
    (here.work / "past.csv").write_text("\n".join(["who,week,job,bought", *rows]))
    columns = [
        "--category",
        "job",
        "--time",
        "week",
        "--reward",
        "bought",
        "--cost",
        "0.5",
        "--id",
        "who",
    ]
    here.run("profitable", "backtest", "past.csv", *columns, "--cells", "cells.parquet")
    assert (here.work / "cells.parquet").read_bytes().startswith(b"PAR1")


def fits_a_scorecard(here: Installed) -> None:
    given = ("--demo", "--scorecard", "duration,amount", "--policy", "kl-ucb", "--replays", "0")
    assert "scorecard >= 0." in here.run("profitable", "backtest", *given).stdout


def reads_and_writes_workbooks(here: Installed) -> None:
    code = (
        "import openpyxl\n"
        "book = openpyxl.Workbook()\n"
        "for row in [('week', 'job', 'bought'), *((i // 5, 'clerk', i % 2) for i in range(100))]:\n"
        "    book.active.append(row)\n"
        "book.save('past.xlsx')"
    )
    here.python(code)
    columns = ["--category", "job", "--time", "week", "--reward", "bought", "--cost", "0.4"]
    few = ["--replays", "0", "--shuffles", "0", "--excel", "found.xlsx"]
    here.run("profitable", "backtest", "past.xlsx", *columns, *few)
    assert (here.work / "found.xlsx").read_bytes().startswith(b"PK")


def has_a_cluster(here: Installed) -> None:
    """Two workers that are threads give the numbers of this process."""
    code = (
        "import profitable as pb\n"
        "from distributed import Client\n"
        "coin = pb.Truth(pb.Category('coin', pb.Bernoulli(), threshold=0.6), mean=0.5, clients=2)\n"
        "def regret(executor):\n"
        "    world = pb.Scenario('world', [coin])\n"
        "    found = pb.simulate(world, ['ts'], horizon=100, runs=300, executor=executor)\n"
        "    return found['ts'].regret.tolist()\n"
        "if __name__ == '__main__':\n"
        "    with Client(processes=False, n_workers=2, dashboard_address=None) as client:\n"
        "        print(regret(None) == regret(client.get_executor()))"
    )
    assert here.python(code) == "True\n"


def signs_heads(here: Installed) -> None:
    code = (
        "import profitable as pb\n"
        "from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey\n"
        "from cryptography.hazmat.primitives import serialization as s\n"
        "form = s.Encoding.PEM, s.PrivateFormat.PKCS8, s.NoEncryption()\n"
        "key = Ed25519PrivateKey.generate().private_bytes(*form)\n"
        "open('key.pem', 'wb').write(key)\n"
        f"book = pb.Portfolio.create('a.db', [{CATEGORY}], policy='ts')\n"
        "print(book.verify(heads='heads.txt', sign='key.pem').is_clean)"
    )
    assert here.python(code) == "True\n"
    assert " signature " in (here.work / "heads.txt").read_text()


USES: dict[str, Callable[[Installed], None]] = {
    "plot": plots,
    "results": keeps_results,
    "paper": makes_the_paper,
    "backtest": backtests,
    "postgres": reaches_a_server,
    "dask": has_a_cluster,
    "cells": adds_up,
    "sign": signs_heads,
    "bands": fits_a_scorecard,
    "excel": reads_and_writes_workbooks,
}


def test_every_extra_is_tried(wheel: Path, tmp_path: Path) -> None:
    shutil.unpack_archive(wheel, tmp_path, format="zip")
    about = Distribution.at(tmp_path / f"profitable-{pb.__version__}.dist-info")
    assert set(about.metadata.get_all("Provides-Extra") or []) == set(USES)


@pytest.mark.skipif(not SOAK, reason="installs from the registry; part of make soak")
@pytest.mark.parametrize("extra", USES)
def test_an_extra_by_itself(extra: str, wheel: Path, tmp_path: Path) -> None:
    here = installed(wheel, extra, tmp_path, ".".join(map(str, sys.version_info[:2])))
    USES[extra](here)


@pytest.mark.skipif(not SOAK, reason="installs from the registry; part of make soak")
@pytest.mark.parametrize("version", PYTHONS)
def test_every_python(version: str, wheel: Path, tmp_path: Path) -> None:
    here = installed(wheel, ",".join(USES), tmp_path, version)
    here.check()
    for use in USES.values():
        use(here)
