"""The paper's experiments as data, one analysis of them, and the report.

The credit example of the paper is here, too.

How the data flows: `experiment` says what to run.  `reproduction` runs it and has the
results.  `claims`, `slopes`, `theorems` and `questions` say what they show; `contest`
and `optimal` do so for the optimal policy.  `paper_summary` makes plain values of it,
and `paper_charts` and `paper_report` the pictures and pages.  `command` is `profitable
paper`.

From outside: `command.reproduce`, `credit.run`, and `experiment.load` for the paper's
scenarios.
"""
