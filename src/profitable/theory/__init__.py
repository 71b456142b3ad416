"""Theory: the paper's bounds as functions (`profitable.bounds`), the exact optimum, the price of an unlucky start, waits."""
