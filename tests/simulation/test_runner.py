"""simulate: the same numbers whatever the workers, what they mean, paired runs, your
own policies, long horizons.
"""

import json
import math
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

import profitable as pb
from profitable.simulation.settings import BLOCK
from tests.simulation.worlds import BERNOULLI, EXPONENTIAL, GAUSSIAN, POISSON, paper, single
from tests.waiting import Kernels, comes_to_an_end, ctrl_c_when

COIN = pb.Scenario("one coin", [single(pb.Bernoulli(), 0.5, 0.6, 4)])
FIVE = paper("five", BERNOULLI)


def numbers(result: pb.Result) -> list[Any]:
    found = result.to_dict()["policies"]
    for each in found:
        each.pop("seconds")
    return found


def simulate(
    scenario: pb.Scenario, *policies: Any, horizon: int = 500, runs: int = 250, **options: Any
) -> pb.Result:
    return pb.simulate(
        scenario, policies, horizon=horizon, runs=runs, **{"progress": False, **options}
    )


def test_any_number_of_workers_gives_the_same_numbers() -> None:
    one = numbers(simulate(FIVE, "kl-ucb", "ts", workers=1))
    for workers in (2, 3, 8):
        assert numbers(simulate(FIVE, "kl-ucb", "ts", workers=workers)) == one


def test_other_policies_and_categories_leave_no_trace() -> None:
    together = simulate(FIVE, "kl-ucb", "ts", "bayes-ucb:c=3")
    alone = simulate(FIVE, "ts")
    assert numbers(alone)[0] == numbers(together)[1]
    reversed_order = simulate(pb.Scenario("five", FIVE.truths[::-1]), "ts")
    np.testing.assert_array_equal(
        reversed_order["ts"].accepted_rounds[::-1], alone["ts"].accepted_rounds
    )


def test_a_name_and_a_policy_are_the_same_and_seeds_are_not() -> None:
    by_name, by_value = simulate(COIN, "kl-ucb:c=3.0"), simulate(COIN, pb.KLUCB(c=3))
    assert by_name.policies == ["kl-ucb:c=3.0"]  # as it was given
    np.testing.assert_array_equal(by_name.curves[0].regret, by_value.curves[0].regret)
    assert (
        simulate(COIN, "ts", seed=2)["ts"].regret != simulate(COIN, "ts", seed=3)["ts"].regret
    ).any()


def test_more_runs_begin_with_the_same_runs(tmp_path: Path) -> None:
    simulate(FIVE, "ts", runs=2 * BLOCK, out=tmp_path)
    longer = simulate(FIVE, "ts", runs=5 * BLOCK, out=tmp_path, resume=True)
    assert numbers(longer) == numbers(simulate(FIVE, "ts", runs=5 * BLOCK))


def test_regret_is_what_the_accepted_rounds_cost() -> None:
    """Sum of |Delta| E[C] (rounds of the wrong decision), by hand."""
    result = simulate(FIVE, "kl-ucb", runs=300, checkpoints=[1, 10, 500])
    curve = result["kl-ucb"]
    loss = np.array([0.1, 0.1, 0.1, 0.1, 0.1]) * (1 + np.array([3, 4, 5, 6, 7]))
    good = np.array([False, True, True, False, False])
    wrong = np.where(good[:, None], curve.t - curve.accepted_rounds, curve.accepted_rounds)
    np.testing.assert_allclose(loss @ wrong, curve.regret, rtol=1e-12)
    np.testing.assert_allclose(loss[good] @ wrong[good], curve.mean("profitable"), rtol=1e-12)
    np.testing.assert_allclose(
        curve.mean("profitable") + curve.mean("unprofitable"), curve.regret, rtol=1e-12
    )
    assert curve.regret[0] == pytest.approx(loss[~good].sum())  # round 1 accepts everybody
    assert (curve.regret[1:] >= curve.regret[:-1]).all()
    assert curve.t.tolist() == [1, 10, 500]


