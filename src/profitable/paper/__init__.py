"""The paper's experiments as data, one analysis of them, and the report; and the paper's credit example.

How the data flows: `experiment` says what to run.  `reproduction` runs it and has the results.  `claims` and
`questions` say what they show; `contest`, `optimal_checks` and `optimal` do so for the optimal policy.  `summary` puts
all of it into plain values.  `charts` and `report` make the pictures and pages.  `command` is `profitable paper`.

From outside: `command.reproduce`, `credit.run`, and `experiment.load` for the paper's scenarios.
"""
