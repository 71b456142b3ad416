"""Models of clients: families of rewards, priors, posteriors, and categories.

Used from outside: `Family` and the families, `Category`, `Prior`.  A policy uses
`View`: a category as the policy sees it.
"""
