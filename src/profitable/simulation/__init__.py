"""Simulation: policies in a made-up world, many runs, on all cores or a cluster.

How the data flows: A `scenario` and policies become `settings`, which hold the
`kernel_input` of each policy in each category.  The `runner` opens a `pool` of workers.
Its engine gives them tasks, each some blocks of runs (`worker`), and adds up their
results in a `result`.  A result has a `curve` for each policy, which is a set of
`running_stats`. It is saved in a folder (`result_folder`) and drawn (`regret_charts`).

Used from outside: `simulate`, `Scenario`, `Truth`, the laws of arrivals, `Result`,
`Curve`, and `Seen` for your own policy.

The folder is not called `simulate` because that is the name of the public function.
"""
