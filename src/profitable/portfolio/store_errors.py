"""Sentences about portfolios that both kinds of database need."""

from profitable.errors import BrokenPortfolioError, BusyPortfolioError, InputError

SEND_AGAIN = "try again: what was stored is counted once, however often it is sent"
NO_TABLES = "give a portfolio that Portfolio.create or `profitable portfolio create` made"


def no_portfolio(name: str) -> BrokenPortfolioError:
    """The error for a database without our tables."""
    return BrokenPortfolioError("portfolio", name, "is no portfolio", NO_TABLES)


def is_there(name: str) -> InputError:
    """The error for a new portfolio where there is one already."""
    return InputError("portfolio", name, "exists already", "give another place, or open it")


def busy(name: str, wait: float) -> BusyPortfolioError:
    """The error for a portfolio to which others write all the time."""
    problem = f"was locked by another process for {wait:g} seconds"
    return BusyPortfolioError("portfolio", name, problem, SEND_AGAIN)


def damaged(name: str, reason: str) -> BrokenPortfolioError:
    """The error for a database that cannot be read."""
    return BrokenPortfolioError("portfolio", name, f"is damaged ({reason})", "restore it from a backup")
