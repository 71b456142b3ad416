"""Files that a first look could take for something else: what it must suggest there."""

from typing import Any

import numpy as np
import pytest

from profitable.past.first_look import first_look

ROWS = 600
RNG = np.random.default_rng(31)
DAYS = [str(np.datetime64("2020-01-01") + day) for day in range(ROWS)]
BAD = np.arange(ROWS) % 5 == 0
KIND = RNG.choice(["car", "van", "bike", "boat"], ROWS).tolist()


def later(days: Any) -> list[str]:
    return [str(np.datetime64(day) + int(age)) for day, age in zip(DAYS, days, strict=True)]


def test_an_insurer_earns_premiums_less_claims() -> None:
    claim = np.where(BAD, np.round(RNG.lognormal(7, 1, ROWS), 2), 0.0)
    table = {"start_date": DAYS, "vehicle": KIND, "region": KIND[::-1]}
    table |= {"premium": (300 + 5 * np.arange(ROWS) % 200).tolist(), "claim": claim.tolist()}
    look = first_look(table)
    assert look.options | {"reward": "premium - claim", "cost": 0} == look.options
    assert "claim" not in {each.column for each in look.candidates if each.role == "category"}


@pytest.mark.parametrize("words", [("Mail", "No Mail"), ("mailed", "not mailed")])
def test_clients_without_mail_are_the_control_group(words: tuple[str, str]) -> None:
    table = {"segment": KIND, "mailed": RNG.choice(words, ROWS).tolist()}
    table["spend"] = np.where(RNG.random(ROWS) < 0.1, np.arange(ROWS), 0).tolist()
    assert first_look(table).options["treated"] == f"mailed={words[0]}"


def test_a_lender_of_three_sizes_has_an_amount() -> None:
    lent = RNG.choice([100, 200, 300], ROWS)
    table = {"date": DAYS, "product": KIND, "lent": lent.tolist()}
    table["repaid"] = (lent * np.where(BAD, 0.5, 1.1)).tolist()
    look = first_look(table)
    assert look.options | {"reward": "repaid", "amount": "lent"} == look.options


def test_a_good_category_that_may_be_a_leak_is_named() -> None:
    """It is the only one that says anything."""
    product = RNG.choice(["good", "fair", "poor"], ROWS)
    rate = np.select([product == "good", product == "fair"], [0.02, 0.1], 0.4)
    table = {"date": DAYS, "channel": KIND, "web": KIND[::-1], "product": product.tolist()}
    table["return"] = (
        np.where(RNG.random(ROWS) < rate, 0.7, 1.1) + 0.01 * (np.arange(ROWS) % 7)
    ).tolist()
    look = first_look(table)
    text = str(look)
    assert "product" in {each.column for each in look.leaks}
    assert "used as category" not in text
    assert "if it was known when the client asked, it says most: add --or product" in (
        " ".join(" ".join(look.plan.assumed).split())
    )


def test_a_date_that_losses_lack_is_not_when_outcomes_were_known() -> None:
    """The SBA dates charge-offs in one column; repayments have another one."""
    ages = RNG.integers(100, 900, ROWS)
    lent = 100 * RNG.integers(10, 90, ROWS)
    table: dict[str, Any] = {"ApprovalDate": DAYS, "Sector": KIND, "Term": [60] * ROWS}
    table["ChgOffDate"] = [day if bad else "" for day, bad in zip(later(ages), BAD, strict=True)]
    table["PaidOffDate"] = ["" if bad else day for day, bad in zip(later(ages), BAD, strict=True)]
    table["DisbursementGross"] = [f"${each:,.2f}" for each in lent]
    table["ChgOffPrinGr"] = [f"${each:,.2f}" for each in np.where(BAD, lent / 2, 0)]
    still = np.arange(ROWS) % 20 == 1
    table["MIS_Status"] = np.where(still, "", np.where(BAD, "CHGOFF", "P I F")).tolist()
    look = first_look(table)
    assert "known" not in look.options
    assert any(
        each.startswith("known: ChgOffDate dates losses and PaidOffDate the others")
        for each in look.plan.assumed
    )
    assert look.options["open"] == "MIS_Status == ''"


def test_open_clients_say_nothing_about_what_came_back() -> None:
    """Most loans of a lender that grows are open, and have paid a part so far."""
    still = np.arange(ROWS) % 7 < 5
    lent = 500 * RNG.integers(2, 30, ROWS)
    table: dict[str, Any] = {"LoanOriginationDate": DAYS, "Grade": KIND}
    ended = np.where(BAD, "Chargedoff", "Completed")
    table["LoanStatus"] = np.where(still, "Current", ended).tolist()
    table["LoanOriginalAmount"] = lent.tolist()
    table["LP_CustomerPayments"] = (lent * np.where(still, 0.4, np.where(BAD, 0.5, 1.2))).tolist()
    look = first_look(table)
    assert look.options["reward"] == "LP_CustomerPayments"
    assert look.options["amount"] == "LoanOriginalAmount"
    del table["LP_CustomerPayments"], table["LoanOriginalAmount"]
    good = np.mean(~BAD[~still])
    assert first_look(table).options["cost"] == pytest.approx(good, abs=0.005)
