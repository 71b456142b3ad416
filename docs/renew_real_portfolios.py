"""Run the backtests of docs/real-portfolios.md again.

    python docs/renew_real_portfolios.py [data folder] [replays] [beginnings of names]

The numbers of each run are kept in results/real-portfolios.  The page gets its tables
between the marks, and its pictures.  A run whose numbers are there already is not
repeated.  With beginnings of names, as "late,hazards-5-purpose", only such runs are
made, and only tables and pictures renewed that need no other.
"""

import json
import re
import shutil
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import profitable as pb
from profitable.replay.backtest_report import write_report

DOCS = Path(__file__).parent
PAGE, PICTURES, KEPT = (
    DOCS / "real-portfolios.md",
    DOCS / "real-portfolios",
    DOCS.parent / "results/real-portfolios",
)
MARKS = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.S)
PICTURES_SHOWN = {
    "loans": ("over-time", "accepted", "known"),
    "calls": ("over-time", "accepted"),
    "hazards-5-purpose": ("hazards", "levels"),
}
SHOWN_FIRST = {"calls": "ts:forget=0.97"}  # the policy of pictures that show one
# More than the default command tries, to show what they lose.
POLICIES = (
    "kl-ucb",
    "kl-ucb+:count=rounds",
    "bayes-ucb",
    "ts",
    "optimal:horizon",
    "kl-ucb:forget=0.97",
    "ts:forget=0.97",
)
TWO = ("kl-ucb", "ts")
FOUR = ("kl-ucb", "bayes-ucb", "ts", "ts:forget=0.97")
LOANS: dict[str, Any] = {
    "category": "purpose",
    "time": "issue_d",
    "reward": "pv5",
    "amount": "funded_amnt",
}
DATED = {**LOANS, "known": "last_pymnt_d"}  # count at maturity
NAIVE = {**DATED, "late": "as they come"}
MATURITY = 36
CALLS: dict[str, Any] = {
    "category": "job",
    "time": ["year", "month", "day"],
    "date_format": "%Y %b %d",
    "round": "day",
    "reward": "y",
    "cost": 1,
    "revenue": 10,
}
CALLED = (*POLICIES, "bayes-ucb:forget=0.97", "kl-ucb+:count=rounds,forget=0.97")
LATE: dict[str, dict[str, Any]] = {
    "late-as-they-come": {**NAIVE, "weight": "client"},
    "late-at-maturity": {**DATED, "weight": "client", "matures": MATURITY},
    "late-evenly": {
        **DATED,
        "weight": "client",
        "matures": 36,
        "emerges": "evenly",
        "promised": "promised",
    },
    # With the shares of losses that are known by age, from the same file.
    "late-curve": {**DATED, "weight": "client", "matures": MATURITY, "promised": "promised"},
    "late-open-value": {**DATED, "weight": "client", "open_value": "promised"},
}
HAZARDS: dict[str, Any] = {
    "issued": "issued",
    "term": "term",
    "rate": "int_rate",
    "amount": "funded_amnt",
    "defaulted": "defaulted",
    "closed": "closed",
    "recovery": 0.08,
    "lag": 5,
    "shuffles": 0,
    "policies": ("bayes-ucb", "optimal", "kl-ucb"),
}
SYSTEMS: dict[str, str | list[str]] = {
    "purpose": "purpose",
    "purpose x term": ["purpose", "term"],
    "grade": "grade",
    "term": "term",
    "home x verification": ["home_ownership", "verification_status"],
    "rate band": "int_rate:0.08,0.10,0.12,0.14,0.16,0.18",
    "size": "funded_amnt:4000,8000,12000,18000",
    "State": "addr_state",
}
AT_EIGHT = ("purpose", "grade", "term")  # systems that are also judged at 8 %
ADVISED: dict[str, Any] = {"policies": "kl-ucb", "replays": 0, "shuffles": 0}
RUNS: dict[str, dict[str, Any]] = {
    # Whom to stop, by each way of forming categories alone, and by all together.
    **{
        f"stop-{name}": {**DATED, **ADVISED, "category": category}
        for name, category in SYSTEMS.items()
    },
    "stop-together": {
        **DATED,
        **ADVISED,
        "groupings": [category for name, category in SYSTEMS.items() if name != "purpose"],
    },
    **{
        f"hazards-5-{name}": {**HAZARDS, "reward": "pv5", "required": 0.05, "category": category}
        for name, category in SYSTEMS.items()
    },
    **{
        f"hazards-8-{name}": {
            **HAZARDS,
            "reward": "pv8",
            "required": 0.08,
            "category": SYSTEMS[name],
        }
        for name in AT_EIGHT
    },
    "loans-at-once": {**LOANS, "policies": POLICIES},
    "loans": {**NAIVE, "policies": POLICIES},
    "loans-at-maturity": {**DATED, "policies": POLICIES},
    "loans-at-once-normal": {**LOANS, "policies": POLICIES, "family": "normal"},
    "loans-normal": {**NAIVE, "policies": POLICIES, "family": "normal"},
    "loans-budget": {
        **NAIVE,
        "budget": 3e6,
        "score": "int_rate",
        "policies": TWO,
        "replays": 100,
        "shuffles": 0,
    },
    "calls": {**CALLS, "policies": CALLED},
    "calls-monthly": {**CALLS, "round": "month", "policies": CALLED},
    **{
        name: {**run, "policies": FOUR, "shuffles": 0, "replays": 100} for name, run in LATE.items()
    },
}

