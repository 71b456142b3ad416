"""Backtests: past clients are read once, and policies are replayed over them.

Used from outside: `backtest.backtest` (public as `profitable.backtest`), which returns
a `backtest_result.Backtest`.  The command line also uses `backtest.prepare` and
`backtest.run`, `backtest_options`, `describe`, `backtest_export` and the traces of
`backtest_summary`.
"""
