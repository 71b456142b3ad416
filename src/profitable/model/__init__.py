"""What is known about clients: families of rewards, priors and posteriors, categories with their thresholds.

Used from outside: `Family` and the families, `Category`, `Prior`.  A policy uses `View`: what it sees of a category.
"""
