"""Decision: which categories to accept this round, and why.  It never changes after it was made."""

import math
from collections.abc import Iterator
from itertools import compress
from typing import Any

import numpy as np
from pydantic_core import to_json

from profitable.agent.categories import Categories
from profitable.agent.cohorts import Cohorts
from profitable.agent.distinct_rewards import EMPTY, DistinctRewards, seen_of
from profitable.agent.grant import Grant
from profitable.agent.later import next_rounds, renewed
from profitable.agent.limit import Limit
from profitable.agent.sharing import read_claims
from profitable.agent.verdict import Reasons, Verdict, crowding, entry, in_short, losses_first
from profitable.agent.window import Window
from profitable.common import check
from profitable.common.frames import frame_of
from profitable.common.text_tables import ROWS_SHOWN, html_table, number, text_table
from profitable.common.types import BoolArray, FloatArray, IntArray
from profitable.errors import ParameterError, UnknownCategoryError
from profitable.kernels.agent_table import Row
from profitable.kernels.decided import indices
from profitable.kernels.evidence import index
from profitable.model.posterior import Posterior
from profitable.policy.policies import CROWD, Policy
from profitable.policy.policy import ONE_BY_ONE

EVIDENCE, PATIENCE, PAUSED = int(Row.EVIDENCE), int(Row.PATIENCE), int(Row.PAUSED)  # looked up in every decision
IS_ACCEPTED = int(Row.ACCEPTED)


