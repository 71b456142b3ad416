"""The agent of daily use: it decides, learns from outcomes whenever they come, explains itself and is saved to a file.

From outside: `Agent` and what its methods take and return (`Batch`, `Decision`, `Verdict`, `Standing`).
"""
