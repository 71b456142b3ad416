"""Exceptions of the package, as one tree.

    ProfitableError
    ├── InputError (also a ValueError)  wrong input; nothing was changed
    │   ├── UnknownCategoryError        no category of that name
    │   ├── DuplicateNameError          two categories of one name
    │   ├── ThresholdError              a threshold outside the family's mean domain
    │   ├── RewardError                 a reward that the family cannot produce
    │   │   ├── NotFiniteRewardError        NaN or infinite
    │   │   ├── NegativeRewardError         negative where rewards cannot be
    │   │   └── OutsideSupportError         any other, as a Bernoulli reward of 2
    │   ├── EmptyObservationError       an observation without a client
    │   ├── SumNotEnoughError           a sum where single rewards are needed
    │   ├── MissingBoundError           a policy for bounded rewards, but no bound
    │   ├── ParameterError              an illegal parameter
    │   ├── ConflictError               an id or a key that was used before
    │   ├── CorrectionError             a correction of what was never observed
    │   └── MissingLibraryError         a library of an extra that is not installed
    ├── StateFileError                  a saved agent that cannot be read or written
    │   ├── NewerStateError                 written by a later version
    │   └── BrokenStateError                truncated, or not a saved agent
    ├── ResultFolderError               a saved result that cannot be read or written
    │   ├── NewerResultError                written by a later version
    │   ├── OtherResultError                of another simulation (also an InputError)
    │   ├── BrokenResultError               truncated, altered, or not a saved result
    │   └── NotSavedError                   not written; `result` holds it
    ├── PortfolioError                  a portfolio that cannot be read or written
    │   ├── NewerPortfolioError             written by a later version
    │   ├── OlderPortfolioError             written by an earlier version: upgrade it
    │   ├── BrokenPortfolioError            damaged, altered, or not a portfolio
    │   └── NotStoredError                  a full disk, a lost connection
    │       └── BusyPortfolioError              locked by another process for too long
    ├── ForkedError                     in use when this process was forked
    ├── ExecutorError                   lost workers; `result` has the finished runs
    └── Interrupted                     stopped (also a KeyboardInterrupt); the same

Legal but probably unintended input is a warning: `ProfitableWarning`, a UserWarning.
"""

from typing import Self


class ProfitableError(Exception):
    """Base class of every error that this package raises on purpose.

    Its message is one sentence that names the field, the value, the problem and the
    remedy; each of them is an attribute, too.

    Parameters
    ----------
    field : str
        Name of the argument, option or place in a file.
    value : object
        The value that was found there.
    problem : str
        Predicate of the message, as "must be positive".
    remedy : str
        Instruction to the caller, as "give a number above 0".
    category : str, optional
        Name of the category, if the error is about one.

    Examples
    --------
    >>> print(ProfitableError("runs", 0, "must be positive", "give a number above 0"))
    runs = 0 must be positive; give a number above 0.

    """

    def __init__(
        self, field: str, value: object, problem: str, remedy: str, category: str | None = None
    ) -> None:
        self.field = field
        self.value = value
        self.problem = problem
        self.remedy = remedy
        self.category = category
        super().__init__(f"{self.where} = {_shorten(value)} {problem}; {remedy}.")

    @property
    def where(self) -> str:
        """The field, with the name of the category if the error is about one."""
        return self.field if self.category is None else f"{self.field} of {self.category!r}"

    def about(self, category: str) -> Self:
        """Return the same error with the name of a category, unless it has one.

        Parameters
        ----------
        category : str
            Name of the category that the error is about.

        Returns
        -------
        ProfitableError
            A new error of the same class, or this one.
        """
        return (
            self
            if self.category
            else type(self)(self.field, self.value, self.problem, self.remedy, category)
        )

    def __reduce__(
        self,
    ) -> tuple[type["ProfitableError"], tuple[str, object, str, str, str | None]]:
        return type(self), (self.field, self.value, self.problem, self.remedy, self.category)


def _shorten(value: object) -> str:
    """Return a value as one line.

    A long one loses its middle: the end of a path is the name of the file.
    """
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:38]}...{text[-39:]}"


class ProfitableWarning(UserWarning):
    """Input that is legal and probably unintended."""


class InputError(ProfitableError, ValueError):
    """Wrong input from the caller; nothing was changed."""


class UnknownCategoryError(InputError):
    """No category of that name."""


class DuplicateNameError(InputError):
    """Two categories of one name."""


class ThresholdError(InputError):
    """A threshold outside the family's mean domain."""


class RewardError(InputError):
    """A reward the family cannot produce."""


class NotFiniteRewardError(RewardError):
    """A reward that is NaN or infinite."""


class NegativeRewardError(RewardError):
    """A negative reward where rewards cannot be negative."""


class OutsideSupportError(RewardError):
    """A finite reward outside the family's support."""


class EmptyObservationError(InputError):
    """An observation without a client."""


class SumNotEnoughError(InputError):
    """`count=` and `total=` where the policy needs the single rewards."""


class MissingBoundError(InputError):
    """A policy for bounded rewards on a category without a bound."""


class ParameterError(InputError):
    """An illegal parameter of a family, policy, prior or call."""


class CorrectionError(InputError):
    """A correction of something that was never observed."""


class ConflictError(InputError):
    """An id or a key that was used before, for something else."""


class MissingLibraryError(InputError):
    """A library of an extra that is not installed; the remedy names the extra."""


class StateFileError(ProfitableError):
    """A saved agent that cannot be read or written."""


class NewerStateError(StateFileError):
    """A saved agent from a later version of this package."""


class BrokenStateError(StateFileError):
    """A file that is truncated, or not a saved agent."""


class ResultFolderError(ProfitableError):
    """A saved result that cannot be read or written."""


class NewerResultError(ResultFolderError):
    """A saved result from a later version of this package."""


class OtherResultError(ResultFolderError, InputError):
    """A folder that holds another simulation than the one to go on with."""


class BrokenResultError(ResultFolderError):
    """A folder whose result is truncated or altered, or that holds none."""


class NotSavedError(ResultFolderError):
    """A computed result that cannot be written; `result` holds it."""

    result: object = None


class Interrupted(ProfitableError, KeyboardInterrupt):
    """A simulation that was stopped; `result` holds the finished runs, or None."""

    result: object = None


class ExecutorError(ProfitableError):
    """Workers of a simulation are lost or unfit; `result` holds the finished runs.

    It is None if there are none.
    """

    result: object = None


class PortfolioError(ProfitableError):
    """A portfolio that cannot be read or written."""


class NewerPortfolioError(PortfolioError):
    """A portfolio from a later version of this package."""


class OlderPortfolioError(PortfolioError):
    """A portfolio from an earlier version of this package, to be upgraded first."""


class BrokenPortfolioError(PortfolioError):
    """A file that is damaged, altered, or not a portfolio."""


class NotStoredError(PortfolioError):
    """A change that could not be stored.

    A full disk, a file that is read-only or gone, a lost connection.

    A full disk, a file that is read-only or gone, a lost connection.
    """


class BusyPortfolioError(NotStoredError):
    """Another process kept the portfolio locked for longer than one wants to wait."""


class ForkedError(ProfitableError):
    """An agent or a portfolio that was in use when this process was forked."""
