"""Summaries for a result: clients, delays, vintages, cost of learning, traces."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from profitable.common.amounts import in_short
from profitable.common.text_tables import number_text, percent_text, several, text_table
from profitable.common.types import BoolArray, FloatArray
from profitable.errors import UnknownCategoryError
from profitable.model.lending import Lending
from profitable.past.late_outcomes import NOT_LATE
from profitable.past.layout import AS_THEY_COME, AT_MATURITY, CALENDAR
from profitable.past.past import NEVER_KNOWN, Past, PastClients
from profitable.past.vintages import vintages
from profitable.replay.backtest_entry import BacktestEntry
from profitable.replay.backtest_options import RunOptions
from profitable.replay.family_choice import BY_THE_USER, FamilyChoice, family_in_words

MOST_PICTURED = 60  # categories in a picture; those with the most clients
ROUNDS_TRACED = 12  # of one policy
IMMEDIATE = "Outcomes assumed immediate"


def is_assumed_immediate(past: Past) -> bool:
    """Whether nothing says when outcomes were known, so that they count at once."""
    layout = past.layout
    return past.clients.defaulted is None and layout.known is None and layout.matures is None


def first_line(past: Past) -> str:
    """Say when outcomes were known."""
    clients, layout = past.clients, past.layout
    if clients.defaulted is not None:
        return _first_line_of_loans(clients, clients.defaulted)
    if is_assumed_immediate(past):
        known = (
            "no column says when they were known, so every policy learns sooner than it could have"
        )
        return f"{IMMEDIATE}: {known}."
    people = clients.sum_of("number")
    late = np.where(
        clients.known == NEVER_KNOWN, np.inf, clients.known - clients.round.astype(np.float64)
    )
    delay = _median(late, people)
    seen = float(people @ (clients.known <= clients.rounds)) / float(people.sum())
    if delay == 0.0:
        typical = "half of them or more in the round in which the client asked"
    elif delay < math.inf:
        later = several(math.ceil(delay), "round")
        typical = f"half of them {later} or more after the client asked"
    else:
        typical = "half of them or more never"
    if layout.known is None:
        when = f"Outcomes assumed to be known {layout.matures} rounds after the client asked"
    else:
        when = f"Outcomes known on {layout.known}: {typical}"
    counted = ""
    if past.late.is_chosen:
        counted = (
            f" They count at maturity, {past.late.span} after the client asked, "
            f"{percent_text(past.late.share)} before the last round."
        )
    elif past.treatment == AS_THEY_COME and layout.late == AS_THEY_COME:
        counted = " They count as they come, as asked for: losses may be known before gains."
    return f"{when}; {percent_text(seen)} before the last round ended.{counted}"


def _first_line_of_loans(clients: PastClients, defaulted: BoolArray) -> str:
    """Say how many loans defaulted, and how late that was known."""
    closed = ~defaulted & (clients.known <= clients.rounds)
    age = (clients.known - clients.round).astype(np.float64)
    said = [
        f"{name} were known after a median of {number_text(float(np.median(age[chosen])))} rounds"
        for name, chosen in (("defaults", defaulted), ("other ends", closed))
        if chosen.any()
    ]
    shown = (defaulted & (clients.known <= clients.rounds)).mean()
    return (
        f"{percent_text(defaulted.mean(), 1)} of the loans are known to have defaulted, "
        f"{percent_text(shown, 1)} before the last round ended; "
        f"{' and '.join(said) or 'no end is known'}."
    )


def _median(values: FloatArray, weights: FloatArray) -> float:
    """Return the weighted median; the mean of the middle two if there are two.

    >>> _median(np.array([3.0, 1.0, 2.0]), np.array([1.0, 2.0, 1.0]))
    1.5
    """
    order = np.argsort(values, kind="stable")
    until = np.cumsum(weights[order])
    half = 0.5 * until[-1]
    low, high = (
        values[order[np.searchsorted(until, half, side=side)]] for side in ("left", "right")
    )
    return float(low) if low == high else float(0.5 * (low + high))


def headline(past: Past, terms: FamilyChoice, unit: str = "") -> list[str]:
    """Describe the clients in two lines."""
    clients = past.clients
    amount = None if clients.amount is None else float(clients.amount.sum())
    lent = "" if amount is None else f", {in_short(amount, unit)} lent"
    earned = in_short(float(clients.seen(clients.profit).sum()), unit) + _at_required(past, terms)
    who = (
        f"{several(len(clients), 'client')} in {several(len(clients.names), 'category')} and "
        f"{several(clients.rounds, 'round')}"
    )
    span = f"{clients.labels[0]} to {clients.labels[-1]}"
    first = f"{who} ({span}){lent}; the past itself earned {earned}."
    if terms.lending is not None:
        return [first, terms_of_lending(terms.lending)]
    because = f"because {terms.reason}" if terms.reason != BY_THE_USER else "as chosen"
    other = "" if terms.alternative is None else terms.alternative.sentence(unit)
    return [first, f"Rewards: {terms.family}, {because}.", *([other] if other else [])]


def _at_required(past: Past, terms: FamilyChoice) -> str:
    """Say which return was required of what the past earned, if one was."""
    required = past.layout.margin if terms.lending is None else terms.lending.required
    year = "" if terms.lending is None else " a year"
    return f" at a required return of {percent_text(required, 1)}{year}" if required else ""


def terms_of_lending(lending: Lending) -> str:
    """Return the constants that are assumed of all loans."""
    level = f"level {lending.level:g}" if lending.level else "no uncertainty of the common level"
    return (
        "Loans are judged by their hazards: payments are discounted at "
        f"{percent_text(lending.required, 1)} a year, a default is known {lending.lag} rounds "
        "after the last instalment and returns "
        f"{percent_text(lending.recovery)} of the balance, {level}."
    )


def intervals(past: Past) -> str:
    """Return the source of the intervals."""
    folds = past.clients.folds
    return "bootstrap" if folds is None else "none" if folds == 1 else f"from {folds} folds"


def added_up(past: Past) -> list[str]:
    """Explain what follows if the clients were aggregated before."""
    folds = past.clients.folds
    if folds is None:
        return []
    if folds == 1:
        without = "there are no intervals and no cross-fitting."
        return [f"Clients were added up before, without folds: {without}"]
    by_folds = f"intervals and cross-fitting are from {folds} folds. Time is not shuffled."
    return [f"Clients were added up before: {by_folds}"]


def categories(past: Past, terms: FamilyChoice) -> list[dict[str, Any]]:
    """Return a row for each category: clients, amounts, means, profit and its error."""
    clients = past.clients
    count, profit, reward, squares = map(
        clients.by_category, ("number", "profit", "reward", "profit_squares")
    )
    some = np.maximum(count, 1.0)
    spread = np.sqrt(np.maximum(squares - profit**2 / some, 0.0))
    amount = back = None
    if clients.amount is not None:
        amount, back = clients.by_category("amount"), clients.by_category("back")
    return [
        {
            "name": name,
            "clients": int(count[k]),
            "amount": None if amount is None else amount[k],
            "mean": reward[k] / some[k] if count[k] else None,
            "mean_by_money": None
            if amount is None or back is None or not amount[k]
            else back[k] / amount[k],
            "threshold": terms.categories[k].threshold,
            "profit": profit[k],
            "profit_error": spread[k],
        }
        for k, name in enumerate(clients.names)
    ]


def known_over_time(clients: PastClients) -> dict[str, Any]:
    """Return the share known, the known mean and the final mean after each round."""
    size = clients.rounds + 1
    rounds, known = clients.seen(clients.round), np.minimum(clients.seen(clients.known), size)
    people, reward = (clients.seen(clients.sum_of(name)) for name in ("number", "reward"))

    def until(when: Any, values: FloatArray) -> FloatArray:
        return np.cumsum(np.bincount(when, values, minlength=size + 1))[1:size].astype(np.float64)

    asked, seen_by_then = until(rounds, people), until(known, people)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "round": list(clients.labels),
            "share_known": seen_by_then / asked,
            "known_mean": until(known, reward) / seen_by_then,
            "final_mean": until(rounds, reward) / asked,
        }


def by_vintage(labels: Sequence[str], entry: BacktestEntry) -> list[dict[str, Any]]:
    """Profit of an entry and of accepting all, by vintage."""
    names = vintages(labels)
    order = list(dict.fromkeys(names))
    place = np.array([order.index(name) for name in names])
    earned, everybody = (
        np.bincount(place, table.sum(axis=1), minlength=len(order))
        for table in (entry.earned, entry.everybody)
    )
    return [
        {
            "vintage": name,
            "profit": earned[each],
            "all": everybody[each],
            "difference": earned[each] - everybody[each],
        }
        for each, name in enumerate(order)
    ]


def by_category(names: Sequence[str], entry: BacktestEntry) -> list[dict[str, Any]]:
    """Return the cost of learning by category.

    It is lost by accepting a category that does not pay, or by refusing one that pays.
    """
    pays = entry.everybody.sum(axis=0) > 0.0
    earned, everybody = entry.earned.sum(axis=0), entry.everybody.sum(axis=0)
    return [
        {
            "category": name,
            "difference": earned[k] - everybody[k],
            "lost_accepting": 0.0 if pays[k] else max(-earned[k], 0.0),
            "lost_refusing": everybody[k] - earned[k] if pays[k] else 0.0,
        }
        for k, name in enumerate(names)
    ]


def assumptions(past: Past, terms: FamilyChoice, options: RunOptions) -> list[str]:
    """List the assumptions in plain words."""
    clients, layout = past.clients, past.layout
    period = past.round if past.round in CALENDAR else "round"
    texts = [
        (
            f"A policy decides at the start of each {period}, before it knows an outcome of it: "
            "all of a category or none."
        ),
        "Clients would have come, and behaved, the same whatever had been decided before.",
    ]
    if terms.lending is not None:
        texts += [
            (
                "Hazards are learnt from loans that the policy itself accepted, as far as their "
                "ends were known before a decision."
            ),
            "All categories have the same hazards by age and term, up to one multiplier each.",
            terms_of_lending(terms.lending),
        ]
    elif layout.known is None and layout.matures is None:
        texts.append(
            "The outcome of a client is known before the next round. Real outcomes are known later."
        )
    elif options.limits is None and past.treatment in (NOT_LATE, AS_THEY_COME):
        texts.append(
            "An outcome counts from the round after the one in which it was known, and not at "
            "all before."
        )
    if layout.open_value is not None:
        per = (
            " per unit lent"
            if layout.amount is not None and not isinstance(layout.open_value, str)
            else ""
        )
        texts.append(
            f"An open client counts at {layout.open_value}{per}, until the outcome is known."
        )
    elif layout.counts_open:
        texts.append(
            f"An open client counts more and more over {layout.matures} rounds, at what was "
            "promised."
        )
    elif past.treatment == AT_MATURITY:
        texts.append(
            f"Outcomes count when their round's clients are {past.late.span} old, not before."
        )
    never = round(float(clients.sum_of("number")[clients.known == NEVER_KNOWN].sum()))
    if never:
        texts.append(
            f"{number_text(never)} outcomes were never known: their profit counts, and no policy "
            "learns from them."
        )
    if layout.amount is not None:
        required = layout.margin
        above = f" beyond the {percent_text(required, 1)} that are required" if required else ""
        what = f"the money that came back less the amount{above}. It is not discounted further"
        if layout.by_hazards:
            said = "that the schedule says" if layout.by_schedule else f"in {layout.reward}"
            what = f"the present value {said}, less the amount"
        texts.append(f"Profit is {what}.")
    elif isinstance(layout.cost, str):
        texts.append(
            f"Each client costs what {layout.cost} says, and a reward of 1 is worth "
            f"{layout.revenue:g}."
        )
    else:
        texts.append(
            f"Each client costs {layout.cost:g}, and a reward of 1 is worth {layout.revenue:g}."
        )
        if clients.range_of("reward") == (0.0, 1.0):
            texts.append(
                "A reward of 0 loses the whole cost. If something comes back, give amounts instead."
            )
    if layout.treated is not None:
        texts.append(
            "Rewards are what the treatment adds, against the control group of the same category."
        )
    elif layout.accepted is None:
        texts.append(
            "Rewards are all that clients brought. What they would have brought anyway is not "
            "subtracted."
        )
    if options.limits is not None:
        texts.append("Where a category is granted a part, its clients are drawn by lot.")
    texts += added_up(past)
    texts.append(
        "Intervals are about new portfolios of the same law. They do not know of changes that "
        "are not in the file."
    )
    if terms.lending is None:
        texts.append(f"Evidence is that of {family_in_words(terms.family)}.")
    return texts


def trace(clients: PastClients, policies: Sequence[BacktestEntry], category: str) -> str:
    """Return evidence against patience, for each policy, when its decision changed."""
    place = position(clients.names, category)
    tables = [(entry.name, _trace_table(entry, place, clients.labels)) for entry in policies]
    return "\n\n".join(f"{name}, {category}:\n\n{table}" for name, table in tables if table)


def position(names: Sequence[str], category: str) -> int:
    """Return the position of a category; UnknownCategoryError if there is none."""
    if category not in names:
        raise UnknownCategoryError(
            "show",
            category,
            "is not in this past",
            (
                "choose from "
                f"{', '.join(names[:ROUNDS_TRACED])}{', ...' if len(names) > ROUNDS_TRACED else ''}"
            ),
        )
    return names.index(category)


def _trace_table(entry: BacktestEntry, place: int, labels: Sequence[str]) -> str:
    if entry.evidence is None or entry.patience is None or entry.decided is None:
        return ""
    evidence, patience, decided = (
        entry.evidence[:, place],
        entry.patience[:, place],
        entry.decided[:, place],
    )
    rows = [
        [
            labels[t],
            number_text(float(evidence[t])),
            number_text(float(patience[t])),
            "accepted" if decided[t] else "refused",
        ]
        for t in _turns(decided)
    ]
    left_out = int((np.diff(decided.astype(int)) != 0).sum()) + 2 - len(rows)
    more = (
        f"\n... and {left_out} changes more" if left_out > 0 and len(rows) == ROUNDS_TRACED else ""
    )
    return text_table(["round", "evidence", "patience", "decision"], rows) + more


def _turns(decided: BoolArray) -> list[int]:
    """Return the first and last round and those with a new decision, up to a limit."""
    turns = [0, *(np.flatnonzero(decided[1:] != decided[:-1]) + 1).tolist()]
    last = decided.size - 1
    shown = turns[: ROUNDS_TRACED - 1]
    return shown if last in shown else [*shown, last]
