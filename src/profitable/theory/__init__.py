"""What is proved: the paper's bounds as functions (`profitable.bounds`), the price of an unlucky start, and waits."""
