"""An agent that lends: what it decides, keeps, corrects, says and refuses."""

import copy
import math
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.agent.loan_book import LoanStanding
from profitable.agent.loan_curves import by_age
from profitable.agent.state_parts import COLUMN_PART, WHOLE_PARTS, assembled, part_of
from tests.agent.lenders import MULTIPLIERS, lend, new_lender

POLICIES = ("kl-ucb", "bayes-ucb", "optimal")


@pytest.fixture(scope="module")
def busy() -> pb.Agent:
    return lend(new_lender(), 30)


def loans_of(found: pb.Standing | pb.Verdict) -> LoanStanding:
    assert found.loans is not None
    return found.loans


def numbers(agent: pb.Agent) -> str:
    return agent.preview().to_json()


# -------------------------------------------------------------------------- decisions


@pytest.mark.parametrize("policy", POLICIES)
def test_the_bad_category_is_found_and_the_good_ones_are_kept(policy: str) -> None:
    counts = dict.fromkeys(MULTIPLIERS, 0)

    def count(decision: pb.Decision) -> None:
        for name in decision.accepted:
            counts[name] += 1

    lend(new_lender(policy), 40, seen=count)
    assert counts["business"] < 20
    assert counts["cars"] == 40


@pytest.mark.parametrize("policy", POLICIES)
def test_the_index_agrees_with_evidence_and_patience(policy: str) -> None:
    def check(decision: pb.Decision) -> None:
        for each in decision:
            assert (each.index >= each.threshold) == (each.evidence <= each.patience)
            assert each.accepted == (each.evidence <= each.patience)
            assert each.evidence >= 0.0

    lend(new_lender(policy), 25, seen=check)


def test_nobody_is_refused_before_five_defaults() -> None:
    agent = new_lender()
    agent.expect("cars", 4, term=24, rate=0.09)
    for number in (1, 2, 3, 4):
        assert agent.decide().rejected == ()
        agent.observe("cars", defaulted=1, accepted_in=0, term=24)
        assert loans_of(agent["cars"]).defaults == number


@pytest.mark.slow
def test_a_category_at_one_and_a_half_times_break_even_does_not_return_for_good() -> None:
    """Evidence saturates where the level is uncertain, and log t does not.

    With a level of 0.3 it stays below 2.5 nats, and log t exceeds that from round 12
    on: without more, the category would be accepted for good.  But n rounds hold about
    n/48 independent levels.  So the evidence reaches log 48 = 3.87, the most that is
    tolerated, when 0.3 sqrt(48/n) is log(1.5)/2.04 = 0.2: after 110 rounds, and some
    more until the loans of these have come of age.  Then it hardly returns.
    """
    hazard, rng = 0.01, np.random.default_rng(11)
    agent = pb.Agent(
        [pb.Category.returns("good"), pb.Category.returns("bad")],
        policy="bayes-ucb",
        lending=pb.Lending(required=0.0),
    )
    multipliers = {"good": 0.3, "bad": 1.5}
    # At a hazard of 1 % and a rate of 10 %, loans of 12 rounds break even near 1.
    rate = break_even_rate(hazard, 12)
    still, accepted = dict[tuple[str, int], int](), 0
    for _ in range(500):
        for name in multipliers:
            agent.quote(name, 50, term=12, rate=rate)
        decision = agent.decide()
        accepted += decision.accepts("bad")
        for (name, vintage), number in [*still.items()]:
            bad = int(rng.binomial(number, min(1.0, multipliers[name] * hazard)))
            closed = number - bad if agent.round - vintage == 12 else 0
            if bad or closed:
                agent.observe(name, defaulted=bad, closed=closed, accepted_in=vintage)
            still[name, vintage] -= bad + closed
            if not still[name, vintage]:
                del still[name, vintage]
        for name in decision.accepted:
            agent.expect(name, 50, term=12)
            still[name, agent.round] = 50
    assert 20 <= accepted <= 150  # 30 % of the rounds
    assert not agent.preview().accepts("bad")
    assert agent.preview()["bad"].next_round is None
    assert 1.4 < loans_of(agent["bad"]).multiplier / loans_of(agent["bad"]).break_even < 1.6
    assert agent["good"].rounds == 500


def break_even_rate(hazard: float, term: int) -> float:
    """Return the rate at which a loan with this hazard and no recovery is worth 1.

    One that defaults at age j >= 1 has paid j instalments.
    """
    low, high = 0.0, 3.0
    for _ in range(60):
        rate = 0.5 * (low + high) / 12.0
        instalment = rate / (1.0 - (1.0 + rate) ** -term)
        value = sum(instalment * (1.0 - hazard) ** (j - 1) for j in range(1, term + 1))
        low, high = (0.5 * (low + high), high) if value < 1.0 else (low, 0.5 * (low + high))
    return low


