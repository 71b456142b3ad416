"""One hash over the numbers of the package, to compare two revisions bit for bit.

    .venv/bin/python benchmarks/fingerprint.py [--quick] [--data FOLDER]
    PYTHONPATH=../before/src .venv/bin/python benchmarks/fingerprint.py

Each line is a part and its hash; the last line is the hash of all parts.  Only public
names are used, and only numbers are hashed, so that sentences may change.  Covered:
decisions and evidence of agents (policies x families), simulations (12 policies x both
kernels x families), backtests of the demo and, where they are present, of two real
files, and journals and stored states of portfolios.
"""

import argparse
import hashlib
import json
import math
import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

import profitable as pb

# Family, mean, threshold, bound.
FAMILIES: dict[str, tuple[pb.Family, float, float, float | None]] = {
    "bernoulli": (pb.Bernoulli(), 0.3, 0.4, None),
    "binomial": (pb.Binomial(trials=12), 4.0, 5.0, None),
    "poisson": (pb.Poisson(), 2.0, 3.0, 100.0),
    "geometric": (pb.Geometric(), 2.0, 3.0, 100.0),
    "negative-binomial": (pb.NegativeBinomial(failures=2.5), 2.0, 3.0, 100.0),
    "exponential": (pb.Exponential(), 2.0, 3.0, 100.0),
    "gamma": (pb.Gamma(shape=0.4), 2.0, 3.0, 100.0),
    "gaussian": (pb.Gaussian(sigma=1.5), 1.0, 1.5, 8.0),
    "normal": (pb.Normal(), 1.0, 1.5, 8.0),
    "pareto": (pb.Pareto(scale=2.0), 5.0, 6.0, 50.0),
    "weibull": (pb.Weibull(shape=2.5), 2.0, 3.0, 50.0),
    "bounded": (pb.Bounded(low=-1.0, high=3.0), 0.5, 1.0, None),
}
POLICIES = [
    *("kl-ucb", "kl-ucb:c=3", "kl-ucb+", "kl-ucb+:count=rounds", "bayes-ucb", "ts"),
    *(
        "optimal",
        "optimal:horizon=300",
        "kl-bernoulli-ucb",
        "kl-gaussian-ucb",
        "kl-emp-ucb",
        "ucb-v",
    ),
]
VARIANTS = [
    *(
        "kl-ucb:forget=0.9",
        "ts:forget=0.95",
        "bayes-ucb:window=7",
        "ts:floor=0.1",
        "kl-ucb:floor=0.05",
    ),
    *("optimal:discount=0.98", "optimal:risk=0.3", "kl-emp-ucb:window=5", "ucb-v:forget=0.97"),
]
ROUNDS = 40


