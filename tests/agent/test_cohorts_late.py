"""Late outcomes: cohorts against a plain recomputation from the whole history, and
examples worked by hand.
"""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import profitable as pb
from profitable.agent.cohorts import Cohorts
from profitable.agent.state_file import record_of, restore
from profitable.kernels.evidence import Observed, evidence
from profitable.kernels.statistic import Identity
from profitable.policy.policies import POLICIES
from tests.combinations import covering
from tests.matrix import FAMILIES, FamilyRow

ROUNDS = 24
LIVELY = [
    row
    for row in FAMILIES
    if row.family.name in ("bernoulli", "poisson", "gaussian", "bounded", "exponential", "normal")
]
CURVE = [0.0, 0.5, 0.5, 0.9, 1.0]


def by_age_allowed(row: FamilyRow, name: str) -> bool:
    closed = not row.family.support.open and isinstance(row.family.make_view().statistic, Identity)
    return closed and name != "kl-emp-ucb"


@dataclass
class Group:
    """A cohort of the plain history."""

    accepted_in: int
    matures: int
    emerges: str | list[float]
    joined: list[tuple[int, int]] = field(default_factory=list)  # when so many clients were told of
    # When these rewards were reported.
    reports: list[tuple[int, list[float]]] = field(default_factory=list)

    def share(self, round: int) -> float:
        age = round - self.accepted_in
        if age >= self.matures:
            return 1.0
        if age <= 0:
            return 0.0
        return age / self.matures if self.emerges == "evenly" else float(self.emerges[age - 1])  # type: ignore[arg-type]

    @property
    def clients(self) -> int:
        return sum(number for _, number in self.joined)

    @property
    def known(self) -> int:
        return sum(len(rewards) for _, rewards in self.reports)


class Plain:
    """The whole history of one category, with nothing added up."""

    def __init__(self, row: FamilyRow, policy: pb.Policy, promised: float) -> None:
        self.row, self.policy, self.promised = row, policy, promised
        self.reports: list[tuple[int, list[float]]] = []
        self.groups: dict[int, Group] = {}

    def weight(self, age: int) -> float:
        return float(age < self.policy.window) if self.policy.window else self.policy.forget**age

    def entries(self, now: int) -> list[tuple[int, float, float]]:
        """Everything that counts: since which round, as how many clients, and its
        reward (or what it changes).
        """
        value = self.value
        found = [(at, 1.0, value(x)) for at, rewards in self.reports for x in rewards]
        promised = value(self.promised)
        for group in self.groups.values():
            if group.emerges == "at maturity":
                due = group.accepted_in + group.matures
                outcomes = [
                    (max(at, due), 1.0, value(x)) for at, rewards in group.reports for x in rewards
                ]
                found += [each for each in outcomes if each[0] <= now]
                continue
            for told, number in group.joined:
                found.append((told, number * group.share(told), promised))
                for round in range(told + 1, now + 1):
                    found.append(
                        (round, number * (group.share(round) - group.share(round - 1)), promised)
                    )
            found += [(at, 1.0, value(x)) for at, rewards in group.reports for x in rewards]
            found += [(at, -float(len(rewards)), promised) for at, rewards in group.reports]
        return found

    def value(self, reward: float) -> float:
        return float(
            self.policy.view(self.row.category()).statistic.of_rewards(np.array([reward]))[0]
        )

    def expected(self, now: int) -> tuple[float, float | None, float]:
        """N, the mean of the statistic and the evidence after `now` decisions."""
        view = self.policy.view(self.row.category())
        weighted = [
            (self.weight(now - at) * number, value) for at, number, value in self.entries(now)
        ]
        clients = math.fsum(weight for weight, _ in weighted)
        if clients < 1e-9:
            return 0.0, None, 0.0
        low, high = view.statistic_range
        total = min(
            max(math.fsum(weight * value for weight, value in weighted), clients * low),
            clients * high,
        )
        squares = math.fsum(weight * value**2 for weight, value in weighted)
        spread = max(0.0, squares - total**2 / clients)
        if high - low < math.inf:
            spread = min(spread, max(0.0, (clients * high - total) * (total / clients - low)))
        values = np.array([value for weight, value in weighted if weight > 0.0])
        weights = np.array([weight for weight, _ in weighted if weight > 0.0])
        seen = Observed(clients, total, spread, values, weights)
        target = view.statistic.of_mean(self.row.category().threshold)
        return (
            clients,
            total / clients,
            evidence(self.policy.rule.under(view.law), view.law, seen, target),
        )