def test_outcomes_that_come_later_change_no_earlier_decision() -> None:
    """Two books are the same for 18 rounds; then one hears only noise."""
    seen: list[list[str]] = []
    for later in (0, 1):
        log: list[str] = []
        agent = lend(new_lender(), 18, seen=lambda each, log=log: log.append(each.to_json()))
        first = [*log]
        rng = np.random.default_rng(later)
        for vintage in range(1, 18):
            agent.observe("cars", defaulted=int(rng.integers(0, 5)), accepted_in=vintage, term=36)
            agent.decide()
        assert log[:18] == first
        seen.append(first)
    assert seen[0] == seen[1]


def test_a_decision_keeps_what_it_said(busy: pb.Agent) -> None:
    agent = copy.copy(busy)
    decision = agent.decide()
    said = decision.to_json(), str(decision), decision.interval("cars", 0.9)
    lend(agent, 5, seed=9)
    agent.set_threshold("cars", 1.5)
    assert (decision.to_json(), str(decision), decision.interval("cars", 0.9)) == said


# ---------------------------------------------------------------------------- keeping


@pytest.mark.parametrize("policy", POLICIES)
def test_copies_files_and_parts_go_on_bit_for_bit(policy: str, tmp_path: Path) -> None:
    agent = lend(new_lender(policy), 20)
    agent.save(tmp_path / "agent.json")
    column = {k: part_of(agent, COLUMN_PART, k) for k in range(len(agent))}
    parts = {part: part_of(agent, part) for part in WHOLE_PARTS}
    twins = {
        "file": pb.Agent.load(tmp_path / "agent.json"),
        "copy": copy.copy(agent),
        "pickle": pickle.loads(pickle.dumps(agent)),
        "parts": assembled(parts, {}),
        "columns": assembled(parts, column),
    }
    for name, twin in twins.items():
        assert numbers(twin) == numbers(agent), name
    expected = lend_on(copy.copy(agent))
    for name, twin in twins.items():
        assert lend_on(twin) == expected, name


def lend_on(agent: pb.Agent) -> list[str]:
    """Return the decisions of further rounds in which all that is open ends."""
    found: list[str] = []
    for turn in range(4):
        decision = agent.decide()
        found.append(decision.to_json())
        for name in decision.accepted:
            agent.expect(name, 10, term=36)
        agent.observe("cars", defaulted=1, closed=1, accepted_in=agent.round - turn, term=36)
    return [*found, *(str(agent[name]) for name in agent.names)]


def test_columns_that_are_newer_than_the_table() -> None:
    agent = lend(new_lender(), 10)
    parts = {part: part_of(agent, part) for part in WHOLE_PARTS}
    agent.observe("cars", defaulted=2, closed=1, accepted_in=3, term=36)
    agent.expect("homes", 5, term=36, accepted_in=8)
    twin = assembled(parts, {k: part_of(agent, COLUMN_PART, k) for k in (0, 1)})
    assert numbers(twin) == numbers(agent)
    agent.decide()
    twin.decide()
    assert part_of(twin, "extras") == part_of(agent, "extras")


# --------------------------------------------------------------------------- changing


def test_a_correction_is_as_if_it_had_been_right_at_once() -> None:
    wrong, right = lend(new_lender(), 10), lend(new_lender(), 10)
    wrong.observe("cars", defaulted=2, accepted_in=4, term=36)
    right.observe("cars", defaulted=1, closed=1, accepted_in=4, term=36)
    for agent in (wrong, right):
        agent.decide()
        agent.decide()
    assert numbers(wrong) != numbers(right)
    wrong.correct("cars", was="defaulted", now="closed", accepted_in=4, term=36, counted_in=10)
    assert numbers(wrong) == numbers(right)
    wrong.correct("cars", was="closed", accepted_in=4, term=36, counted_in=10)
    right.correct("cars", was="closed", accepted_in=4, term=36, counted_in=10)
    assert numbers(wrong) == numbers(right)
    assert loans_of(wrong["cars"]).issued == loans_of(right["cars"]).issued


def test_taking_back_restores_the_present_round(busy: pb.Agent) -> None:
    agent = copy.copy(busy)
    before = numbers(agent)
    agent.observe("cars", defaulted=1, accepted_in=20, term=36)
    agent.correct("cars", was="defaulted", accepted_in=20, term=36)
    assert numbers(agent) == before


