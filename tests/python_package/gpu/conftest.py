"""These tests need a GPU; each file, the framework that it is about."""

import pytest

import gemm_steps


@pytest.fixture(scope="session", autouse=True)
def gpu():
    """Skips everything where the package runs in the simulator."""
    if not gemm_steps._load.gpus() or gemm_steps._load.core().simulated():
        pytest.skip("no GPU was found")
