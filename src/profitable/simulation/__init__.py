"""Simulation: policies in a made-up world, many runs, on all cores.

The way of the data: a `scenario` and policies become `settings`; these hold the `kernel_input` of each policy in each
category; the `runner` plays blocks of runs (`block`) and adds them up in a `result` of curves (`curve`,
`running_stats`), which is kept in a folder (`result_folder`) and drawn (`plots`).

From outside: `simulate`, `Scenario`, `Truth`, the laws of arrivals, `Result`, `Curve`, and `Seen` for your own policy.

The room is not called `simulate` because that is the name of the public function.
"""