def test_pausing_thresholds_policies_and_categories(busy: pb.Agent) -> None:
    agent = copy.copy(busy)
    agent.pause("cars")
    assert "cars" not in agent.decide().accepted
    agent.resume("cars")
    assert "cars" in agent.decide().accepted
    lower = loans_of(agent["cars"]).break_even
    agent.set_threshold("cars", 1.03)
    assert loans_of(agent["cars"]).break_even < lower
    agent.set_threshold("cars", 1.0)
    assert loans_of(agent["cars"]).break_even == lower
    evidence = {name: agent[name].evidence for name in agent.names}
    agent.set_policy("kl-ucb")
    assert agent["business"].evidence > evidence["business"]
    agent.set_policy("bayes-ucb")
    assert {name: agent[name].evidence for name in agent.names} == evidence
    agent.add_category(pb.Category.returns("boats"))
    assert "boats" in agent.decide().accepted
    assert loans_of(agent["boats"]).break_even is None
    last = agent.remove_category("business")
    assert loans_of(last).defaults > 0
    assert "business" not in agent.decide().names


def test_a_limited_round_goes_to_the_best(busy: pb.Agent) -> None:
    agent = copy.copy(busy)
    decision = agent.decide(places=50, demand=dict.fromkeys(agent.names, 30), explore=0.0)
    assert decision.granted is not None
    assert decision.granted["cars"] == 30
    assert sum(decision.granted.values()) == 50


# ---------------------------------------------------------------------------- in words


def test_the_numbers_of_a_standing_agree_with_each_other_and_with_the_words(
    busy: pb.Agent,
) -> None:
    for name in busy.names:
        standing = busy[name]
        loans = loans_of(standing)
        assert loans.break_even is not None
        assert loans.affordable == loans.break_even * loans.exposure
        assert loans.multiplier == loans.defaults / loans.exposure
        assert loans.pays == pytest.approx(math.exp(-standing.evidence))
        said = re.search(
            r"(\S+) of ([\d\u202f ]+) defaulted; it could afford (\S+) by now; "
            r"multiplier (\S+) against a break-even of (\S+);",
            busy.explain(name),
        )
        assert said is not None
        defaults, issued, affordable, multiplier, limit = (
            float(re.sub(r"\D(?!\d)|[^\d.]", "", each)) for each in said.groups()
        )
        assert (defaults, issued) == (loans.defaults, loans.issued)
        assert defaults / affordable == pytest.approx(multiplier / limit, rel=0.02)
        assert "money" not in busy.explain(name)
        assert busy.explain(name).endswith(
            "Profit so far: not known, because it is reported how loans end, and not what they pay."
        )
        assert (busy[name].revenue, busy[name].cost, busy[name].profit) == (None, None, None)
    assert busy.profit is None
    assert str(busy).splitlines()[0].endswith(" rounds, profit not known")
    assert busy.to_frame("polars")["profit"].to_list() == [None] * len(busy)
    assert "mean reward" not in str(busy)


def test_an_interval_of_a_value_is_where_the_posterior_is(busy: pb.Agent) -> None:
    decision = busy.preview()
    for name in busy.names:
        low, high = decision.interval(name, 0.9) or (0.0, 0.0)
        assert low < (busy[name].mean or 0.0) < high
        wide = decision.interval(name, 0.99) or (0.0, 0.0)
        assert wide[0] < low
        assert wide[1] > high
    assert new_lender().preview().interval("cars", 0.9) is None


def test_what_is_special_is_said() -> None:
    agent = new_lender()
    assert "nobody has asked for its loans yet" in agent.explain("cars")
    agent.quote({"cars": 100, "homes": 100}, term=2, rate=0.0)
    agent.quote("business", 100, term=2, rate=9.0)
    agent.decide()
    agent.expect({"cars": 100, "homes": 100}, term=2)
    agent.expect("business", 100, term=2)
    agent.observe("business", defaulted=20, accepted_in=1)
    agent.observe("cars", defaulted=20, accepted_in=1)
    assert "it never pays" in agent.explain("cars")
    assert agent["cars"].evidence == math.inf
    assert loans_of(agent["cars"]).pays == 0.0
    assert "cars" not in agent.decide().accepted
    for _ in range(7):
        agent.decide()
    assert agent["homes"].missing == 100
    assert "Missing: the end of 100 loans" in agent.explain("homes")
    sure = new_lender(recovery=1.0)
    sure.quote("cars", 10, term=36, rate=0.9)
    sure.set_threshold("cars", 0.9)
    sure.expect("cars", 100, term=36)
    sure.observe("cars", defaulted=10, accepted_in=0)
    for _ in range(4):
        sure.decide()
    assert loans_of(sure["cars"]).pays == 1.0
    assert "it always pays" in sure.explain("cars")
    assert loans_of(sure["cars"]).to_dict()["break_even"] is None


