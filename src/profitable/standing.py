"""Standing: what an agent knows about one category."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Standing:
    """What the agent knows about one category: `revenue`, `cost` and `profit` are in money."""

    name: str
    threshold: float
    clients: int
    mean: float | None
    evidence: float
    waiting: int
    revenue: float
    cost: float
    paused: bool

    @property
    def profit(self) -> float:
        """What its clients earned so far, after what accepting them cost."""
        return self.revenue - self.cost
