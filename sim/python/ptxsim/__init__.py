"""Runs PTX on a simulated GPU: what a kernel did, line by line, and which mistakes it made.

    import numpy, ptxsim
    module = ptxsim.Module(ptx)
    result = module.kernel("add")[grid, block](x, y, out, n)
    result.findings      # races, missing waits, wrong accesses; empty for a kernel that has none
    result.counts        # instructions, sectors, wavefronts, …

Arrays are copied to the simulated GPU before the launch and back after it, each as long as it is: an access past its
end is a finding. The first launch takes its settings (PTXSIM_DEVICE, PTXSIM_THREADS, …) from the environment.
"""

from ._kernels import Finding, Interrupted, Kernel, LaunchError, Module, PtxError, Result, Settings, seed, using

__version__ = "0.2.0"
__all__ = [
    "Finding",
    "Interrupted",
    "Kernel",
    "LaunchError",
    "Module",
    "PtxError",
    "Result",
    "Settings",
    "__version__",
    "seed",
    "using",
]
