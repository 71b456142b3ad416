"""The demo: 1 000 real loans that come with the package (`german_credit.md` says where they are from).

>>> path, layout = demo()
>>> path.read_text().splitlines()[1]
'below 0 DM,unknown or none,radio/television,6,1169,good'
>>> layout.category, layout.reward, layout.cost, layout.revenue, layout.round
('checking', 'outcome=good', 5.0, 6.0, 20)
"""

from pathlib import Path

from profitable.replay.layout import Layout

SOURCE = "Statlog (German Credit Data), H. Hofmann, UCI Machine Learning Repository, doi.org/10.24432/C5NC77, CC BY 4.0"


def demo() -> tuple[Path, Layout]:
    """The file of the demo, and what its columns mean.

    A good loan brings +1 and a bad one -5: these are the costs of the source, and those of a loan at a rate of 20 %.
    There are no dates, so the order of the rows is the time, and outcomes are taken as known at once.
    """
    path = Path(__file__).with_name("german_credit.csv")
    return path, Layout(category="checking", reward="outcome=good", cost=5.0, revenue=6.0, round=20)
