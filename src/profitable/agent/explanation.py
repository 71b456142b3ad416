"""Verdict and Standing: what is decided and known about a category, also in words."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from profitable.agent.ledger import Ledger
from profitable.agent.loan_book import LoanStanding
from profitable.agent.observation import EMPTY, seen_of
from profitable.common.text_tables import money_text, number_text
from profitable.common.types import IntArray
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.law import NORMAL
from profitable.kernels.patience import clients_per_round
from profitable.kernels.unknown_variance import are_equal, least_clients, says_nothing
from profitable.model.category import Category
from profitable.policy.policies import BY_CLIENTS, CROWD, Plus, Policy

# Nats from which a percentage, or a number written out, is unreadable.
SMALL, FAR_BELOW = math.log(1e4), math.log(1e12)
MEANS = {
    "money": "the money, so that large amounts count for more",
    "client": "the clients, whatever their amounts",
}
# Why an agent that lends has no profit.
PROFIT_UNKNOWN = "it is reported how loans end, and not what they pay"
Cells = tuple[Sequence[str], Sequence[Sequence[str]]]  # the headers and the rows of a table


@dataclass(frozen=True, slots=True)
class Verdict:
    """One category's part of a decision.

    Attributes
    ----------
    name : str
        Name of the category.
    accepted : bool
        Whether it is accepted: if evidence <= patience and it is not paused; or by the
        floor, if the policy has one.
    evidence, patience : float
        Evidence against it, and patience with it, in nats.
    index : float
        The paper's index; index >= threshold means the same as evidence <= patience.
        Infinite if nothing limits it.
    threshold : float
        Its threshold.
    clients : int
        Outcomes reported so far.
    counted : float
        Observations that count; fewer than clients if the policy forgets.
    mean : float or None
        Mean of the rewards as the policy sees them, which may be cut at the bound; for
        Pareto and Weibull, the mean that fits their statistic.  None without outcomes.
    propensity : float or None
        Probability that this round accepts the category.  None if a limit makes it
        unknown.
    next_round : int or None
        Next round in which a rejected category can be accepted; with a floor, that is
        the next one.  None if it is accepted, paused, or never accepted again (rounds
        beyond 10^18 count as never).
    waiting : int
        Accepted clients whose outcome is still to come, as reported by `Agent.expect`.
    open : int
        Those of them in cohorts that have not matured.
    emerged : float
        Observations that clients of open cohorts count as, before anything is
        forgotten.
    missing : int
        Clients without an outcome in cohorts that have matured.
    reason : str
        The reason in words.
    demand, granted : int or None
        Clients who ask, and how many of them the round can pay for; None unless the
        round has a limit.  A category that is granted nothing is not accepted.
    loans : LoanStanding or None
        What the lending book says, for an agent that lends.
    order : str or None
        Name of its order, if it is a band that shares evidence.  Then evidence is that
        under the order, the index is that of the band alone, moved to the side of the
        decision, and there is a next round only if patience is drawn: else it depends
        on what other bands show.
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
    loans: LoanStanding | None = None
    order: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON-ready values; infinite numbers become None."""
        left_out = ("demand", "granted") if self.granted is None else ()
        left_out += ("order",) if self.order is None else ()
        found = {
            key: None if value in (math.inf, -math.inf) else value
            for key, value in asdict(self).items()
            if key not in (*left_out, "loans")
        }
        return found if self.loans is None else {**found, "loans": self.loans.to_dict()}


def verdicts(columns: dict[str, list[Any]]) -> list[Verdict]:
    """Return verdicts from their fields as columns, which are not always all."""
    return [
        Verdict(**dict(zip(columns, row, strict=True)))
        for row in zip(*columns.values(), strict=True)
    ]


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
    """Return the fields of a verdict as a dictionary, written out for long logs."""
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


def reason(
    policy: Policy,
    round: int,
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
    """Return in words why a policy accepts or skips one category in a round.

    `patient` is the next round whose patience suffices.  Of the category's outcomes,
    `kept` do not count before their cohorts have matured.
    """
    if paused:
        return "paused: not offered until it is resumed"
    if round == 1 and patience == math.inf and not policy.outlook(0.0, 1.0):
        return "accepted: in round 1 every category is"
    if accepted and clients == 0 and counted > 0.0 and evidence == 0.0:
        return (
            "accepted: no outcome is known yet, and its open clients count as "
            f"{number_text(counted)} as promised"
        )
    if accepted and clients == 0 and evidence == 0.0:
        return "accepted: no outcome is known yet, so nothing speaks against it"
    if accepted and counted == 0.0 and evidence == 0.0:
        why = "count when their cohorts have matured" if kept else "are forgotten by now"
        return f"accepted: its {number_text(clients)} outcomes {why}, so nothing speaks against it"
    if accepted and clients == 0 and patience == math.inf:
        return "accepted: no outcome is known yet, and its prior says too little"
    if accepted and evidence == 0.0:
        return (
            f"accepted: the mean of its {number_text(clients)} clients is not below the threshold"
        )
    facts = prospect(policy, round - 1, evidence, patience, per_round)
    limit = "this round's draw" if policy.draws else "patience"
    limit = f"{limit} {number_text(patience, 3)}"
    if accepted and not evidence <= patience:
        facts = facts or f"evidence {number_text(evidence, 3)} exceeds {limit}"
        return f"accepted: by the floor of {percent(policy.floor)}, although {facts}"
    facts = facts or f"evidence {number_text(evidence, 3)} nats against it, {limit}"
    facts = f"{facts}; {warning}" if warning else facts
    if accepted:
        return f"accepted: {facts}"
    if policy.draws and (patient is not None or policy.floor > 0.0):
        return (
            f"skipped: {facts}; "
            f"accepted with probability {number_text(propensity, 3)} in each round"
        )
    if policy.floor > 0.0:
        later = "" if patient is None else f", and patience will in round {number_text(patient)}"
        chance = f"each round accepts it with probability {percent(policy.floor)} by the floor"
        return f"skipped: {facts}; {chance}{later}"
    if patient is None:
        return f"skipped: {facts}; {for_good(waiting)}"
    if policy.rule.is_posterior and patience <= 0.0:
        return "skipped: in round 2 the posterior quantile is of order 0, below any threshold"
    return f"skipped: {facts}; {accepted_again(policy, evidence, patience, counted, patient)}"


def with_loans(said: str, evidence: float, patience: float, loans: LoanStanding) -> str:
    """Return a reason with what the lending book says of the category."""
    if not loans.issued:
        return said
    if evidence == 0.0 and patience < math.inf:
        said = "accepted: nothing speaks against it"
    return f"{said}; {loans.sentence()}"


def percent(share: float) -> str:
    """Return a probability as people say it.

    >>> percent(0.05), percent(0.0005)
    ('5 %', '0.05 %')
    """
    return f"{number_text(100.0 * share, 3)} %"


def crowding(policy: Policy, evidence: float, patience: float, counted: float) -> str:
    """Return a remark where log N alone rejects a category.

    Patience counts rounds, and each of them brings many clients.
    """
    if (
        not isinstance(policy, Plus)
        or policy.count != BY_CLIENTS
        or counted <= CROWD * math.exp(patience)
        or evidence > 2.0 * math.log(counted)  # the mean alone says as much
    ):
        return ""
    return (
        f"log of its {number_text(counted)} clients alone exceeds patience, which counts "
        f"rounds (see {policy.name}:count=rounds)"
    )


def accepted_again(
    policy: Policy, evidence: float, patience: float, counted: float, patient: int
) -> str:
    """Return when patience accepts a category again, after a remark on crowding."""
    crowd = crowding(policy, evidence, patience, counted)
    return f"{crowd}{'; ' if crowd else ''}it can be accepted again in round {number_text(patient)}"


def losses_first(clients: int, waiting: int, mean: float | None, threshold: float) -> str:
    """Return a warning if few outcomes are known and they are bad.

    `waiting` are accepted clients who are in no cohort.

    >>> losses_first(11, 89, 0.741, 0.9)[:45]
    'only 11 % of the accepted clients are known, '
    """
    if not clients or waiting <= clients or mean is None or mean >= threshold:
        return ""
    share = number_text(100.0 * clients / (clients + waiting), 2)
    return (
        f"only {share} % of the accepted clients are known, and bad outcomes are "
        "often known first: give matures="
    )


def for_good(waiting: int) -> str:
    """Return the remark that only outcomes, not time, bring a category back.

    They are those of the `waiting` clients, or others.
    """
    which = "the outcomes still to come" if waiting else "further outcomes"
    return f"it will not be accepted again at this threshold unless {which} speak for it"


def prospect(policy: Policy, t: int, evidence: float, patience: float, per_round: float) -> str:
    """Return the trade-off of a policy that looks ahead; empty for the others.

    The round is t + 1.
    """
    outlook = policy.outlook(t, per_round)
    if not outlook:
        return ""
    for digits in (2, 3, 4, 5, 6):  # as many as it takes to tell the two apart
        chance, least = _probability(evidence, digits), _probability(patience, digits)
        if chance != least:
            break
    return f"P(profitable) is {chance}; {outlook} it is worth testing down to {least}"


def _probability(nats: float, digits: int) -> str:
    """Return the probability exp(-nats) as people say it.

    >>> [_probability(nats, 2) for nats in (0.001, 0.7, 5.0, 12.0, 3471.0, math.inf)]
    ['more than 99 %', '50 %', '0.67 %', '1 in 160 000', '1 in 10^1507', '0 %']
    """
    if nats >= FAR_BELOW and nats < math.inf:
        return f"1 in 10^{round(nats / math.log(10.0))}"
    if nats > SMALL and nats < math.inf:
        return f"1 in {number_text(float(f'{math.exp(nats):.{digits}g}'))}"
    percent = float(f"{100.0 * math.exp(-nats):.{digits}g}")
    return (
        "more than 99 %" if percent > 99.0 and nats > 0.0 else f"{number_text(percent, digits)} %"
    )


def in_short(verdict: Verdict, *, by_policy: bool, paused: bool) -> str:
    """Return the decision in a word or two, for tables.

    `by_policy` says whether the policy accepts the category, whatever it is granted.
    """
    if verdict.accepted:
        return "accepted" if verdict.evidence <= verdict.patience else "accepted by the floor"
    if by_policy:
        return "not granted"
    if paused:
        return "paused"
    if verdict.next_round is None:
        return "skipped" if verdict.waiting or verdict.order is not None else "skipped for good"
    return f"skipped, next chance in round {number_text(verdict.next_round)}"


# ---------------------------------------------------------------------------- standings


@dataclass(frozen=True, slots=True)
class Standing:
    """Everything the agent knows about one category.

    Attributes
    ----------
    name : str
        Name of the category.
    threshold : float
        Its present threshold.
    clients : int
        Outcomes reported.
    counted : float
        Observations that count by now: fewer than clients if the policy forgets, and
        others where clients of open cohorts count by their age.
    mean : float or None
        Mean reward as the policy sees it; None without outcomes.
    evidence : float
        Evidence against it, in nats.
    waiting : int
        Accepted clients without an outcome.
    open : int
        Those of them in cohorts that have not matured.
    emerged : float
        Observations that clients of open cohorts count as, before anything is
        forgotten.
    missing : int
        Clients without an outcome in cohorts that have matured.
    rounds : int
        Decisions that accepted it.
    revenue, cost : float or None
        Money from its clients, and money spent to accept them; None for an agent that
        lends, which hears how loans end, not what they pay.
    paused : bool
        Whether it is paused.
    loans : LoanStanding or None
        What the lending book says, for an agent that lends.
    """

    name: str
    threshold: float
    clients: int
    counted: float
    mean: float | None
    evidence: float
    waiting: int
    open: int
    emerged: float
    missing: int
    rounds: int
    revenue: float | None
    cost: float | None
    paused: bool
    loans: LoanStanding | None = None

    @property
    def profit(self) -> float | None:
        """Revenue from its clients so far, less the cost of accepting them.

        None if they are not known.
        """
        return None if self.revenue is None or self.cost is None else self.revenue - self.cost


def columns_of(ledger: Ledger, chosen: IntArray) -> dict[str, list[Any]]:
    """Return the standings of some categories, as columns."""
    table = ledger.numbers[:, chosen]
    revenue, cost = table[AgentRow.REVENUE], table[AgentRow.COST]
    reading, late = ledger.reading, ledger.cohorts.columns(chosen, ledger.round)
    if reading is not None:
        late |= reading.open_and_missing(chosen, table[AgentRow.WAITING].tolist())
    columns: dict[str, list[Any]] = {
        "name": [ledger.categories.names[k] for k in chosen.tolist()],
        "threshold": table[AgentRow.THRESHOLD].tolist(),
        "clients": table[AgentRow.KNOWN].astype(np.int64).tolist(),
        "counted": table[AgentRow.CLIENTS].tolist(),
        "mean": ledger.categories.means(chosen, table[AgentRow.CLIENTS], table[AgentRow.TOTAL]),
        "evidence": ledger.evidence(chosen).tolist(),
        "waiting": table[AgentRow.WAITING].astype(np.int64).tolist(),
        **late,
        "rounds": table[AgentRow.ROUNDS].astype(np.int64).tolist(),
        "revenue": revenue.tolist(),
        "cost": cost.tolist(),
        "profit": (revenue - cost).tolist(),
        "paused": (table[AgentRow.PAUSED] != 0.0).tolist(),
    }
    if reading is not None:
        columns |= {name: [None] * chosen.size for name in ("revenue", "cost", "profit")}
        columns["loans"] = [reading.standing(k) for k in chosen.tolist()]
    return columns


def standing_of(ledger: Ledger, k: int) -> Standing:
    """Return the standing of one category."""
    columns = columns_of(ledger, np.array([k]))
    return Standing(**{key: column[0] for key, column in columns.items() if key != "profit"})


def table_of(ledger: Ledger, rows: int) -> Cells:
    """Return the standings of the first categories, as headers and cells of a table.

    With cohorts it has more columns; a lending book has its own, and no money.
    """
    if ledger.loans is not None:
        return _table_of_loans(ledger, rows)
    late = bool(ledger.cohorts)
    shown = ["clients", *(["counted"] if late else []), "mean", "threshold", "evidence", "waiting"]
    shown += ["open", "missing"] if late else []
    cells = [
        [
            each.name,
            *(number_text(getattr(each, key)) for key in shown),
            money_text(each.profit),
            "paused" if each.paused else "active",
        ]
        for each in (standing_of(ledger, k) for k in range(rows))
    ]
    return ("category", *shown, "profit", "state"), cells


def _table_of_loans(ledger: Ledger, rows: int) -> Cells:
    """Return what a lending book says of the first categories, as a table."""
    shown = ["issued", "defaults", "affordable", "multiplier", "break_even"]
    cells = [
        [
            each.name,
            *(number_text(getattr(each.loans, key), 3) for key in shown),
            number_text(each.evidence),
            number_text(each.waiting),
            "paused" if each.paused else "active",
        ]
        for each in (standing_of(ledger, k) for k in range(rows))
    ]
    return ("category", *shown[:-1], "break-even", "evidence", "waiting", "state"), cells


def explanation(ledger: Ledger, k: int, verdict: Verdict, patient: int | None) -> str:
    """Return a text: the outcomes, the evidence, the next decision, and the money.

    `verdict` is that of the next round, and `patient` the next round whose patience
    suffices, None if there is none.
    """
    category, policy, standing = (
        ledger.categories[k],
        ledger.categories.policy,
        standing_of(ledger, k),
    )
    round = ledger.round + 1
    evidence = f"Evidence against it: {number_text(standing.evidence)} nats."
    said = _outlook(policy, standing, verdict, patient, round)
    if verdict.order is not None:
        evidence = (
            f"Evidence against it: {number_text(standing.evidence)} nats of its own, "
            f"{number_text(verdict.evidence)} under the order {verdict.order!r}."
        )
        said = said if policy.draws else verdict.reason
        standing = replace(standing, evidence=verdict.evidence)
    outlook = f"Round {number_text(round)}: {said}."
    above = number_text(category.threshold)
    if standing.loans is not None and ledger.loans is not None:
        required = number_text(100.0 * ledger.loans.lending.required)
        lines = [
            (
                f"{category.name}: worth lending to if a loan is worth more than {above} per unit "
                f"lent, at {required} % a year."
            ),
            f"Seen: {standing.loans.sentence()}.",
            *_open_loans(standing),
            evidence,
            *_ahead(ledger, k, standing, verdict),
            outlook,
            f"Profit so far: {money_text(None)}, because {PROFIT_UNKNOWN}.",
        ]
        return "\n".join(lines)
    kept = ledger.cohorts.tally(k, ledger.round).kept
    lines = [f"{category.name}: {category.family}, worth accepting if its mean is above {above}."]
    if category.amount is not None:
        lost = " or not at all"
        if category.recovery:
            lost = f"; a default returns {number_text(100.0 * category.recovery)} %"
        lines.append(
            f"A loan of {money_text(category.price)} comes back as "
            f"{money_text(category.worth + category.recovered)}{lost}; "
            "the mean is the share that is repaid."
        )
    if category.weight is not None:
        lines.append(
            f"A reward is money back per unit lent; the mean is that of {MEANS[category.weight]}."
        )
    if (prior := policy.prior_of(category)) is not None:
        is_of_rewards = prior.kind == "clients" or category.family.view().statistic.is_reward
        what = "" if is_of_rewards else ", of the statistic and not of the rewards"
        lines.append(f"Believed before: {prior}{what}.")
    lines.append(_seen(category, policy, standing, kept))
    if ledger.categories.view_of(k).law.code == NORMAL and standing.mean is not None:
        lines.append(_spread(ledger, k))
    lines += _late(standing, kept)
    memory = 0 if ledger.values is None else ledger.values[k].nbytes
    if memory:
        lines.append(
            f"Remembers {number_text(memory // 16)} distinct rewards ({number_text(memory)} bytes)."
        )
    lines += [evidence, *_ahead(ledger, k, standing, verdict), outlook]
    profit, received, paid = map(money_text, (standing.profit, standing.revenue, standing.cost))
    lines.append(f"Profit so far: {profit} (received {received}, paid {paid}).")
    return "\n".join(lines)


def _ahead(ledger: Ledger, k: int, standing: Standing, verdict: Verdict) -> list[str]:
    """Return the sentences about clients to come, if the policy looks ahead."""
    policy = ledger.categories.policy
    if not policy.outlook(ledger.round, 1.0):
        return []
    per_round = _per_round(ledger, k)
    known = "not known yet, 1 is assumed" if per_round is None else number_text(per_round)
    lines = [f"Clients in a round: {known}."]
    if verdict.patience < math.inf:
        each = per_round or 1.0
        worth = prospect(policy, ledger.round, standing.evidence, verdict.patience, each)
        lines.append(f"{worth}.")
    return lines


def _open_loans(standing: Standing) -> list[str]:
    """Return the sentences about loans whose end is still to come."""
    lines: list[str] = []
    if standing.open:
        lines.append(f"Open: {number_text(standing.open)} loans.")
    if standing.missing:
        lines.append(
            f"Missing: the end of {number_text(standing.missing)} loans, which are older than "
            "their last age; if loans take that long, give a larger lag."
        )
    return lines


def _seen(category: Category, policy: Policy, standing: Standing, kept: int) -> str:
    clients, mean = number_text(standing.clients), number_text(standing.mean)
    if not standing.clients and standing.mean is None:
        return "Seen: no outcome yet."
    if not policy.forgets:
        if standing.counted == standing.clients:
            return f"Seen: {clients} clients with mean {mean}."
        if category.by_money and not kept:
            return (
                f"Seen: {clients} clients, who count as {number_text(standing.counted)} because "
                f"amounts differ, with mean {mean}."
            )
        how = "cohorts count as they mature"
    elif policy.window is not None:
        how = f"the outcomes of the last {number_text(policy.window)} rounds count"
    else:
        how = (
            f"outcomes lose {number_text(100.0 * (1.0 - policy.forget), 3)} % of their weight "
            "in each round"
        )
    if standing.mean is None:
        return (
            f"Seen: {clients} clients, {'none counted' if kept else 'all forgotten'} by "
            f"now ({how})."
        )
    return (
        f"Seen: {clients} clients, who count as {number_text(standing.counted)} with mean "
        f"{mean} ({how})."
    )


def _late(standing: Standing, kept: int) -> list[str]:
    """Return the sentence about outcomes that are still to come."""
    lines: list[str] = []
    if standing.waiting:
        lines.append(
            f"Waiting for the outcome of {number_text(standing.waiting)} accepted clients."
        )
    if standing.open:
        how = (
            f"count as {number_text(standing.emerged)} observations by now"
            if standing.emerged
            else "do not count yet"
        )
        lines.append(
            f"Open: {number_text(standing.open)} of them. Cohorts that have not matured {how}."
        )
    if kept:
        lines.append(
            f"Kept: {number_text(kept)} known outcomes, "
            "which count when their cohorts have matured."
        )
    if standing.missing:
        lines.append(
            f"Missing: {number_text(standing.missing)} of them. Their cohorts have matured."
        )
    uncounted = standing.waiting - standing.open - standing.missing
    if warning := losses_first(standing.clients, uncounted, standing.mean, standing.threshold):
        lines.append(f"Caution: {warning}.")
    return lines


def _per_round(ledger: Ledger, k: int) -> float | None:
    """Return the clients of a round: the policy's number, as counted, or None."""
    known, waiting, earlier, rounds = ledger.numbers[
        [AgentRow.KNOWN, AgentRow.WAITING, AgentRow.EARLIER, AgentRow.ROUNDS], k
    ].tolist()
    terms, came = ledger.categories.policy.terms, known + waiting - earlier
    is_known = terms.clients > 0.0 or (came > 0.0 and rounds > 0.0)
    return clients_per_round(terms, came, rounds) if is_known else None


