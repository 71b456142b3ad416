"""Build the wheel and the source archive: `make dist`.

Or: python release/dist.py [folder]

The same source gives the same bytes, whenever, wherever and by whomever it is built.
All files get the date of the newest version in the changelog, so that this also holds
in an unpacked source archive, where there is no git.
"""

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent


def seconds_of_release(changelog: str) -> int:
    r"""Return the date of the newest version, as seconds since 1970.

    >>> seconds_of_release("## 0.1.0 (1970-01-01)\n\n## 0.2.0 (1970-01-02)\n\nNews.\n")
    86400
    """
    dates = re.findall(r"^## \S+ \((\S+)\)$", changelog, re.M)
    return int(datetime.strptime(dates[-1], "%Y-%m-%d").replace(tzinfo=UTC).timestamp())


def build(folder: Path, *, root: Path = ROOT, kind: str = "") -> list[Path]:
    """Build both into a folder, or only the `kind` "wheel" or "sdist"; return paths."""
    seconds = seconds_of_release((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder.absolute())]
    wanted = ["--target", kind] if kind else []
    variables = os.environ | {"SOURCE_DATE_EPOCH": str(seconds)}
    subprocess.run([*command, *wanted], cwd=root, env=variables, check=True)
    return sorted(folder.iterdir())


if __name__ == "__main__":
    dist = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    build(dist)
