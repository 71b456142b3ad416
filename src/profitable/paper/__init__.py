"""The paper's experiments as data, one analysis of them, and the report."""