class History:
    """Random steps on an agent and on its plain history."""

    def __init__(self, row: FamilyRow, policy: pb.Policy, seed: int, folder: Path) -> None:
        self.row, self.folder = row, folder
        self.rng = np.random.default_rng(seed)
        self.agent = pb.Agent([row.category()], policy=policy, seed=seed)
        self.promised = row.family.bounds[1] if row.family.bounds else 2.0 * row.threshold
        if seed % 2:  # the mean of what several clients promise, which is no whole number
            self.promised -= 0.3
        self.plain = Plain(row, policy, self.promised)
        self.by_age = by_age_allowed(row, policy.name)

    def rewards(self, size: int) -> list[float]:
        return self.row.rewards(size, seed=int(self.rng.integers(1 << 30))).tolist()

    def expect(self) -> None:
        agent, rng = self.agent, self.rng
        accepted_in = int(rng.integers(max(0, agent.round - 3), agent.round + 1))
        group = self.plain.groups.get(accepted_in)
        if (
            group is not None
            and group.known == group.clients
            and agent.round - accepted_in >= group.matures
        ):
            return  # it has vanished, and another one would begin
        if group is None:
            kinds: list[Any] = ["at maturity", "evenly", CURVE] if self.by_age else ["at maturity"]
            emerges = kinds[int(rng.integers(len(kinds)))]
            group = Group(
                accepted_in, len(CURVE) if emerges is CURVE else int(rng.integers(0, 7)), emerges
            )
            self.plain.groups[accepted_in] = group
        number = int(rng.integers(1, 6))
        options: dict[str, Any] = {
            "matures": group.matures,
            "emerges": group.emerges,
            "accepted_in": accepted_in,
        }
        if group.emerges != "at maturity":
            options["promised"] = self.promised
        agent.expect({"it": number}, **options)
        group.joined.append((agent.round, number))

    def report(self) -> None:
        waiting = [group for group in self.plain.groups.values() if group.known < group.clients]
        if not waiting:
            return
        group = waiting[int(self.rng.integers(len(waiting)))]
        rewards = self.rewards(int(self.rng.integers(1, min(3, group.clients - group.known) + 1)))
        if self.rng.random() < 0.5:
            self.agent.observe("it", rewards, accepted_in=group.accepted_in)
        else:
            self.agent.observe({"it": pb.Batch(rewards=rewards, accepted_in=group.accepted_in)})
        group.reports.append((self.agent.round, rewards))

    def correct(self) -> None:
        """Replace or take back outcomes of a cohort that is still listed."""
        now, rng = self.agent.round, self.rng
        listed = [
            group
            for group in self.plain.groups.values()
            if group.reports
            and (group.known < group.clients or now - group.accepted_in < group.matures)
        ]
        if not listed:
            return
        group = listed[int(rng.integers(len(listed)))]
        place = int(rng.integers(len(group.reports)))
        at, was = group.reports.pop(place)
        new = self.rewards(len(was)) if rng.random() < 0.5 else None
        due = group.accepted_in + group.matures
        since = max(at, due) if group.emerges == "at maturity" and due <= now else at
        self.agent.correct("it", was=was, now=new, counted_in=since, accepted_in=group.accepted_in)
        if new is not None:
            group.reports.append((at, new))

    def compare(self) -> None:
        agent, plain = self.agent, self.plain
        clients, mean, nats = plain.expected(agent.round)
        standing = agent["it"]
        assert standing.counted == pytest.approx(clients, rel=1e-9, abs=2e-9)
        assert standing.evidence == pytest.approx(nats, rel=1e-7, abs=1e-7)
        assert (standing.mean is None) == (mean is None)
        if mean is not None:
            assert standing.mean == pytest.approx(mean, rel=1e-7, abs=1e-8)
        groups = plain.groups.values()
        still = [group for group in groups if agent.round - group.accepted_in < group.matures]
        assert standing.clients == sum(len(rewards) for _, rewards in plain.reports) + sum(
            g.known for g in groups
        )
        assert standing.open == sum(group.clients - group.known for group in still)
        assert standing.open + standing.missing == sum(
            group.clients - group.known for group in groups
        )
        assert standing.waiting == standing.open + standing.missing
        assert standing.emerged == pytest.approx(
            sum(
                group.clients * group.share(agent.round)
                for group in still
                if group.emerges != "at maturity"
            )
        )
        money = sum(x for group in groups for _, rewards in group.reports for x in rewards)
        money += sum(x for _, rewards in plain.reports for x in rewards)
        assert standing.revenue == pytest.approx(money, rel=1e-9, abs=1e-9)

    def play(self) -> None:
        for _ in range(ROUNDS):
            decision = self.agent.decide()
            for _ in range(int(self.rng.integers(0, 3))):
                self.expect()
            for _ in range(int(self.rng.integers(0, 4))):
                self.report()
            if self.rng.random() < 0.3:
                rewards = self.rewards(2)
                self.agent.observe("it", rewards)
                self.plain.reports.append((self.agent.round, rewards))
            if self.rng.random() < 0.3:
                self.correct()
            self.compare()
            assert decision.accepted_mask[0] == (decision.evidence[0] <= decision.patience[0])
            if self.rng.random() < 0.2:
                self.agent.save(self.folder / "agent.json")
                self.agent = pb.Agent.load(self.folder / "agent.json")
            elif self.rng.random() < 0.2:
                self.agent = copy.copy(self.agent)


