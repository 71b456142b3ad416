"""The paper's experiments as data, one analysis of them, and the report; and the paper's credit example.

The way of the data: `experiment` (what to run) to `reproduction` (the results) to `claims` and `questions` (what they
show) to `summary` (all of it as plain values) to `charts` and `report` (pages and pictures).  `command` is
`profitable paper`.
"""
