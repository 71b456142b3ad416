"""The agent for daily use: it decides, learns from outcomes, and explains itself.

Used from outside: `Agent` and what its methods take and return (`Batch`, `Decision`,
`Verdict`, `Standing`).
"""
