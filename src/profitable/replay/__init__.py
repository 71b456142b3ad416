"""Backtests: past clients are read once, policies are replayed over them, and what they would have earned is compared.

Used from outside: `backtest.backtest` (public as `profitable.backtest`), and `command` for the command line.
"""