def test_listed_clients_are_counted_as_they_come() -> None:
    counts = [1, 100, 1, 1, 1]
    scenario = pb.Scenario("listed", [single(pb.Bernoulli(), 0.0, 0.45, counts)])
    for kernel in ("events", "rounds"):
        curve = simulate(
            scenario, "kl-ucb", horizon=5, runs=3, checkpoints=[1, 2, 5], kernel=kernel
        )["kl-ucb"]
        # n failures are 0.598 n of evidence, and patience is log t: 0, 0.69, 1.10, 1.39
        # before rounds 2 to 5.
        assert curve.accepted_rounds[0].tolist() == [1.0, 1.0, 3.0]
        np.testing.assert_allclose(curve.regret, [0.45, 0.45, 1.35])
    profitable = pb.Scenario("listed", [single(pb.Bernoulli(), 1.0, 0.5, counts)])
    curve = simulate(profitable, "kl-ucb", horizon=5, runs=3, checkpoints=[1, 2, 5])["kl-ucb"]
    assert curve.regret.tolist() == [0.0, 0.0, 0.0]
    assert curve.mean("clients")[0] == sum(counts)


def test_profit_agrees_with_the_clients_accepted() -> None:
    """E[profit] = margin x E[clients], by optional stopping."""
    loan = pb.Truth(
        pb.Category.loan("loans", amount=1000, rate=0.12), mean=0.93, clients=3, amount_sd=400.0
    )
    poor = pb.Truth(pb.Category.loan("poor", amount=500, rate=0.1), mean=0.8, clients=2)
    half = pb.Category.loan("half", amount=500, rate=0.1, recovery=0.5)
    others = [
        pb.Truth(half, mean=0.8, clients=2),
        pb.Truth(replace(half, name="sd"), mean=0.9, amount_sd=100.0),
    ]
    scenario = pb.Scenario(
        "money", [loan, poor, single(pb.Poisson(), 2.0, 1.5, 4, worth=10.0), *others]
    )
    curve = simulate(scenario, "kl-ucb", runs=2_000, horizon=200)["kl-ucb"]
    lent_half = [500 * (1.1 * mean + 0.5 * (1 - mean) - 1) for mean in (0.8, 0.9)]
    margins = np.array([1000 * (1.12 * 0.93 - 1), 500 * (1.1 * 0.8 - 1), 10 * 0.5, *lent_half])
    off = (curve.mean("profit") - margins * curve.mean("clients")) / curve.error("profit")
    assert (abs(off) < 5).all(), off
    varied = simulate(scenario, "kl-ucb", runs=2_000, horizon=200)
    plain = pb.Scenario(
        "money", [pb.Truth(loan.category, mean=0.93, clients=3), *scenario.truths[1:]]
    )
    steady = simulate(plain, "kl-ucb", runs=2_000, horizon=200)
    # Varying amounts change the realised profit, and nothing else.
    np.testing.assert_array_equal(varied.curves[0].regret, steady.curves[0].regret)
    # Var = clients (amount_sd^2 E[(1.12 r - 1)^2] + ...) more
    assert varied.curves[0].error("profit")[0] > 1.02 * steady.curves[0].error("profit")[0]


def test_profit_is_unknown_where_only_logarithms_are_summed() -> None:
    scenario = pb.Scenario("heavy", [single(pb.Pareto(scale=2.0), 5.0, 4.0, 3)])
    assert np.isnan(simulate(scenario, "kl-ucb")["kl-ucb"].mean("total_profit")[0])
    known = simulate(scenario, "kl-ucb", kernel="rounds")["kl-ucb"].mean("total_profit")[0]
    assert 0 < known < 1e6
    assert (
        simulate(scenario, "kl-ucb").to_dict()["policies"][0]["at_horizon"]["total_profit"] is None
    )


@pytest.mark.statistical
def test_quantiles_and_the_right_set() -> None:
    """Bernoulli(0.5) below 0.6: TS accepts round 2 with the posterior's probability
    (false alarm 1e-7).
    """
    runs = 20_000
    scenario = pb.Scenario("one client", [single(pb.Bernoulli(), 0.5, 0.6, 1)])
    curve = simulate(scenario, "ts", horizon=2, runs=runs)["ts"]
    accept = 0.5 * (special.betaincc(1.5, 0.5, 0.6) + special.betaincc(0.5, 1.5, 0.6))
    assert abs(curve.accepted_rounds[0, -1] - 1 - accept) < 5.4 * math.sqrt(0.25 / runs)
    assert curve.mean("right_set")[0] == pytest.approx(2 - curve.accepted_rounds[0, -1])
    assert curve.quantile(0.05)[-1] == pytest.approx(0.1, rel=0.005)
    assert curve.quantile(0.95)[-1] == pytest.approx(0.2, rel=0.005)