def policy_named(name: str, options: dict[str, float]) -> pb.Policy:
    return POLICIES[name](**({"horizon": 50} if name == "optimal" else {}), **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "name", "options"),
    covering(LIVELY, POLICIES, [{}, {"forget": 0.8}, {"window": 4}]),
    ids=str,
)
def test_sums_are_those_of_the_whole_history(
    row: FamilyRow, name: str, options: dict[str, float], tmp_path: Path
) -> None:
    History(row, policy_named(name, options), 3 * len(name) + len(row.family.name), tmp_path).play()


# ------------------------------------------------------------------------------ by hand


def loans(policy: str = "kl-ucb") -> pb.Agent:
    return pb.Agent([pb.Category("loans", pb.Bernoulli(), threshold=0.8)], policy=policy)


def pass_rounds(agent: pb.Agent, number: int) -> None:
    for _ in range(number):
        agent.decide()


def test_at_maturity_by_hand() -> None:
    agent = loans()
    pass_rounds(agent, 3)
    agent.expect("loans", 4, matures=2)
    agent.observe("loans", [0, 0], accepted_in=3)
    known = agent["loans"]
    assert (known.clients, known.counted, known.mean, known.waiting, known.open, known.missing) == (
        2,
        0,
        None,
        2,
        2,
        0,
    )
    assert known.cost == pytest.approx(1.6), "money is booked at once"
    verdict = agent.decide()["loans"]
    assert verdict.accepted
    assert verdict.reason == (
        "accepted: its 2 outcomes count when their cohorts have matured, so nothing "
        "speaks against it"
    )
    assert agent["loans"].counted == 0
    agent.observe("loans", [1], accepted_in=3)
    agent.decide()
    matured = agent["loans"]
    assert (matured.clients, matured.counted, matured.waiting, matured.open, matured.missing) == (
        3,
        3,
        1,
        0,
        1,
    )
    assert matured.mean == pytest.approx(1 / 3)
    agent.observe("loans", [1], accepted_in=3)
    assert agent["loans"].counted == 4, "after maturity outcomes count at once"
    assert agent["loans"].missing == agent["loans"].waiting == 0
    with pytest.raises(pb.errors.ParameterError, match="no cohort"):
        agent.observe("loans", [1], accepted_in=3)


def test_evenly_by_hand() -> None:
    """40 loans, 4 rounds, one lost at once: N = 10, 20, 30, 40 and S = N - 1."""
    agent = loans()
    agent.expect("loans", 40, matures=4, emerges="evenly")
    agent.observe("loans", [0], accepted_in=0)
    assert agent["loans"].mean is None
    for clients in (10, 20, 30, 40):
        agent.decide()
        assert agent["loans"].counted == pytest.approx(clients)
        assert agent["loans"].mean == pytest.approx((clients - 1) / clients)
    agent.observe("loans", count=39, total=37, accepted_in=0)
    assert agent["loans"].counted == pytest.approx(40)
    assert agent["loans"].mean == pytest.approx(37 / 40), "in the end it is the plain mean"


