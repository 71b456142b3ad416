"""Theory: the paper's bounds, the price of an unlucky start, waits."""
