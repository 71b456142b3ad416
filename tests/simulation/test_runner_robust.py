"""Inputs that are legal and nasty, files that are damaged, sums that are huge: each of
these once went wrong.
"""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import profitable as pb
from profitable.kernels.arrivals import clients_in, share_of_extra
from profitable.simulation.scenario import unlucky_starts
from tests.simulation.worlds import play, single
from tests.waiting import LIMIT, Kernels, comes_to_an_end, ctrl_c_when


def one(truth: pb.Truth, *policies: Any, horizon: int, runs: int = 20, **options: Any) -> pb.Result:
    scenario = pb.Scenario("one", [truth])
    return pb.simulate(
        scenario, policies, horizon=horizon, runs=runs, **{"progress": False, **options}
    )


def test_rejected_rounds_are_not_lost_beside_10_to_the_15() -> None:
    """Bayes-UCB rejects round 2 and no other here: 0.1 x 900 clients, at every
    checkpoint, in every run.
    """
    truth = single(pb.Bernoulli(), 0.3, 0.2, 900)
    points = [2, 10, 10**6, 10**13, 10**14, 10**15]
    curve = one(truth, "bayes-ucb", horizon=10**15, runs=100, checkpoints=points)["bayes-ucb"]
    np.testing.assert_allclose(curve.regret, 90.0, rtol=1e-12)
    np.testing.assert_array_equal(curve.stderr, 0.0)
    assert curve.accepted_rounds[0, -1] == 10**15 - 1


@pytest.mark.parametrize(
    ("truth", "horizon"),
    [
        (single(pb.Binomial(trials=30), 25.0, 3.0, 1000), 10**15),
        (single(pb.Poisson(), 1e18, 0.9e18, 5), 1000),
        (single(pb.Geometric(), 1e30, 0.9e30, 5), 1000),
    ],
)
def test_sums_that_no_integer_holds_are_refused(truth: pb.Truth, horizon: int) -> None:
    with pytest.raises(pb.errors.InputError, match="add up to more than"):
        one(truth, "ts", horizon=horizon)


@pytest.mark.parametrize("policy", ["kl-ucb", "kl-ucb+", "bayes-ucb", "ts"])
@pytest.mark.parametrize(
    "truth",
    [
        single(pb.Bernoulli(), 0.3, 1e-170, 1),
        single(pb.Bernoulli(), 0.3, 1e-300, 1),
        single(pb.Exponential(), 1e80, 0.9e80, 2),
        single(pb.Exponential(), 1e-80, 1.1e-80, 2),
        single(pb.Gaussian(sigma=1e90), 1e80, 0.0, 2),
    ],
)
def test_extreme_scales_come_to_an_end(policy: str, truth: pb.Truth) -> None:
    with comes_to_an_end():
        curve = one(truth, policy, horizon=1000)[policy]
    assert np.isfinite(curve.regret).all()


def test_quantiles_are_in_the_scenario_s_own_money() -> None:
    shares = (0.05, 0.5, 0.95)
    plain = one(single(pb.Bernoulli(), 0.5, 0.6, 3), "ts", horizon=200, runs=100)["ts"]
    for worth in (1e-16, 1e24):
        scaled = one(single(pb.Bernoulli(), 0.5, 0.6, 3, worth=worth), "ts", horizon=200, runs=100)[
            "ts"
        ]
        for share in shares:
            np.testing.assert_allclose(
                scaled.quantile(share), worth * plain.quantile(share), rtol=0.011
            )
    for share in (2, -0.1, float("nan"), "half"):
        with pytest.raises(pb.errors.ParameterError, match="share"):
            plain.quantile(share)  # type: ignore[arg-type]
    with pytest.raises(pb.errors.InputError, match="not a quantity"):
        plain.mean("colour")


def test_a_bound_on_rewards_that_cannot_be_told_apart() -> None:
    with pytest.raises(pb.errors.ParameterError, match="likely values"):
        single(pb.Poisson(), 1e8, 0.9e8, 1, bound=1e9)