def test_sums_stay_inside_what_the_family_allows() -> None:
    """Three of 10 are lost at age 1 of 10: N = 1, S = 1 - 3 is kept at 0; at age 5 it
    is 5 - 3.
    """
    agent = loans()
    agent.expect("loans", 10, matures=10, emerges="evenly")
    agent.decide()
    agent.observe("loans", [0, 0, 0], accepted_in=0)
    assert agent["loans"].mean == 0.0
    assert agent["loans"].evidence == pytest.approx(-math.log(0.2))
    pass_rounds(agent, 4)
    assert agent["loans"].mean == pytest.approx(2 / 5)


def test_the_spread_stays_inside_what_the_family_allows() -> None:
    """10 clients at 1 of -2..1 count as N = 1, two of them bring -2: S is kept at -2,
    where there is no spread.
    """
    agent = pb.Agent([pb.Category("a", pb.Bounded(low=-2, high=1), threshold=0.0)], policy="ucb-v")
    agent.expect("a", 10, matures=10, emerges="evenly")
    agent.decide()
    agent.observe("a", [-2, -2], accepted_in=0)
    assert agent["a"].mean == -2.0
    assert agent["a"].evidence == pytest.approx(2 / 9), "N gap / (3 B), if v = 0"


def test_with_forgetting_age_starts_when_something_is_counted() -> None:
    """Two clients become one observation in round 1 and another in round 2; a loss of
    round 2 is one round old in 3.
    """
    agent = loans("kl-ucb:forget=0.5")
    agent.expect("loans", 2, matures=2, emerges="evenly")
    agent.decide()
    assert agent["loans"].counted == 1.0
    agent.decide()
    assert agent["loans"].counted == 1.5
    agent.observe("loans", [0], accepted_in=0)
    assert agent["loans"].mean == pytest.approx(0.5 / 1.5)
    agent.decide()
    assert agent["loans"].counted == 0.75
    assert agent["loans"].mean == pytest.approx(0.5 / 1.5)
    late = loans("kl-ucb:forget=0.5")
    late.expect("loans", 2, matures=3)
    late.observe("loans", [1, 0], accepted_in=0)
    pass_rounds(late, 3)
    assert late["loans"].counted == 2.0
    late.decide()
    assert late["loans"].counted == 1.0


def test_a_curve_of_ones_own() -> None:
    agent = loans()
    agent.expect("loans", 10, matures=3, emerges=[0.1, 0.4, 1.0])
    counted: list[float] = []
    for _ in range(4):
        agent.decide()
        counted.append(agent["loans"].counted)
    assert counted == pytest.approx([1.0, 4.0, 10.0, 10.0])


def test_sales_are_known_first_and_nothing_is_promised() -> None:
    """The other way round: with promised=0, what is known early are gains."""
    agent = loans()
    agent.expect("loans", 10, matures=5, emerges="evenly", promised=0)
    agent.decide()
    agent.observe("loans", [1], accepted_in=0)
    assert agent["loans"].mean == pytest.approx(1 / 2)


def test_the_mean_is_right_at_every_age_if_losses_emerge_evenly() -> None:
    """1 000 cohorts of 20, 24 rounds, 10 % lost at an age that is uniform: |z| < 4 at
    24 ages, false alarm < 0.2 %.
    """
    rng, matures, clients, lost = np.random.default_rng(5), 24, 20_000, 0.1
    fails = rng.random(clients) < lost
    ages = rng.integers(1, matures + 1, clients)
    evenly, as_they_come = loans(), loans()
    evenly.expect("loans", clients, matures=matures, emerges="evenly")
    as_they_come.expect("loans", clients)
    means: list[float] = []
    for age in range(1, matures + 1):
        evenly.decide()
        number = int(np.count_nonzero(fails & (ages == age)))
        evenly.observe("loans", [0] * number, accepted_in=0)
        as_they_come.observe("loans", [0] * number)
        means.append(evenly["loans"].mean or 0.0)
        error = math.sqrt(lost * age / matures * clients) / (clients * age / matures)
        assert abs(means[-1] - (1.0 - lost)) < 4.0 * error
    assert as_they_come["loans"].mean == 0.0
    evenly.observe(
        "loans", count=evenly["loans"].waiting, total=evenly["loans"].waiting, accepted_in=0
    )
    assert evenly["loans"].mean == pytest.approx(1.0 - float(np.mean(fails)))


