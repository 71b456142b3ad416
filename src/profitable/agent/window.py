"""Window: outcomes by round, for policies that forget older outcomes at once.

Example: with a window of 3, outcomes that are counted after round 5 take part in the
decisions about the rounds 6, 7 and 8. Then they leave.
"""

from collections.abc import Iterator, Mapping

from profitable.agent.observation import EMPTY, NO_ENTRY, Booking
from profitable.kernels.agent_table import AgentRow
from profitable.kernels.evidence import Observed, evidence
from profitable.kernels.exact import weighted_deviations
from profitable.kernels.patience import LAST_ROUND, Patience, first_time
from profitable.model.view import View
from profitable.policy.policies import Policy


class Window:
    """The sums of each category in each remembered round.

    A round is the number of decisions made by then.
    """

    def __init__(self, length: int) -> None:
        self.length = length
        self.now = 0  # the round that counts at present
        # Of those that are over, decisions may keep a copy.
        self._rounds: dict[int, dict[int, Booking]] = {}
        # Accepted rounds, for rules that need them; never changed in place.
        self.taken: dict[int, dict[int, float]] = {}

    def add(self, round: int, k: int, entry: Booking, sign: float = 1.0) -> None:
        """Note that category k counts outcomes since a round; sign -1 ends it."""
        counted = self._rounds.setdefault(round, {})
        if round < self.now:
            counted = self._rounds[round] = dict(counted)
        counted[k] = counted.get(k, NO_ENTRY).plus(entry, sign)

    def at(self, round: int) -> Mapping[int, Booking]:
        """Return the outcomes counted in a round, by category."""
        return self._rounds.get(round, {})

    def advance(self) -> Mapping[int, Booking]:
        """Let a round pass; returns what is too old by now."""
        self.now += 1
        return self._rounds.pop(self.now - self.length, {})

    def take(self, accepted: dict[int, float]) -> Mapping[int, float]:
        """Note accepted rounds that count since now; return those expired."""
        self.taken[self.now] = accepted
        return self.taken.pop(self.now - self.length, {})

    def replace(self, k: int, counted: Mapping[int, Booking], taken: Mapping[int, float]) -> None:
        """Replace the outcomes and accepted rounds of category k, by round."""
        for mine, new in ((self._rounds, counted), (self.taken, taken)):
            for round in [*mine]:
                if k in mine[round]:
                    mine[round] = {each: value for each, value in mine[round].items() if each != k}  # type: ignore
            for round, value in new.items():
                mine[round] = {**mine.get(round, {}), k: value}  # type: ignore

    def drop(self, k: int) -> None:
        """Forget category k; those behind it move up."""
        for mine in (self._rounds, self.taken):
            for round, values in mine.items():
                mine[round] = {each - (each > k): values[each] for each in values if each != k}  # type: ignore

    def __iter__(self) -> Iterator[tuple[int, Mapping[int, Booking]]]:
        return iter(sorted(self._rounds.items()))

    def snapshot(self) -> "Window":
        """Return the copy that a decision keeps."""
        twin = Window(self.length)
        twin.now, twin._rounds, twin.taken = self.now, dict(self._rounds), dict(self.taken)
        return twin

    def next_round(
        self, k: int, round: int, policy: Policy, view: View, numbers: list[float]
    ) -> int:
        """Return the next round that accepts category k, if ever, or 0.

        `numbers` is its column of the decision about `round`.  Evidence changes only
        when a round leaves.  Patience may grow in between, while the window is still
        filling.
        """
        terms, per_round = policy.coded_patience, numbers[AgentRow.PER_ROUND]
        target = float(view.statistic.of_mean(numbers[AgentRow.THRESHOLD]))
        entries = {counted: entries[k] for counted, entries in self if k in entries}
        taken = {counted: accepted[k] for counted, accepted in self.taken.items() if k in accepted}
        left, rounds, until, found = NO_ENTRY, 0.0, LAST_ROUND, 0
        for counted in sorted(entries.keys() | taken.keys(), reverse=True):
            # From here on only what is `left` counts, until the next of them leaves.
            seen, start = _seen(view, left, rounds), counted + self.length
            nats = evidence(policy.rule.under(view.law), view.law, seen, target)
            found = _first(terms, nats, start, until, seen.clients, per_round) or found
            left, until = left.plus(entries.get(counted, NO_ENTRY)), start
            rounds += taken.get(counted, 0.0)
        clients = _seen(view, left, rounds).clients
        return _first(terms, numbers[AgentRow.EVIDENCE], round, until, clients, per_round) or found


def _first(
    terms: Patience, nats: float, start: int, until: int, clients: float, per_round: float
) -> int:
    """Return the first round from `start` to `until` that accepts the evidence, or 0.

    Both count rounds after the present one; `until` itself is not included.
    """
    time = first_time(terms, nats, start, clients, per_round) if start < until else 0
    return time + 1 if 0 < time < until else 0


def _seen(view: View, entry: Booking, rounds: float) -> Observed:
    """Return the outcomes left in a window, and the clients of the prior."""
    if view.by_money:
        lent, squares = entry.sums.lent, entry.sums.lent_squares
        entry = entry.in_clients(lent / squares) if squares > 0.0 else NO_ENTRY
    clients, total, total_lost, squares, squares_lost, *_ = entry.sums
    inside = 0.0
    if clients:
        low, high = (clients * edge for edge in view.statistic_range)
        inside = min(max(total + total_lost, low), high)
    kept = entry.values or EMPTY
    return Observed(
        clients + view.prior_clients,
        inside + view.prior_total,
        weighted_deviations(clients, total, total_lost, squares, squares_lost),
        kept.values,
        kept.counts,
        rounds,
    )