def _spread(ledger: Ledger, k: int) -> str:
    """Return the spread of the rewards, and whether it says anything yet."""
    view, rule = ledger.categories.view_of(k), ledger.categories.rule_of(k)
    seen = seen_of(rule, view, ledger.column(k), EMPTY)
    text = f"Their standard deviation is {number_text(math.sqrt(seen.spread / seen.clients))}."
    if are_equal(seen.clients, seen.total, seen.spread):
        text = "Their rewards are all equal."
    if not says_nothing(view.law, seen.clients, seen.total, seen.spread, rule.is_posterior):
        return text
    least = number_text(math.ceil(least_clients(view.law, rule.is_posterior)))
    return (
        f"{text} This says nothing yet: it takes {least} clients whose rewards are not all equal."
    )


def _outlook(
    policy: Policy, standing: Standing, verdict: Verdict, patient: int | None, round: int
) -> str:
    if standing.paused:
        return "paused, not accepted until it is resumed"
    if round == 1 and verdict.patience == math.inf and not policy.outlook(0.0, 1.0):
        return "accepted, as every category is in the first round"
    if policy.draws:
        return f"accepted with probability {number_text(verdict.propensity)}"
    limit = f"patience {number_text(verdict.patience)} nats, index {number_text(verdict.index)}"
    if verdict.accepted:
        return f"accepted ({limit})"
    if policy.floor > 0.0:
        again = (
            "" if patient is None else f"; patience will accept it in round {number_text(patient)}"
        )
        return f"accepted with probability {percent(policy.floor)}, by the floor ({limit}){again}"
    if patient is None:
        return f"skipped ({limit}); {for_good(standing.waiting)}"
    again = accepted_again(policy, standing.evidence, verdict.patience, standing.counted, patient)
    return f"skipped ({limit}); {again}"
