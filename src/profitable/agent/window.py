"""Window: what was counted in each of the last rounds, for policies that forget older outcomes at once.

Example: with a window of 3, outcomes that are counted after round 5 take part in the decisions about the rounds 6, 7
and 8. Then they leave.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from profitable.agent.distinct_rewards import EMPTY, DistinctRewards
from profitable.agent.observation import Entry
from profitable.kernels.batch import Sums
from profitable.kernels.exact import exact_sum

NOTHING: Mapping[int, Entry] = MappingProxyType({})
NO_ENTRY = Entry(Sums(), EMPTY)
PAIRS = ("total", "squares", "lent", "lent_squares")
NOBODY: Mapping[int, float] = MappingProxyType({})


class Window:
    """The sums of each category in each remembered round; a round is the number of decisions made by then."""

    def __init__(self, length: int) -> None:
        self.length = length
        self.now = 0  # the round that counts at present
        self._rounds: dict[int, dict[int, Entry]] = {}  # of those that are over, decisions may keep a copy
        self.taken: dict[
            int, dict[int, float]
        ] = {}  # accepted rounds, for rules that need them; never changed in place

    def add(self, round: int, k: int, entry: Entry, sign: float = 1.0) -> None:
        """Note that category k counts these outcomes since that round, or (sign -1) that it does so no longer."""
        counted = self._rounds.setdefault(round, {})
        if round < self.now:
            counted = self._rounds[round] = dict(counted)
        counted[k] = joined(counted.get(k, NO_ENTRY), entry, sign)

    def at(self, round: int) -> Mapping[int, Entry]:
        """What was counted in a round, by category."""
        return self._rounds.get(round, NOTHING)

    def advance(self) -> Mapping[int, Entry]:
        """Let a round pass; returns what is too old by now."""
        self.now += 1
        return self._rounds.pop(self.now - self.length, NOTHING)

    def take(self, accepted: dict[int, float]) -> Mapping[int, float]:
        """Note how many accepted rounds each category counts since now; returns what is too old by now."""
        self.taken[self.now] = accepted
        return self.taken.pop(self.now - self.length, NOBODY)

    def replace(self, k: int, counted: Mapping[int, Entry], taken: Mapping[int, float]) -> None:
        """Let category k have counted these outcomes and accepted rounds instead of its own, by round."""
        for mine, new in ((self._rounds, counted), (self.taken, taken)):
            for round in [*mine]:
                if k in mine[round]:
                    mine[round] = {each: value for each, value in mine[round].items() if each != k}  # type: ignore
            for round, value in new.items():
                mine[round] = {**mine.get(round, {}), k: value}  # type: ignore

    def drop(self, k: int) -> None:
        """Forget category k; those behind it move up."""
        for round, taken in self.taken.items():
            self.taken[round] = {each - (each > k): number for each, number in taken.items() if each != k}
        for round, counted in self._rounds.items():
            self._rounds[round] = {each - (each > k): entry for each, entry in counted.items() if each != k}

    def __iter__(self) -> Iterator[tuple[int, Mapping[int, Entry]]]:
        return iter(sorted(self._rounds.items()))

    def snapshot(self) -> "Window":
        """What a decision keeps."""
        twin = Window(self.length)
        twin.now, twin._rounds, twin.taken = self.now, dict(self._rounds), dict(self.taken)
        return twin


def joined(first: Entry, second: Entry, sign: float) -> Entry:
    """Two entries as one; with sign -1 the second is taken away."""
    sums = Sums(*(a + sign * b for a, b in zip(first.sums, second.sums, strict=True)))
    for name in PAIRS:  # keep what the sum loses to rounding: the rest must be right when a large part leaves
        whole, error = exact_sum(getattr(first.sums, name), sign * getattr(second.sums, name))
        whole, lost = exact_sum(whole, error + getattr(sums, f"{name}_lost"))
        sums = sums._replace(**{name: whole, f"{name}_lost": lost})
    values: DistinctRewards | None = None
    if first.values is not None and second.values is not None:
        by_money = any(each.sums.lent_squares != each.sums.lent for each in (first, second))
        values = first.values.plus(second.values, sign, by_money)
    return Entry(sums, values)
