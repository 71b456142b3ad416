"""An agent whose bands share evidence: what it decides, keeps and says."""

import copy
import math
import pickle
from pathlib import Path

import numpy as np
import pytest

import profitable as pb
from profitable.errors import ParameterError, ProfitableWarning
from profitable.kernels.order import BandRow, new_bands, weigh_bands
from profitable.model.prior import Prior
from profitable.policy.policies import Policy
from profitable.policy.shared_orders import shared_orders

INF = math.inf
MEANS = (0.3, 0.45, 0.4, 0.55, 0.7)


def band(k: int, order: str | None = "score", **terms: object) -> pb.Category:
    known = {"threshold": 0.5} | terms
    return pb.Category(f"{500 + 20 * k}-{520 + 20 * k}", pb.Bernoulli(), order=order, **known)  # type: ignore[arg-type]


def test_a_band_that_is_added_is_the_highest_and_that_is_said(
    recwarn: pytest.WarningsRecorder,
) -> None:
    agent = pb.Agent([band(1), band(2), free("x")], policy="kl-ucb")
    agent.add_category(free("y"), band(5, "other"), band(6, "other"))
    assert not recwarn.list
    with pytest.warns(ProfitableWarning, match="500-520 is the highest .* above 540-560"):
        agent.add_category(band(0))
    assert [row.name for row in agent.cutoff("score").rows] == ["520-540", "540-560", "500-520"]


def free(name: str) -> pb.Category:
    return pb.Category(name, pb.Poisson(), threshold=2.0)


def lived(categories: list[pb.Category], policy: str, rounds: int = 12, seed: int = 1) -> pb.Agent:
    """An agent that saw three clients of each accepted category in each round."""
    agent, rng = pb.Agent(categories, policy=policy, seed=seed), np.random.default_rng(5)
    for _ in range(rounds):
        decision, uniform = agent.decide(), rng.random((len(categories), 3))
        for k, category in enumerate(categories):
            if decision.accepts(category.name):
                mean = MEANS[k % len(MEANS)]
                agent.observe(category.name, (uniform[k] < mean).astype(float).tolist())
    return agent


POLICIES = [
    "kl-ucb",
    "kl-ucb:trust=inf",
    "bayes-ucb",
    "ts",
    "ts:trust=inf",
    "optimal:horizon=90",
    "optimal:trust=0.5",
]


@pytest.mark.parametrize("name", POLICIES)
def test_a_decision_is_that_of_the_weighed_bands(name: str) -> None:
    """Also beside free categories, and for bands that do not stand side by side."""
    policy, bands = Policy.parse(name), [band(k) for k in range(5)]
    categories = [free("x"), bands[0], bands[1], free("y"), *bands[2:]]
    agent, sums, rng = pb.Agent(categories, policy=name, seed=4), {}, np.random.default_rng(6)
    sums = {each.name: [0.0, 0.0, 0.0] for each in bands}
    rejected = 0
    for t in range(25):
        decision = agent.decide()
        table = new_bands(5)
        for i, each in enumerate(bands):
            clients, total, rounds = sums[each.name]
            table[[BandRow.CLIENTS, BandRow.TOTAL], i] = clients, total
            table[BandRow.PER_ROUND, i] = clients / rounds if rounds else 1.0
        table[BandRow.TARGET] = 0.5
        drawn = decision[bands[0].name].patience if policy.draws and t > 0 else INF
        (order,) = shared_orders(policy, bands)
        weigh_bands(
            order.view.law,
            policy.rule.is_posterior,
            policy.trust,
            policy.coded_patience,
            float(t),
            drawn,
            table,
        )
        for i, each in enumerate(bands):
            verdict = decision[each.name]
            assert (
                verdict.accepted == decision.accepts(each.name) == bool(table[BandRow.ACCEPTED, i])
            )
            assert verdict.evidence == table[BandRow.EVIDENCE, i]
            assert verdict.patience == table[BandRow.PATIENCE, i]
            assert (verdict.index >= verdict.threshold) == (verdict.evidence <= verdict.patience)
            rejected += not verdict.accepted
            if verdict.accepted:
                rewards = (rng.random(3) < MEANS[i]).astype(float)
                agent.observe(each.name, rewards.tolist())
                sums[each.name] = [
                    a + b for a, b in zip(sums[each.name], (3.0, rewards.sum(), 1.0), strict=True)
                ]
    assert rejected > 10


