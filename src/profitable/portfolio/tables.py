"""The two tables of a portfolio, the same in SQLite and in PostgreSQL.

The *journal* is what happened, one line for each event, and it is never rewritten.  The *state* is what follows from
it: an agent, in parts.  It is kept so that a portfolio with ten million outcomes opens at once.  `verify` computes it
anew from the journal.

| kind      | what its columns say                                                                                  |
| --------- | ----------------------------------------------------------------------------------------------------- |
| `create`  | body: the agent at the beginning, as its own file has it                                              |
| `decide`  | id: the key; round: the round that it opens; body: what was asked, and the numbers of every category  |
| `open`    | id: the client; decision, matures: when accepted, and after how many rounds all is known; body: terms |
| `outcome` | id: the client; reward, amount, cost, known: what came; refers: the line that opened the client       |
| `correct` | id: its key, if any; the right reward, amount, cost (no reward: taken back); refers: the line before  |
| `change`  | id: its key, if any; body: which setting, from what, to what                                          |
| `upgrade` | body: from which version of these tables, to which                                                    |
| `restore` | body: from which backup; the line before it is the backup's last                                      |
"""

import sqlalchemy as sa

metadata = sa.MetaData()
# SQLite numbers its rows by a column that is an INTEGER to the letter.
Number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

journal = sa.Table(
    "profitable_journal",
    metadata,
    sa.Column("line", Number, primary_key=True, autoincrement=False),  # 1, 2, 3, ... without gaps
    sa.Column("time", sa.Text, nullable=False),  # UTC, as 2026-11-16T08:00:00.000000Z
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("version", sa.Text, nullable=False),  # of this package
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("id", sa.Text),
    sa.Column("category", sa.Text),
    sa.Column("round", Number, nullable=False),  # rounds decided by then, this line included
    sa.Column("decision", Number),  # the round in which a client was accepted
    sa.Column("matures", Number),  # rounds after it until all is known
    sa.Column("reward", sa.Double),
    sa.Column("amount", sa.Double),
    sa.Column("cost", sa.Double),
    sa.Column("known", sa.Text),  # the day on which the outcome was known, as the caller says
    sa.Column("refers", Number),  # an earlier line
    sa.Column("body", sa.Text),  # JSON
    sa.Column("hash", sa.Text, nullable=False),  # of this line and the one before
    sa.Index("profitable_journal_id", "id", "kind", unique=True),
    sa.Index("profitable_journal_category", "category", "line"),
    sa.Index("profitable_journal_time", "time"),
)
PARTIAL_INDEXES = {  # indexes of lines that are few among many outcomes: their column, and which lines
    "refers": (journal.c.refers, journal.c.refers.is_not(None)),
    "decide": (journal.c.round, journal.c.kind == "decide"),
    "change": (journal.c.line, journal.c.kind == "change"),
}
for name, (column, only) in PARTIAL_INDEXES.items():
    sa.Index(f"profitable_journal_{name}", column, unique=True, sqlite_where=only, postgresql_where=only)

state = sa.Table(
    "profitable_state",
    metadata,
    sa.Column("part", sa.Text, primary_key=True),
    sa.Column("place", Number, primary_key=True, autoincrement=False),  # of a category; 0 for what belongs to all
    sa.Column("line", Number, nullable=False),  # of the journal, after which it looks like this
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.Text, nullable=False),
    sqlite_with_rowid=False,  # so that an outcome changes one page of it, not two
)

VERSION_TABLE = "profitable_schema"  # Alembic's, with the number of the schema's version