def test_the_past_is_told_of_later() -> None:
    """Clients who are two rounds old count as two rounds at once; those who have
    matured count when they report.
    """
    agent = loans()
    pass_rounds(agent, 5)
    agent.expect("loans", 8, accepted_in=3, matures=4, emerges="evenly")
    assert agent["loans"].counted == 4.0
    agent.expect("loans", 8, accepted_in=3, matures=4, emerges="evenly")
    assert agent["loans"].counted == 8.0
    agent.expect("loans", 3, accepted_in=1, matures=4)
    agent.observe("loans", [1, 1], accepted_in=1)
    assert agent["loans"].counted == 10.0
    assert agent["loans"].missing == 1


def test_amounts_are_kept_until_maturity(tmp_path: Path) -> None:
    """Money back: 1 000 at 1.1 and 3 000 at 0.5, so W = 4 000, N = W^2/(10 M) = 1.6,
    and a mean of 2 600/4 000.
    """
    agent = pb.Agent([pb.Category.returns("cards", required=0.05, high=2.0)], policy="kl-ucb")
    agent.expect("cards", 4, matures=2)
    agent.observe("cards", [1.1, 0.7], amounts=[1_000, 2_000], accepted_in=0)
    agent.correct("cards", was=0.7, now=0.5, was_amounts=2_000, now_amounts=3_000, accepted_in=0)
    assert agent["cards"].counted == 0.0
    assert agent["cards"].profit == pytest.approx(100 - 1_500)
    agent.decide()
    agent.save(tmp_path / "agent.json")
    agent = pb.Agent.load(tmp_path / "agent.json")
    agent.decide()
    assert agent["cards"].counted == pytest.approx(1.6)
    assert agent["cards"].mean == pytest.approx(2_600 / 4_000)
    with pytest.raises(pb.errors.ParameterError, match="weigh as much as their amounts"):
        agent.expect("cards", 4, matures=2, emerges="evenly", promised=1.1)
    singly = pb.Agent(
        [pb.Category.returns("cards", required=0.05, high=2.0, weight="client")], policy="kl-ucb"
    )
    with pytest.raises(pb.errors.ParameterError, match="promise"):
        singly.expect("cards", 4, matures=2, emerges="evenly")
    singly.expect("cards", 4, matures=2, emerges="evenly", promised=1.1)
    singly.observe("cards", [0.5], amounts=[3_000], accepted_in=0)
    singly.decide()
    assert singly["cards"].mean == pytest.approx((2 * 1.1 - 0.6) / 2)
    assert singly["cards"].profit == pytest.approx(-1_500)


def test_outcomes_of_others_do_not_touch_the_cohort() -> None:
    agent = loans()
    agent.expect("loans", 5, matures=9)
    agent.expect("loans", 2)
    agent.observe("loans", [1, 1, 1])
    assert agent["loans"].waiting == agent["loans"].open == 5
    assert agent.waiting == {"loans": 5}


# --------------------------------------------------------------------------------- said


def test_it_is_shown_everywhere() -> None:
    agent = loans()
    agent.decide()
    agent.expect("loans", 10, matures=4, emerges="evenly")
    agent.expect("loans", 5, matures=1, accepted_in=0)
    agent.observe("loans", [0], accepted_in=1)
    decision = agent.decide()
    verdict = decision["loans"]
    assert (verdict.waiting, verdict.open, verdict.emerged, verdict.missing) == (14, 9, 0.0, 5)
    assert agent["loans"].emerged == 2.5
    entry = decision.to_dict()["categories"][0]
    assert (entry["open"], entry["emerged"], entry["missing"]) == (9, 0.0, 5)
    assert list(agent.to_frame("pandas")["open"]) == [9]
    text = agent.explain("loans")
    assert "Waiting for the outcome of 14 accepted clients." in text
    assert (
        "Open: 9 of them. Cohorts that have not matured count as 2.5 observations by now." in text
    )
    assert "Missing: 5 of them. Their cohorts have matured." in text
    assert "counted" in str(agent)
    assert "missing" in str(agent)


