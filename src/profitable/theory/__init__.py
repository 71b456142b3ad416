"""Theory: the paper's bounds as functions (`profitable.bounds`), unlucky starts, the sum of all waits."""