COLUMNS = {  # of the tables of policies against accepting everybody, by run
    "loans": {
        "loans-at-once": "outcomes known at once",
        "loans": "as they come, at their real dates",
        "loans-at-maturity": "at maturity, the default",
    },
    "loans-normal": {
        "loans-at-once-normal": "outcomes known at once",
        "loans-normal": "as they come, at their real dates",
    },
    "loans-budget": {"loans-budget": "with 3 M a month, at real dates"},
    "late": {
        **{name: name.removeprefix("late-").replace("-", " ") for name in LATE},
        "hazards-5-purpose": "hazards",
    },
    "calls-monthly": {"calls": "a round a day", "calls-monthly": "a round a month"},
}


def loans(data: Path) -> pd.DataFrame:
    """Return the loans with what each promised: its instalments, at 5 % a year."""
    table = pd.read_csv(data / "lendingclub_2007_2011.csv.gz")
    monthly, own = 1.05 ** (1 / 12) - 1, table.int_rate / 12
    # Of the contract.
    months = np.round(-np.log(1 - table.funded_amnt * own / table.installment) / np.log(1 + own))
    table["promised"] = table.installment * (1 - (1 + monthly) ** -months) / monthly
    # A default is taken as known five months after the last payment.
    issued = pd.PeriodIndex(table.issue_d, freq="M")
    last = pd.Series(pd.PeriodIndex(table.last_pymnt_d, freq="M")).fillna(pd.Series(issued))
    lost = table.loan_status.str.contains("Charged")
    table["issued"] = issued.astype(str)
    table["defaulted"] = (last + 5).astype(str).where(lost, None)
    table["closed"] = last.astype(str).where(~lost, None)
    return table


def known_by_age(table: pd.DataFrame) -> list[float]:
    """Return the share of all losses that is known at each age, with hindsight."""
    issued, last = (
        pd.Series(pd.PeriodIndex(table[name], freq="M")) for name in ("issued", "last_pymnt_d")
    )
    ages = [age.n for age in last.fillna(issued) - issued]
    losses = (table.promised - table.pv5) / table.funded_amnt
    known = np.bincount(np.minimum(ages, MATURITY), losses, MATURITY + 1).cumsum()[1:]
    return [round(float(share), 4) for share in known / known[-1]]


def numbers(data: Path, replays: int, beginning: str) -> dict[str, dict[str, Any]]:
    """Return the plain values of each run; from its file, if there is one."""
    KEPT.mkdir(parents=True, exist_ok=True)
    found: dict[str, dict[str, Any]] = {}
    for name, run in RUNS.items():
        if not name.startswith(tuple(beginning.split(","))):
            continue
        path = KEPT / f"{name}.json"
        if not path.exists():
            print(name, flush=True)
            table = (
                pd.read_csv(data / "bank_marketing_full.csv.gz")
                if name.startswith("calls")
                else loans(data)
            )
            hindsight = {"emerges": known_by_age(table)} if name == "late-curve" else {}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = pb.backtest(
                    table,
                    command=f"the run {name} of this page",
                    **{"replays": replays, **run, **hindsight},
                )
            path.write_text(result.to_json(), encoding="utf-8")
        found[name] = json.loads(path.read_text(encoding="utf-8"))
    return found


def in_unit(value: float, unit: str) -> str:
    """Money in millions or thousands, with a real minus sign."""
    text = f"{value / 1e6:.2f}" if unit == "M" else f"{value / 1e3:.1f}"
    shown = text.removeprefix("-") if float(text) == 0.0 else text
    return f"{shown.replace('-', '−')} {unit}"


def cell(run: dict[str, Any], name: str, unit: str) -> str:
    """Return the difference to accepting all, with its interval."""
    for entry in run["entries"]:
        if entry["name"] == name:
            middle, low, high = (in_unit(entry[key], unit) for key in ("difference", "low", "high"))
            return f"{middle} ({low.removesuffix(' ' + unit)} to {high.removesuffix(' ' + unit)})"
    return "refused"


