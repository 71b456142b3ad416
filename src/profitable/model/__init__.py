"""What is known about clients: families of rewards, priors and posteriors, categories with their thresholds.

From outside: `Family` and the families, `Category`, `Prior`; a policy uses `View`, which is what it sees of a category.
"""
