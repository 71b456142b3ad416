"""How do the tables and pictures of a backtest get into Excel, CSV or a dataframe?

The past clients are 1 000 loans of a German bank that come with the package. A good
loan brings 1, and a bad one loses 5.
"""

from pathlib import Path

import profitable as pb
from profitable.replay.backtest_options import demo

path, layout = demo()
found = pb.backtest(path, policies=["kl-ucb", "ts"], replays=50, **layout.to_dict())
print(found.verdict())

tables = found.tables()  # every table that has rows, as columns
print("tables:", ", ".join(tables))
categories = found.to_frame("categories", backend="pandas")
print(categories[["name", "clients", "mean", "threshold", "profit"]].to_string(index=False))
if "stop_list" in tables:
    stops = found.to_frame("stop_list", backend="pandas")
    print(stops.loc[stops["stop"], ["category", "clients", "profit", "pays"]])

folder = Path("german-credit")
found.save(folder)  # the page, its pictures, the tables as CSV, and all numbers as JSON
found.to_excel(folder / "tables.xlsx")  # one sheet for each table
found.plot("difference", folder / "difference.png")  # or as a chart in a notebook
print("written:", ", ".join(sorted(each.name for each in folder.glob("*.*") if each.is_file())))