class Scheduled:
    """Accepts as it is told: [categories, rounds, runs]; round 1 is accepted in any
    case.
    """

    name = "scheduled"

    def __init__(self, accepts: np.ndarray) -> None:
        self.accepts = accepts

    def index(self, category: pb.Category, seen: Any, t: int) -> np.ndarray:
        return np.where(self.accepts[int(category.name), t], np.inf, -np.inf)


@given(st.integers(1, 9), st.integers(1, 4), st.data())
def test_lost_is_a_profitable_category_rejected_in_more_than_half_of_the_rounds(
    horizon: int, runs: int, data: st.DataObject
) -> None:
    """Invented runs with two profitable categories, one that breaks even and one below
    its threshold.
    """
    accepts = np.array(
        data.draw(st.lists(st.booleans(), min_size=4 * horizon * runs, max_size=4 * horizon * runs))
    )
    accepts = accepts.reshape(4, horizon, runs)
    accepts[:, 0] = True
    categories = [pb.Category(str(k), pb.Bernoulli(), threshold=0.5) for k in range(4)]
    truths = [
        pb.Truth(each, mean=mean)
        for each, mean in zip(categories, (0.6, 0.9, 0.5, 0.1), strict=True)
    ]
    # The number is that of the horizon, whatever the checkpoints.
    early = [1] if horizon == 1 else [1, horizon - 1]
    result = simulate(
        pb.Scenario("four", truths),
        Scheduled(accepts),
        horizon=horizon,
        runs=runs,
        checkpoints=early,
        workers=1,
    )
    rejected = (~accepts[:2]).sum(axis=1)
    lost = (2 * rejected > horizon).any(axis=0)
    assert result["scheduled"].mean("lost")[0] == pytest.approx(lost.mean())
    assert result.to_dict()["policies"][0]["at_horizon"]["lost_share"] == pytest.approx(lost.mean())


@pytest.mark.statistical
@pytest.mark.parametrize("kernel", ["events", "rounds"])
def test_lost_in_both_kernels(kernel: str) -> None:
    """After a first client who brings nothing, kl-UCB waits until t = 1/(1 - 0.75) = 4:
    lost at T = 4 (alarm 1e-7).
    """
    scenario, runs = pb.Scenario("one client", [single(pb.Bernoulli(), 0.8, 0.75, 1)]), 20_000
    curve = simulate(scenario, "kl-ucb", horizon=4, runs=runs, kernel=kernel)["kl-ucb"]
    assert abs(curve.mean("lost")[0] - 0.2) < 5.4 * math.sqrt(0.2 * 0.8 / runs)


def test_one_run_has_no_standard_error() -> None:
    curve = simulate(COIN, "ts", runs=1)["ts"]
    assert np.isnan(curve.stderr).all()
    assert curve.to_dict()["stderr"] == [None] * curve.t.size
    assert curve.quantile(0.5)[-1] == curve.regret[-1]
    assert not curve.carried_by_few.any()


def test_checkpoints_are_spaced_evenly_in_log_t() -> None:
    t = simulate(COIN, "kl-ucb", horizon=10_000, runs=2).checkpoints
    assert t[0] == 1
    assert t[-1] == 10_000
    assert t.size == 41 - 3  # ten per decade; three of the first fall together with others
    assert simulate(COIN, "kl-ucb", horizon=1, runs=2).checkpoints.tolist() == [1]


