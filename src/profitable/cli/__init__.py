"""The command line: `app.py` lists the commands, `shared.py` has what they share, and the other files are commands.

A command reads its options, calls the library and prints.  Used from outside: `main`.
"""

from profitable.cli.app import main as main
