"""Advice: what past outcomes alone say, before any policy is replayed over them.

Used from outside, by `replay.backtest_advice` only: `stop_list.StopList` of
`judged.JudgedGrouping` (whom to stop accepting), `time_split.time_splits` of
`time_split.Grouping` (what the same rule, used earlier, would have earned since), and
`emergence.Emergence` (when outcomes are known).
"""
