"""Backtests: past clients are read once, and policies are replayed over them.

Used from outside: `backtest.backtest` (public as `profitable.backtest`), and
`backtest_options` and `describe` for the command line.
"""
