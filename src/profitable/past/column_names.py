"""Column names: fragments of names that say what a column may be.

A column is judged by what it holds.  Its name only helps to choose between columns that
hold the same kind of values, and rules out what is known only afterwards.  The
fragments are those of real exports: LendingClub, SBA 7(a), Prosper, Home Credit, German
credit, bank marketing, Hillstrom.

>>> words("ChgOffPrinGr"), words("loan_amnt"), words("MIS_Status")
('chg off prin gr', 'loan amnt', 'mis status')
>>> hinted("DisbursementGross", "amount"), hinted("annual_inc", "amount")
(True, False)
"""

import re

# By what a name says. A fragment is the beginning of a word, or of several; "=" stands
# for the whole name.
FRAGMENTS: dict[str, tuple[str, ...]] = {
    "asked": (
        *(
            "issue",
            "approv",
            "originat",
            "applic",
            "applied",
            "asked",
            "request",
            "booked",
            "grant",
        ),
        *("disburs", "fund", "open", "start", "begin", "contract date", "created", "listing creat"),
        *("loan date", "order date", "=date", "=day", "=time", "=when", "=month", "=week", "=year"),
        *("=quarter", "=period", "=vintage", "=timestamp", "cohort", "called"),
    ),
    "period": (
        *("year", "month", "week", "day", "quarter", "period", "date", "time", "vintage", "round"),
        *("cohort", "fy", "approval fy", "batch"),
    ),
    "not asked": (
        *(
            "birth",
            "dob",
            "born",
            "earliest",
            "last",
            "next",
            "pull",
            "clos",
            "end",
            "matur",
            "due",
        ),
        *("paid", "pymnt", "payment", "chg", "charge", "default", "settle", "known", "repaid"),
        *("first credit", "since", "hardship", "debt settle", "update", "snapshot"),
    ),
    "known": (
        *(
            "known",
            "clos",
            "settle",
            "last pymnt",
            "last payment",
            "paid off",
            "paid in full",
            "end",
        ),
        *("resol", "outcome", "exit", "repaid", "complet", "final", "finish", "result", "terminat"),
    ),
    "never known by": (
        "next",
        "due",
        "matur",
        "pull",
        "birth",
        "dob",
        "born",
        "update",
        "snapshot",
    ),
    "defaulted": (
        *("default", "chg off", "chgoff", "charge off", "chargeoff", "charged off", "write off"),
        *("written off", "bad date", "loss date"),
    ),
    "closed": (
        *("clos", "paid in full", "paid off", "repaid", "settled", "prepaid", "payoff", "redeem"),
    ),
    "amount": (
        *("loan amnt", "loan amount", "loan amt", "funded amnt", "amount", "amnt", "amt", "lent"),
        *(
            "loaned",
            "principal",
            "disbursement gross",
            "gr appv",
            "gross approv",
            "funded",
            "credit",
        ),
        *("exposure", "original amount", "loan original", "facility", "=loan", "=sum"),
    ),
    "not amount": (
        *(
            "inc",
            "salary",
            "wage",
            "limit",
            "balance",
            "bal",
            "saving",
            "annuity",
            "goods",
            "asset",
        ),
        *(
            "instal",
            "pymnt",
            "paid",
            "payment",
            "recover",
            "rec",
            "out",
            "outstanding",
            "fee",
            "loss",
        ),
        *(
            "chg",
            "charge",
            "default",
            "score",
            "rate",
            "month",
            "duration",
            "term",
            "history",
            "num",
        ),
        *("delinq", "revol", "back", "late", "util", "age", "collect", "interest", "repaid"),
    ),
    "back": (
        *("total pymnt", "total payment", "total paid", "paid back", "repaid", "back", "returned"),
        *(
            "customer payment",
            "lp customer payment",
            "received",
            "amount paid",
            "collected",
            "paid",
        ),
        *("total received", "cash in", "proceeds"),
    ),
    "part of back": ("inv", "prncp", "principal", "int", "interest", "fee", "last", "late", "next"),
    "good": ("good", "repaid", "paid"),
    "funded": ("funded", "amount", "loan amnt"),
    "loss": (
        *(
            "chg off prin",
            "chgoff",
            "charge off amount",
            "gross charge off",
            "gross principal loss",
        ),
        *("lp gross principal", "lp net principal", "loss", "written off", "write off", "net loss"),
    ),
    "status": (
        *(
            "=y",
            "fully paid",
            "not fully",
            "=paid",
            "target",
            "label",
            "class",
            "outcome",
            "status",
            "loan status",
            "mis status",
        ),
        *("result", "response", "converted", "conversion", "subscri", "bought", "purchase", "good"),
        *(
            "bad",
            "repaid",
            "paid off",
            "default",
            "charged off",
            "chargeoff",
            "delinquent",
            "serious",
        ),
        *("churn", "won", "success", "risk", "creditability", "good bad", "fraud", "claim"),
    ),
    # Of an outcome that is a 1 for a bad client.
    "bad": (
        *("bad", "default", "chg", "charge", "delinq", "serious", "loss", "fraud", "churn", "late"),
        *("arrears", "write off", "risk", "not paid", "not fully", "unpaid", "dpd"),
    ),
    # Of files about credit, where most clients are good.
    "credit": (
        "loan",
        "credit",
        "amnt",
        "amt credit",
        "term",
        "instal",
        "annuity",
        "borrow",
        "lend",
    ),
    "gain": (
        *("profit", "margin", "revenue", "spend", "spent", "sales", "gain", "net", "ltv", "clv"),
        *("lifetime value", "reward", "turnover", "earned", "contribution", "premium", "return"),
    ),
    "term": ("term", "tenor", "duration month", "months", "loan period", "maturity month"),
    "rate": ("int rate", "interest rate", "rate", "interest", "apr", "coupon", "borrower rate"),
    "instalment": ("instal", "emi", "annuity", "monthly payment", "amt annuity", "monthly loan"),
    "accepted": ("accept", "approved", "granted", "=decision", "admitted", "approval"),
    "treated": (
        "treat",
        "mailed",
        "exposed",
        "=offer",
        "offered",
        "contacted",
        "=w",
        "received offer",
    ),
    "control": ("control",),
    "group": ("group", "arm", "segment", "treatment", "test", "campaign", "variant", "cell"),
    "category": (
        *("purpose", "product", "segment", "industry", "sector", "naics", "job", "occupation"),
        *(
            "channel",
            "category",
            "title",
            "contract type",
            "kind",
            "type",
            "grade",
            "rating",
            "band",
        ),
        *("region", "state", "branch", "source", "education", "home", "employ", "emp", "marital"),
        *("contact", "organization", "property", "housing", "family", "score", "age", "class"),
    ),
    # What is written after the decision.
    "afterwards": (
        *(
            "pymnt",
            "payment",
            "paid",
            "recover",
            "collect",
            "outstanding",
            "out prncp",
            "total rec",
        ),
        *("settle", "hardship", "chg", "charge", "charged", "loan status", "mis status", "=status"),
        *(
            "loss",
            "writ",
            "default",
            "outcome date",
            "close",
            "closed",
            "dpd",
            "arrears",
            "last",
            "final",
            "resol",
            "claim",
        ),
    ),
    "claimed": ("claim", "indemnit", "incurred", "payout", "loss"),
    "premium": ("premium",),
    "id": (
        "=id",
        "id",
        "number",
        "nr",
        "=no",
        "key",
        "index",
        "ref",
        "account",
        "row",
        "unnamed",
        "sk",
    ),
}


def words(name: str) -> str:
    """Return a name as words in small letters, with spaces between them."""
    apart = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)
    apart = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", apart)
    return " ".join(re.findall(r"[^\W_]+", apart)).lower()


def hinted(name: str, what: str) -> bool:
    """Whether a name has one of the fragments that say what a column is."""
    return place(name, what) < len(FRAGMENTS[what])


def place(name: str, what: str) -> int:
    """Return the place of the first fragment that a name has; their number if none.

    >>> place("loan_purpose", "category"), place("colour", "category")
    (0, 34)
    """
    text, fragments = words(name), FRAGMENTS[what]
    for found, fragment in enumerate(fragments):
        if fragment.startswith("="):
            if text == fragment[1:]:
                return found
        elif f" {text}".find(f" {fragment}") >= 0:
            return found
    return len(fragments)
