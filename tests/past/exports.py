"""Files as lenders and shops export them, with invented rows: the columns, the names
and the ways of writing of real ones.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Exported = dict[str, Sequence[Any]]
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _month(month: int, start: int) -> str:
    return f"{MONTHS[month % 12]}-{start + month // 12}"


def _us_day(days: int, start: str) -> str:
    """A day as 28-Feb-97."""
    day = np.datetime64(start, "D") + int(days)
    year, month, number = str(day).split("-")
    return f"{int(number)}-{MONTHS[int(month) - 1]}-{year[2:]}"


def lending_club(rows: int = 1_200) -> Exported:
    """LendingClub: months as Dec-2011, rates as 13.56%, what came back, many leaks."""
    rng = np.random.default_rng(21)
    issued = rng.integers(0, 36, rows)
    purpose = rng.choice(["car", "debt_consolidation", "small_business", "wedding"], rows)
    lent = 25 * rng.integers(40, 1_000, rows)
    rate = rng.uniform(0.06, 0.2, rows)
    bad = rng.random(rows) < np.where(purpose == "small_business", 0.25, 0.12)
    months = np.where(bad, rng.integers(1, 34, rows), 36)
    back = np.round(lent * np.where(bad, months / 40, 1 + 1.5 * rate), 2)
    return {
        "id": rng.permutation(np.arange(1_000_000, 1_000_000 + rows)).tolist(),
        "loan_amnt": lent.tolist(),
        "funded_amnt": lent.tolist(),
        "term": [" 36 months"] * rows,
        "int_rate": [f"{each:.2%}" for each in rate],
        "installment": np.round(lent * (rate / 12 + 1 / 36), 2).tolist(),
        "grade": [chr(65 + int(each * 35)) for each in rate],
        "emp_title": [None if each < 100 else f"job {each}" for each in rng.integers(0, 900, rows)],
        "home_ownership": rng.choice(["RENT", "OWN", "MORTGAGE"], rows).tolist(),
        "annual_inc": np.round(rng.lognormal(11, 0.5, rows), -2).tolist(),
        "issue_d": [_month(each, 2008) for each in issued],
        "loan_status": np.where(bad, "Charged Off", "Fully Paid").tolist(),
        "purpose": purpose.tolist(),
        "addr_state": rng.choice(["CA", "NY", "TX", "FL", "WA"], rows).tolist(),
        "earliest_cr_line": [_month(each, 1980) for each in rng.integers(0, 240, rows)],
        "total_pymnt": back.tolist(),
        "total_rec_prncp": np.minimum(back, lent).tolist(),
        "recoveries": np.where(bad, np.round(0.05 * lent, 2), 0.0).tolist(),
        "last_pymnt_d": [_month(each, 2008) for each in issued + months],
        "last_credit_pull_d": ["Mar-2019"] * rows,
    }


def small_business(rows: int = 1_500) -> Exported:
    """SBA 7(a): days as 28-Feb-97, money as "$60,000.00 ", losses and no repayments."""
    rng = np.random.default_rng(22)
    approved = np.sort(rng.integers(0, 3_000, rows))
    lent = 100 * rng.integers(50, 5_000, rows)
    bad = rng.random(rows) < 0.18
    loss = np.where(bad, np.round(lent * rng.uniform(0.1, 0.9, rows), 2), 0.0)
    ended = approved + rng.integers(200, 3_000, rows)
    return {
        "LoanNr_ChkDgt": (10**9 + 10 * np.arange(rows)).tolist(),
        "Name": [f"FIRM {each}" for each in range(rows)],
        "State": rng.choice(["IN", "OK", "FL", "CA", "NY", "TX"], rows).tolist(),
        "Bank": [f"BANK {each}" for each in rng.integers(0, 400, rows)],
        "NAICS": rng.choice([451120, 722410, 621210, 0], rows).tolist(),
        "ApprovalDate": [_us_day(each, "1990-01-01") for each in approved],
        "ApprovalFY": (1990 + approved // 365).tolist(),
        "Term": np.where(bad, (ended - approved) // 30, 84).tolist(),
        "NoEmp": rng.integers(0, 60, rows).tolist(),
        "NewExist": rng.choice([1, 2], rows).tolist(),
        "UrbanRural": rng.choice([0, 1, 2], rows).tolist(),
        "LowDoc": rng.choice(["Y", "N"], rows).tolist(),
        "ChgOffDate": [
            _us_day(each, "1990-01-01") if is_bad else None
            for each, is_bad in zip(ended, bad, strict=True)
        ],
        "DisbursementDate": [_us_day(each + 40, "1990-01-01") for each in approved],
        "DisbursementGross": [f"${each:,.2f} " for each in lent],
        "BalanceGross": ["$0.00 "] * rows,
        "MIS_Status": np.where(bad, "CHGOFF", "P I F").tolist(),
        "ChgOffPrinGr": [f"${each:,.2f} " for each in loss],
        "GrAppv": [f"${each:,.2f} " for each in lent],
    }


def prosper(rows: int = 1_200) -> Exported:
    """Prosper: timestamps, the date of closing, what customers paid; some are open."""
    rng = np.random.default_rng(23)
    asked = rng.integers(0, 1_000, rows)
    lent = 500 * rng.integers(2, 50, rows)
    bad = rng.random(rows) < 0.2
    lasted = rng.integers(60, 1_095, rows)
    still = rng.random(rows) < 0.2
    start = np.datetime64("2009-01-01")
    back = np.round(lent * np.where(still, 0.4, np.where(bad, lasted / 1_500, 1.12)), 2)
    return {
        "ListingKey": [f"{each:08X}" for each in rng.permutation(rows)],
        "ListingNumber": rng.permutation(np.arange(rows) * 7).tolist(),
        "CreditGrade": rng.choice(["A", "B", "C", "D", "HR"], rows).tolist(),
        "Term": rng.choice([12, 36, 60], rows).tolist(),
        "LoanStatus": np.where(still, "Current", np.where(bad, "Chargedoff", "Completed")).tolist(),
        "ClosedDate": [
            None if each else f"{day} 00:00:00"
            for each, day in zip(still, start + asked + lasted, strict=True)
        ],
        "BorrowerAPR": np.round(rng.uniform(0.08, 0.3, rows), 5).tolist(),
        "ListingCategory (numeric)": rng.integers(0, 8, rows).tolist(),
        "Occupation": rng.choice(["Clerk", "Teacher", "Other", "Nurse"], rows).tolist(),
        "IsBorrowerHomeowner": rng.choice(["True", "False"], rows).tolist(),
        "LoanOriginalAmount": lent.tolist(),
        "LoanOriginationDate": [f"{day} 00:00:00" for day in start + asked],
        "LP_CustomerPayments": back.tolist(),
        "LP_GrossPrincipalLoss": np.where(bad & ~still, np.round(lent - back * 0.8, 2), 0).tolist(),
    }


def running_loans(rows: int = 6_000, rounds: int = 48) -> Exported:
    """Loans of 36 months, most of which still run, with what they paid so far.

    All are equally good; defaults come early.
    """
    rng = np.random.default_rng(5)
    asked = rng.integers(0, rounds, rows)
    lent = 500.0 * rng.integers(2, 40, rows)
    bad = rng.random(rows) < 0.14
    prepaid = rng.random(rows) < 0.3
    early, late = rng.integers(4, 28, rows), rng.integers(2, 36, rows)
    ends = np.where(bad, early, np.where(prepaid, late, 36))
    still = asked + ends >= rounds
    lasted = np.minimum(ends, rounds - asked) / 36
    back = lent * np.where(bad | still, 1.16 * lasted, 1 + 0.16 * lasted)
    state = np.where(rng.random(rows) < 0.05, "Past Due (1-15 days)", "Current")
    first = np.datetime64("2009-01")
    return {
        "ListingCategory": rng.choice(["Auto", "Business", "Debt", "Home"], rows).tolist(),
        "LoanOriginationDate": (first + asked).astype(str).tolist(),
        "LoanStatus": np.where(still, state, np.where(bad, "Chargedoff", "Completed")).tolist(),
        "ClosedDate": [
            None if each else str(day)
            for each, day in zip(still, first + asked + ends, strict=True)
        ],
        "LoanOriginalAmount": lent.tolist(),
        "LP_CustomerPayments": np.round(back, 2).tolist(),
    }


def german_credit(rows: int = 1_000) -> Exported:
    """German credit: no dates, no money back; 1 is good and 2 is bad."""
    rng = np.random.default_rng(24)
    return {
        "checking_status": rng.choice(["A11", "A12", "A13", "A14"], rows).tolist(),
        "duration": rng.integers(4, 72, rows).tolist(),
        "credit_history": rng.choice(["A30", "A32", "A34"], rows).tolist(),
        "purpose": rng.choice(["A40", "A41", "A42", "A43", "A46"], rows).tolist(),
        "credit_amount": rng.integers(250, 18_000, rows).tolist(),
        "age": rng.integers(19, 75, rows).tolist(),
        "foreign_worker": rng.choice(["A201", "A202"], rows, p=[0.9, 0.1]).tolist(),
        "class": rng.choice([1, 2], rows, p=[0.7, 0.3]).tolist(),
    }


def home_credit(rows: int = 1_500) -> Exported:
    """Home Credit: no dates; TARGET is 1 for clients with difficulties."""
    rng = np.random.default_rng(25)
    return {
        "SK_ID_CURR": (100_002 + np.arange(rows)).tolist(),
        "TARGET": (rng.random(rows) < 0.08).astype(int).tolist(),
        "NAME_CONTRACT_TYPE": rng.choice(["Cash loans", "Revolving loans"], rows).tolist(),
        "CODE_GENDER": rng.choice(["F", "M"], rows).tolist(),
        "AMT_INCOME_TOTAL": (rng.integers(50, 400, rows) * 900).tolist(),
        "AMT_CREDIT": (rng.integers(100, 2_000, rows) * 450).tolist(),
        "AMT_ANNUITY": rng.integers(5_000, 60_000, rows).tolist(),
        "NAME_INCOME_TYPE": rng.choice(["Working", "State servant", "Pensioner"], rows).tolist(),
        "OCCUPATION_TYPE": rng.choice(["Laborers", "Core staff", "Managers", ""], rows).tolist(),
        "DAYS_BIRTH": (-rng.integers(8_000, 25_000, rows)).tolist(),
    }


def bank_calls(rows: int = 2_000) -> Exported:
    """Bank marketing: a year, a month and a day in three columns, and a leak."""
    rng = np.random.default_rng(26)
    days = np.datetime64("2008-05-05") + np.sort(rng.integers(0, 700, rows))
    bought = rng.random(rows) < 0.15
    texts = [str(day).split("-") for day in days]
    return {
        "year": [int(year) for year, _, _ in texts],
        "age": rng.integers(18, 90, rows).tolist(),
        "job": rng.choice(
            ["admin.", "student", "retired", "services", "technician"], rows
        ).tolist(),
        "default": rng.choice(["no", "yes"], rows, p=[0.98, 0.02]).tolist(),
        "contact": rng.choice(["cellular", "telephone"], rows).tolist(),
        "day": [int(day) for _, _, day in texts],
        "month": [MONTHS[int(month) - 1].lower() for _, month, _ in texts],
        "duration": np.where(
            bought, rng.integers(300, 900, rows), rng.integers(5, 500, rows)
        ).tolist(),
        "y": np.where(bought, "yes", "no").tolist(),
    }


def mailing(rows: int = 3_000) -> Exported:
    """A mailing with a control group: both groups spend."""
    rng = np.random.default_rng(27)
    mailed = rng.random(rows) < 0.5
    spend = np.where(rng.random(rows) < 0.1 + 0.03 * mailed, rng.lognormal(3, 1, rows), 0)
    return {
        "customer_id": rng.permutation(rows).tolist(),
        "recency": rng.integers(1, 13, rows).tolist(),
        "zip_area": rng.choice(["Urban", "Rural", "Suburban"], rows).tolist(),
        "channel": rng.choice(["Web", "Phone", "Multichannel"], rows).tolist(),
        "mailed": mailed.astype(int).tolist(),
        "spend": np.round(spend, 2).tolist(),
    }


def card_limits(rows: int = 1_000) -> Exported:
    """A European file: days as 31.01.2026, decimal points, yes and no, a profit."""
    rng = np.random.default_rng(28)
    days = np.datetime64("2024-01-01") + rng.integers(0, 600, rows)
    return {
        "Antrag_Nr": rng.permutation(rows).tolist(),
        "contract date": [".".join(str(day).split("-")[::-1]) for day in days],
        "segment": rng.choice(["young", "family", "senior"], rows).tolist(),
        "score": rng.integers(300, 850, rows).tolist(),
        "net_profit": np.round(rng.normal(5, 60, rows), 2).tolist(),
    }


EXPORTS: dict[str, Callable[[], Exported]] = {
    each.__name__: each
    for each in (
        lending_club,
        small_business,
        prosper,
        german_credit,
        home_credit,
        bank_calls,
        mailing,
        card_limits,
    )
}