@pytest.mark.statistical
@pytest.mark.parametrize("width", [2, 3, 7, 8, 1000])
def test_sums_of_uniform_numbers(width: int) -> None:
    """Drawn bit by bit beside drawn one by one (Kolmogorov-Smirnov, false alarm 1e-6
    each).
    """
    truth = single(pb.Bernoulli(), 0.5, 0.5, pb.UniformClients(low=3, high=2 + width))
    arrivals = truth.clients.coded()
    rng, other = np.random.default_rng(1), np.random.default_rng(2)
    none = np.empty(0, dtype=np.int64)
    drawn = [clients_in(rng, arrivals, none, 0, 50, 0) for _ in range(4_000)]
    expected = other.integers(3, 3 + width, (4_000, 50)).sum(axis=1)
    assert stats.ks_2samp(drawn, expected).pvalue > 1e-6


@pytest.mark.parametrize(
    ("truth", "policy", "horizon"),
    [
        # Drawn when the mean is below 3.
        (single(pb.Exponential(), 3.0, 3.0, 300, bound=50.0), "ucb-v", 10**9),
        (single(pb.Exponential(), 3.0, 0.0, 1, bound=5.0), "kl-bernoulli-ucb", 10**10),
        # 28 at a time.
        (single(pb.Exponential(), 3.0, 0.0, 1, bound=10.0), "kl-bernoulli-ucb", 10**13),
        (single(pb.Gamma(shape=2.0), 3.0, 0.3, 300, bound=50.0), "ucb-v", 10**9),
    ],
)
def test_ctrl_c_while_rewards_are_drawn_one_by_one(
    truth: pb.Truth,
    policy: str,
    horizon: int,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The kernel stops in the middle of it."""
    kernels = Kernels(monkeypatch)
    with comes_to_an_end(), pytest.raises(KeyboardInterrupt):
        one(truth, policy, horizon=horizon, runs=2, progress=ctrl_c_when(kernels.at_work))
    assert kernels.unfinished == 1
    assert "this takes long" in caplog.text  # said before, not after


def test_seldom_cut_rewards_take_no_time(caplog: pytest.LogCaptureFixture) -> None:
    """10^15 rounds of rewards of which one in 10^11 is cut: one by one they would take
    years.
    """
    with comes_to_an_end():
        result = one(
            single(pb.Exponential(), 2.0, 0.5, 1, bound=50.0),
            "kl-bernoulli-ucb",
            horizon=10**15,
            runs=4,
        )
    assert result.curves[0].accepted_rounds[0, -1] == pytest.approx(1e15)
    assert "this takes long" not in caplog.text


def test_results_that_were_joined_are_not_resumed(tmp_path: Path) -> None:
    truth = single(pb.Bernoulli(), 0.5, 0.6, 3)
    joined = one(truth, "ts", horizon=50, runs=100).join(
        one(truth, "kl-ucb", horizon=50, runs=300, seed=9)
    )
    joined.save(tmp_path)
    assert pb.Result.load(tmp_path)["kl-ucb"].runs == 300
    with pytest.raises(pb.errors.InputError, match="joined"):
        one(truth, "ts", "kl-ucb", horizon=50, runs=300, out=tmp_path, resume=True)
    shorter = one(truth, "bayes-ucb", horizon=40, checkpoints=[10])
    with pytest.raises(pb.errors.InputError, match="fit"):
        shorter.join(one(truth, "ts", horizon=50, checkpoints=[10]))


def test_the_two_files_must_belong_together(tmp_path: Path) -> None:
    """As after a crash between the replacement of one and of the other."""
    truth = single(pb.Bernoulli(), 0.5, 0.6, 3)
    one(truth, "ts", horizon=50, seed=1, out=tmp_path / "a")
    one(truth, "ts", horizon=50, seed=2, out=tmp_path / "b")
    (tmp_path / "a/statistics.parquet").write_bytes(
        (tmp_path / "b/statistics.parquet").read_bytes()
    )
    with pytest.raises(pb.errors.BrokenResultError, match="another simulation"):
        pb.Result.load(tmp_path / "a")


def test_more_damage(tmp_path: Path) -> None:
    truth = single(pb.Bernoulli(), 0.5, 0.6, 3)
    one(truth, "ts", horizon=50, out=tmp_path)
    for text in ("[]", "", "{"):
        (tmp_path / "timing.json").write_text(text)
        assert pb.Result.load(tmp_path)["ts"].runs == 20  # only the seconds are gone
    good = json.loads((tmp_path / "result.json").read_text())
    for change in (
        {"scenario_file": 5},
        {"checkpoints": [10**40]},
        {"policies": []},
        {"format": "1"},
        {"format": None},
    ):
        (tmp_path / "result.json").write_text(json.dumps(good | change))
        with pytest.raises(pb.errors.BrokenResultError):
            pb.Result.load(tmp_path)
    (tmp_path / "picture.png").mkdir()
    with pytest.raises(pb.errors.ResultFolderError, match="picture"):
        one(truth, "ts", horizon=50).plot(tmp_path / "picture.png")


FILE = """
name = "x"
[[category]]
name = "a"
family = "bernoulli"
mean = {}
threshold = 0.2
clients = 1
"""

LOAN = """
name = "x"
[[category]]
name = "a"
clients = 1
loan = { amount = 1000, rate = 0.1, repayment = 0.9, amount_sd = 1e-160 }
"""


@pytest.mark.parametrize(
    "text",
    [
        FILE.format("1" * 5000),
        FILE.format("0x" + "f" * 5000),
        FILE.format('0.3\nprior = { kind = ["beta"], first = 1, second = 1 }'),
        "x = " + "[" * 3000,
        LOAN,
    ],
    ids=["5000 digits", "5000 hexadecimal digits", "list as kind", "deep", "tiny spread"],
)
def test_files_that_a_parser_dislikes(text: str) -> None:
    with pytest.raises(pb.errors.InputError) as caught:
        pb.Scenario.from_toml(text, source="x.toml")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xef\xbb\xbf" + FILE.format(0.3).encode())
    assert pb.Scenario.load(tmp_path / "x.toml").names == ("a",)


def test_truths_may_be_an_iterator_and_must_be_something() -> None:
    truth = single(pb.Bernoulli(), 0.5, 0.6)
    assert len(pb.Scenario("x", iter([truth])).truths) == 1
    for wrong in (iter([]), truth, 3):
        with pytest.raises(pb.errors.InputError):
            pb.Scenario("x", wrong)  # type: ignore[arg-type]


def test_your_own_policy_cannot_change_the_past() -> None:
    class Forger:
        name = "forger"

        def index(self, category: pb.Category, seen: pb.Seen, t: int) -> float:
            seen.total[:] = -1e9
            return 1.0

    truth = single(pb.Bernoulli(), 0.5, 0.4, 3)
    curve = one(truth, Forger(), horizon=20)["forger"]
    assert curve.mean("profit")[0] == pytest.approx(0.1 * 60, abs=5)

    class Wide(Forger):
        name = "wide"

        def index(self, category: pb.Category, seen: pb.Seen, t: int) -> Any:
            return np.ones(3)

    with pytest.raises(pb.errors.InputError, match="shape"):
        one(truth, Wide(), horizon=20)


def test_bounds_of_means_a_hair_apart() -> None:
    from profitable.simulation.bounds_report import BoundsReport

    report = BoundsReport(pb.Scenario("x", [single(pb.Bernoulli(), 0.2, 0.20000000000000004)]))
    assert "x" in report.table()
    json.dumps(report.to_dict(), allow_nan=False)


def test_policies_that_differ_in_their_prior_alone(tmp_path: Path) -> None:
    truth = single(pb.Bernoulli(), 0.5, 0.6, 3)
    vague, sure = (pb.BayesUCB(prior=pb.Prior.beta(a, 1)) for a in (1, 50))
    both = one(truth, vague, sure, horizon=50, runs=100, out=tmp_path)
    assert len(set(both.policies)) == 2
    again = pb.Result.load(tmp_path)
    np.testing.assert_array_equal(again.curves[1].regret, both.curves[1].regret)
    one(truth, vague, horizon=50, runs=100, out=tmp_path, fresh=True)
    with pytest.raises(pb.errors.InputError, match="its policies is"):
        one(truth, sure, horizon=50, runs=200, out=tmp_path, resume=True)


def test_a_prior_is_for_those_who_have_one() -> None:
    with_prior = single(pb.Bernoulli(), 0.5, 0.6, 3, prior=pb.Prior.beta(50, 1))
    without = single(pb.Bernoulli(), 0.5, 0.6, 3)
    first, second = (
        one(truth, "kl-ucb", "bayes-ucb", horizon=100) for truth in (with_prior, without)
    )
    np.testing.assert_array_equal(first["kl-ucb"].regret, second["kl-ucb"].regret)
    assert first["bayes-ucb"].regret[-1] > second["bayes-ucb"].regret[-1]


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("first", "rounds"), [(1, 949 * 10**12), (949 * 10**12 - 1, 949 * 10**12), (1, 10**6)]
)
def test_a_single_round_s_share_of_very_many(first: int, rounds: int) -> None:
    """Poisson(3) by splitting a huge Poisson number (5 standard errors, false alarm
    6e-7).
    """
    rng = np.random.default_rng(3)
    draws = np.array([share_of_extra(rng, rounds, 3 * rounds, first) for _ in range(20_000)])
    single_round = draws if first == 1 else 3 * rounds - draws
    assert abs(single_round.mean() - 3.0) < 5 * np.sqrt(3.0 / draws.size)
    assert single_round.var() == pytest.approx(3.0, rel=0.1)


def missing(truth: pb.Truth, policy: str | pb.Policy) -> float:
    """Return the part of the regret at t = 10^6 that 200 runs are too few to show."""
    scenario, t = pb.Scenario("one", [truth]), np.array([10**6])
    policy = pb.Policy.parse(policy) if isinstance(policy, str) else policy
    curve = pb.Curve.empty(
        "it", "events", scenario, t, key="", unlucky=unlucky_starts(scenario, policy, 10**6)
    )
    curve.moments.runs = 200
    return float(curve._missing[0])


def test_any_number_of_exponential_clients_can_start_badly() -> None:
    """Two clients per round, tau/mu = 0.9: after 2n of them P(rejected for w rounds) is
    about 0.81^n/w.
    """
    truth = single(pb.Exponential(), 2.0, 1.8, 2, bound=100.0)
    rate = 0.81 / (1.0 - 0.81)
    expected = rate * math.log(10**6 / (200 * rate)) * 0.2 * 2
    assert missing(truth, "ts") == pytest.approx(expected)
    # (n r/e)^n / n!
    rate = sum(math.exp(n * math.log(0.9 * n) - n - math.lgamma(n + 1)) for n in range(2, 1_000, 2))
    assert missing(truth, "kl-ucb") == pytest.approx(
        rate * math.log(10**6 / (200 * rate)) * 0.2 * 2
    )
    # It sees rewards cut to [0, 100], and has no such tail.
    assert missing(truth, "kl-gaussian-ucb") == 0.0
    random = single(pb.Exponential(), 2.0, 1.8, pb.OnePlusPoisson(rate=3))
    q = 0.9 * math.exp(3 * (0.9 - 1.0))  # E[0.9^(1 + Poisson(3))]
    rate = q / (1.0 - q)
    assert missing(random, "ts") == pytest.approx(rate * math.log(10**6 / (200 * rate)) * 0.2 * 4)


def test_patience_shortens_the_waits_after_a_bad_start() -> None:
    """P(wait > w) = rate/(inflate w (log w)^c), by quadrature from the wait that comes
    once in 200 runs.
    """
    truth = single(pb.Exponential(), 2.0, 1.0, 1)
    for c, inflate in ((0.0, 1.0), (0.0, 10.0), (0.5, 1.0), (1.0, 1.0), (1.0, 4.0), (3.0, 1.0)):
        rate = 1.0 / inflate  # r/(1 - r) at r = 1/2
        start = optimize.brentq(
            lambda u, c=c, rate=rate: u + c * math.log(u) - math.log(200 * rate), 1.0, 20.0
        )
        area = integrate.quad(lambda u, c=c: u**-c, start, math.log(1e6))[0]
        assert missing(truth, pb.BayesUCB(c=c, inflate=inflate)) == pytest.approx(
            rate * area, rel=1e-6
        )


def test_no_such_waits_with_a_prior() -> None:
    """Imaginary clients have brought something, so that the sum is never small.

    Others do not look at the prior.
    """
    prior = pb.Prior.like(clients=2, mean=2.0)
    with_prior = single(pb.Exponential(), 2.0, 1.8, 1, prior=prior)
    without = single(pb.Exponential(), 2.0, 1.8, 1)
    for policy in (pb.ThompsonSampling, pb.BayesUCB):
        assert missing(with_prior, policy()) == 0.0
        assert missing(without, policy(prior=prior)) == 0.0
        assert missing(without, policy()) > 0.0
    assert missing(with_prior, "kl-ucb") == missing(without, "kl-ucb") > 0.0
    sure = single(pb.Exponential(), 2.0, 1.0, 1, prior=pb.Prior.like(clients=500, mean=2.0))
    result = one(sure, "ts", horizon=1000, runs=60)
    assert result["ts"].stderr[-1] == 0.0
    assert result.notes() == []


def test_every_number_of_clients_counts() -> None:
    """Gamma rewards of shape 0.001: a thousand clients are like one exponential.

    phi/(1 - phi), phi = E[r^(kC)].
    """
    family, ratio = pb.Gamma(shape=0.001), 1e-6 ** (1.0 / 1.5)
    z = ratio**0.001
    for clients, phi in (
        (pb.UniformClients(low=1, high=1500), sum(z**n for n in range(1, 1501)) / 1500),
        (pb.OnePlusPoisson(rate=1200.0), z * math.exp(1200.0 * (z - 1.0))),
        (700, z**700),
    ):
        truth = single(family, 1.0, ratio, clients)
        (rate,) = unlucky_starts(pb.Scenario("one", [truth]), pb.ThompsonSampling(), 10**6).rates
        assert rate == pytest.approx(phi / (1.0 - phi), rel=1e-3)
    listed = single(pb.Exponential(), 2.0, 1.0, [1, 3, 3])  # 1, 4 and 7 clients
    (rate,) = unlucky_starts(pb.Scenario("one", [listed]), pb.ThompsonSampling(), 10**6).rates
    assert rate == pytest.approx(0.5 + 0.5**4 + 0.5**7)


def test_numbers_at_the_horizon_are_not_those_of_the_last_checkpoint(tmp_path: Path) -> None:
    from pyarrow import parquet

    result = one(
        single(pb.Bernoulli(), 0.5, 0.4, 3),
        "kl-ucb",
        horizon=1000,
        checkpoints=[10, 100],
        out=tmp_path,
    )
    rows = parquet.read_table(tmp_path / "statistics.parquet").to_pylist()
    times = {row["quantity"]: row["t"] for row in rows}
    assert times["clients"] == times["total profit"] == times["profitable set accepted"] == 1000
    assert times["regret"] == 100
    assert "Regret at t = 100" in result.table()
    assert "horizon 1 000" in result.table()


def test_memory_does_not_grow_with_runs() -> None:
    import subprocess
    import sys

    code = (
        "import resource, profitable as pb\n"
        "coin = pb.Truth(pb.Category('a', pb.Bernoulli(), threshold=0.6), mean=0.5)\n"
        "pb.simulate(pb.Scenario('s', [coin]), ['kl-ucb'], horizon=10, runs=1000)\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "pb.simulate(pb.Scenario('s', [coin]), ['kl-ucb'], horizon=10, runs=200_000)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=LIMIT
    )
    assert int(done.stdout) < 50_000  # kilobytes


def test_an_anytime_policy_waits_as_often_as_theory_says() -> None:
    """Fewer than 250 of 500 rounds accepted: a wait of more than 250 rounds."""
    truth = single(pb.Exponential(), 3.0, 1.0, 1)
    (rate,) = unlucky_starts(pb.Scenario("one", [truth]), pb.Optimal(), 10**6).rates
    played = play(
        "events", pb.Optimal(), truth, horizon=1_000, runs=40_000, seed=6, checkpoints=[500]
    )
    expected = rate / 250
    waiting = float((played.accepted[:, 0] < 250).mean())
    assert 40_000 * expected > 15
    assert abs(waiting - expected) < 0.1 * expected + 4.0 * math.sqrt(expected / 40_000)
