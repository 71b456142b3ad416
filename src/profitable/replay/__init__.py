"""Backtests: a file of past clients is read once, policies are replayed over it, and what they would have earned is compared.

Used from outside: `backtest.backtest` (public as `profitable.backtest`), and `command` for the command line.
"""
