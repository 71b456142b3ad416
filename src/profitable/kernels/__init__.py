"""Kernels: every formula of the project, compiled.

The only room that knows the compiler (numba).

Read from the bottom: `compile`, `lazy_compile` and `lean_compile` (the decorators that
compile); `special` (tail probabilities) and `exact` (sums without rounding); `law` (the
six laws) and `statistic` (what is added up); `evidence` and `patience` (the one
inequality);
`coded_view`, `batch`, `agent_table` and `agent_rounds` (an agent's numbers);
`arrivals`, `rewards` and `run_record` (a simulated run); `rounds` (the definition) and
`skip_ahead` (the same, faster).  docs/design.md has all layers.

Structs are NamedTuples and records; kernels trust their arguments.  Other rooms may
import any function or struct, but not the compiler.
"""
