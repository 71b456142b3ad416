"""Theory: the paper's bounds as functions (`profitable.bounds`), and what an unlucky start costs."""
