"""Theory: the paper's bounds (`profitable.bounds`), the exact optimum, the price of an unlucky start, waits."""
