"""Advice: what past outcomes alone say, before any policy is replayed over them.

Used from outside: `stop_list.StopList` (whom to stop accepting), `time_split.TimeSplit`
(what the same rule, used earlier, would have earned since), and `emergence.Emergence`
(when outcomes are known).
"""
