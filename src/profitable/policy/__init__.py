"""The policies: values that say which evidence to compute and how patient to be, and how their curves look.

From outside: `Policy`, the registered policies (`POLICIES`), `looks_of`.  The formulas are in `kernels/evidence.py`.
"""
