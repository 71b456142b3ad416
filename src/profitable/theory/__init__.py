"""What is proved: the paper's bounds as functions (`profitable.bounds`), and the price of an unlucky start."""