class Decision:
    """A round's decision for every category that was available.

    It keeps its own copy of the numbers it was made from, and works out names, indices and reasons when asked.
    `accepted_mask`, `evidence`, `patience` and `propensity` are arrays [M] in the order of `names`, for callers with
    many categories.
    """

    __slots__ = ("_categories", "_cohorts", "_grant", "_mask", "_positions", "_round", "_table", "_values", "_window")

    def __init__(
        self,
        round: int,
        categories: Categories,
        table: FloatArray,
        positions: IntArray | None,
        values: list[DistinctRewards] | None,
        window: Window | None,
        cohorts: Cohorts,
    ) -> None:
        self._round = round
        self._categories = categories
        self._table = table
        self._positions = positions
        self._values = values
        self._window = window
        self._cohorts = cohorts
        self._mask: BoolArray | None = None
        self._grant: Grant | None = None

    def share_out(self, limit: Limit, terms: FloatArray) -> IntArray:
        """Share out what the round has, before anybody sees the decision; `terms` is for `read_claims`, [3, K].

        Returns the positions of the categories that the policy accepts and that get nothing.
        """
        places, rejected = self._places(), self._table[EVIDENCE] > self._table[PATIENCE]
        claims = read_claims(
            self._categories,
            places,
            self._table,
            terms[:, places],
            accepted=self.accepted_mask,
            lottery=rejected & (self._table[PAUSED] == 0.0) & (self.policy.floor > 0.0),
            index=self._indices_of,
        )
        self._grant = Grant(limit, claims)
        self._mask = self._grant.clients > 0
        self._mask.setflags(write=False)
        return places[claims.accepted & ~self._mask]

    def _places(self) -> IntArray:
        return np.arange(len(self)) if self._positions is None else self._positions

    def _indices_of(self, columns: IntArray) -> FloatArray:
        """The indices of some of the categories."""
        return self._part(columns)._indices(slice(None), self._places()[columns])

    def _part(self, columns: IntArray) -> "Decision":
        """The decision about some of the categories."""
        chosen: list[int] = columns.tolist()
        values = None if self._values is None else [self._values[column] for column in chosen]
        table, places = self._table[:, columns], self._places()[columns]
        return Decision(self._round, self._categories, table, places, values, None, self._cohorts)

    @property
    def round(self) -> int:
        """The round that was decided."""
        return self._round

    @property
    def accepted_mask(self) -> BoolArray:
        """Whether each category is accepted, [M]."""
        if self._mask is None:
            mask: BoolArray = self._table[IS_ACCEPTED] != 0.0
            mask.setflags(write=False)
            self._mask = mask
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
        self._refine()
        row = self._table[EVIDENCE]
        row.setflags(write=False)
        return row

    @property
    def patience(self) -> FloatArray:
        """Patience with each category, in nats, [M]; infinite where nothing is known, as in round 1."""
        row = self._table[PATIENCE]
        row.setflags(write=False)
        return row

    @property
    def propensity(self) -> FloatArray:
        """Probability with which each category is accepted in this round, [M].

        It is 0 or 1, except for Thompson sampling and for policies with a floor.  It is NaN where a limit makes it
        unknown: in part granted, or what is left depends on the draws of other categories.
        """
        own = self._propensity(slice(None))
        drawn, floor = self.policy.draws and self.round > 1, self.policy.floor
        return own if self._grant is None else self._grant.propensity(own, drawn=drawn, floor=floor)

    def _propensity(self, chosen: slice) -> FloatArray:
        """The policy's propensity of some categories: that of patience, and what the floor adds."""
        table = self._table[:, chosen]
        if self.policy.draws and self.round > 1:
            chance = np.exp(-self.evidence[chosen])
        elif self.policy.floor > 0.0:
            chance = np.less_equal(self.evidence[chosen], table[PATIENCE]).astype(np.float64)
        else:
            return (table[IS_ACCEPTED] != 0.0).astype(np.float64)
        return np.where(table[PAUSED] == 0.0, self.policy.with_floor(chance), 0.0)

    def patient_again(self, name: str) -> int | None:
        """The next round whose patience tolerates the evidence against a category, whatever a floor does before.

        None if the category is accepted, paused, or never tolerated.  Without a floor it is the verdict's `next_round`.
        """
        column = self._require(name)
        return self._patient_again(slice(column, column + 1))[0]

    def _patient_again(self, chosen: slice) -> list[int | None]:
        self._refine()
        table = self._table[:, chosen]
        waits = np.flatnonzero((table[IS_ACCEPTED] == 0.0) & (table[PAUSED] == 0.0))
        rounds: list[int | None] = [None] * table.shape[1]
        found = next_rounds(self.round, self._categories, table[:, waits], self._places()[chosen][waits], self._window)
        for place, each in zip(waits.tolist(), found, strict=True):
            rounds[place] = each
        return rounds

    def crowded(self) -> str:
        """A word about the first category that log N alone rejects; empty if there is none (see `crowding`)."""
        table = self._table
        if len(self) == 0:
            return ""
        limit = CROWD * math.exp(table[PATIENCE, 0])  # which is the same for all
        places = np.flatnonzero((table[IS_ACCEPTED] == 0.0) & (table[Row.CLIENTS] > limit) & (table[PAUSED] == 0.0))
        places = places[table[EVIDENCE, places] <= 2.0 * np.log(table[Row.CLIENTS, places])]
        if not places.size:
            return ""
        word = crowding(self.policy, *table[[EVIDENCE, PATIENCE, Row.CLIENTS], places[0]].tolist())
        name = self._categories.names[int(self._places()[places[0]])]
        return word and f"category {name!r} is rejected because {word}"

    @property
    def granted(self) -> dict[str, int] | None:
        """How many clients each accepted category is granted; None if the round has no limit.

        `agent.expect(decision.granted)` says that all of them were accepted.
        """
        if self._grant is None:
            return None
        return dict(zip(self.accepted, self._grant.clients[self.accepted_mask].tolist(), strict=True))

    @property
    def granted_clients(self) -> IntArray | None:
        """The same as an array, [M]; 0 where nothing is granted."""
        return None if self._grant is None else self._grant.clients

    def accepts(self, name: str) -> bool:
        """Whether a category is accepted: all that one client at the door needs to know.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy=pb.KLUCB())
        >>> agent.decide().accepts("a")
        True
        """
        k = self._categories.positions.get(name) if isinstance(name, str) else None
        column = k if k is not None and self._positions is None and k < len(self) else self._require(name)
        if self._grant is not None:
            return bool(self._grant.clients[column] > 0)
        return bool(self._table[IS_ACCEPTED, column])

    def __len__(self) -> int:
        return self._table.shape[1]

    def __iter__(self) -> Iterator[Verdict]:
        return map(Verdict, *self._columns(slice(None)).values())

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._column(name) is not None

    def __getitem__(self, name: str) -> Verdict:
        return self._verdict(self._require(name))

    def _require(self, name: str) -> int:
        column = self._column(name)
        if column is None:
            raise UnknownCategoryError(
                "category", name, f"was not decided about in round {self.round}", "ask about one that was"
            )
        return column

    def _column(self, name: str) -> int | None:
        k = self._categories.positions.get(name) if isinstance(name, str) else None
        if k is None or self._positions is None:
            return None if k is None or k >= len(self) else k
        found = np.flatnonzero(self._positions == k)
        return int(found[0]) if found.size else None

    def _verdict(self, column: int) -> Verdict:
        return Verdict(*(values[0] for values in self._columns(slice(column, column + 1)).values()))

    def head(self, number: int) -> list[Verdict]:
        """The verdicts on the first categories."""
        return list(map(Verdict, *self._columns(slice(check.whole("number", number, least=0))).values()))

    def interval(self, name: str, share: float) -> tuple[float, float] | None:
        """Where the mean reward of a category lies with probability `share`; None if too little was seen to say.

        It is the middle of the posterior under Jeffreys' prior, or under the prior of the category.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb")
        >>> agent.observe("a", [1, 0, 0, 0])
        >>> low, high = agent.decide().interval("a", 0.9)
        >>> round(low, 3), round(high, 3)
        (0.046, 0.651)
        """
        plain = check.number(share)
        if not check.fits(plain, 0.0, 1.0):
            raise ParameterError("share", share, "is not a probability", "give a number from 0 to 1")
        column = self._require(name)
        numbers = self._table[:, column].tolist()
        position = column if self._positions is None else int(self._positions[column])
        view = self._categories.view_of(position)
        seen = seen_of(self._categories.rule_of(position), view, numbers, EMPTY)
        posterior = Posterior(view.with_prior(seen.clients, seen.total), seen.spread)
        if seen.clients <= 0.0 or not posterior.is_proper:
            return None
        return posterior.quantile(0.5 - float(plain) / 2.0), posterior.quantile(0.5 + float(plain) / 2.0)

    def _columns(self, chosen: slice) -> dict[str, list[Any]]:
        """The fields of `Verdict` for some of the categories, as columns in their order."""
        self._refine()
        table = self._table[:, chosen]
        positions = self._places()[chosen]
        evidence, patience = table[EVIDENCE], self.patience[chosen]
        tolerated = evidence <= patience
        paused = table[PAUSED] != 0.0
        threshold = table[Row.THRESHOLD]
        shown = self._indices(chosen, positions)
        # Where rounding would make the index disagree with the decision, the decision is right.
        shown = np.where(tolerated, np.maximum(shown, threshold), np.minimum(shown, np.nextafter(threshold, -np.inf)))
        accepted = table[IS_ACCEPTED] != 0.0
        patient = self._patient_again(chosen)
        next_round = patient
        if self.policy.floor > 0.0:  # which every round may bring
            next_round = [self.round + 1 if waits else None for waits in (~accepted & ~paused).tolist()]
        names = self._categories.names
        columns: dict[str, list[Any]] = {
            "name": [names[k] for k in positions.tolist()],
            "accepted": accepted.tolist(),
            "evidence": evidence.tolist(),
            "patience": patience.tolist(),
            "index": shown.tolist(),
            "threshold": threshold.tolist(),
            "clients": table[Row.KNOWN].astype(np.int64).tolist(),
            "counted": table[Row.CLIENTS].tolist(),
            "mean": self._categories.means(positions, table[Row.CLIENTS], table[Row.TOTAL]),
            "propensity": self._propensity(chosen).tolist(),
            "next_round": next_round,
            "waiting": table[Row.WAITING].astype(np.int64).tolist(),
            **self._cohorts.columns(positions, self.round - 1),
        }
        needed = ("accepted", "evidence", "patience", "clients", "counted", "propensity", "waiting")
        why = Reasons(self.policy, self.round).why
        per_round = table[Row.PER_ROUND].tolist()
        flags = paused.tolist(), self._kept(positions), self._warnings(table, columns)
        columns["reason"] = list(map(why, *(columns[key] for key in needed), patient, per_round, *flags))
        if self._grant is not None:
            known = self.propensity[chosen]
            columns["accepted"] = self.accepted_mask[chosen].tolist()
            columns["propensity"] = np.where(np.isnan(known), None, known).tolist()  # type: ignore[call-overload]
            columns["reason"] = self._grant.reasons(chosen, columns["reason"])
            columns["demand"] = self._grant.limit.demand[chosen].tolist()
            columns["granted"] = self._grant.clients[chosen].tolist()
        return columns

    def _kept(self, positions: IntArray) -> list[int]:
        """How many known outcomes of each category do not count before their cohorts have matured, [M]."""
        if not self._cohorts:
            return [0] * positions.size
        return [self._cohorts.tally(k, self.round - 1).kept for k in positions.tolist()]

    def _warnings(self, table: FloatArray, columns: dict[str, list[Any]]) -> list[str]:
        """A warning for each category of which few outcomes are known, and bad ones, [M]."""
        warnings = [""] * table.shape[1]
        for i in np.flatnonzero(table[Row.WAITING] > table[Row.KNOWN]).tolist():
            uncounted = columns["waiting"][i] - columns["open"][i] - columns["missing"][i]
            known = (columns[key][i] for key in ("mean", "threshold"))
            warnings[i] = losses_first(columns["clients"][i], uncounted, *known)
        return warnings

    def _refine(self) -> None:
        """Compute evidence that was settled by a bound: the decision stays what it is."""
        places = np.flatnonzero(self._table[Row.ROUGH])
        if places.size:
            positions = places if self._positions is None else self._positions[places]
            self._table[EVIDENCE, places] = renewed(self._categories, self._table[:, places], positions)
            self._table[Row.ROUGH, places] = 0.0

    def _indices(self, chosen: slice, positions: IntArray) -> FloatArray:
        """The paper's index of some categories, as the kernel computes it, [M]."""
        categories = self._categories
        table, limits = np.ascontiguousarray(self._table[:, chosen]), np.array(self.patience[chosen])
        which, out = categories.which()[positions], np.empty(positions.size)
        if self._values is None and positions.size > ONE_BY_ONE:
            indices(table, which, categories.view_table(), limits, out)
        else:
            kept = [EMPTY] * positions.size if self._values is None else self._values[chosen]
            columns: list[list[float]] = table.T.tolist()
            for i in range(positions.size):
                view, rule = categories.view_of(int(positions[i])), categories.rule_of(int(positions[i]))
                out[i] = index(rule, view.law, seen_of(rule, view, columns[i], kept[i]), limits[i])
        for view, mask in categories.by_view(positions):
            out[mask] = view.statistic.means_of(out[mask])
        return out

    def to_dict(self) -> dict[str, Any]:
        """The decision as JSON-ready values: round, policy, and one entry per category; infinite numbers are None."""
        head, columns = self._head(), self.to_columns()["columns"]
        if self._grant is None:
            entries = list(map(entry, *columns.values()))
        else:
            entries = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        return {**head, "accepted": list(self.accepted), "categories": entries}

    def _head(self) -> dict[str, Any]:
        limit = {} if self._grant is None else {"limit": self._grant.to_dict()}
        return {"round": self.round, "policy": str(self.policy), **limit}

    def to_columns(self) -> dict[str, Any]:
        """The same with one list for each field of `Verdict`, in the order of `names`: smaller for many categories.

        >>> import profitable as pb
        >>> agent = pb.Agent([pb.Category("a", pb.Bernoulli(), threshold=0.5)], policy="kl-ucb")
        >>> log = agent.decide().to_columns()
        >>> log["round"], log["columns"]["name"], log["columns"]["accepted"]
        (1, ['a'], [True])
        """
        columns = self._columns(slice(None))
        for key in ("evidence", "patience", "index", "mean"):
            columns[key] = [None if value is None or value - value != 0.0 else value for value in columns[key]]
        return {**self._head(), "columns": columns}

    def to_json(self, *, columns: bool = False) -> str:
        """`to_dict`, or `to_columns`, as a JSON text for a decision log."""
        return to_json(self.to_columns() if columns else self.to_dict()).decode()

    def to_frame(self, backend: str | None = None) -> Any:
        """The decision as a dataframe with one row for each category; see `Agent.to_frame` for `backend`."""
        return frame_of({"round": [self.round] * len(self), **self._columns(slice(None))}, backend)

    def _caption(self) -> str:
        count = int(np.count_nonzero(self.accepted_mask))
        limit = "" if self._grant is None else f", {self._grant.summary()}"
        accepted = f"{number(count)} of {number(len(self))} categories accepted"
        return f"round {number(self.round)}, {self.policy}: {accepted}{limit}"

    def _rows(self) -> list[list[str]]:
        rows: list[list[str]] = []
        for each in self.head(ROWS_SHOWN):
            numbers = map(number, (each.clients, each.mean, each.threshold, each.index, each.evidence, each.patience))
            granted = [] if each.granted is None else [f"{number(each.granted)} of {number(each.demand)}"]
            rows.append([each.name, *numbers, number(each.propensity, 3), *granted, in_short(each)])
        return rows

    def _headers(self) -> tuple[str, ...]:
        granted = () if self._grant is None else ("granted",)
        return (*self._HEADERS[:-1], *granted, self._HEADERS[-1])

    _HEADERS = ("category", "clients", "mean", "threshold", "index", "evidence", "patience", "propensity", "decision")

    def _rest(self) -> str:
        hidden = len(self) - ROWS_SHOWN
        return f"\n... and {number(hidden)} more" if hidden > 0 else ""

    def __str__(self) -> str:
        return f"{self._caption()}\n{text_table(self._headers(), self._rows())}{self._rest()}"

    def __repr__(self) -> str:
        return f"<Decision {self._caption()}>"

    def _repr_html_(self) -> str:
        return html_table(self._caption() + self._rest(), self._headers(), self._rows())
