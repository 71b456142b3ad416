"""The journal and the state."""

import sqlalchemy as sa
from alembic import op

revision = "1"
down_revision = None

Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JOURNAL, STATE = "profitable_journal", "profitable_state"


def upgrade() -> None:
    """Make both tables."""
    op.create_table(
        JOURNAL,
        sa.Column("line", Number, primary_key=True, autoincrement=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("time", "actor", "version", "kind")
        ),
        *(sa.Column(name, sa.Text) for name in ("id", "category")),
        sa.Column("round", Number, nullable=False),
        *(sa.Column(name, Number) for name in ("decision", "matures")),
        *(sa.Column(name, sa.Double) for name in ("reward", "amount", "cost")),
        sa.Column("known", sa.Text),
        sa.Column("refers", Number),
        sa.Column("body", sa.Text),
        sa.Column("hash", sa.Text, nullable=False),
    )
    op.create_index(f"{JOURNAL}_id", JOURNAL, ["id", "kind"], unique=True)
    op.create_index(f"{JOURNAL}_category", JOURNAL, ["category", "line"])
    op.create_index(f"{JOURNAL}_time", JOURNAL, ["time"])
    for name, column, condition in (
        ("refers", "refers", "refers IS NOT NULL"),
        ("decide", "round", "kind = 'decide'"),
        ("change", "line", "kind = 'change'"),
    ):
        only = sa.text(condition)
        op.create_index(
            f"{JOURNAL}_{name}",
            JOURNAL,
            [column],
            unique=True,
            sqlite_where=only,
            postgresql_where=only,
        )
    op.create_table(
        STATE,
        sa.Column("part", sa.Text, primary_key=True),
        sa.Column("place", Number, primary_key=True, autoincrement=False),
        sa.Column("line", Number, nullable=False),
        sa.Column("body", sa.LargeBinary, nullable=False),
        sa.Column("checksum", sa.Text, nullable=False),
        sqlite_with_rowid=False,
    )
