"""Portfolio: an agent in a database, where each outcome counts exactly once.

The journal records every event, line by line; the state, an agent stored in parts,
follows from it.  Used from outside: `Portfolio`, `Outcome`, `Client`, and the results
of a portfolio's methods.
"""
