"""The wheel, the source archive, and the files for GitHub and pre-commit.

The archives are the same bytes each time, and have in them what belongs there.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from release.dist import build

import profitable as pb

ROOT = Path(__file__).parent.parent
PYTHONS = ("3.11", "3.12", "3.13")
VERSIONS = re.findall(
    r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The wheel and the source archive of this tree."""
    wheel, archive = build(tmp_path_factory.mktemp("dist"))
    return wheel, archive


def digest(path: Path) -> tuple[str, str]:
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / f"profitable-{pb.__version__}"


def test_the_same_bytes_from_another_place_at_another_time(
    built: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unpacked elsewhere, without git, with other dates and rights, and the clock and
    the user's habits changed.
    """
    elsewhere = unpacked(built[1], tmp_path / "a folder with spaces")
    before = os.umask(0o077)
    try:
        for number, path in enumerate(sorted(elsewhere.rglob("*"))):
            if path.is_file():
                path.chmod(path.stat().st_mode & 0o700)
            os.utime(path, (10**9 + number, 10**9 + number))
        (elsewhere / "src/profitable/__pycache__").mkdir()
        (elsewhere / "src/profitable/__pycache__/agent.cpython-311.pyc").write_bytes(b"left over")
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
        monkeypatch.setenv("TZ", "Asia/Kathmandu")
        monkeypatch.setenv("LC_ALL", "C")
        again = build(tmp_path / "dist", root=elsewhere)
    finally:
        os.umask(before)
    assert [digest(path) for path in again] == [digest(path) for path in built]


def test_the_wheel_has_the_package_and_nothing_else(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        found = {name: wheel.read(name) for name in wheel.namelist()}
    about = f"profitable-{pb.__version__}.dist-info"
    said = {
        f"{about}/{name}"
        for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")
    }
    files = [
        path
        for path in (ROOT / "src/profitable").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    assert set(found) - said == {path.relative_to(ROOT / "src").as_posix() for path in files}
    assert said <= set(found)
    for path in files:
        assert found[path.relative_to(ROOT / "src").as_posix()] == path.read_bytes()
    for needed in (
        "py.typed",
        "replay/german_credit.csv",
        "common/templates/page.html.j2",
        "portfolio/migrations/env.py",
    ):
        assert f"profitable/{needed}" in found


def test_the_source_archive_has_what_is_under_version_control(
    built: tuple[Path, Path], tmp_path: Path
) -> None:
    folder = unpacked(built[1], tmp_path)
    found = {
        path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
    } - {"PKG-INFO"}
    assert {
        "Makefile",
        "LICENSE",
        "CITATION.cff",
        "CHANGELOG.md",
        "requirements.lock",
        "tests/matrix.py",
    } <= found
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a clone, so there is nothing to compare with")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    assert found == {name for name in listed if name and (ROOT / name).is_file()}


def test_the_version_is_said_in_one_voice(built: tuple[Path, Path]) -> None:
    """By the package, the changelog, the citation and the archives; with one date."""
    version, date = VERSIONS[-1]
    assert [number for number, _ in VERSIONS] == sorted(number for number, _ in VERSIONS)
    assert version == pb.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["version"], str(citation["date-released"])) == (version, date)
    assert all(f"profitable-{version}" in path.name for path in built)
    security = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert set(
        re.findall(r"profitable-(\S+)-py3", (ROOT / "README.md").read_text(encoding="utf-8"))
    ) == {version}
    assert f"| {version.rpartition('.')[0]} | yes |" in security


def test_the_citation_is_one() -> None:
    """The fields that version 1.2.0 of the format requires, and the paper."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert set(citation) <= {
        *(
            "cff-version",
            "message",
            "type",
            "title",
            "abstract",
            "version",
            "date-released",
            "license",
        ),
        *("authors", "keywords", "references"),
    }
    (paper,) = citation["references"]
    assert (paper["type"], paper["title"], paper["year"]) == (
        "conference-paper",
        "Profitable Bandits",
        2018,
    )
    assert [author["family-names"] for author in paper["authors"]] == [
        "Achab",
        "Clémençon",
        "Garivier",
    ]
    assert set(paper["conference"]) == set(paper["publisher"]) == {"name"}


def test_the_pythons_that_are_named(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        about = wheel.read(f"profitable-{pb.__version__}.dist-info/METADATA").decode()
    named = re.findall(r"^Classifier: Programming Language :: Python :: (3\.\d+)$", about, re.M)
    assert tuple(named) == PYTHONS
    assert "\nRequires-Python: >=3.11\n" in about
    assert re.findall(r"^Provides-Extra: (\S+)$", about, re.M) == sorted(
        re.findall(r"^Provides-Extra: (\S+)$", about, re.M)
    )
    assert not re.search(r"^Requires-Dist: .*@", about, re.M), "a dependency by its address"


# ------------------------------------------------------------ for GitHub and pre-commit


def read_yaml(path: str) -> Any:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_workflow_runs_make_test_on_every_python() -> None:
    workflow = read_yaml(".github/workflows/test.yml")
    assert set(workflow[True]) == {"push", "pull_request"}  # YAML reads `on` as true
    (job,) = workflow["jobs"].values()
    assert tuple(job["strategy"]["matrix"]["python"]) == PYTHONS
    commands = [step["run"] for step in job["steps"] if "run" in step]
    assert commands == ["make test"]
    assert (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()[-1] == "make test"
    uses = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@v\d+", name) for name in uses)


@pytest.mark.parametrize("name", ["bug", "feature", "wrong_number"])
def test_issue_forms_have_what_github_demands(name: str) -> None:
    form = read_yaml(f".github/ISSUE_TEMPLATE/{name}.yml")
    assert set(form) == {"name", "description", "labels", "body"}
    asked = [part for part in form["body"] if part["type"] != "markdown"]
    names = [part["id"] for part in asked]
    assert len(set(names)) == len(names) >= 2
    assert {part["type"] for part in asked} <= {"textarea", "input"}
    assert all(part["attributes"]["label"] for part in asked)
    assert any(part.get("validations", {}).get("required") for part in asked)


def test_pre_commit_uses_the_locked_ruff() -> None:
    (repository,) = read_yaml(".pre-commit-config.yaml")["repos"]
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    (locked,) = re.findall(r"^ruff==(\S+)", lock, re.M)
    assert repository["rev"] == f"v{locked}"
    assert [hook["id"] for hook in repository["hooks"]] == ["ruff-format", "ruff-check"]


def test_the_locks_name_no_place() -> None:
    """Neither a registry's address nor a path of the machine that made the lock."""
    for name in ("requirements.lock", "requirements-bench.lock"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert not re.search(r"://|^--|file:|@ ", text, re.M), name