@pytest.mark.parametrize("policy", ["kl-ucb", "ts", "optimal:horizon=60", "bayes-ucb"])
def test_without_trust_an_agent_is_that_without_an_order(policy: str) -> None:
    joint = "," if ":" in policy else ":"
    shared = lived([band(k) for k in range(5)], f"{policy}{joint}trust=0", 30)
    alone = lived([band(k, None) for k in range(5)], policy, 30)
    assert list(shared.decide()) == list(alone.decide())
    assert list(lived([band(k) for k in range(5)], policy, 30).decide()) != list(alone.decide())


def test_free_categories_decide_as_if_there_were_no_bands() -> None:
    plain, mixed = (
        pb.Agent([free("x"), *(band(k, order) for k in range(3)), free("y")], policy="ts", seed=3)
        for order in (None, "score")
    )
    for _ in range(20):
        one, two = plain.decide(), mixed.decide()
        assert [one["x"], one["y"]] == [two["x"], two["y"]]
        for agent in (plain, mixed):
            agent.observe({"x": [1, 2], "y": [0, 3], "500-520": [0], "540-560": [1, 0]})


def test_propensities_of_thompson_sampling_are_exact() -> None:
    """One draw decides about all bands.  False-alarm rate: 5 x 6e-5 at 4 deviations."""
    rewards = {
        f"{500 + 20 * k}-{520 + 20 * k}": [1.0] * good + [0.0] * (6 - good)
        for k, good in enumerate((1, 3, 0, 3, 5))
    }
    number, accepted, known = 3_000, np.zeros(5), np.zeros(5)
    for seed in range(number):
        agent = pb.Agent([band(k) for k in range(5)], policy="ts:trust=1.5", seed=seed)
        agent.decide()
        agent.observe(rewards)
        decision = agent.decide()
        mask, evidence, patience = decision.accepted_mask, decision.evidence, decision.patience
        assert len({*patience.tolist()}) == 1
        assert (mask == (evidence <= patience)).all()
        accepted += mask
        known = decision.propensity
    assert known == pytest.approx(np.exp(-evidence), rel=1e-12)
    assert known.min() < 0.3 < 0.6 < known.max()
    error = np.sqrt(known * (1.0 - known) / number)
    assert (np.abs(accepted / number - known) <= 4.0 * error).all()


def test_a_strict_order_accepts_everything_above_a_cut_off() -> None:
    for policy in ("kl-ucb:trust=inf", "bayes-ucb:trust=inf", "ts:trust=inf"):
        agent, rng, cut = (
            pb.Agent([band(k) for k in range(5)], policy=policy, seed=1),
            np.random.default_rng(2),
            set(),
        )
        for _ in range(60):
            decision = agent.decide()
            mask = decision.accepted_mask.astype(int)
            assert (np.diff(mask) >= 0).all()
            cut.add(int(mask.sum()))
            for k in np.flatnonzero(mask):
                agent.observe(decision.names[k], (rng.random(2) < MEANS[k]).astype(float).tolist())
        assert len(cut) > 2


@pytest.mark.parametrize("policy", POLICIES)
def test_copies_and_files_decide_the_same(policy: str, tmp_path: Path) -> None:
    categories = [free("x"), *(band(k) for k in range(4)), band(9, "grade", prior=None)]
    agent = lived(categories, policy)
    agent.save(tmp_path / "agent.json")
    twins = [
        pb.Agent.load(tmp_path / "agent.json"),
        copy.deepcopy(agent),
        pickle.loads(pickle.dumps(agent)),
    ]
    decision = agent.decide()
    for twin in twins:
        again = twin.decide()
        assert list(again) == list(decision)
        assert again.cut_offs == decision.cut_offs
        assert [twin.category(name).order for name in twin.names] == [None, *["score"] * 4, "grade"]
    assert list(pickle.loads(pickle.dumps(decision))) == list(decision)


