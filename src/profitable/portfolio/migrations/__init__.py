"""The versions of the tables.  Each file in `versions` is one step, and each portfolio says which was its last."""

from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config

MIGRATIONS = Path(__file__).parent


def upgrade(connection: sa.Connection, to: str, folder: Path = MIGRATIONS) -> None:
    """Take the steps that a database has not taken yet, inside the transaction of the connection."""
    configuration = Config()
    configuration.set_main_option("script_location", str(folder).replace("%", "%%"))
    configuration.attributes["connection"] = connection
    command.upgrade(configuration, to)
