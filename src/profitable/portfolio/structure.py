"""Structure: are the tables those that this package made, and does the server store what it acknowledges?

A rule or a trigger can drop a line that was acknowledged.  An unlogged table is empty after a crash.  Without its
indexes an id could be stored twice.  A server with `fsync = off` can lose everything when the power fails.
"""

from collections.abc import Iterator

import sqlalchemy as sa

from profitable.portfolio.tables import VERSION_TABLE, metadata

TABLE_NAMES = (*metadata.tables, VERSION_TABLE)
TABLE_KINDS = {  # what a table of PostgreSQL can be, other than a plain one
    "relkind <> 'r'": "is no plain table",
    "relpersistence <> 'p'": "is not logged, so a crash of the server empties it",
    "relrowsecurity": "has row-level security, which hides lines or refuses them",
}
OBJECTS = {  # what may hang on tables without being ours, by what people call it
    "sqlite": {"trigger": "SELECT name FROM sqlite_master WHERE type = 'trigger'"},
    "postgresql": {
        "rule": "SELECT rulename FROM pg_rewrite WHERE ev_class IN {ours} AND rulename <> '_RETURN'",
        "trigger": "SELECT tgname FROM pg_trigger WHERE tgrelid IN {ours} AND NOT tgisinternal",
        "constraint": "SELECT conname FROM pg_constraint WHERE conrelid IN {ours} AND contype NOT IN ('p', 'n')",
        "child table": "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent IN {ours}",
        "broken index": "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid IN {ours} AND NOT indisvalid",
    },
}
OURS = "(" + ", ".join(f"to_regclass('{name}')" for name in TABLE_NAMES) + ")"
DURABLE = "SELECT name, setting, reset_val FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', :commit)"
COMMIT = "synchronous_commit"  # which every connection of ours turns on


def changes(connection: sa.Connection) -> Iterator[str]:
    """What is not as this package made it, one sentence each."""
    is_plain = True
    if connection.dialect.name == "postgresql":
        for condition, told in TABLE_KINDS.items():
            found = f"SELECT relname FROM pg_class WHERE oid IN {OURS} AND {condition}"
            for name in connection.scalars(sa.text(found)):
                yield f"the table {name} {told}"
                is_plain = is_plain and condition != "relkind <> 'r'"
    for what, statement in OBJECTS[connection.dialect.name].items():
        for name in connection.scalars(sa.text(statement.replace("{ours}", OURS))):
            yield f"the database has a {what}, {name!r}, which no portfolio has"
    if is_plain:
        yield from _missing(connection)


def _missing(connection: sa.Connection) -> Iterator[str]:
    """Keys and indexes that are not there, or are others."""
    inspector = sa.inspect(connection)
    for table in metadata.tables.values():
        if set(inspector.get_pk_constraint(table.name)["constrained_columns"]) != set(table.primary_key.columns.keys()):
            yield f"the primary key of the table {table.name} is not there"
        indexes = inspector.get_indexes(table.name)
        found = {index["name"]: (bool(index["unique"]), index["column_names"]) for index in indexes}
        for index in table.indexes:
            if found.get(index.name) != (bool(index.unique), index.columns.keys()):
                yield f"the index {index.name} of the table {table.name} is not there"


def unsafe_settings(connection: sa.Connection) -> tuple[list[str], list[str]]:
    """Settings of a server that lose what it acknowledges; and those that would, if connections did not change them."""
    found: list[str] = []
    notes: list[str] = []
    if connection.dialect.name == "postgresql":
        for name, now, default in connection.execute(sa.text(DURABLE), {"commit": COMMIT}):
            if now == "off":
                found.append(f"the server has {name} = off: what it acknowledges may be lost when the power fails")
            elif default == "off":
                notes.append(f"the server has {name} = off; connections of this package turn it on, others do not")
    return found, notes