@pytest.mark.parametrize("ending", ["svg", "png", "html"])
def test_a_lending_book_is_drawn(busy: pb.Agent, ending: str, tmp_path: Path) -> None:
    chart = busy.plot_loans(tmp_path / f"loans.{ending}").to_dict()
    assert (tmp_path / f"loans.{ending}").stat().st_size > 5_000
    text = str(chart)
    for name in (*busy.names, "24 rounds", "36 rounds", "extrapolated"):
        assert name in text
    assert "Caution" not in text
    assert "as each decision knew them" not in text  # an agent keeps no history
    busy.plot(tmp_path / f"agent.{ending}")


def test_defaults_up_to_the_last_age_are_those_of_the_standing(busy: pb.Agent) -> None:
    book, reading, names = busy.ledger.read_book()
    points = [row for rows in busy.plot_loans().to_dict()["datasets"].values() for row in rows]
    for k, name in enumerate(names):
        curve, standing = by_age(book, reading, k), loans_of(busy[name])
        assert curve[-1][0] == standing.defaults
        assert curve[-1][1] == pytest.approx(standing.affordable)
        assert len(curve) == book.round  # of loans of round 1
        drawn = [row for row in points if row.get("name") == name and "kind" in row]
        for kind, column in (("defaults", 0), ("affordable", 1)):
            numbers = [row["number"] for row in drawn if row["kind"] == kind]
            assert numbers == pytest.approx([pair[column] for pair in curve], rel=1e-3)
    loss_free = new_lender(recovery=1.0)
    loss_free.quote("cars", 10, term=36, rate=0.9)
    loss_free.expect("cars", 10, term=36)
    book, reading, _ = loss_free.ledger.read_book()
    assert by_age(book, reading, 0) == [(0.0, math.inf)]
    assert by_age(book, reading, 1) == []


def test_levels_that_differ_more_than_assumed_are_a_warning() -> None:
    agent = new_lender(level=0.1)
    for turn in range(24):
        agent.quote("cars", 400, term=36, rate=0.12)
        agent.decide()
        agent.expect("cars", 400, term=36)
        agent.observe("cars", defaulted=2 if turn < 12 else 20, accepted_in=agent.round)
    text = str(agent.plot_loans().to_dict())
    assert "Caution: more than assumed; give level=" in text
    new_lender().plot_loans()


# ----------------------------------------------------------------------------- errors

