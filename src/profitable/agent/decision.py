"""Decision: which categories to accept this round, and why.  It never changes after it was made."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import compress
from typing import Any

import numpy as np

from profitable.agent.categories import Categories
from profitable.agent.distinct_rewards import EMPTY, DistinctRewards, seen_of
from profitable.common.text_tables import ROWS_SHOWN, html_table, number, text_table
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import UnknownCategoryError
from profitable.kernels.agent_table import Row
from profitable.kernels.evidence import index
from profitable.policy.policies import Policy

EVIDENCE = int(Row.EVIDENCE)  # looked up in every decision


@dataclass(frozen=True, slots=True)
class Verdict:
    """One category's part of a decision.

    - `evidence`, `patience`: in nats.  The category is accepted if evidence <= patience and it is not paused.
    - `index`: the paper's index; index >= threshold means the same as evidence <= patience.  Infinite if nothing limits
      it.
    - `mean`: of the rewards as the policy sees them, which may be cut at the bound; for Pareto and Weibull, the mean
      that fits their statistic.  None without outcomes.
    - `propensity`: the probability that this round accepts the category.
    - `next_round`: the next round in which a rejected category can be accepted.  None if it is accepted, paused, or
      never accepted again (rounds beyond 10^18 count as never).
    - `waiting`: accepted clients whose outcome is still to come, as far as the agent was told.
    """

    name: str
    accepted: bool
    evidence: float
    patience: float
    index: float
    threshold: float
    clients: int
    mean: float | None
    propensity: float
    next_round: int | None
    waiting: int
    reason: str

    def to_dict(self) -> dict[str, Any]:
        """The verdict as JSON-ready values; infinite numbers become None."""
        return {key: None if value in (math.inf, -math.inf) else value for key, value in asdict(self).items()}


class Decision:
    """A round's decision for every category that was available.

    It keeps its own copy of the numbers it was made from, and works out names, indices and reasons when asked.
    `accepted_mask`, `evidence`, `patience` and `propensity` are arrays [M] in the order of `names`, for callers with
    many categories.
    """

    __slots__ = ("_categories", "_limits", "_mask", "_paused", "_positions", "_round", "_table", "_values")

    def __init__(
        self,
        round: int,
        categories: Categories,
        table: FloatArray,
        limits: float | FloatArray,
        positions: IntArray | None,
        paused: frozenset[int],
        values: list[DistinctRewards] | None,
    ) -> None:
        self._round = round
        self._categories = categories
        self._table = table
        self._limits = limits
        self._positions = positions
        self._paused = paused
        self._values = values
        self._mask: BoolArray | None = None

    def _paused_mask(self) -> BoolArray:
        positions = np.arange(len(self)) if self._positions is None else self._positions
        return np.isin(positions, list(self._paused))

    @property
    def round(self) -> int:
        """The round that was decided."""
        return self._round

    @property
    def accepted_mask(self) -> BoolArray:
        """Whether each category is accepted, [M]."""
        if self._mask is None:
            mask: BoolArray = np.less_equal(self._table[EVIDENCE], self._limits)
            self._mask = mask & ~self._paused_mask() if self._paused else mask
            self._mask.setflags(write=False)
        return self._mask

    @property
    def policy(self) -> Policy:
        """The policy that decided."""
        return self._categories.policy

    @property
    def names(self) -> tuple[str, ...]:
        """The categories that were available."""
        names = self._categories.names
        positions = range(len(self)) if self._positions is None else self._positions
        return tuple(names[k] for k in positions)

    @property
    def accepted(self) -> tuple[str, ...]:
        """The categories to accept."""
        return self._named(self.accepted_mask)

    @property
    def rejected(self) -> tuple[str, ...]:
        """The categories not to accept."""
        return self._named(~self.accepted_mask)

    def _named(self, mask: BoolArray) -> tuple[str, ...]:
        names = self._categories.names if self._positions is None else self.names
        return tuple(compress(names, mask.tolist()))

    @property
    def evidence(self) -> FloatArray:
        """Evidence against each category, in nats, [M]."""
        row = self._table[EVIDENCE]
        row.setflags(write=False)
        return row

    @property
    def patience(self) -> FloatArray:
        """Patience with each category, in nats, [M]; infinite in round 1."""
        return np.broadcast_to(np.asarray(self._limits, dtype=np.float64), (len(self),))

    @property
    def propensity(self) -> FloatArray:
        """Probability with which each category is accepted in this round, [M]: 0 or 1, except for Thompson sampling."""
        if self.policy.draws and self.round > 1:
            probability = np.exp(-self._table[EVIDENCE])
            return np.where(self._paused_mask(), 0.0, probability) if self._paused else probability
        return self.accepted_mask.astype(np.float64)

    def accepts(self, name: str) -> bool:
        """Whether a category is accepted: all that one client at the door needs to know.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=pb.KLUCB())
        >>> agent.decide().accepts("a")
        True
        """
        k = self._categories.positions.get(name)
        if k is None or self._positions is not None or self._paused or k >= len(self):
            return self._accepts(self._require(name))
        return bool(self._table[EVIDENCE, k] <= self._limit(k))

    def _accepts(self, column: int) -> bool:
        paused = self._paused and (column if self._positions is None else self._positions[column]) in self._paused
        return bool(self._table[EVIDENCE, column] <= self._limit(column)) and not paused

    def _limit(self, column: int) -> float:
        return float(self._limits[column]) if isinstance(self._limits, np.ndarray) else self._limits

    def __len__(self) -> int:
        return self._table.shape[1]

    def __iter__(self) -> Iterator[Verdict]:
        return (self._verdict(column) for column in range(len(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._column(name) is not None

    def __getitem__(self, name: str) -> Verdict:
        return self._verdict(self._require(name))

    def _require(self, name: str) -> int:
        column = self._column(name)
        if column is None:
            raise UnknownCategoryError(
                "category", name, f"was not decided about in round {self.round}", "see decision.names"
            )
        return column

    def _column(self, name: str) -> int | None:
        k = self._categories.positions.get(name) if isinstance(name, str) else None
        if k is None or self._positions is None:
            return None if k is None or k >= len(self) else k
        found = np.flatnonzero(self._positions == k)
        return int(found[0]) if found.size else None

    def _verdict(self, column: int) -> Verdict:
        numbers = self._table[:, column].tolist()
        k = column if self._positions is None else int(self._positions[column])
        view = self._categories.view_of(k)
        clients, total, evidence = numbers[Row.CLIENTS], numbers[Row.TOTAL], numbers[EVIDENCE]
        patience = self._limit(column)
        accepted = self._accepts(column)
        tolerated = evidence <= patience
        paused = k in self._paused
        threshold = numbers[Row.THRESHOLD]
        shown_index = self._index(column, patience)
        # Where rounding would make the index disagree with the decision, the decision is right.
        if tolerated and shown_index < threshold:
            shown_index = threshold
        elif not tolerated and shown_index >= threshold:
            shown_index = math.nextafter(threshold, -math.inf)
        propensity = math.exp(-evidence) if self.policy.draws and self.round > 1 else float(tolerated)
        next_round = None if tolerated or paused else self.policy.next_round(evidence, self.round)
        mean = view.statistic.mean_of(total / clients) if clients > 0 else None
        verdict = Verdict(
            name=self._categories.names[k],
            accepted=accepted,
            evidence=evidence,
            patience=patience,
            index=shown_index,
            threshold=threshold,
            clients=int(clients),
            mean=mean,
            propensity=0.0 if paused else propensity,
            next_round=next_round,
            waiting=int(numbers[Row.WAITING]),
            reason="",
        )
        object.__setattr__(verdict, "reason", self._reason(verdict, paused))
        return verdict

    def _index(self, column: int, patience: float) -> float:
        """The index as the kernel computes it."""
        numbers = self._table[:, column].tolist()
        view = self._categories.view_of(column if self._positions is None else int(self._positions[column]))
        seen = seen_of(self.policy.rule, view, numbers, EMPTY if self._values is None else self._values[column])
        return view.statistic.mean_of(index(self.policy.rule, view.law, seen, patience))

    def _reason(self, verdict: Verdict, paused: bool) -> str:
        if paused:
            return "paused: not offered until it is resumed"
        if self.round == 1:
            return "accepted: in round 1 every category is"
        against = f"evidence {number(verdict.evidence, 3)} nats against it"
        limit = (
            f"this round's draw {number(verdict.patience, 3)}"
            if self.policy.draws
            else f"patience {number(verdict.patience, 3)}"
        )
        if verdict.accepted:
            if verdict.clients == 0 and verdict.evidence == 0.0:
                return "accepted: no outcome is known yet, so nothing speaks against it"
            if verdict.evidence == 0.0:
                return f"accepted: the mean of its {number(verdict.clients)} clients is not below the threshold"
            return f"accepted: {against}, {limit}"
        if verdict.next_round is None:
            return f"skipped: {against}, {limit}; it will not be accepted again at this threshold"
        if self.policy.rule.is_posterior and verdict.patience <= 0.0:
            return "skipped: in round 2 the posterior quantile is of order 0, below any threshold"
        if self.policy.draws:
            return (
                f"skipped: {against}, {limit}; accepted with probability {number(verdict.propensity, 3)} in each round"
            )
        return f"skipped: {against}, {limit}; it can be accepted again in round {number(verdict.next_round)}"

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready values: round, policy, and one entry per category."""
        return {
            "round": self.round,
            "policy": str(self.policy),
            "accepted": list(self.accepted),
            "categories": [verdict.to_dict() for verdict in self],
        }

    def to_json(self) -> str:
        """`to_dict` as a JSON text, for a decision log."""
        return json.dumps(self.to_dict(), allow_nan=False)

    def _caption(self) -> str:
        count = int(np.count_nonzero(self.accepted_mask))
        return f"round {number(self.round)}, {self.policy}: {number(count)} of {number(len(self))} categories accepted"

    def _rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for column in range(min(len(self), ROWS_SHOWN)):
            verdict = self._verdict(column)
            numbers = (
                verdict.clients,
                verdict.mean,
                verdict.threshold,
                verdict.index,
                verdict.evidence,
                verdict.patience,
            )
            rows.append([verdict.name, *map(number, numbers), number(verdict.propensity, 3), _short(verdict)])
        return rows

    _HEADERS = ("category", "clients", "mean", "threshold", "index", "evidence", "patience", "propensity", "decision")

    def _rest(self) -> str:
        hidden = len(self) - ROWS_SHOWN
        return f"\n... and {number(hidden)} more" if hidden > 0 else ""

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(self._HEADERS, self._rows())}{self._rest()}"

    def __repr__(self) -> str:
        return f"<Decision {self._caption()}>"

    def _repr_html_(self) -> str:
        return html_table(self._caption() + self._rest(), self._HEADERS, self._rows())


def _short(verdict: Verdict) -> str:
    """The decision in a word or two; the numbers beside it say the rest."""
    if verdict.accepted:
        return "accepted"
    if verdict.next_round is None:
        return "paused" if verdict.reason.startswith("paused") else "skipped for good"
    return f"skipped, next chance in round {number(verdict.next_round)}"
