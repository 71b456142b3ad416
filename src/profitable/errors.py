"""Everything that can go wrong, as one tree:

    ProfitableError
    ├── InputError (also a ValueError)      what the caller passed is wrong; nothing was changed
    │   ├── UnknownCategoryError            no category of that name
    │   ├── DuplicateNameError              two categories of one name
    │   ├── ThresholdError                  a threshold outside the family's mean domain
    │   ├── RewardError                     a reward the family cannot produce
    │   │   ├── NotFiniteRewardError            NaN or infinite
    │   │   ├── NegativeRewardError             negative where rewards cannot be
    │   │   └── OutsideSupportError             any other (a Bernoulli reward of 2, a Poisson reward of 1.5)
    │   ├── EmptyObservationError           an observation without a client
    │   ├── SumNotEnoughError               count= and total= where single rewards are needed
    │   ├── MissingBoundError               a policy for bounded rewards on a category without a bound
    │   ├── ParameterError                  a parameter of a family, policy, prior or call that makes no sense
    │   ├── ConflictError                   an id or a key that was used before, for something else
    │   ├── CorrectionError                 a correction of something that was never observed
    │   └── MissingLibraryError             a library that is an extra, and is not installed
    ├── StateFileError                      a saved agent that cannot be read or written
    │   ├── NewerStateError                     written by a later version of this package
    │   └── BrokenStateError                    truncated, or not a saved agent at all
    ├── ResultFolderError                   a saved result that cannot be read or written
    │   ├── NewerResultError                    written by a later version of this package
    │   ├── OtherResultError (also an InputError)   of another simulation than the one to go on with
    │   ├── BrokenResultError                   truncated, altered, or not a saved result at all
    │   └── NotSavedError                       what was computed cannot be written; `result` holds it
    ├── PortfolioError                      a portfolio that cannot be read or written
    │   ├── NewerPortfolioError                 written by a later version of this package
    │   ├── OlderPortfolioError                 written by an earlier version, to be upgraded first
    │   ├── BrokenPortfolioError                damaged, altered, or not a portfolio at all
    │   └── NotStoredError                      a full disk, a file that is read-only or gone, a lost connection
    │       └── BusyPortfolioError                  locked by another process for too long
    ├── ForkedError                         an agent or a portfolio that was in use when this process was forked
    ├── ExecutorError                       workers of a simulation are lost or unfit; `result` has what is finished
    └── Interrupted (also a KeyboardInterrupt)  a simulation was stopped; what is finished is kept

What is legal but probably not meant is a warning: `ProfitableWarning` (a UserWarning).

Each message is one sentence that names the field, the value and the remedy.  They are attributes, too, and so is the
`category` that an error is about, if it is about one.
"""

from typing import Self


class ProfitableError(Exception):
    """Base class of every error that this package raises on purpose."""

    def __init__(self, field: str, value: object, problem: str, remedy: str, category: str | None = None) -> None:
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
        """The same error with a category's name, unless it has one; for checks that do not know their category."""
        return self if self.category else type(self)(self.field, self.value, self.problem, self.remedy, category)

    def __reduce__(self) -> tuple[type["ProfitableError"], tuple[str, object, str, str, str | None]]:
        return type(self), (self.field, self.value, self.problem, self.remedy, self.category)


def _shorten(value: object) -> str:
    """A value as one line.  A long one loses its middle: the end of a path is the name of the file."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python does not write out integers of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 80 else f"{text[:38]}...{text[-39:]}"


class ProfitableWarning(UserWarning):
    """Something that is legal and probably not meant."""


class InputError(ProfitableError, ValueError):
    """What the caller passed is wrong; nothing was changed."""


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
    """A parameter of a family, policy, prior or call that makes no sense."""


class CorrectionError(InputError):
    """A correction of something that was never observed."""


class ConflictError(InputError):
    """An id or a key that was used before, for something else."""


class MissingLibraryError(InputError):
    """A library that is not installed, because only some uses need it; the remedy names the extra."""


class StateFileError(ProfitableError):
    """A saved agent that cannot be read or written."""


class NewerStateError(StateFileError):
    """A saved agent from a later version of this package."""


class BrokenStateError(StateFileError):
    """A file that is truncated or is no saved agent."""


class ResultFolderError(ProfitableError):
    """A saved result that cannot be read or written."""


class NewerResultError(ResultFolderError):
    """A saved result from a later version of this package."""


class OtherResultError(ResultFolderError, InputError):
    """A folder that holds another simulation than the one to go on with."""


class BrokenResultError(ResultFolderError):
    """A folder whose result is truncated or altered, or that holds none."""


class NotSavedError(ResultFolderError):
    """What was computed cannot be written, because the disk is full for example; `result` holds it."""

    result: object = None


class Interrupted(ProfitableError, KeyboardInterrupt):
    """A simulation was stopped; `result` holds the runs that were finished (None if there are none)."""

    result: object = None


class ExecutorError(ProfitableError):
    """Workers of a simulation are lost or unfit; `result` holds the finished runs (None if there are none)."""

    result: object = None


class PortfolioError(ProfitableError):
    """A portfolio that cannot be read or written."""


class NewerPortfolioError(PortfolioError):
    """A portfolio from a later version of this package."""


class OlderPortfolioError(PortfolioError):
    """A portfolio from an earlier version of this package, to be upgraded first."""


class BrokenPortfolioError(PortfolioError):
    """A file that is damaged, was altered, or is no portfolio."""


class NotStoredError(PortfolioError):
    """What was asked for could not be stored: a full disk, a file that is read-only or gone, a lost connection."""


class BusyPortfolioError(NotStoredError):
    """Another process kept the portfolio locked for longer than one wants to wait."""


class ForkedError(ProfitableError):
    """An agent or a portfolio that was in use when this process was forked from another one."""
