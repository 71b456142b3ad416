"""All benchmarks as one table; fails if a bar is missed or a ratio became worse.

    make bench                                     everything
    make bench QUICK=1                             two minutes if nothing fails
    .venv/bin/python benchmarks/bench.py [--quick] [--only SCRIPT ...]
        [--before PATH_TO_SRC] [--renew-baseline [--even-if-missed]]

`baseline.json` holds the ratios of the last release, never times: they would be those
of one machine.  A ratio 15 % worse fails, with the name of its job.  A job that fails
is measured again, twice at most (once in the quick form), and its best ratio counts.

Jobs of `before_after.py` stand beside commit af23802, the first version, taken from the
history of the repository, or beside the sources that `--before` names.
"""

import argparse
import io
import json
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path

import profitable as pb
from rows import Group, Row, complaints, concluded, rows_of, said

ROOT = Path(__file__).parents[1]
BASELINE = Path(__file__).with_name("baseline.json")
BEFORE = "before_after"
SCRIPTS = (
    "online",
    "startup",
    "simulator",
    BEFORE,
    "paper",
    "portfolio",
    "optimal",
    "backtest",
    "cells",
)
FIRST_VERSION = "af23802"


def read_baseline(path: Path) -> dict[str, float]:
    """Return the ratio of each job in the last release; empty without a file."""
    return json.loads(path.read_text(encoding="utf-8"))["ratios"] if path.exists() else {}


def ratios(rows: Sequence[Row]) -> dict[str, float]:
    """Return the ratios to keep; one to a limit would be a time of this machine."""
    return {row.job: float(f"{row.ratio:.3g}") for row in rows if not row.is_limit}


def write_baseline(rows: Sequence[Row], before: Mapping[str, float], path: Path) -> None:
    """Write the ratios of these rows; jobs that were not measured keep theirs."""
    kept = dict(before) | ratios(rows)
    content = {"version": pb.__version__, "ratios": dict(sorted(kept.items()))}
    path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def notes(rows: Sequence[Row], baseline: Mapping[str, float], *, is_whole: bool) -> list[str]:
    """Say where jobs and baseline differ, if everything was measured."""
    if not is_whole:
        return []
    found = [f"{job}: in the baseline, but not measured" for job in baseline.keys() - ratios(rows)]
    found += [f"{job}: not in the baseline" for job in ratios(rows).keys() - baseline]
    return sorted(found)


def first_version() -> str | None:
    """Return the sources of the first version; None if the history does not have it.

    They stay in build/, with their compiled kernels, for the next run.
    """
    folder = ROOT / "build" / f"bench-{FIRST_VERSION}"
    if not folder.exists():
        done = subprocess.run(
            ["git", "archive", FIRST_VERSION, "src"], cwd=ROOT, capture_output=True, check=False
        )
        if done.returncode:
            return None
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return str(folder / "src")


def groups(scripts: Sequence[str], *, quick: bool, before: str | None) -> Iterator[Group]:
    """Return the groups of each script."""
    for name in scripts:
        script = import_module(name)
        if name != BEFORE:
            yield from script.groups(quick=quick)
        elif before is not None:
            yield from script.groups(before, label="before", quick=quick)
        elif (source := first_version()) is not None:
            yield from script.groups(source, label=FIRST_VERSION, quick=quick)
        else:
            said(
                f"not measured: jobs beside {FIRST_VERSION}, because the history of this "
                "repository does not have that commit; fetch it (git fetch --unshallow), or "
                "give --before"
            )


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="All benchmarks as one table.")
    parser.add_argument("--quick", action="store_true", help="a part, in two minutes")
    parser.add_argument("--only", nargs="+", choices=SCRIPTS, default=SCRIPTS, metavar="SCRIPT")
    parser.add_argument("--before", metavar="PATH_TO_SRC", help=f"instead of {FIRST_VERSION}")
    parser.add_argument("--renew-baseline", action="store_true")
    parser.add_argument("--even-if-missed", action="store_true")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None, path: Path = BASELINE) -> int:
    options = arguments(given)
    before = read_baseline(path)
    baseline = {} if options.renew_baseline else before
    chosen = groups(options.only, quick=options.quick, before=options.before)
    rows = rows_of(chosen, baseline, quick=options.quick)
    code = concluded(rows, baseline)
    is_whole = not options.quick and tuple(options.only) == SCRIPTS and options.before is None
    for note in notes(rows, before, is_whole=is_whole):
        print(f"Note: {note}")
    if options.renew_baseline:
        if complaints(rows, {}) and not options.even_if_missed:
            print("The baseline stays as it was: bars are missed (--even-if-missed renews it).")
            return 1
        write_baseline(rows, {} if is_whole else before, path)
    return code


if __name__ == "__main__":
    sys.exit(main())