REFUSED: dict[str, tuple[Callable[[pb.Agent], object], str]] = {
    "rewards": (lambda a: a.observe("cars", [1]), "counts defaults and closings"),
    "sums": (lambda a: a.observe("cars", count=1, total=1.0), "counts defaults and closings"),
    "mapping": (lambda a: a.observe({"cars": [1.0]}), "counts defaults and closings"),
    "no round": (lambda a: a.observe("cars", defaulted=1), "give the round that accepted"),
    "two terms": (lambda a: a.observe("cars", defaulted=1, accepted_in=3), "is missing"),
    "another term": (
        lambda a: a.observe("cars", defaulted=1, accepted_in=3, term=60),
        "terms accepted in round 3: 24, 36",
    ),
    "too many": (
        lambda a: a.observe("cars", defaulted=31, accepted_in=30, term=36),
        "are more loans than the 30 that are open",
    ),
    "negative": (
        lambda a: a.observe("cars", defaulted=-1, accepted_in=30, term=36),
        "is less than 0",
    ),
    "no term": (lambda a: a.expect("cars", 1), "rounds over which it is repaid"),
    "long term": (lambda a: a.expect("cars", 1, term=1_201), "is more than 1200"),
    "unknown product": (lambda a: a.expect("cars", 1, term=60), "nobody has asked for 60 rounds"),
    "percent": (lambda a: a.quote("cars", 1, term=60, rate=12), "looks like percent"),
    "negative rate": (lambda a: a.quote("cars", 1, term=60, rate=-0.1), "rate"),
    "two numbers": (lambda a: a.quote({"cars": 1}, 2, term=60, rate=0.1), "with a mapping"),
    "no name": (lambda a: a.quote(7, 2, term=60, rate=0.1), "must be a name or a mapping"),
    "future": (lambda a: a.expect("cars", 1, term=36, accepted_in=31), "accepted_in"),
    "matures": (lambda a: a.expect("cars", 1, term=36, matures=5), "is learnt from the loans"),
    "promised": (lambda a: a.expect("cars", 1, term=36, promised=1.0), "is learnt from the loans"),
    "curve": (lambda a: a.expect("cars", 1, term=36, emerges="evenly"), "for an agent that lends"),
    "bad end": (
        lambda a: a.correct("cars", was="lost", accepted_in=20, term=36),
        "must say how a loan ended",
    ),
    "no such end": (
        lambda a: a.correct("cars", was="defaulted", accepted_in=30, term=36),
        "was reported of no such loan in round 30",
    ),
    "before": (
        lambda a: a.correct("cars", was="defaulted", accepted_in=30, term=36, counted_in=4),
        "was reported of no such loan in round 4",
    ),
    "after": (
        lambda a: a.correct("cars", was="defaulted", accepted_in=3, term=36, counted_in=40),
        "counted_in",
    ),
    "draws": (lambda a: a.set_policy("ts"), "gives up on bad vintages by chance"),
    "sums of rewards": (lambda a: a.set_policy("ucb-v"), "has only defaults and closings"),
    "forgets": (lambda a: a.set_policy("kl-ucb:forget=0.9"), "cannot forget loans"),
    "window": (lambda a: a.set_policy("bayes-ucb:window=9"), "cannot forget loans"),
    "no schedule": (
        lambda a: a.add_category(pb.Category("x", pb.Bernoulli(), threshold=0.5)),
        "follows from a schedule",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_and_changes_nothing(busy: pb.Agent, name: str) -> None:
    wrong, said = REFUSED[name]
    before = numbers(busy), [part_of(busy, part) for part in WHOLE_PARTS]
    with pytest.raises(pb.errors.ProfitableError, match=re.escape(said)):
        wrong(busy)
    assert (numbers(busy), [part_of(busy, part) for part in WHOLE_PARTS]) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda a: a.quote("a", 1, term=3, rate=0.1),
        lambda a: a.expect("a", 1, term=3),
        lambda a: a.expect("a", 1, rate=0.1),
        lambda a: a.expect("a", 1, emerges="learned"),
        lambda a: a.observe("a", defaulted=1, accepted_in=0),
        lambda a: a.observe("a", [1], term=3),
        lambda a: a.plot_loans(),
    ],
)
def test_other_agents_do_not_lend(call: Callable[[pb.Agent], Any]) -> None:
    agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb")
    with pytest.raises(pb.errors.ParameterError, match="is for an agent that lends"):
        call(agent)
    with pytest.raises(pb.errors.ParameterError, match="must be a Lending"):
        pb.Agent([pb.Category.returns("a")], policy="kl-ucb", lending={"lag": 3})


def test_an_end_of_another_vintage_cannot_be_corrected() -> None:
    """Vintage 2 had no default at age 1, although vintage 1 had one."""
    agent = new_lender()
    for _ in range(2):
        agent.decide()
        agent.expect("cars", 5, term=24, rate=0.1)
    agent.observe("cars", defaulted=1, accepted_in=2)
    agent.correct("cars", was="defaulted", accepted_in=2)
    agent.observe("cars", defaulted=1, accepted_in=1)
    agent.decide()
    with pytest.raises(pb.errors.CorrectionError, match="no such loan in round 3"):
        agent.correct("cars", was="defaulted", accepted_in=2, counted_in=3)
    agent.correct("cars", was="defaulted", accepted_in=1, counted_in=2)
    assert loans_of(agent["cars"]).defaults == 0


def test_a_damaged_book_is_refused(busy: pb.Agent, tmp_path: Path) -> None:
    from profitable.agent.state_file import loaded, record_of, text_of

    record = record_of(busy)
    assert record.book is not None
    rounds = record.book.rounds
    assert rounds is not None
    for name, value in (("ended", 1e6), ("place", 99), ("round", 99), ("term", 0)):
        column = [*getattr(rounds, name)]
        column[0] = value
        book = record.book.model_copy(update={"rounds": rounds.model_copy(update={name: column})})
        text = text_of(record.model_copy(update={"book": book}))
        with pytest.raises(pb.errors.BrokenStateError, match=r"book|ended"):
            loaded(text, "made up")