@pytest.mark.parametrize("policy", ["kl-ucb", "kl-ucb:c=3", "kl-ucb+", "bayes-ucb", "ts"])
@pytest.mark.parametrize("law", [BERNOULLI, POISSON, EXPONENTIAL])
def test_the_longest_horizon_loses_no_round(policy: str, law: Any) -> None:
    horizon = 10**15
    curve = simulate(paper("long", law), policy, horizon=horizon, runs=20)[policy]
    totals = curve.accepted_rounds * curve.runs
    np.testing.assert_allclose(totals, np.round(totals), rtol=1e-12)
    assert (curve.accepted_rounds <= curve.t).all()
    assert (curve.accepted_rounds >= 1).all()
    assert (np.diff(curve.regret) >= 0).all()
    profitable = np.array([truth.profitable for truth in curve.scenario.truths])
    assert (curve.accepted_rounds[profitable, -1] > 0.999 * horizon).all()
    assert (curve.accepted_rounds[~profitable, -1] < 1e4).all()
    clients = curve.mean("clients")[profitable]
    average = np.array([truth.clients.average for truth in curve.scenario.truths])[profitable]
    np.testing.assert_allclose(clients, average * curve.accepted_rounds[profitable, -1], rtol=1e-6)


def test_the_longest_horizon_with_hundreds_of_clients() -> None:
    truth = single(pb.Bernoulli(), 0.5, 0.4, pb.OnePlusPoisson(rate=900))
    for policy in ("kl-ucb", "ts"):
        curve = simulate(pb.Scenario("crowd", [truth]), policy, horizon=10**15, runs=5)[policy]
        assert curve.mean("clients")[0] == pytest.approx(901e15, rel=1e-3)
        assert curve.mean("profit")[0] == pytest.approx(0.1 * 901e15, rel=1e-3)


@pytest.mark.statistical
def test_common_random_numbers_make_differences_sharper() -> None:
    policies = ("kl-ucb", "kl-bernoulli-ucb", "bayes-ucb")
    paired = simulate(FIVE, *policies, runs=300, common_random_numbers=True)
    # On Bernoulli rewards kl-Bernoulli-UCB is kl-UCB: on the same clients, to the last
    # client.
    difference, error = paired.difference("kl-ucb", "kl-bernoulli-ucb")
    assert not difference.any()
    assert not error.any()
    difference, error = paired.difference("kl-ucb", "bayes-ucb")
    apart = np.hypot(paired["kl-ucb"].stderr, paired["bayes-ucb"].stderr)
    assert error[-1] < 0.8 * apart[-1]
    # The law of each policy is the same as without (5 standard errors: false alarm 6e-7
    # each).
    free = simulate(FIVE, *policies, runs=3_000, seed=9)
    for policy in policies:
        off = paired[policy].regret[-1] - free[policy].regret[-1]
        assert abs(off) < 5 * np.hypot(paired[policy].stderr[-1], free[policy].stderr[-1])
    assert free.difference("kl-ucb", "bayes-ucb")[1][-1] == pytest.approx(
        np.hypot(free["kl-ucb"].stderr, free["bayes-ucb"].stderr)[-1]
    )
    assert {curve.kernel for curve in paired.curves} == {"rounds"}


def test_common_random_numbers_are_the_same_clients_for_all_feeds() -> None:
    """Cut at a bound that is never reached, kl-Gaussian-UCB on cut rewards earns what
    it would earn on whole ones.
    """
    scenario = paper("poisson", POISSON, bound=100.0)
    paired = simulate(
        scenario,
        "kl-gaussian-ucb",
        "ucb-v",
        "kl-ucb",
        runs=20,
        horizon=30,
        common_random_numbers=True,
    )
    # All three accept everything for so long: they meet the very same clients.
    first, second, _ = (curve.mean("profit") for curve in paired.curves)
    np.testing.assert_allclose(first[[1, 3]], second[[1, 3]], rtol=1e-12)


class Cautious:
    """kl-UCB for Gaussian rewards of variance 1, as an index."""

    name = "cautious"

    def index(self, category: pb.Category, seen: pb.Seen, t: int) -> np.ndarray:
        return seen.mean + np.sqrt(2.0 * np.log(t) / seen.clients)


class InNats:
    """The same as evidence and patience."""

    name = "in nats"

    def evidence(self, category: pb.Category, seen: pb.Seen) -> np.ndarray:
        return seen.clients * np.maximum(category.threshold - seen.mean, 0.0) ** 2 / 2.0

    def patience(self, t: int) -> float:
        return math.log(t)


