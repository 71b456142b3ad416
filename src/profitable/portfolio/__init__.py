"""The portfolio: an agent whose decisions and outcomes are kept in a database, each of them exactly once.

A journal says what happened, line by line; an agent, kept in parts beside it, is what follows from it.  Used from
outside: `Portfolio`, `Outcome`, `Client`, and what the methods of a portfolio return.
"""