def test_a_warning_where_losses_are_known_first() -> None:
    agent = loans()
    agent.decide()
    agent.expect("loans", 100)
    agent.observe("loans", [0] * 8 + [1] * 3)
    words = (
        "only 11 % of the accepted clients are known, and bad outcomes are often "
        "known first: give matures="
    )
    assert words in agent.explain("loans")
    assert words in agent.decide()["loans"].reason
    agent.observe("loans", [1] * 80)
    assert words[5:] not in agent.explain("loans")
    told = loans()
    told.expect("loans", 100, matures=12)
    told.observe("loans", [0] * 8 + [1] * 3, accepted_in=0)
    assert "known first" not in told.explain("loans")


# ------------------------------------------------------------------------------ changes


@pytest.mark.parametrize("emerges", ["at maturity", "evenly"])
@pytest.mark.parametrize("name", POLICIES)
def test_a_change_of_policy(name: str, emerges: str) -> None:
    agent = loans("kl-ucb")
    agent.expect("loans", 10, matures=5, emerges=emerges)
    agent.decide()
    agent.observe("loans", [0, 0, 0, 1], accepted_in=0)
    if name == "kl-emp-ucb" and emerges == "evenly":
        with pytest.raises(pb.errors.SumNotEnoughError, match="open"):
            agent.set_policy(name)
        return
    agent.set_policy(policy_named(name, {}))
    fresh = pb.Agent([agent.category("loans")], policy=policy_named(name, {}))
    fresh.expect("loans", 10, matures=5, emerges=emerges)
    fresh.decide()
    fresh.observe("loans", [0, 0, 0, 1], accepted_in=0)
    for _ in range(5):
        for each in (agent, fresh):
            each.decide()
        ours, theirs = agent["loans"], fresh["loans"]
        assert (ours.counted, ours.mean, ours.open) == (theirs.counted, theirs.mean, theirs.open)
        assert ours.evidence == pytest.approx(theirs.evidence, rel=1e-12)


def test_a_policy_that_needs_more_than_the_cohort_kept() -> None:
    agent = pb.Agent([pb.Category("a", pb.Bounded(low=0, high=2), threshold=1.0)], policy="kl-ucb")
    agent.expect("a", 5, matures=5)
    agent.observe("a", [0.5, 1.5], accepted_in=0)
    for policy in ("ucb-v", "kl-emp-ucb"):
        with pytest.raises(pb.errors.SumNotEnoughError):
            agent.set_policy(policy)
    assert str(agent.policy) == "kl-ucb"


def test_a_removed_category_takes_its_cohorts_along() -> None:
    agent = pb.Agent(
        [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in "abc"], policy="kl-ucb"
    )
    agent.expect({"a": 1, "b": 2, "c": 3}, matures=2, emerges="evenly")
    agent.remove_category("b")
    agent.decide()
    assert [agent[name].counted for name in "ac"] == [0.5, 1.5]
    agent.observe("c", [1, 0], accepted_in=0)
    assert [agent[name].waiting for name in "ac"] == [1, 1]


def test_thresholds_and_pauses_leave_cohorts_alone() -> None:
    agent = loans()
    agent.expect("loans", 10, matures=2, emerges="evenly")
    agent.pause("loans")
    agent.set_threshold("loans", 0.9)
    agent.decide()
    agent.observe("loans", [0, 0], accepted_in=0)
    assert agent["loans"].evidence == pytest.approx(pb.Bernoulli().divergence(0.6, 0.9) * 5)


def test_corrections_inside_a_cohort() -> None:
    for emerges in ("at maturity", "evenly"):
        agent = loans()
        agent.expect("loans", 4, matures=2, emerges=emerges)
        agent.observe("loans", [0, 0, 1], accepted_in=0)
        before = agent["loans"]
        with pytest.raises(pb.errors.CorrectionError):
            agent.correct("loans", was=[1, 1], accepted_in=0)
        with pytest.raises(pb.errors.CorrectionError, match="clients of round 0"):
            agent.correct("loans", was=0, now=[1, 1, 1], accepted_in=0)
        assert agent["loans"] == before
        agent.correct("loans", was=0, now=1, accepted_in=0)
        agent.correct("loans", was=0, accepted_in=0)
        assert (agent["loans"].clients, agent["loans"].waiting, agent["loans"].open) == (2, 2, 2)
        assert agent["loans"].revenue == pytest.approx(2.0)
        agent.observe("loans", [0, 1], accepted_in=0)
        pass_rounds(agent, 2)
        assert agent["loans"].mean == pytest.approx(3 / 4)
        agent.correct("loans", was=0, now=1)
        assert agent["loans"].mean == pytest.approx(1.0), (
            "all of it is known, so it is corrected like any outcome"
        )


