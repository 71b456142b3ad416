"""Alembic runs this file to take steps (`profitable.portfolio.store.Store.upgrade`)."""

from alembic import context

from profitable.portfolio.journal import metadata
from profitable.portfolio.store import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
)
with context.begin_transaction():
    context.run_migrations()
