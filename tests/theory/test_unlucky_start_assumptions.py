"""Assumptions of theory about a policy, and "unknown" for all other policies.

The policies are those of `tests/matrix.py`.  Theory is about the patience and the
evidence of the paper's policies and of `Optimal`; whatever else a row brings is unknown
to it.
"""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import profitable as pb
from profitable.errors import InputError
from profitable.kernels import evidence
from profitable.kernels.patience import Patience
from profitable.paper.asymptotics import expected_slope, has_closed_form, unlucky_slope
from profitable.paper.finding import final, limit_text
from profitable.simulation.scenario import unlucky_starts
from tests import formulas
from tests.matrix import POLICY_ROWS, PolicyRow
from tests.simulation.worlds import single

EVIDENCE = {
    *(
        formulas.kl,
        formulas.kl_plus,
        formulas.posterior,
        formulas.kl_bernoulli,
        formulas.kl_bernoulli_plus,
    ),
    *(formulas.kl_gaussian, formulas.empirical, formulas.ucb_v),
}
PATIENCE = {formulas.log_of_time, formulas.drawn, formulas.worth_finding_out}
GOOD, BAD = (
    single(pb.Exponential(), 2.0, 1.0, 1, 100.0),
    single(pb.Exponential(), 1.0, 2.0, 1, 100.0, name="bad"),
)
BOTH = pb.Scenario("both", [GOOD, BAD])
each_policy = pytest.mark.parametrize(
    ("row", "policy"), [(row, policy) for row in POLICY_ROWS for policy in row.policies], ids=str
)


def is_known(row: PolicyRow) -> bool:
    return row.evidence in EVIDENCE and row.patience in PATIENCE


@each_policy
def test_theory_knows_a_policy_or_says_that_it_does_not(
    row: PolicyRow, policy: pb.Policy, tmp_path: Path
) -> None:
    found = unlucky_starts(BOTH, policy, 10**6)
    assert found.known == is_known(row)
    result = pb.simulate(BOTH, [policy], horizon=200, runs=60, seed=1, out=tmp_path)
    for curve in (result.curves[0], pb.Result.load(tmp_path).curves[0]):
        said = curve.warning() or ""
        assert ("it is unknown whether waits too rare" in said) is not is_known(row)
        assert (curve.mark == " ?") <= (not is_known(row))
        assert (curve.mark == "") <= is_known(row)
        assert final(curve).endswith(curve.mark)
    assert ("? Theory does not cover this case" in str(result)) == (result.curves[0].mark == " ?")
    manifest = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert manifest["unlucky_starts"][str(policy)]["known"] == is_known(row)
    assert limit_text(unlucky_slope(BOTH, str(policy))) != "unknown" or not is_known(row)


@each_policy
def test_only_a_patience_of_log_t_has_a_closed_form(row: PolicyRow, policy: pb.Policy) -> None:
    """With c = 0, or drawn: then N d + k log N = log t is asked of the evidence."""
    is_log = row.patience is formulas.log_of_time and getattr(policy, "c", 0.0) == 0.0
    assert has_closed_form(str(policy)) <= (is_log or row.patience is formulas.drawn)
    if not has_closed_form(str(policy)):
        with pytest.raises(InputError, match="has no closed form"):
            expected_slope(BOTH, str(policy), 1e3, 1e6)


@each_policy
def test_what_is_known_of_every_policy(row: PolicyRow, policy: pb.Policy) -> None:
    """A floor ends a wait, what is forgotten returns, and an unprofitable category
    costs nothing by being rejected.
    """
    for other in (replace(policy, floor=0.1), replace(policy, forget=0.9)):
        assert unlucky_starts(BOTH, other, 10**6).known
    assert unlucky_starts(pb.Scenario("bad", [BAD]), policy, 10**6).known


@pytest.mark.usefixtures("own_classes")
def test_a_policy_with_its_own_patience_or_evidence_is_unknown() -> None:
    """Also on Bernoulli rewards: with half the patience, long waits are common there,
    too.
    """

    class Own(pb.KLUCB):
        name = "own-patience"

        @property
        def terms(self) -> Patience:
            return Patience(99)

    class Ruled(pb.KLUCB):
        name = "own-evidence"
        rule = evidence.Rule(99, is_zero_above=True, logarithms=0.0)

    class OnAnInterval(pb.KLBernoulliUCB):
        name = "own-evidence-on-an-interval"
        rule = evidence.Rule(99, is_zero_above=True)

    coin = pb.Scenario("coin", [single(pb.Bernoulli(), 0.6, 0.5, 1)])
    for policy in (Own(), Ruled(), OnAnInterval(), object()):
        for scenario in (BOTH, coin):
            found = unlucky_starts(scenario, policy, 10**6)
            assert not found.known
            assert found.rates == ()
    assert math.isnan(unlucky_slope(BOTH, "own-patience"))
    assert not has_closed_form("own-patience")
    assert has_closed_form("own-evidence")  # it says so itself: logarithms
    assert pb.KLUCB().terms != Own().terms
