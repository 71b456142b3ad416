"""A portfolio whose categories are bands of a score: they decide together, as an agent
in memory does, also after it was opened again, and `verify` finds nothing.
"""

import json
import warnings
from pathlib import Path

import pytest
from typer.testing import CliRunner

import profitable as pb
from profitable.cli.app import app
from profitable.errors import ParameterError, ProfitableWarning
from profitable.portfolio.portfolio_settings import read
from tests.portfolio.places import Place
from tests.portfolio.small import assert_clean, outcomes

NAMES = ("540-580", "580-620", "620-660")
FILE = """
policy = "optimal"
seed = 3
""" + "".join(
    f"""
[[category]]
name = "{name}"
loan = {{ amount = 1000, rate = 0.25 }}
order = "score"
"""
    for name in NAMES
)


def bands(order: str | None = "score") -> list[pb.Category]:
    return [pb.Category.loan(name, amount=1_000, rate=0.25, order=order) for name in NAMES]


def fill(book: pb.Portfolio, agent: pb.Agent) -> None:
    """Twenty rounds; the lowest band has hardly any clients."""
    for t in range(20):
        decision = book.decide(key=f"day {t}")
        assert decision.accepted == agent.decide().accepted
        for name, repaid in zip(NAMES, (t % 2, t % 3 > 0, t % 7 > 0), strict=True):
            if decision.accepts(name) and (name != NAMES[0] or t < 3):
                book.observe(outcomes(name, float(repaid), prefix=f"{name} {t}"))
                agent.observe(name, [float(repaid)])


@pytest.mark.parametrize("policy", ["kl-ucb", "ts", "optimal:trust=1.5"])
def test_bands_decide_together_also_after_they_are_opened_again(place: Place, policy: str) -> None:
    agent = pb.Agent(bands(), policy=policy, seed=3)
    with place.create(bands(), policy=policy, seed=3) as book:
        fill(book, agent)
        assert_clean(book)
        book.correct(f"{NAMES[2]} 0 1", reward=1.0)
        agent.correct(NAMES[2], was=0.0, now=1.0)
    with pb.Portfolio(place.where) as book:
        assert book.agent.orders == ("score",)
        assert book.agent.cutoff().to_dict() == agent.cutoff().to_dict()
        decided, expected = book.decide(key="last"), agent.decide()
        for field in ("evidence", "patience", "propensity", "accepted_mask"):
            assert getattr(decided, field).tolist() == getattr(expected, field).tolist()
        # Also in words, which are made of what is stored.
        assert decided.to_dict()["categories"] == expected.to_dict()["categories"]
        assert str(decided).splitlines()[1:] == str(expected).splitlines()[1:]
        again = book.decision(key="last")
        assert again.to_dict() == decided.to_dict()
        assert_clean(book)


def test_the_order_decides_and_is_explained(place: Place) -> None:
    agent = pb.Agent(bands(), policy="kl-ucb")
    with place.create(bands(), policy="kl-ucb") as book:
        fill(book, agent)
        preview, status = book.agent.preview(), book.status()
        assert status.columns["evidence"] == preview.evidence.tolist()
        alone = pb.Agent(bands(None), policy="kl-ucb")
        seen = agent[NAMES[0]]
        assert seen.mean is not None
        alone.observe(NAMES[0], count=seen.clients, total=seen.mean * seen.clients)
        assert preview[NAMES[0]].evidence > alone.preview()[NAMES[0]].evidence
        assert "accepted from 620 up; testing 540-580 and 580-620" in book.explain(NAMES[0])


def test_status_has_the_cut_off_table(place: Place) -> None:
    agent = pb.Agent(bands(), policy="kl-ucb", seed=3)
    with place.create(bands(), policy="kl-ucb", seed=3) as book:
        fill(book, agent)
        status = book.status()
    [table] = status.cutoffs
    assert str(status).endswith(f"Order score:\n{table}")
    assert status.to_dict()["orders"] == [agent.cutoff().to_dict()]
    printed = CliRunner().invoke(app, ["status", place.where, "--json"])
    assert printed.exit_code == 0, printed.output
    assert json.loads(printed.stdout)["orders"][0]["best"] == table.best


def test_without_an_order_nothing_is_said_of_one(place: Place) -> None:
    with place.create(bands(None), policy="kl-ucb") as book:
        assert "orders" not in book.status().to_dict()
        assert "Order" not in str(book.status())


def test_a_file_names_the_order_and_its_mistakes() -> None:
    assert read(FILE, "bands.toml").categories == tuple(bands())
    with pytest.raises(ParameterError, match="order"):
        read(FILE.replace('order = "score"', "order = 5", 1), "bands.toml")


def test_an_old_decision_says_which_bands_decided_together(place: Place) -> None:
    """Also years later, when the bands have other clients and there is one more."""
    with place.create(bands(), policy="kl-ucb") as book:
        book.decide(key="1")
        for name, total in zip(NAMES, (14, 12, 19), strict=True):
            rewards = [1.0] * total + [0.0] * (20 - total)
            book.observe(outcomes(name, *rewards, prefix=name))
        decided = book.decide(key="2")
        said = decided[NAMES[0]].reason
        assert "together with band 580-620, which did no better, 26 of 40 repaid" in said
        book.observe(outcomes(NAMES[0], *[1.0] * 80, prefix="later"))
        with pytest.warns(ProfitableWarning, match="660-700 is the highest band"):
            book.add_category(pb.Category.loan("660-700", amount=1_000, rate=0.25, order="score"))
        book.decide(key="3")
        assert said in book.explain(NAMES[0], key="2")
        assert book.decision(key="2").to_dict() == decided.to_dict()
        assert_clean(book)


def test_a_decision_about_some_bands_names_those_on_offer(place: Place) -> None:
    with place.create(bands(), policy="kl-ucb") as book:
        for name, total in zip(NAMES, (14, 12, 19), strict=True):
            book.decide(key=name)
            rewards = [1.0] * total + [0.0] * (20 - total)
            book.observe(outcomes(name, *rewards, prefix=name))
        agent = book.agent
        some = book.decide(key="some", available=NAMES[:2])
        assert some.evidence.tolist() == agent.decide(available=NAMES[:2]).evidence.tolist()
        assert "together with band 580-620" in book.explain(NAMES[0], key="some")
        assert_clean(book)


def test_a_band_that_is_added_is_said_to_be_the_highest(place: Place, tmp_path: Path) -> None:
    with place.create(bands(), policy="optimal") as book:
        new = pb.Category.loan("500-540", amount=1_000, rate=0.25, order="score")
        with pytest.warns(ProfitableWarning, match="500-540 is the highest .* above 620-660"):
            book.add_category(new)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            book.add_category(new)  # it was added before
            assert_clean(book)
    file = tmp_path / "new.toml"
    file.write_text(FILE.split("\n\n")[1].replace(NAMES[0], "460-500"), encoding="utf-8")
    done = CliRunner().invoke(app, ["portfolio", "change", place.where, "--add", str(file)])
    assert done.exit_code == 0, done.output
    assert "note: 460-500 is the highest band of the order 'score' now" in done.stderr
