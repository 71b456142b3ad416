"""How do I run it every day, so that nothing is lost or counted twice?

A portfolio is an agent in a database. Decisions are stored before they are returned,
each outcome counts once, and the journal can be verified a year later.
"""

import tempfile
from pathlib import Path

import profitable as pb

folder = Path(tempfile.mkdtemp())
book = pb.Portfolio.create(
    folder / "lending.db",
    [
        pb.Category.loan("students", amount=2_000, rate=0.12),
        pb.Category.loan("shops", amount=5_000, rate=0.15),
    ],
    policy="ts",
    seed=7,
)

monday = book.decide(key="2026-11-16")
outcomes = [
    pb.Outcome("loan-1", "students", reward=1, decision=monday.round),
    pb.Outcome("loan-2", "students", reward=0, decision=monday.round),
    pb.Outcome("loan-3", "shops", reward=1, decision=monday.round),
]
print(book.observe(outcomes))

# The job crashes and runs again: the same key gives the same decision, and stored
# outcomes are acknowledged but not counted again.
again = book.decide(key="2026-11-16")
print("same decision:", again.to_dict() == monday.to_dict())
print(book.observe(outcomes))

book.correct("loan-2", reward=1, reason="the payment was booked late")
print(book.status())
print("journal is clean:", book.verify().is_clean)
