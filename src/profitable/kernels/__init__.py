"""The compiled formulas; the only folder that knows numba.  Scalars in, scalars out, generator first."""
