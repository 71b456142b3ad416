"""Locks of the operating system, as other systems have them."""

import subprocess
import sys


def test_portfolios_can_be_imported_where_ranges_cannot_be_locked() -> None:
    """As on macOS: it is not tested there, but it must not fail at the import."""
    code = (
        "import sys, sqlalchemy, profitable.errors\n"
        "sys.platform = 'darwin'\n"
        "from profitable.common import locks\n"
        "from profitable.portfolio.database_file import share_range\n"
        "print(locks.HAS_RANGES)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("False\n", "")