def test_your_own_policy() -> None:
    scenario = paper("gaussian", GAUSSIAN)
    result = simulate(
        scenario, Cautious(), InNats(), "kl-ucb", horizon=150, runs=25, common_random_numbers=True
    )
    assert [curve.kernel for curve in result.curves] == ["rounds"] * 3
    for name in ("cautious", "in nats"):
        np.testing.assert_allclose(
            result[name].accepted_rounds, result["kl-ucb"].accepted_rounds, atol=0.02
        )
        np.testing.assert_allclose(
            result[name].mean("profit"), result["kl-ucb"].mean("profit"), rtol=0.01, atol=1
        )
    beside = simulate(scenario, "kl-ucb", Cautious(), horizon=150, runs=200)
    assert [curve.kernel for curve in beside.curves] == ["events", "rounds"]
    alone = simulate(scenario, Cautious(), horizon=150, runs=200, workers=2)
    np.testing.assert_array_equal(alone["cautious"].regret, beside["cautious"].regret)


def test_your_own_policy_sees_rewards_not_statistics() -> None:
    seen_means: list[float] = []

    class Watcher:
        name = "watcher"

        def index(self, category: pb.Category, seen: pb.Seen, t: int) -> float:
            seen_means.append(float(seen.mean.mean()))
            assert (seen.variance >= 0).all()
            return math.inf

    for family, mean in ((pb.Weibull(shape=2.5), 2.0), (pb.Poisson(), 2.0)):
        simulate(pb.Scenario("w", [single(family, mean, 1.5, 20)]), Watcher(), horizon=30, runs=50)
        assert seen_means[-1] == pytest.approx(mean, rel=0.05)


class Named:
    name = "named"


class Nan(Cautious):
    def index(self, category: pb.Category, seen: pb.Seen, t: int) -> np.ndarray:
        return seen.mean * math.nan


BAD: list[tuple[dict[str, Any], str]] = [
    ({"horizon": 0}, "horizon = 0"),
    ({"horizon": 10**30}, "horizon"),
    ({"horizon": 2.5}, "horizon = 2.5"),
    ({"runs": 0}, "runs = 0"),
    ({"seed": -1}, "seed = -1"),
    ({"checkpoints": [10, 10**6]}, "checkpoints = 1000000"),
    ({"checkpoints": [0]}, "checkpoints = 0"),
    ({"checkpoints": []}, "checkpoints"),
    ({"kernel": "quick"}, "kernel = 'quick'"),
    ({"workers": 0}, "workers = 0"),
    ({"policies": []}, "policies"),
    ({"policies": "ts"}, "policies"),
    ({"policies": ["ucb1"]}, "'ucb1'"),
    ({"policies": ["ts:c=2"]}, "'ts:c=2'"),
    ({"policies": ["ts", "ts"]}, "twice"),
    ({"policies": ["kl-ucb", pb.KLUCB()]}, "twice"),
    ({"policies": [3]}, "must be a policy"),
    ({"policies": [Named()]}, "no way to decide"),
    ({"policies": [Nan()]}, "NaN"),
    ({"scenario": "x.toml"}, "scenario"),
    (
        {
            "scenario": pb.Scenario("p", [single(pb.Poisson(), 1.0, 2.0)]),
            "policies": ["kl-gaussian-ucb"],
        },
        "bound of 'it'",
    ),
    ({"scenario": pb.Scenario("p", [single(pb.Poisson(), 1.0, 2.0, [1, 2])])}, "2 counts"),
    (
        {
            "scenario": pb.Scenario("p", [single(pb.Exponential(), 1.0, 2.0, 3, bound=9.0)]),
            "policies": ["kl-emp-ucb"],
            "horizon": 10**12,
        },
        "one by one",
    ),
    (
        {
            "scenario": pb.Scenario("p", [single(pb.Bernoulli(), 0.1, 0.2, 10**6)]),
            "horizon": 10**15,
        },
        "clients",
    ),
]


@pytest.mark.parametrize(("change", "named"), BAD, ids=[named for _, named in BAD])
def test_bad_arguments(change: dict[str, Any], named: str, tmp_path: Path) -> None:
    out = tmp_path / "results"
    options: dict[str, Any] = {
        "scenario": COIN,
        "policies": ["ts"],
        "horizon": 10,
        "runs": 5,
        "out": out,
    } | change
    with pytest.raises(pb.errors.InputError) as caught:
        pb.simulate(options.pop("scenario"), options.pop("policies"), **options)
    assert named in str(caught.value)
    assert not out.exists()


