"""The agent for daily use: it decides, learns from outcomes whenever they come, explains itself and is saved to a file.

Used from outside: `Agent` and what its methods take and return (`Batch`, `Decision`, `Verdict`, `Standing`).
"""
