"""For pytest: a fixture under which every kernel must be free of findings.

def test_add(ptxsim_checked):
    ptxsim_checked(module.kernel("add")[4, 128](x, y, out, n))      # under seed 0

@pytest.mark.parametrize("seed", range(8))
def test_add_in_any_order(ptxsim_checked, seed): …
    ptxsim.seed(seed)
"""

from collections.abc import Callable, Iterator

import pytest

from . import Result, seed


@pytest.fixture
def ptxsim_checked() -> Iterator[Callable[[Result], Result]]:
    """Fails the test with a result's findings; the order of blocks and warps is the usual one again afterwards."""
    yield Result.check
    seed(0)
