"""The credit example: book-keeping against arithmetic by hand, and the order of the
three lenders.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable.paper import credit


def test_three_lenders_in_order() -> None:
    result = credit.run(pb.ThompsonSampling(), rounds=300, plays=20, seed=3)
    everybody, learns, clairvoyant = (row[2] for row in result.earned())
    assert everybody < learns < clairvoyant


def test_profit_is_what_the_agent_books() -> None:
    history = credit.play(pb.KLUCB(), 60, np.random.SeedSequence(5))
    assert history.profit[1, -1] == pytest.approx(
        sum(standing.profit or 0.0 for standing in history.standings)
    )
    everybody, learns = history.profit[0, 0], history.profit[1, 0]
    assert everybody == learns  # round 1 accepts everybody


def test_segments_are_worth_it_where_the_paper_says() -> None:
    for segment in credit.SEGMENTS:
        assert (segment.margin > 0) == (segment.repayment > 1 / (1 + segment.rate))  # eq. (1)
    assert 0 < sum(segment.margin > 0 for segment in credit.SEGMENTS) < len(credit.SEGMENTS)


def test_same_seed_same_numbers(tmp_path: Path) -> None:
    for name in ("one", "other"):
        credit.run(pb.ThompsonSampling(), rounds=20, plays=2, seed=9).save(tmp_path / name)
    one, other = ((tmp_path / name / "credit.json").read_bytes() for name in ("one", "other"))
    assert one == other
    numbers = json.loads(one)
    assert numbers["version"] == pb.__version__
    assert numbers["seed"] == 9
    assert (tmp_path / "one" / "credit.png").stat().st_size > 20_000


def test_one_play_has_no_error_bar() -> None:
    result = credit.run(pb.KLUCBPlus(), rounds=10, plays=1, seed=1)
    assert result.to_dict()["lenders"][0]["stderr"] is None
    assert "-" in result.earned_table()
