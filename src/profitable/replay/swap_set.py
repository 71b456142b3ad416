"""What would have changed: whom a policy would have accepted and refused instead.

Three sets of clients, by category: those whom the past refused and the policy accepts
(in), those whom the past accepted and the policy refuses (out), and those whom both
accept (unchanged).  Their money is their profit.  So a policy earns what is unchanged
and in, and the past earned what is unchanged and out.

A file without `accepted` has only clients whom the past accepted: none is in.  With a
log, nobody knows what refused clients would have brought.  The doubly robust estimate
of a round and category is one of all its clients; less what the accepted ones brought,
it is one of the others.  Such money is marked as estimated.

Where a policy draws at random, numbers are means over its seeds.

Example: a policy that refuses "bad" from round 2 on.

>>> clients = SingleClients.of(
...     names=("good", "bad"), labels=("1", "2"), round=[1, 1, 2, 2, 2],
...     category=[0, 1, 0, 1, 1], known=[1, 1, 2, 2, 2], reward=[1, 0, 1, 0, 0],
...     profit=[2.0, -1.0, 3.0, -4.0, -5.0],
... )
>>> found = SwapSet.of("rule", clients, np.array([[1.0, 1.0], [1.0, 0.0]]))
>>> bad = found.rows[1]
>>> bad.category, bad.clients_out, bad.money_out, bad.money_unchanged
('bad', 2.0, -9.0, -1.0)
>>> print(found.sentence())
rule would have refused 2 clients whom you accepted: they lost 9.0.
"""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from profitable.common.amounts import in_short
from profitable.common.text_tables import several
from profitable.common.types import FloatArray
from profitable.past.past import PastClients, SingleClients
from profitable.replay.backtest_entry import BacktestEntry
from profitable.replay.off_policy import AcceptanceLog

TOTAL = "total"


@dataclass(frozen=True)
class SwapRow:
    """Clients of a category and their profit; None if it is not known."""

    category: str
    clients_in: float | None
    clients_out: float | None
    clients_unchanged: float | None
    money_in: float | None
    money_out: float
    money_unchanged: float


@dataclass(frozen=True)
class SwapSet:
    """A policy, or a stop list, against the past."""

    name: str
    rows: tuple[SwapRow, ...]
    total: SwapRow
    is_estimated: bool  # whether `money_in` is an estimate

    @classmethod
    def of(
        cls,
        name: str,
        clients: PastClients,
        accepted: FloatArray,
        *,
        earned: FloatArray | None = None,
        number: FloatArray | None = None,
        log: AcceptanceLog | None = None,
    ) -> "SwapSet":
        """Compare acceptances with the past.

        Parameters
        ----------
        name : str
            Of the policy.
        clients : PastClients
            The clients.
        accepted : array of shape [R, K]
            The share of a category that is accepted in a round, from 0 to 1.
        earned, number : array of shape [R, K], optional
            What was earned, and how many clients were accepted, where a round has a
            limit and a part of a category is granted.
        log : AcceptanceLog, optional
            If the past refused clients and was drawn.

        Returns
        -------
        SwapSet
            By category.
        """
        people = clients.sum_of("number")
        if clients.logged is None:
            past = clients.counts
            brought = clients.profit_by_cell
        else:
            past = clients.by_cell(people * clients.logged)
            brought = clients.by_cell(np.where(clients.logged, clients.profit, 0.0))
        kept = accepted * brought if earned is None else earned
        if earned is None:
            number = accepted * past
        refused = clients.counts - past
        others: FloatArray | None = np.zeros_like(brought)
        if log is not None:
            tables = log.tables()
            # If refused clients are missing, the log says how many there may be.
            refused = refused if log.has_refused else tables.weight - past
            others = (tables.robust if log.has_refused else tables.weighted) - brought
        elif refused.any():
            others = None
        tables_by_name: dict[str, FloatArray | None] = {
            "clients_in": accepted * refused,
            "clients_out": None if number is None else past - number,
            "clients_unchanged": number,
            "money_in": None if others is None else accepted * others,
            "money_out": brought - kept,
            "money_unchanged": kept,
        }

        def row(category: str, places: Any) -> SwapRow:
            values: Any = {
                key: None if table is None else float(table[:, places].sum())
                for key, table in tables_by_name.items()
            }
            return SwapRow(category, **values)

        rows = [row(category, k) for k, category in enumerate(clients.names)]
        return cls(name, tuple(rows), row(TOTAL, slice(None)), log is not None)

    def to_dict(self, unit: str = "") -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "name": self.name,
            "rows": [asdict(row) for row in self.rows],
            "total": asdict(self.total),
            "estimated": self.is_estimated,
            "sentence": self.sentence(unit),
        }

    def sentence(self, unit: str = "") -> str:
        """Say what would have changed; `unit` is that of amounts."""
        total, parts = self.total, list[str]()
        out = None if total.clients_out is None else round(total.clients_out)
        if out is None:
            parts.append(f"left out clients who {_brought(total.money_out, unit)}")
        elif out:
            who = f"refused {several(out, 'client')} whom you accepted"
            parts.append(f"{who}: {'it' if out == 1 else 'they'} {_brought(total.money_out, unit)}")
        entering = round(total.clients_in or 0.0)
        if entering:
            who = f"accepted {several(entering, 'client')} whom you refused"
            if total.money_in is None:
                parts.append(f"{who}: nobody knows what they would have brought")
            else:
                parts.append(
                    f"{who}: by estimate, they would have {_brought(total.money_in, unit)}"
                )
        if not parts:
            return f"{self.name} would have accepted the same clients as you."
        return f"{self.name} would have {'; and '.join(parts)}."


def _brought(money: float, unit: str) -> str:
    return f"{'lost' if money < 0.0 else 'earned'} {in_short(abs(money), unit)}"


def swap_set(
    entry: BacktestEntry, clients: PastClients, *, is_limited: bool = False
) -> SwapSet | None:
    """Compare an entry with the past; None if it is not known what it accepted.

    With a limit of a round, its profits are known by category, and its clients are not.
    """
    if entry.accepted is None or (is_limited and clients.logged is not None):
        return None
    log = None
    if clients.logged is not None and clients.propensity is not None and entry.refusal is None:
        assert isinstance(clients, SingleClients)
        log = AcceptanceLog.of(clients)
    return SwapSet.of(
        entry.name,
        clients,
        entry.accepted,
        earned=entry.earned if is_limited else None,
        log=log,
    )