def test_exponential_rewards_are_known_to_mislead() -> None:
    """One client per round and a profitable category: a first reward near 0 costs
    thousands of rounds.
    """
    scenario = pb.Scenario("unlucky", [single(pb.Exponential(), 2.0, 1.5, 1)])
    result = simulate(scenario, "ts", horizon=10**9, runs=500)
    assert result["ts"].carried_by_few[-1]
    assert "waits too rare for these runs, which may add about" in result.notes()[0]
    assert "†" in result.table()
    light = simulate(FIVE, "kl-ucb", horizon=10_000, runs=500)
    assert not light["kl-ucb"].carried_by_few.any()
    assert light.notes() == []
    assert "†" not in light.table()


def test_interrupting_keeps_what_is_finished_and_resumes_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All the runs would take hours."""
    options: dict[str, Any] = {"horizon": 500, "runs": 10**7 * BLOCK, "kernel": "rounds"}
    monkeypatch.setattr("profitable.simulation.runner.SAVE_EVERY", 0.0)
    progress = ctrl_c_when((tmp_path / "result.json").exists)
    with comes_to_an_end(), pytest.raises(pb.errors.Interrupted) as caught:
        simulate(FIVE, "kl-ucb", "ts", out=tmp_path, progress=progress, **options)
    part = caught.value.result
    assert isinstance(part, pb.Result)
    assert 0 < part.finished < 10**7 * BLOCK
    assert part.finished % BLOCK == 0
    kept = pb.Result.load(tmp_path)
    assert numbers(kept) == numbers(part)
    short = {**options, "runs": part.finished}
    assert numbers(part) == numbers(simulate(FIVE, "kl-ucb", "ts", **short))
    with pytest.raises(pb.errors.InputError, match="runs"):
        simulate(
            FIVE,
            "kl-ucb",
            "ts",
            out=tmp_path,
            resume=True,
            **{**options, "runs": part.finished - 1},
        )
    options["runs"] = part.finished + 3 * BLOCK + 50
    resumed = simulate(FIVE, "kl-ucb", "ts", out=tmp_path, resume=True, **options)
    assert numbers(resumed) == numbers(simulate(FIVE, "kl-ucb", "ts", **options))
    assert numbers(pb.Result.load(tmp_path)) == numbers(resumed)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupting_a_single_long_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Round by round, a run to 10^12 takes hours: the kernel stops in the middle."""
    kernels = Kernels(monkeypatch)
    with comes_to_an_end(), pytest.raises(KeyboardInterrupt) as caught:
        simulate(
            FIVE,
            "kl-ucb",
            horizon=10**12,
            runs=1,
            kernel="rounds",
            progress=ctrl_c_when(kernels.at_work),
        )
    assert kernels.unfinished == 1
    assert caught.value.result is None  # type: ignore[attr-defined]


def test_json_is_the_contract_s() -> None:
    found = json.loads(
        json.dumps(simulate(FIVE, "kl-ucb", "ts", checkpoints=[100, 10, 500]).to_dict())
    )
    assert list(found)[:7] == [
        "scenario",
        "horizon",
        "runs",
        "seed",
        "version",
        "lower_bound_per_log_t",
        "policies",
    ]
    assert found["lower_bound_per_log_t"] == pytest.approx(11.175, abs=1e-3)
    one = found["policies"][0]
    assert list(one)[:7] == [
        "policy",
        "kernel",
        "t",
        "regret",
        "stderr",
        "accepted_rounds",
        "seconds",
    ]
    assert one["t"] == [10, 100, 500]
    assert list(one["accepted_rounds"]) == [f"arm {i}" for i in range(1, 6)]
    assert all(
        len(row) == 3 for row in (one["regret"], one["stderr"], *one["accepted_rounds"].values())
    )


def test_progress_can_be_a_function() -> None:
    shares: list[float] = []
    truth = single(pb.Bernoulli(), 0.5, 0.6)
    pb.simulate(
        pb.Scenario("one", [truth]), ["ts"], horizon=1_000, runs=1_000, progress=shares.append
    )
    assert shares == sorted(shares)
    assert 0.0 <= shares[0] < shares[-1] <= 1.0