def numbers_in(value: Any) -> Iterator[float | int | bool | None]:
    """All numbers of nested plain values, in order; texts are left out."""
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers_in(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from numbers_in(each)
    elif isinstance(value, np.ndarray):
        yield from numbers_in(value.tolist())
    elif value is None or isinstance(value, bool | int | float):
        yield value


def written(value: float | int | bool | None) -> str:
    """Return a number as a text that has all of its bits."""
    return value.hex() if isinstance(value, float) and math.isfinite(value) else repr(value)


class Digest:
    """A hash that grows."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, *values: Any) -> None:
        """Add all numbers of nested values."""
        for value in numbers_in(values):
            self._hash.update(written(value).encode() + b"\n")

    def add_text(self, text: str) -> None:
        """Add a text as it is."""
        self._hash.update(text.encode() + b"\n")

    def __str__(self) -> str:
        return self._hash.hexdigest()[:16]


def drawn(family: pb.Family, mean: float, rng: np.random.Generator, size: int) -> list[float]:
    """Draw rewards of a family with its public generator.

    `Bounded` and `Normal` have no law of their own.
    """
    if isinstance(family, pb.Normal):
        return (mean + 1.5 * rng.standard_normal(size)).tolist()
    if isinstance(family, pb.Bounded):
        return rng.choice([-1.0, 0.25, 0.5, 3.0], size=size).tolist()
    return family.draw(rng, mean=mean, size=size).tolist()


def add_decision(digest: Digest, decision: pb.Decision) -> None:
    """Add the numbers of a decision, for each category."""
    columns = decision.to_columns()["columns"]
    kept = (
        "accepted",
        "evidence",
        "patience",
        "index",
        "threshold",
        "clients",
        "counted",
        "mean",
        "propensity",
    )
    digest.add([columns[key] for key in (*kept, "next_round", "waiting")])


def agents(policy: str, family: str) -> Digest:
    """Digest a history of decisions, outcomes, corrections and changes."""
    law, mean, threshold, bound = FAMILIES[family]
    digest, rng = Digest(), np.random.default_rng(7)
    thresholds = {"worse": threshold, "equal": mean, "good": mean - 0.1 * abs(mean)}
    if family == "pareto":
        thresholds["good"] = 4.0
    categories = [
        pb.Category(name, law, threshold=tau, bound=bound) for name, tau in thresholds.items()
    ]
    categories.append(pb.Category.loan("cars", amount=1_000, rate=0.12, recovery=0.3))
    categories.append(pb.Category.returns("cards", required=0.05))
    agent = pb.Agent(categories, policy=policy, seed=11)
    last: list[float] = []
    for turn in range(ROUNDS):
        decision = agent.decide(
            **({"places": 9, "demand": dict.fromkeys(agent.names, 3)} if turn % 7 == 3 else {})
        )
        add_decision(digest, decision)
        for name in thresholds:
            if decision.accepts(name):
                last = drawn(law, mean, rng, 1 + turn % 3)
                agent.observe(name, last)
                if turn % 9 == 4:
                    agent.correct(
                        name, was=last[0], now=drawn(law, mean, rng, 1)[0], counted_in=agent.round
                    )
        agent.observe({"cars": [turn % 5 > 0]}, **{})
        agent.observe("cards", [0.9 + 0.01 * (turn % 17)], amounts=[100.0 + turn])
        if turn % 10 == 6:
            agent.expect("cars", 4, matures=3, emerges="evenly" if "emp" not in policy else None)
            agent.set_threshold("worse", threshold * (1.0 + 0.001 * turn))
            (agent.resume if turn > 20 else agent.pause)("equal")
    digest.add(agent.profit, agent.waiting, [asdict(agent[name]) for name in agent.names])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agent.json"
        agent.save(path)
        digest.add(json.loads(path.read_text(encoding="utf-8")))
        add_decision(digest, pb.Agent.load(path).decide())
    return digest


def simulations(policy: str, kernel: str, *, quick: bool) -> Digest:
    """All families for one policy and one kernel."""
    digest = Digest()
    for family, (law, mean, threshold, bound) in FAMILIES.items():
        if family == "bounded":
            continue
        sigma = {"sigma": 1.5} if family == "normal" else {}
        truths = [
            pb.Truth(
                pb.Category(name, law, threshold=tau, bound=bound),
                mean=mean,
                clients=clients,
                **sigma,
            )
            for name, tau, clients in (
                ("worse", threshold, pb.OnePlusPoisson(rate=3)),
                (
                    "good",
                    4.0 if family == "pareto" else mean * 0.8,
                    pb.UniformClients(low=1, high=4),
                ),
                ("few", threshold * 1.2, 2),
            )
        ]
        heavy = policy == "kl-emp-ucb"
        horizon, runs = (200, 20) if heavy or quick else (1_000, 200 if kernel == "events" else 100)
        result = pb.simulate(
            pb.Scenario(family, truths),
            [policy],
            horizon=horizon,
            runs=runs,
            seed=5,
            kernel=kernel,
            workers=2,
            progress=False,
        )
        curve = result[policy]
        digest.add(
            curve.regret, curve.stderr, curve.accepted_rounds, curve.interval, curve.quantile(0.99)
        )
    return digest


def demo(*, quick: bool) -> Digest:
    """Digest the backtest of German credit, with intervals."""
    digest = Digest()
    path = next(Path(str(files("profitable"))).rglob("german_credit.csv"))
    found = pb.backtest(
        path,
        category="checking",
        reward="outcome=good",
        cost=5.0,
        revenue=6.0,
        round=20,
        replays=10 if quick else 50,
        progress=False,
    )
    digest.add(without_seconds(found.to_dict()))
    return digest


def without_seconds(values: dict[str, Any]) -> dict[str, Any]:
    """Return the plain values of a backtest without the time it took."""
    return {key: value for key, value in values.items() if key != "seconds"}


def real(name: str, path: Path, options: dict[str, Any]) -> Digest:
    """Digest a backtest of a real file."""
    digest = Digest()
    policies = [
        "kl-ucb",
        "kl-ucb+:count=rounds",
        "bayes-ucb",
        "ts",
        "optimal:horizon",
        "ts:forget=0.97",
    ]
    found = pb.backtest(
        path, **options, policies=policies, replays=5, shuffles=2, seed=3, progress=False
    )
    digest.add(without_seconds(found.to_dict()))
    return digest


def real_cells(path: Path, options: dict[str, Any]) -> Digest:
    """Digest a backtest of the same file, aggregated by an engine."""
    import pandas as pd

    digest, table = Digest(), pd.read_csv(path)
    found = pb.backtest(
        pb.backtest.cells(table.assign(row=table.index), id="row", **options),
        policies=["kl-ucb", "ts"],
        replays=5,
        seed=3,
        progress=False,
    )
    digest.add(without_seconds(found.to_dict()))
    return digest


def portfolio(policy: str) -> Digest:
    """Digest the journal and the stored state of a portfolio with a random history.

    Times and hashes are left out.
    """
    digest, rng = Digest(), np.random.default_rng(23)
    categories = [
        pb.Category("students", pb.Bernoulli(), threshold=0.4),
        pb.Category("shops", pb.Poisson(), threshold=2.5, bound=100.0),
        pb.Category.loan("cars", amount=1_000, rate=0.12, recovery=0.3),
        pb.Category.returns("cards", required=0.05),
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "book.db"
        with pb.Portfolio.create(path, categories, policy=policy, seed=3, actor="ann") as book:
            for turn in range(12):
                limit = (
                    {"places": 6, "demand": dict.fromkeys(book.names, 3)} if turn % 5 == 4 else {}
                )
                decision = book.decide(key=f"day {turn}", **limit)
                add_decision(digest, decision)  # type: ignore[arg-type]
                rows = [
                    pb.Outcome(f"{name} {turn}.{i}", name, reward=reward, decision=turn + 1, **more)
                    for name in decision.accepted
                    for i in range(1 + turn % 3)
                    for reward, more in [
                        {
                            "students": (float(rng.integers(2)), {}),
                            "shops": (float(rng.poisson(2.0)), {"cost": 2.5 + 0.25 * i}),
                            "cars": (float(rng.integers(2)), {}),
                            "cards": (round(0.8 + 0.4 * rng.random(), 2), {"amount": 100.0 + i}),
                        }[name]
                    ]
                ]
                receipt = book.observe(rows)
                digest.add(sum(answer.status == "counted" for answer in receipt), len(rows))
                if rows and turn % 4 == 2:
                    book.correct(rows[0].id, reward=1.0)
                if turn == 6:
                    book.set_threshold("students", 0.45)
                    book.pause("shops")
                if turn == 8:
                    book.resume("shops")
            digest.add(book.verify().is_clean)
        with sqlite3.connect(path) as database:
            journal = (
                "line, kind, id, category, round, decision, matures, reward, amount, cost, "
                "known, refers, body"
            )
            before, chain = "0" * 64, True
            for row in database.execute(f"SELECT {journal} FROM profitable_journal ORDER BY line"):
                digest.add_text(json.dumps(row, allow_nan=False))
            for *line, hashed in database.execute("SELECT * FROM profitable_journal ORDER BY line"):
                text = json.dumps([*line, before], ensure_ascii=True, separators=(",", ":"))
                chain = chain and hashlib.sha256(text.encode()).hexdigest() == hashed
                before = hashed
            digest.add(chain)
            for row in database.execute("SELECT * FROM profitable_state ORDER BY part, place"):
                digest.add_text(repr(row))
        database.close()
    return digest


def parts(data: Path | None, *, quick: bool) -> Iterator[tuple[str, Callable[[], Digest]]]:
    """Everything that is hashed, by name."""
    for policy in (*POLICIES, *VARIANTS):
        for family in FAMILIES:
            yield (
                f"agent {policy} {family}",
                lambda policy=policy, family=family: agents(policy, family),
            )
    for policy in POLICIES:
        for kernel in ("events", "rounds"):
            if policy != "optimal" or kernel == "events":
                yield (
                    f"simulation {policy} {kernel}",
                    lambda policy=policy, kernel=kernel: simulations(policy, kernel, quick=quick),
                )
    yield "backtest demo", lambda: demo(quick=quick)
    for policy in (*POLICIES, *VARIANTS):
        yield f"portfolio {policy}", lambda policy=policy: portfolio(policy)
    if data is not None and data.exists():
        loans: dict[str, Any] = {
            "category": "purpose",
            "time": "issue_d",
            "reward": "pv5",
            "amount": "funded_amnt",
            "known": "last_pymnt_d",
        }
        calls: dict[str, Any] = {
            "category": "job",
            "time": ["year", "month", "day"],
            "date_format": "%Y %b %d",
            "round": "day",
            "reward": "y",
            "cost": 1,
            "revenue": 10,
        }
        bands = loans | {"category": ["int_rate:q5", "term"], "weight": "client", "matures": 36}
        for name, file, options in (
            ("loans", "lendingclub_2007_2011.csv.gz", loans),
            ("loans by band", "lendingclub_2007_2011.csv.gz", bands),
            ("calls", "bank_marketing_full.csv.gz", calls),
        ):
            path = data / file
            yield (
                f"backtest {name}",
                lambda name=name, path=path, options=options: real(name, path, options),
            )
            if name == "loans":
                yield f"cells {name}", lambda path=path, options=options: real_cells(path, options)


def main() -> None:
    """Print the hash of each part, and of all of them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer runs; the numbers differ from those without it"
    )
    parser.add_argument("--data", type=Path, help="folder of the two real files")
    parser.add_argument("--only", help="parts whose name contains this text")
    given = parser.parse_args()
    every = hashlib.sha256()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, part in parts(given.data, quick=given.quick):
            if given.only is None or given.only in name:
                found = str(part())
                every.update(f"{name} {found}\n".encode())
                print(f"{found}  {name}", flush=True)
    print(f"{every.hexdigest()[:16]}  all")


if __name__ == "__main__":
    main()
