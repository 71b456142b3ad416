"""A backtest that never was: numbers in the form of `Backtest.to_dict()`, plausible
enough to be drawn.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from profitable.agent.cutoff_table import CutoffRow, CutoffTable
from tests.replay.made_up_advice import made_up_advice

NAMES = ("cars", "home", "wedding", "debt", "small business", "moving")
POLICIES = ("kl-ucb", "kl-ucb:forget=0.05", "ts")
HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"quotes\" & 'apostrophes'",
    "<img src=x onerror=alert(2)>",
    "a\\b:c.d[0]",
)


def made_up(
    names: Sequence[str] = NAMES,
    *,
    rounds: int = 60,
    amounts: bool = True,
    immediate: bool = False,
    off_policy: bool = False,
    advised: bool = False,
    policies: Sequence[str] = POLICIES,
    seed: int = 1,
) -> dict[str, Any]:
    """The dict of a backtest with some categories (good, bad, and one that turns) and
    three policies.
    """
    generator = np.random.default_rng(seed)
    count = len(names)
    clients = generator.poisson(40, (rounds, count))
    mean = np.linspace(0.07, -0.06, count) + np.linspace(0.03, -0.03, rounds)[:, None] * (
        np.arange(count) % 3 == 1
    )
    profit = 1_000.0 * (
        clients * mean + 0.3 * np.sqrt(clients) * generator.standard_normal((rounds, count))
    )
    labels = [f"{2007 + month // 12}-{month % 12 + 1:02}" for month in range(rounds)]
    cells = {"profit": profit, "clients": clients}
    entries = [_entry("accept all", "baseline", np.ones((rounds, count)), cells, labels, names)]
    entries.append(
        _entry("accept none", "baseline", np.zeros((rounds, count)), cells, labels, names)
    )
    hindsight = np.tile(profit.sum(axis=0) > 0.0, (rounds, 1)).astype(float)
    entries.append(_entry("best set in hindsight", "baseline", hindsight, cells, labels, names))
    entries.append(_entry("best set, cross-fitted", "baseline", None, cells, labels, names))
    for policy in policies:
        trace = _trace(policy, profit, clients, generator)
        accepted = np.asarray(trace["decided"], float)
        if policy == "ts":
            accepted = np.clip(
                accepted * generator.uniform(0.7, 1.0, accepted.shape), 0.0, 1.0
            ).round(2)
        entries.append(_entry(policy, "policy", accepted, cells, labels, names) | trace)
    if off_policy:
        for entry in entries[4:]:
            entry["off_policy"] = _estimates(entry["profit"])
        refused = {
            "profit": None,
            "difference": None,
            "low": None,
            "high": None,
            "standing": "indistinguishable",
            "sentence": f"{entries[-1]['name']}: refused.",
        }
        entries[-1] |= refused | {"off_policy": _refusal()}
    share = np.ones(rounds) if immediate else 1.0 - np.exp(-np.arange(1, rounds + 1) / 18.0)
    final = 1.05 + 0.01 * np.cos(np.arange(rounds) / 9.0)
    first = "Outcomes known on last_pymnt_d: on average 14 months after the client asked."
    if immediate:
        first = "Outcomes assumed immediate: the file names no date at which they were known."
    best = max(
        (each for each in entries[4:] if each["difference"] is not None),
        key=lambda each: each["difference"],
    )
    made: dict[str, Any] = {
        "version": "0.1.0",
        "command": "profitable backtest loans.csv --category purpose --reward back --amount lent",
        "seed": seed,
        "settings": {
            "data": "loans.csv",
            "category": "purpose",
            "reward": "back",
            "policies": list(policies),
            "replays": 200,
            "seeds": 20,
        },
        "first_line": first,
        "clients": int(clients.sum()),
        "rounds": labels,
        "round": "month",
        "categories": [
            {
                "name": name,
                "clients": int(clients[:, k].sum()),
                "amount": 1_000.0 * float(clients[:, k].sum()) if amounts else None,
                "mean": float(1.05 + mean[:, k].mean() + 0.02 * (-1) ** k),
                "mean_by_money": float(1.05 + mean[:, k].mean()) if amounts else None,
                "threshold": 1.05,
                "profit": float(profit[:, k].sum()),
                "profit_error": float(300.0 * np.sqrt(clients[:, k].sum())),
            }
            for k, name in enumerate(names)
        ],
        "family": {
            "name": "bounded(low=0, high=2)",
            "reason": "rewards lie between 0 and 1.7, and are not only whole numbers",
            "fit": [
                {"category": name, "observed_variance": 0.08, "family_variance": 0.25}
                for name in names
            ],
        },
        "left_out": [
            {"reason": "no amount", "rows": 12, "mean_reward": 0.98, "kept_mean": 1.05},
            {"reason": "outcome still open", "rows": 340, "mean_reward": None, "kept_mean": None},
        ],
        "notes": ["3 of 60 rounds have no clients."],
        "warnings": [
            "Rows left out (no amount) differ in outcome from the others: the result is biased."
        ],
        "assumptions": [
            "Clients would have come in the same numbers, whatever was decided.",
            "A refused client costs nothing and teaches nothing.",
        ],
        "traced": list(names),
        "known": {
            "round": list(range(1, rounds + 1)),
            "share_known": share.tolist(),
            "known_mean": [None, *(final + 0.06 * (1.0 - share))[1:].tolist()],
            "final_mean": final.tolist(),
        },
        "cutoff": _cutoff(names, rounds, policies),
        "entries": entries,
        "loans": None,
        "tried": 12,
        "luck": "12 variants were tried, and the best of several looks better than it is.",
        "verdict": f"{best['name']} earned {best['difference']:,.0f} more than accepting all.",
    }
    if not advised:
        return made
    made["loans"] = _loans()
    for entry in entries[4:]:
        entry["words"] = f"policy {entry['name']} in words"
    known: dict[str, Any] = {"when_known": first, "cross_fitting": "Cross-fitted, it is less."}
    if immediate:
        known |= {
            "uninformative": "nothing matures",
            "first_line": "Uninformative: nothing matures.",
        }
    return made | made_up_advice(made) | known


def _loans() -> dict[str, Any]:
    """Hazards of loans of two years, and two levels."""
    ages = np.arange(25)
    product = {
        "term": 24,
        "hazard": [0.02] * 25,
        "emerged": (ages / 24).tolist(),
        "seen": [True] * 20 + [False] * 5,
    }
    levels = [{"first": first, "defaults": 9.0, "expected": 10.0, "level": 0.9} for first in (1, 4)]
    return {"products": [product], "levels": levels, "level_seen": 0.1, "level": 0.3}


def _cutoff(names: Sequence[str], rounds: int, policies: Sequence[str]) -> dict[str, Any]:
    """Bands of an order, one of which left it and one of which nobody knows."""
    bands = [
        CutoffRow(
            name=name,
            clients=0 if k == 1 else 50 + k,
            mean=None if k == 1 else 0.7 + 0.2 * k / len(names),
            low=None if k == 1 else 0.6,
            high=None if k == 1 else 0.95,
            fit=None if k in (1, 2) else 0.7 + 0.2 * k / len(names),
            fit_low=None if k == 2 else 0.65,
            fit_high=None if k == 2 else 0.92,
            threshold=0.8,
            left=k == 2,
            applicants=50.0 + k,
            worth=1_000.0,
            pays=k / len(names),
        )
        for k, name in enumerate(names)
    ]
    places = [float(min(place // 5, len(names))) for place in range(rounds)]
    over_time = [{"policy": name, "cutoff": places, "apart": 0.02} for name in policies]
    table = CutoffTable("score", bands, round=rounds, per="clients").to_dict()
    return table | {"over_time": over_time}


def _entry(
    name: str,
    kind: str,
    accepted: Any,
    cells: dict[str, Any],
    labels: Sequence[str],
    names: Sequence[str],
) -> dict[str, Any]:
    profit, clients = cells["profit"], cells["clients"]
    part = np.full(profit.shape, 0.6) if accepted is None else accepted
    gained = (part - 1.0) * profit
    difference, over_time = float(gained.sum()), gained.sum(axis=1).cumsum()
    error = 300.0 * np.sqrt(((1.0 - part) * clients).sum(axis=1).cumsum())
    years = np.array([label[:4] for label in labels])
    bad = profit.sum(axis=0) < 0.0
    return {
        "name": name,
        "kind": kind,
        "profit": float((part * profit).sum()),
        "clients": None if accepted is None else float((part * clients).sum()),
        "amount": 1_000.0 * float((part * clients).sum()),
        "difference": difference,
        "low": difference - 2.0 * float(error[-1]),
        "high": difference + 2.0 * float(error[-1]),
        "standing": ["indistinguishable", "better", "worse"][
            int(np.sign(difference)) * (abs(difference) > 2.0 * error[-1])
        ],
        "seeds": 20 if name == "ts" else 1,
        "seed_error": 812.5 if name == "ts" else None,
        "shuffled": {"difference": 0.4 * difference, "error": 950.0} if kind == "policy" else None,
        "sentence": f"{name} earned {difference:,.0f} against accepting everybody (95 %: made up).",
        "over_time": {
            "difference": over_time.tolist(),
            "low": (over_time - 2.0 * error).tolist(),
            "high": (over_time + 2.0 * error).tolist(),
        },
        "accepted": None if accepted is None else accepted.tolist(),
        "by_vintage": [
            {
                "vintage": year,
                "profit": float((part * profit)[years == year].sum()),
                "all": float(profit[years == year].sum()),
            }
            for year in dict.fromkeys(years.tolist())
        ],
        "by_category": [
            {
                "category": each,
                "difference": float(gained[:, k].sum()),
                "lost_accepting": float(-(part * profit)[:, k].sum()) if bad[k] else 0.0,
                "lost_refusing": 0.0 if bad[k] else float(-gained[:, k].sum()),
            }
            for k, each in enumerate(names)
        ],
        "evidence": None,
        "patience": None,
        "decided": None,
        "off_policy": None,
    }


def _estimates(profit: float) -> dict[str, Any]:
    return {
        "inverse_propensity": profit, "inverse_propensity_error": 900.0,
        "self_normalised": 0.98 * profit,
        "doubly_robust": 1.01 * profit, "doubly_robust_error": 700.0,
        "clients": 900.0, "effective_size": 333.0,
        "refusal": None, "warnings": ["The weights are large."],
    }  # fmt: skip


def _refusal() -> dict[str, Any]:
    fields = ("inverse_propensity", "self_normalised", "doubly_robust")
    refusal = "The policy accepts category 'cars', and the log accepted nobody of it."
    nothing = dict.fromkeys([*fields, "inverse_propensity_error", "doubly_robust_error"])
    return nothing | {"clients": 100.0, "effective_size": 0.0, "refusal": refusal, "warnings": []}


def _trace(
    policy: str, profit: Any, clients: Any, generator: np.random.Generator
) -> dict[str, Any]:
    """Evidence that follows the profit of accepted rounds, patience log t, or draws for
    Thompson sampling.
    """
    rounds, count = profit.shape
    keep = 0.95 if "forget" in policy else 1.0
    total, number = np.zeros(count), np.zeros(count)
    evidence, patience, accepted = (np.zeros((rounds, count)) for _ in range(3))
    for t in range(rounds):
        patience[t] = generator.exponential(size=count) if policy == "ts" else np.log(t + 1.0)
        short = np.maximum(0.0, -total / np.maximum(number, 1.0)) / 1_000.0
        evidence[t] = number * short**2 * 2.0
        accepted[t] = evidence[t] <= patience[t]
        total = keep * total + accepted[t] * profit[t]
        number = keep * number + accepted[t] * clients[t]
    shown: Any = evidence.tolist()
    shown[-1][-1] = None  # an evidence that is infinite
    return {
        "evidence": shown,
        "patience": patience.tolist(),
        "decided": accepted.astype(bool).tolist(),
    }
