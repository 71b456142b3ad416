"""Outcomes sent three times, in random order, by four processes: they count as if they
had been sent once.
"""

import json
import os
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable.kernels.agent_table import AgentRow
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, categories
from tests.portfolio.writers import Writers

SOAK = os.environ.get("PROFITABLE_SOAK") == "1"
OUTCOMES = 100_000 if SOAK else 3_000
BATCHES = (250, 300, 400, 500) if SOAK else (60, 80, 100, 120)  # outcomes in a call of each process
WHOLE = ("students", "shops", "cars")  # whose rewards are whole numbers
FAMILY = pb.Gaussian(sigma=1.5)


def sent_once(rng: np.random.Generator) -> list[tuple[str, str, float]]:
    """Ids, categories and rewards."""
    rewards = {
        "students": rng.integers(2, size=OUTCOMES).astype(float),
        "shops": rng.poisson(2.0, size=OUTCOMES).astype(float),
        "cars": rng.integers(2, size=OUTCOMES).astype(float),
        "cards": 2.0 * rng.random(OUTCOMES),
        "sums": rng.normal(1.0, 1.5, OUTCOMES),
    }
    names = rng.choice(list(rewards), size=OUTCOMES).tolist()
    return [(f"client {i}", name, float(rewards[name][i])) for i, name in enumerate(names)]


def test_three_times_in_random_order(
    place: Place, writers: Writers, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known = [*categories(), pb.Category("sums", FAMILY, threshold=0.5)]
    sent = sent_once(np.random.default_rng(1))
    place.create(known, policy="ts", seed=7).close()
    path = tmp_path / "sent.json"
    path.write_text(json.dumps(sent))
    start = time.perf_counter()
    # Each of the four sends three quarters of them, so that each outcome is sent three
    # times.
    for number, size in enumerate(BATCHES):
        writers.start("send", place.where, str(path), number, size)
    counted, ended = 0, list[str]()
    while len(ended) < len(BATCHES):
        _, said = writers.hear()
        if said.startswith("ended"):
            ended.append(said)
        else:
            counted += int(said.removeprefix("done "))
    seconds = time.perf_counter() - start
    assert ended == ["ended 0"] * len(BATCHES)
    assert counted == OUTCOMES
    book, once = place.open(), pb.Agent(known, policy="ts", seed=7)
    for name in once.names:
        once.observe(name, [reward for _, category, reward in sent if category == name])
    mine, theirs = book.agent.ledger.table, once.ledger.table
    for k, name in enumerate(once.names):
        for row in (
            AgentRow.CLIENTS,
            AgentRow.TOTAL,
            AgentRow.KNOWN,
            AgentRow.REVENUE,
            AgentRow.COST,
        ):
            exact = row in (AgentRow.CLIENTS, AgentRow.KNOWN) or (
                name in WHOLE and row == AgentRow.TOTAL
            )
            assert mine[row, k] == pytest.approx(
                theirs[row, k], rel=0.0 if exact else 1e-12, abs=0.0
            ), (name, row)
    ids = [id for (id,) in place.rows("SELECT id FROM profitable_journal WHERE kind = 'outcome'")]
    assert Counter(ids) == Counter(id for id, _, _ in sent)
    assert_clean(book)
    if SOAK:
        with capsys.disabled():
            print(
                f"\n{'sqlite' if place.is_file else 'postgres'}: {3 * OUTCOMES} sent "
                f"in {seconds:.1f} s"
            )
