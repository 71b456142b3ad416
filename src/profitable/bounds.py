"""The paper's bounds on regret and on wrongly treated clients, as functions.

All clients and regrets are expectations.  Regrets are in money (`Category.worth`).

>>> from profitable import Bernoulli
>>> round(information(Bernoulli(), 0.5, 0.6), 6)
0.020411
"""

from profitable.theory.order_bound import ordered_lower_bound as ordered_lower_bound
from profitable.theory.regret_bounds import Arrivals as Arrivals
from profitable.theory.regret_bounds import LowerBound as LowerBound
from profitable.theory.regret_bounds import UpperBound as UpperBound
from profitable.theory.regret_bounds import asymptotic_upper_bound as asymptotic_upper_bound
from profitable.theory.regret_bounds import bayes_ucb_profitable as bayes_ucb_profitable
from profitable.theory.regret_bounds import bayes_ucb_unprofitable as bayes_ucb_unprofitable
from profitable.theory.regret_bounds import deviation_constants as deviation_constants
from profitable.theory.regret_bounds import information as information
from profitable.theory.regret_bounds import information_of_law as information_of_law
from profitable.theory.regret_bounds import kl_ucb_profitable as kl_ucb_profitable
from profitable.theory.regret_bounds import kl_ucb_unprofitable as kl_ucb_unprofitable
from profitable.theory.regret_bounds import loss as loss
from profitable.theory.regret_bounds import lower_bound as lower_bound
from profitable.theory.regret_bounds import thompson_unprofitable as thompson_unprofitable