# ---------------------------------------------------------------------------- bad input


def mature(agent: pb.Agent, **options: Any) -> None:
    agent.expect("loans", 5, **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"matures": -1}, ("matures", "-1", "0 or more")),
        ({"matures": 2.5}, ("matures", "2.5", "whole")),
        ({"emerges": "evenly"}, ("emerges", "evenly", "matures")),
        ({"accepted_in": 1}, ("accepted_in", "matures")),
        ({"promised": 1}, ("promised", "matures")),
        ({"matures": 3, "accepted_in": 3}, ("accepted_in", "3", "latest round is 2")),
        ({"matures": 3, "accepted_in": -1}, ("accepted_in", "-1")),
        ({"matures": 3, "emerges": "slowly"}, ("emerges", "slowly", "at maturity")),
        ({"matures": 3, "emerges": 0.5}, ("emerges", "0.5", "list")),
        ({"matures": 3, "emerges": [0.5, 0.4, 1.0]}, ("emerges", "falls", "rising")),
        ({"matures": 3, "emerges": [0.5, 0.9, 1.2]}, ("emerges", "0 to 1")),
        ({"matures": 3, "emerges": [-0.1, 0.9, 1.0]}, ("emerges", "0 to 1")),
        ({"matures": 3, "emerges": [0.1, math.nan, 1.0]}, ("emerges", "0 to 1")),
        ({"matures": 3, "emerges": [[0.1], 1.0]}, ("emerges", "0 to 1")),
        ({"matures": 3, "emerges": [0.1, 0.2, 0.9]}, ("emerges", "end at 1")),
        ({"matures": 0, "emerges": []}, ("emerges", "end at 1")),
        ({"matures": 4, "emerges": [0.1, 0.2, 1.0]}, ("emerges", "3 shares", "matures=4")),
        ({"matures": 3, "promised": 1}, ("promised", "emerges")),
        ({"matures": 3, "emerges": "evenly", "promised": 1.5}, ("promised", "1.5", "0 or 1")),
        ({"matures": 9, "accepted_in": 1}, ("matures", "9", "round 1", "matures=8")),
        ({"matures": 8, "accepted_in": 1, "emerges": "evenly"}, ("matures", "at maturity")),
    ],
)
def test_bad_cohorts(options: dict[str, Any], words: Sequence[str]) -> None:
    agent = loans()
    pass_rounds(agent, 2)
    agent.expect("loans", 3, matures=8, accepted_in=1)
    before = record_of(agent)
    with pytest.raises(pb.errors.InputError) as error:
        mature(agent, **options)
    assert all(word in str(error.value) for word in words), str(error.value)
    assert "'loans'" in str(error.value)
    assert record_of(agent) == before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rewards": [1] * 4, "accepted_in": 1}, ("4", "more outcomes than the 3")),
        ({"rewards": [1], "accepted_in": 0}, ("accepted_in", "0", "no cohort", "expect")),
        ({"rewards": [1], "accepted_in": 7}, ("accepted_in", "7", "latest round is 2")),
        ({"rewards": [1], "accepted_in": 1.5}, ("accepted_in", "1.5")),
        ({"rewards": [2], "accepted_in": 1}, ("reward", "2", "0 or 1")),
    ],
)
def test_bad_reports(options: dict[str, Any], words: Sequence[str]) -> None:
    agent = loans()
    pass_rounds(agent, 2)
    agent.expect("loans", 3, matures=8, accepted_in=1)
    before = record_of(agent)
    for act in (
        lambda: agent.observe("loans", **options),
        lambda: agent.observe({"loans": pb.Batch(**options)}),
    ):
        with pytest.raises(pb.errors.InputError) as error:
            act()
        assert all(word in str(error.value) for word in words), str(error.value)
        assert record_of(agent) == before


