"""The paper's bounds as functions; the public face of `profitable.theory.bounds`."""

from profitable.theory.bounds import *  # noqa: F403
from profitable.theory.bounds import __doc__ as __doc__
