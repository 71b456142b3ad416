"""Verdict: one category's part of a decision, and why it came out as it did."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from profitable.agent.grant import NOT_GRANTED
from profitable.common.text_tables import number
from profitable.policy.policies import BY_CLIENTS, CROWD, Plus, Policy

SMALL, FAR_BELOW = math.log(1e4), math.log(1e12)  # nats from which a percentage, or a number written out, is unreadable


@dataclass(frozen=True, slots=True)
class Verdict:
    """One category's part of a decision.

    - `evidence`, `patience`: in nats.  The category is accepted if evidence <= patience and it is not paused; or by the
      floor, if the policy has one.
    - `index`: the paper's index; index >= threshold means the same as evidence <= patience.  Infinite if nothing limits
      it.
    - `clients`: outcomes reported so far.  `counted`: as how many observations count; fewer if the policy forgets.
    - `mean`: of the rewards as the policy sees them, which may be cut at the bound; for Pareto and Weibull, the mean
      that fits their statistic.  None without outcomes.
    - `propensity`: the probability that this round accepts the category.  None if a limit makes it unknown.
    - `next_round`: the next round in which a rejected category can be accepted; with a floor, that is the next one.
      None if it is accepted, paused, or never accepted again (rounds beyond 10^18 count as never).
    - `waiting`: accepted clients whose outcome is still to come, as far as the agent was told.  Of them, `open` are in
      cohorts that have not matured, and `missing` in cohorts that have.
    - `emerged`: as how many observations the clients of open cohorts count, before anything is forgotten.
    - `demand`, `granted`: clients who ask, and how many of them the round can pay for; None unless the round has a
      limit.  A category that is granted nothing is not accepted.
    """

    name: str
    accepted: bool
    evidence: float
    patience: float
    index: float
    threshold: float
    clients: int
    counted: float
    mean: float | None
    propensity: float | None
    next_round: int | None
    waiting: int
    open: int
    emerged: float
    missing: int
    reason: str
    demand: int | None = None
    granted: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-ready values; infinite numbers become None."""
        fields = asdict(self)
        if self.granted is None:
            del fields["demand"], fields["granted"]
        return {key: None if value in (math.inf, -math.inf) else value for key, value in fields.items()}


def entry(
    name: str,
    accepted: bool,
    evidence: float | None,
    patience: float | None,
    index: float | None,
    threshold: float,
    clients: int,
    counted: float,
    mean: float | None,
    propensity: float,
    next_round: int | None,
    waiting: int,
    open: int,
    emerged: float,
    missing: int,
    reason: str,
) -> dict[str, Any]:
    """The fields of a verdict as a dictionary; written out, because a log may have a million of them."""
    return {
        "name": name,
        "accepted": accepted,
        "evidence": evidence,
        "patience": patience,
        "index": index,
        "threshold": threshold,
        "clients": clients,
        "counted": counted,
        "mean": mean,
        "propensity": propensity,
        "next_round": next_round,
        "waiting": waiting,
        "open": open,
        "emerged": emerged,
        "missing": missing,
        "reason": reason,
    }


class Reasons:
    """Says in words why categories were accepted or skipped in one round."""

    def __init__(self, policy: Policy, round: int) -> None:
        self._policy = policy
        self._round = round
        self._draws = policy.draws
        self._posterior = policy.rule.is_posterior
        self._floor = policy.floor
        self._limit = "this round's draw" if policy.draws else "patience"
        self._all_in_first = not policy.outlook(0.0, 1.0)

    def why(
        self,
        accepted: bool,
        evidence: float,
        patience: float,
        clients: int,
        counted: float,
        propensity: float,
        waiting: int,
        patient: int | None,
        per_round: float,
        paused: bool,
        kept: int,
        warning: str,
    ) -> str:
        """The reason for one category.

        `patient` is the next round whose patience suffices.  Of its outcomes, `kept` do not count before their cohorts
        have matured.
        """
        if paused:
            return "paused: not offered until it is resumed"
        if self._round == 1 and patience == math.inf and self._all_in_first:
            return "accepted: in round 1 every category is"
        if accepted and clients == 0 and counted > 0.0 and evidence == 0.0:
            return f"accepted: no outcome is known yet, and its open clients count as {number(counted)} as promised"
        if accepted and clients == 0 and evidence == 0.0:
            return "accepted: no outcome is known yet, so nothing speaks against it"
        if accepted and counted == 0.0 and evidence == 0.0:
            why = "count when their cohorts have matured" if kept else "are forgotten by now"
            return f"accepted: its {number(clients)} outcomes {why}, so nothing speaks against it"
        if accepted and clients == 0 and patience == math.inf:
            return "accepted: no outcome is known yet, and its prior says too little"
        if accepted and evidence == 0.0:
            return f"accepted: the mean of its {number(clients)} clients is not below the threshold"
        facts = prospect(self._policy, self._round - 1, evidence, patience, per_round)
        if accepted and not evidence <= patience:
            facts = facts or f"evidence {number(evidence, 3)} exceeds {self._limit} {number(patience, 3)}"
            return f"accepted: by the floor of {percent(self._floor)}, although {facts}"
        facts = facts or f"evidence {number(evidence, 3)} nats against it, {self._limit} {number(patience, 3)}"
        facts = f"{facts}; {warning}" if warning else facts
        if accepted:
            return f"accepted: {facts}"
        if self._draws and (patient is not None or self._floor > 0.0):
            return f"skipped: {facts}; accepted with probability {number(propensity, 3)} in each round"
        if self._floor > 0.0:
            return f"skipped: {facts}; {by_floor(self._floor, patient)}"
        if patient is None:
            return f"skipped: {facts}; {for_good(waiting)}"
        if self._posterior and patience <= 0.0:
            return "skipped: in round 2 the posterior quantile is of order 0, below any threshold"
        crowd = crowding(self._policy, evidence, patience, counted)
        return f"skipped: {facts}; {crowd}{'; ' if crowd else ''}it can be accepted again in round {number(patient)}"


