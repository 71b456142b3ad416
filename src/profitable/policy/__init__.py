"""Policies: which evidence to compute, how patient to be, and how curves look.

Used from outside: `Policy`, the registered policies (`POLICIES`), `looks_of`.
`kernels/evidence.py` has the formulas.
"""
