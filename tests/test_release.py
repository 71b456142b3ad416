"""The wheel and the source archive: the same bytes each time, and in them what belongs there."""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from release.dist import build

import profitable as pb

ROOT = Path(__file__).parent.parent
VERSIONS = re.findall(r"^## (\S+) \((\S+)\)$", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)


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
    """Unpacked elsewhere, without git, with other dates and rights, and the clock and the user's habits changed."""
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
    said = {f"{about}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    files = [
        path for path in (ROOT / "src/profitable").rglob("*") if path.is_file() and "__pycache__" not in path.parts
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


def test_the_source_archive_has_what_is_under_version_control(built: tuple[Path, Path], tmp_path: Path) -> None:
    folder = unpacked(built[1], tmp_path)
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {"PKG-INFO"}
    assert {"Makefile", "LICENSE", "CITATION.cff", "CHANGELOG.md", "requirements.lock", "tests/matrix.py"} <= found
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("not a clone, so there is nothing to compare with")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
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
    assert set(re.findall(r"profitable-(\S+)-py3", (ROOT / "README.md").read_text(encoding="utf-8"))) == {version}
    assert f"| {version.rpartition('.')[0]} | yes |" in security


def test_the_citation_is_one() -> None:
    """What version 1.2.0 of the format demands, and the paper."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["cff-version"] == "1.2.0"
    assert {"message", "title", "authors"} <= set(citation)
    assert set(citation) <= {
        *("cff-version", "message", "type", "title", "abstract", "version", "date-released", "license"),
        *("authors", "keywords", "references"),
    }
    (paper,) = citation["references"]
    assert (paper["type"], paper["title"], paper["year"]) == ("conference-paper", "Profitable Bandits", 2018)
    assert [author["family-names"] for author in paper["authors"]] == ["Achab", "Clémençon", "Garivier"]
    assert set(paper["conference"]) == set(paper["publisher"]) == {"name"}


def test_the_pythons_that_are_named(built: tuple[Path, Path]) -> None:
    with zipfile.ZipFile(built[0]) as wheel:
        about = wheel.read(f"profitable-{pb.__version__}.dist-info/METADATA").decode()
    assert re.findall(r"^Classifier: Programming Language :: Python :: (3\.\d+)$", about, re.M) == [
        "3.11",
        "3.12",
        "3.13",
    ]
    assert "\nRequires-Python: >=3.11\n" in about
    assert re.findall(r"^Provides-Extra: (\S+)$", about, re.M) == sorted(
        re.findall(r"^Provides-Extra: (\S+)$", about, re.M)
    )
    assert not re.search(r"^Requires-Dist: .*@", about, re.M), "a dependency by its address"