def percent(share: float) -> str:
    """A probability as people say it.

    >>> percent(0.05), percent(0.0005)
    ('5 %', '0.05 %')
    """
    return f"{number(100.0 * share, 3)} %"


def by_floor(floor: float, patient: int | None) -> str:
    """What a floor does for a rejected category, and from which round on patience suffices.

    >>> by_floor(0.05, 3201)
    'each round accepts it with probability 5 % by the floor, and patience will in round 3 201'
    """
    later = "" if patient is None else f", and patience will in round {number(patient)}"
    return f"each round accepts it with probability {percent(floor)} by the floor{later}"


def crowding(policy: Policy, evidence: float, patience: float, counted: float) -> str:
    """A remark where log N alone rejects a category: patience counts rounds, and each of them brings many clients."""
    if not isinstance(policy, Plus) or policy.count != BY_CLIENTS or counted <= CROWD * math.exp(patience):
        return ""
    if evidence > 2.0 * math.log(counted):  # the mean alone says as much
        return ""
    remedy = f"{policy.name}:count=rounds"
    return f"log of its {number(counted)} clients alone exceeds patience, which counts rounds (see {remedy})"


def losses_first(clients: int, waiting: int, mean: float | None, threshold: float) -> str:
    """A warning if few outcomes are known and they are bad; `waiting` are accepted clients who are in no cohort.

    >>> losses_first(11, 89, 0.741, 0.9)[:45]
    'only 11 % of the accepted clients are known, '
    """
    if not clients or waiting <= clients or mean is None or mean >= threshold:
        return ""
    share = number(100.0 * clients / (clients + waiting), 2)
    return f"only {share} % of the accepted clients are known, and bad outcomes are often known first: give matures="


def for_good(waiting: int) -> str:
    """Say that time alone does not bring a category back: outcomes can, those of the `waiting` clients or others."""
    which = "the outcomes still to come" if waiting else "further outcomes"
    return f"it will not be accepted again at this threshold unless {which} speak for it"


def prospect(policy: Policy, t: int, evidence: float, patience: float, per_round: float) -> str:
    """What a policy that looks ahead weighs up in round t + 1, in words; empty for the others."""
    outlook = policy.outlook(t, per_round)
    if not outlook:
        return ""
    for digits in (2, 3, 4, 5, 6):  # as many as it takes to tell the two apart
        chance, least = _probability(evidence, digits), _probability(patience, digits)
        if chance != least:
            break
    return f"P(profitable) is {chance}; {outlook} it is worth testing down to {least}"


def _probability(nats: float, digits: int) -> str:
    """The probability exp(-nats) as people say it.

    >>> [_probability(nats, 2) for nats in (0.001, 0.7, 5.0, 12.0, 3471.0, math.inf)]
    ['more than 99 %', '50 %', '0.67 %', '1 in 160 000', '1 in 10^1507', '0 %']
    """
    if nats >= FAR_BELOW and nats < math.inf:
        return f"1 in 10^{round(nats / math.log(10.0))}"
    if nats > SMALL and nats < math.inf:
        return f"1 in {number(float(f'{math.exp(nats):.{digits}g}'))}"
    percent = float(f"{100.0 * math.exp(-nats):.{digits}g}")
    return "more than 99 %" if percent > 99.0 and nats > 0.0 else f"{number(percent, digits)} %"


def in_short(verdict: Verdict) -> str:
    """The decision in a word or two; the numbers beside it say the rest."""
    if verdict.accepted:
        return "accepted" if verdict.evidence <= verdict.patience else "accepted by the floor"
    if verdict.reason.startswith(NOT_GRANTED):
        return NOT_GRANTED.removesuffix(": ")
    if verdict.next_round is None:
        if verdict.reason.startswith("paused"):
            return "paused"
        return "skipped" if verdict.waiting else "skipped for good"
    return f"skipped, next chance in round {number(verdict.next_round)}"
