"""Theory: the paper's bounds as functions (`profitable.bounds`), the price of an unlucky start, the sum of waits."""
