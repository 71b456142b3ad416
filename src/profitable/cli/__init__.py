"""Command line: `app.py` lists the commands, which are in the files `*_commands.py`.

A command reads its options, calls the library and prints.  Used from outside: `main`.
"""

from profitable.cli.app import main as main