def test_reading_changes_nothing_and_decisions_stay() -> None:
    quiet, read = (lived([band(k) for k in range(5)], "optimal:horizon=60") for _ in range(2))
    for _ in range(10):
        str(read.preview())
        read.explain("520-540")
        one, two = quiet.decide(), read.decide()
        said = str(two)
        for agent in (quiet, read):
            agent.observe("580-600", [1, 0])
        assert str(one) == str(two) == said


def test_bands_that_are_not_available_or_paused_still_teach() -> None:
    agent = lived([band(k) for k in range(5)], "kl-ucb:trust=inf")
    expected = agent.preview()
    some = agent.preview(["520-540", "500-520"])
    assert list(some) == [expected["500-520"], expected["520-540"]]
    agent.pause("520-540")
    decision = agent.decide()
    assert not decision.accepts("520-540")
    assert decision["500-520"] == expected["500-520"]
    assert "paused" in decision["520-540"].reason


def test_a_limited_round_goes_to_accepted_bands() -> None:
    agent = lived([band(k) for k in range(5)], "kl-ucb:trust=inf")
    open_to = agent.preview().accepted
    decision = agent.decide(places=4, demand=dict.fromkeys(agent.names, 2))
    assert decision.granted is not None
    assert sum(decision.granted.values()) == 4
    assert {*decision.granted} <= {*open_to}


def test_bands_may_come_later_and_go() -> None:
    agent = pb.Agent([free("x")], policy="kl-ucb")
    for _ in range(3):
        agent.decide()
    agent.add_category(band(0))
    with pytest.warns(ProfitableWarning, match="520-540 is the highest band"):
        agent.add_category(band(1))
    agent.observe({"500-520": [0] * 9, "520-540": [0] * 3, "x": [1, 0, 0]})
    shared = agent.decide()
    alone = pb.Agent([band(0, None)], policy="kl-ucb")
    alone.observe("500-520", [0] * 9)
    own = alone.preview()["500-520"].evidence
    assert shared["500-520"].evidence == pytest.approx(own + 3.0 * math.log(2.0))
    agent.remove_category("520-540")
    assert agent.decide()["500-520"].evidence == own
    with pytest.warns(ProfitableWarning, match="520-540 is the highest band"):
        agent.add_category(band(1))
    agent.set_threshold("520-540", 0.4)
    agent.set_policy("bayes-ucb")
    agent.observe("520-540", [0, 0])
    posterior = agent.decide()
    assert posterior["500-520"].evidence > posterior["520-540"].evidence > 0.0
    with pytest.raises(ParameterError, match="cannot share"):
        agent.set_policy("kl-ucb+")
    assert agent.policy == pb.BayesUCB()


def test_what_is_refused() -> None:
    for policy, words in (("kl-ucb+", "cannot share"), ("ts:forget=0.9", "cannot forget")):
        with pytest.raises(ParameterError, match=words):
            pb.Agent([band(0), band(1)], policy=policy)
    lending = pb.Lending(required=0.05)
    with pytest.raises(ParameterError, match="would share the bias of early defaults"):
        pb.Agent([pb.Category.returns("a", order="score")], policy="bayes-ucb", lending=lending)
    agent = pb.Agent([band(0)], policy="kl-ucb")
    with pytest.raises(ParameterError, match="different families"):
        agent.add_category(pb.Category("b", pb.Poisson(), threshold=0.5, order="score"))
    assert len(agent) == 1
    with pytest.raises(ParameterError, match="no use to kl-ucb"):
        pb.Agent([band(0, prior=Prior.beta(1, 1))], policy="kl-ucb")
