"""Alembic runs this file to take steps (`profitable.portfolio.migrations.upgrade`)."""

from alembic import context

from profitable.portfolio.tables import VERSION_TABLE, metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, version_table=VERSION_TABLE
)
with context.begin_transaction():
    context.run_migrations()
