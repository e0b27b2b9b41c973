"""Which framework an array belongs to. A framework's adapter is imported only when its arrays come."""

import importlib

# The module that a type is defined in, up to its first dot -> the adapter.
ADAPTERS = {"torch": "_torch", "cupy": "_cupy", "jax": "_jax", "jaxlib": "_jax", "numpy": "_numpy"}

# A type of array -> the function that multiplies such arrays, for those that came before.
adapters = {}


def adapter_of(array):
    """Return the function that multiplies arrays of this one's framework. Raises TypeError for what is no array."""
    for kind in type(array).__mro__:  # a subclass, such as torch.nn.Parameter, is one as well
        name = ADAPTERS.get(kind.__module__.partition(".")[0])
        if name is not None:
            multiply = importlib.import_module(f"gemm_steps.{name}").matmul
            adapters[type(array)] = multiply
            return multiply
    raise TypeError(
        f"a is a {type(array).__module__}.{type(array).__qualname__}; pass arrays of PyTorch, CuPy, JAX or NumPy"
    )
