"""The policies.  A policy says which evidence to compute, how patient to be, and how its curves look.

Used from outside: `Policy`, the registered policies (`POLICIES`), `looks_of`.  `kernels/evidence.py` has the formulas.
"""
