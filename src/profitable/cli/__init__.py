"""The command line: `app.py` lists the commands, each of them has a thin file, `shared.py` is what they have in common.

A command reads its options, calls the library and prints.  From outside, only `main` is used.
"""

from profitable.cli.app import main as main