def table(runs: dict[str, dict[str, Any]], columns: dict[str, str], unit: str = "M") -> str:
    """Return a Markdown table: rows are policies and baselines, columns are runs."""
    first = runs[next(iter(columns))]
    names = [entry["name"] for entry in first["entries"] if entry["name"] != "accept all"]
    lines = [
        f"| against accepting everybody | {' | '.join(columns.values())} |",
        "| --- |" + " --- |" * len(columns),
        *(
            f"| `{name}` | {' | '.join(cell(runs[run], name, unit) for run in columns)} |"
            for name in names
        ),
    ]
    return "\n".join(lines) + "\n"


def shuffled_table(run: dict[str, Any]) -> str:
    """Return the gain of each policy in the real order, and in a random one."""
    lines = [
        "| against accepting everybody | in the real order | time shuffled |",
        "| --- | --- | --- |",
    ]
    for entry in run["entries"]:
        if entry["shuffled"] is not None:
            shuffled = entry["shuffled"]
            difference = in_unit(shuffled["difference"], "k")
            mixed = f"{difference} ± {shuffled['error'] / 1e3:.1f}"
            lines.append(f"| `{entry['name']}` | {cell(run, entry['name'], 'k')} | {mixed} |")
    return "\n".join(lines) + "\n"


def hazard_table(runs: dict[str, dict[str, Any]], percent: int) -> str:
    """Return a Markdown table: rows are category systems, columns are policies."""
    policies = ("bayes-ucb", "optimal", "kl-ucb", "hindsight, cross-fitted")
    lines = [
        f"| categories | number | {' | '.join(f'`{name}`' for name in policies)} |",
        "| --- |" + " --- |" * (1 + len(policies)),
    ]
    for name in SYSTEMS:
        run = runs.get(f"hazards-{percent}-{name}")
        if run is not None:
            cells = " | ".join(cell(run, policy, "M") for policy in policies)
            lines.append(f"| {name} | {len(run['categories'])} | {cells} |")
    return "\n".join(lines) + "\n"


def stop_table(runs: dict[str, dict[str, Any]]) -> str:
    """Return a Markdown table of stop lists, and of what earlier ones gained."""
    lines = [
        "| categories | number | stop today | made at earlier dates, it would have earned |",
        "| --- | --- | --- | --- |",
    ]
    for name in SYSTEMS:
        run = runs[f"stop-{name}"]
        split = run["time_splits"][0]
        stopped = ", ".join(row["category"] for row in run["stop_list"]["rows"] if row["stop"])
        gain, low, high = (
            None if split[key] is None else in_unit(split[key], "M")
            for key in ("gain", "low", "high")
        )
        span = "" if low is None or high is None else f" ({low[:-2]} to {high[:-2]})"
        size = len(run["categories"])
        lines.append(f"| {name} | {size} | {stopped or 'nobody'} | {gain}{span} |")
    return "\n".join(lines) + "\n"


def renew(data: Path, replays: int, beginning: str) -> None:
    """Replace the tables and pictures of the page."""
    runs = numbers(data, replays, beginning)
    made = tables(runs)
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        MARKS.sub(
            lambda found: (
                found[1] + "\n" + made[found[2]] + "\n" + found[3] if found[2] in made else found[0]
            ),
            text,
        ),
        encoding="utf-8",
    )
    PICTURES.mkdir(exist_ok=True)
    for name, pictures in PICTURES_SHOWN.items():
        if name in runs:
            runs[name]["entries"].sort(key=lambda entry: entry["name"] != SHOWN_FIRST.get(name))
            write_report(runs[name], KEPT / name)
            for picture in pictures:
                shutil.copyfile(KEPT / name / f"{picture}.svg", PICTURES / f"{name}-{picture}.svg")


def tables(runs: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Return the tables whose runs are there."""
    made = {
        name: table(runs, columns, "k" if name.startswith("calls") else "M")
        for name, columns in COLUMNS.items()
        if columns.keys() <= runs.keys()
    }
    if "calls" in runs:
        made["calls"] = shuffled_table(runs["calls"])
    if {f"stop-{name}" for name in SYSTEMS} <= runs.keys():
        made["stop"] = stop_table(runs)
    for percent, systems in ((5, SYSTEMS), (8, AT_EIGHT)):
        if {f"hazards-{percent}-{name}" for name in systems} <= runs.keys():
            made[f"hazards-{percent}"] = hazard_table(runs, percent)
    return made


if __name__ == "__main__":
    given = sys.argv[1:]
    renew(
        Path(given[0]) if given else DOCS.parent.parent / "shared/data",
        int(given[1]) if given[1:] else 200,
        given[2] if given[2:] else "",
    )
