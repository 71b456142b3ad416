"""Tails of Student's law for many values at once, compared with SciPy."""

import numpy as np
from scipy import stats

from profitable.kernels.special import student_tails


def test_student_tails_are_those_of_scipy() -> None:
    values = np.concatenate([np.linspace(-60.0, 60.0, 41), [-1e-9, 1e-9, 1e6, -1e6]])
    freedom = np.resize([1.0, 2.5, 4.0, 7.0, 30.0], values.size)
    found = student_tails(values, freedom)
    np.testing.assert_allclose(found, stats.t.cdf(values, freedom), rtol=1e-9, atol=1e-300)


def test_what_is_unknown_stays_unknown() -> None:
    assert np.isnan(student_tails(np.array([np.nan]), np.array([3.0]))).all()
    ends = student_tails(np.array([-np.inf, np.inf]), np.array([4.0, 4.0]))
    assert ends.tolist() == [0.0, 1.0]