def test_where_clients_cannot_count_by_age() -> None:
    for policy, family, word in (
        ("kl-emp-ucb", pb.Bernoulli(), "every single reward"),
        ("kl-ucb", pb.Pareto(scale=0.2), "Pareto"),
        ("kl-ucb", pb.Exponential(), "Exponential"),
    ):
        agent = pb.Agent([pb.Category("a", family, threshold=0.8)], policy=policy)
        with pytest.raises(pb.errors.ParameterError, match=word):
            agent.expect("a", 3, matures=4, emerges="evenly", promised=1.0)
        agent.expect("a", 3, matures=4)
    counts = pb.Agent([pb.Category("a", pb.Poisson(), threshold=0.8)], policy="kl-ucb")
    with pytest.raises(pb.errors.ParameterError, match="promise"):
        counts.expect("a", 3, matures=4, emerges="evenly")


def test_a_fraction_is_promised() -> None:
    """A mean of promises counts as such; the squares that another policy needs are not
    known from it.
    """
    agent = loans()
    agent.decide()
    agent.expect("loans", 4, matures=0, emerges="evenly", promised=0.25)
    assert (agent["loans"].counted, agent["loans"].mean) == (4.0, 0.25)
    with pytest.raises(pb.errors.SumNotEnoughError, match="fraction"):
        agent.set_policy("ucb-v")
    agent.observe("loans", [1, 1, 0, 0], accepted_in=1)
    assert agent["loans"].mean == 0.5
    agent.set_policy("ucb-v")


# -------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"accepted_in": [9]}, "latest round"),
        ({"known": [9]}, "9 of 5"),
        ({"total": [3.0]}, "sum"),
        ({"place": [1]}, "torn"),
        ({"matures": [3, 3]}, "torn"),
        ({"promised": [None]}, "promised"),
        ({"promised": [1.5]}, "promised"),
        ({"emerges": [[0.5, 0.4, 1.0]]}, "falls"),
        ({"clients": [50]}, "waiting"),
        ({"sample": [{"values": [], "counts": []}]}, "torn"),
    ],
)
def test_a_file_with_impossible_cohorts_is_refused(change: dict[str, Any], word: str) -> None:
    agent = loans()
    agent.decide()
    agent.expect("loans", 5, matures=3, emerges="evenly")
    agent.observe("loans", [1, 0], accepted_in=1)
    record = record_of(agent)
    assert record.cohorts is not None
    assert record_of(restore(record)) == record
    with pytest.raises(pb.ProfitableError, match=word):
        restore(record.model_copy(update={"cohorts": record.cohorts.model_copy(update=change)}))
    with pytest.raises(pb.ProfitableError, match="debt"):
        restore(
            record.model_copy(update={"columns": record.columns.model_copy(update={"debt": None})})
        )


@pytest.mark.parametrize(
    "policy", ["kl-ucb+:count=rounds", "kl-ucb+:count=rounds,forget=0.9", "ts:floor=0.2,window=3"]
)
def test_evidence_is_renewed_when_cohorts_emerge(policy: str) -> None:
    """An agent and its copy read from a file explain themselves alike."""
    agent = loans(policy)
    for _ in range(12):
        agent.decide()
        agent.expect("loans", 6, matures=4, emerges="evenly" if agent.round % 2 else "at maturity")
        agent.observe("loans", [0, 0, 1], accepted_in=agent.round)
        assert agent["loans"].evidence == pytest.approx(
            restore(record_of(agent))["loans"].evidence, rel=1e-12
        )
    assert agent["loans"].evidence > 1.0


def test_cohorts_that_have_matured_need_no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outcomes that never come stay missing for ever, and must not slow down rounds."""
    names = [f"c{i}" for i in range(50)]
    categories = [pb.Category(name, pb.Bernoulli(), threshold=0.5) for name in names]
    agent = pb.Agent(categories, policy="kl-ucb")
    agent.decide()
    agent.expect(dict.fromkeys(names, 1), matures=1)
    for _ in range(3):
        agent.decide()
    assert agent["c7"].missing == 1
    looks: list[int] = []
    of = Cohorts.of
    monkeypatch.setattr(Cohorts, "of", lambda self, k: looks.append(k) or of(self, k))
    agent.expect("c7", 2, matures=2)
    agent.decide()
    assert set(looks) == {7}
