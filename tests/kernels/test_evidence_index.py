"""The index, where the numbers on the way to it are beyond all doubles."""

import numpy as np
import pytest

from profitable.kernels.evidence import POSTERIOR, Observed, evidence, index
from profitable.kernels.law import GAMMA, Law

NO_VALUES = np.empty(0)


@pytest.mark.parametrize("clients", [0.0032346185398459803, 0.0037571021, 0.0058223133717227645])
def test_hardly_any_clients_have_an_index_near_the_largest_double(clients: float) -> None:
    """Exponential outcomes that are nearly forgotten; the search once never ended."""
    law, limit = Law(GAMMA, size=1.0), 2.301958317863327
    seen = Observed(clients, 1.15 * clients, 0.0, NO_VALUES, NO_VALUES, 0.0, 0.0)
    found = index(POSTERIOR, law, seen, limit)
    assert 1e160 < found < np.inf
    assert evidence(POSTERIOR, law, seen, found) <= limit
    assert evidence(POSTERIOR, law, seen, found * (1.0 + 1e-9)) > limit
