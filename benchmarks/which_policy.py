"""Measure which policy earned or lost in which situation, on all real files.

It renews the table in docs/backtest.md, from which the default policies follow.

    .venv/bin/python benchmarks/which_policy.py DATA [replays] [beginnings of names]

Loans by five ways to form categories, at 5 % and at 8 % a year; calls by five ways, a
round a day; the German credit demo.  A difference to accepting everybody counts as
earned or lost if its 95 % interval lies on one side of 0: no correction for the number
of policies, so that a default is chosen by the stricter rule.  The numbers of each run
are kept in results/which-policy, and a run whose numbers are there is not repeated.
With beginnings of the names of situations, separated by &, only such runs are made.
Not part of `make bench`: it measures no time.
"""

import json
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import profitable as pb
from profitable.replay.backtest_options import demo

PAGE = Path(__file__).parent.parent / "docs/backtest.md"
MARKS = re.compile(r"(<!-- table: which-policy -->\n).*?(<!-- end -->)", re.S)
KEPT = Path(__file__).parent.parent / "results/which-policy"
TRIED = (
    "kl-ucb",
    "kl-ucb+:count=rounds",
    "bayes-ucb",
    "ts",
    "optimal:horizon",
    "kl-ucb:forget=0.97",
    "bayes-ucb:forget=0.97",
    "ts:forget=0.97",
    "kl-ucb+:count=rounds,forget=0.97",
)
BY_HAZARDS = ("bayes-ucb", "optimal", "kl-ucb")
LOANS: dict[str, Any] = {"time": "issue_d", "amount": "funded_amnt", "shuffles": 0}
SYSTEMS: dict[str, str | list[str]] = {
    "purpose": "purpose",
    "grade": "grade",
    "size": "funded_amnt:4000,8000,12000,18000",
    "State": "addr_state",
    "purpose x term": ["purpose", "term"],
}
WHEN: dict[str, dict[str, Any]] = {
    "loans, at once": {},
    "loans, as they come": {"known": "last_pymnt_d", "late": "as they come"},
    "loans, at maturity": {"known": "last_pymnt_d", "late": "at maturity"},
    "loans, hazards": {
        "time": None,
        "issued": "issued",
        "term": "term",
        "rate": "int_rate",
        "defaulted": "defaulted",
        "closed": "closed",
        "recovery": 0.08,
        "lag": 5,
    },
}
CALLS: dict[str, Any] = {
    "time": ["year", "month", "day"],
    "date_format": "%Y %b %d",
    "round": "day",
    "reward": "y",
    "cost": 1,
    "revenue": 10,
    "shuffles": 0,
}
CALLED = ("job", "education", "marital", "contact", "housing")
DEMO, BY_DAY = "German credit, at once", "calls by day, at once"
SITUATIONS = (*WHEN, BY_DAY, DEMO)


def loans(data: Path) -> pd.DataFrame:
    """Return the loans; a default is known five months after the last payment."""
    table = pd.read_csv(data / "lendingclub_2007_2011.csv.gz")
    issued = pd.PeriodIndex(table.issue_d, freq="M")
    last = pd.Series(pd.PeriodIndex(table.last_pymnt_d, freq="M")).fillna(pd.Series(issued))
    lost = table.loan_status.str.contains("Charged")
    table["issued"] = issued.astype(str)
    table["defaulted"] = (last + 5).astype(str).where(lost, None)
    table["closed"] = last.astype(str).where(~lost, None)
    return table


def runs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the situation, the name and the options of each run."""
    for situation, more in WHEN.items():
        for percent in (5, 8):
            for name, category in SYSTEMS.items():
                given = {**LOANS, **more, "category": category, "reward": f"pv{percent}"}
                if "defaulted" in more:
                    given["required"] = percent / 100
                yield situation, f"{name}, {percent} %", given
    for category in CALLED:
        yield BY_DAY, category, {**CALLS, "category": category}
    yield DEMO, "checking", {**demo()[1].to_dict(), "shuffles": 0}


def measure(data: Path, replays: int, beginnings: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the differences of the policies in each run, from its file if any."""
    KEPT.mkdir(parents=True, exist_ok=True)
    lent, called = loans(data), pd.read_csv(data / "bank_marketing_full.csv.gz")
    found: list[dict[str, Any]] = []
    for situation, name, given in runs():
        path = KEPT / f"{situation} - {name}.json"
        if not path.exists() and situation.startswith(beginnings):
            table = lent if situation.startswith("loans") else called
            policies = BY_HAZARDS if "defaulted" in given else TRIED
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = pb.backtest(
                    demo()[0] if situation == DEMO else table,
                    **{key: value for key, value in given.items() if value is not None},
                    policies=policies,
                    replays=replays,
                    seeds=10,
                )
            entries = {
                entry.name: [
                    entry.difference.middle,
                    entry.difference.low,
                    entry.difference.high,
                    entry.profit,
                ]
                for entry in result
            }
            path.write_text(json.dumps(entries), encoding="utf-8")
            print(f"{situation}: {name}", flush=True)
            for entry, (middle, low, high, _) in entries.items():
                print(f"    {entry:36}{middle:14.0f}{low:14.0f}{high:14.0f}", flush=True)
        if path.exists():
            entries = json.loads(path.read_text(encoding="utf-8"))
            found.append({"situation": situation, "name": name, "entries": entries})
    return found


def cell(entries: list[list[float]]) -> str:
    """Count where a policy earned and lost beyond chance, with its extremes."""
    if not entries:
        return ""
    middle, low, high, _ = np.array(entries).T
    earned, lost = int((low > 0.0).sum()), int((high < 0.0).sum())
    unit, word = (1e6, " M") if np.abs(middle).max() >= 1e5 else (1e3, " k")
    worst, best = (f"{each / unit:z.1f}".replace("-", "−") for each in (middle.min(), middle.max()))
    span = f"{worst} to {best}{word}" if len(entries) > 1 else f"{best}{word}"
    return f"+{earned} −{lost} of {len(entries)} ({span})"


def table(found: list[dict[str, Any]]) -> str:
    """Return a Markdown table: rows are policies, columns are situations."""
    names = (*TRIED, "optimal", "hindsight, cross-fitted")
    shown = [each for each in SITUATIONS if any(run["situation"] == each for run in found)]
    lines = [f"| policy | {' | '.join(shown)} |", "| --- |" + " --- |" * len(shown)]
    for name in names:
        cells = [
            cell(
                [
                    run["entries"][name]
                    for run in found
                    if run["situation"] == situation and name in run["entries"]
                ]
            )
            for situation in shown
        ]
        if any(cells):
            lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def renew(found: list[dict[str, Any]]) -> None:
    """Put the table between its marks in docs/backtest.md."""
    text, made = PAGE.read_text(encoding="utf-8"), table(found)
    PAGE.write_text(
        MARKS.sub(lambda marks: f"{marks[1]}\n{made}\n\n{marks[2]}", text), encoding="utf-8"
    )
    print(made)


if __name__ == "__main__":
    options = sys.argv[1:]
    renew(
        measure(
            Path(options[0]),
            int(options[1]) if options[1:] else 40,
            tuple(options[2].split("&")) if options[2:] else ("",),
        )
    )
