"""JAX: values, no `out`, no tracing."""

import os

import pytest

import gemm_steps

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # the other frameworks' tests need memory, too
jax = pytest.importorskip("jax")
jnp = pytest.importorskip("jax.numpy")
if jax.default_backend() != "gpu":
    pytest.skip("JAX finds no GPU", allow_module_level=True)


def drawn(m, n, k, dtype):
    first, second = jax.random.split(jax.random.key(1))
    return jax.random.normal(first, (m, k), dtype), jax.random.normal(second, (k, n), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_products(dtype):
    a, b = drawn(256, 256, 256, dtype)
    c = gemm_steps.matmul(a * 2, b, alpha=0.5)  # what is not computed yet is waited for
    want = jnp.matmul(a, b, precision="highest").astype("float32")
    relative = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 2e-2}[dtype]
    assert (c.dtype, c.shape, c.device) == (a.dtype, (256, 256), a.device)
    assert float(jnp.linalg.norm(c.astype("float32") - want) / jnp.linalg.norm(want)) < relative


def test_a_product_is_finished_when_it_returns():
    a, b = drawn(4096, 4096, 4096, "float32")
    assert gemm_steps.matmul(a, b, step=1).is_ready()


def test_refusals():
    a, b = drawn(128, 128, 128, "float32")
    with pytest.raises(ValueError, match=r"JAX's arrays never change: leave out `out`"):
        gemm_steps.matmul(a, b, out=a)
    with pytest.raises(ValueError, match=r"beta is a factor of what out holds"):
        gemm_steps.matmul(a, b, beta=1)
    with pytest.raises(TypeError, match=r"gemm_steps\.matmul cannot be traced; call it outside of jax\.jit"):
        jax.jit(gemm_steps.matmul)(a, b)
    with pytest.raises(TypeError, match=r"a holds int32"):
        gemm_steps.matmul(a.astype("int32"), b.astype("int32"))
    cpu = jax.devices("cpu")[0]
    with pytest.raises(ValueError, match=r"a is in the memory of the CPU; move the arrays to the GPU"):
        gemm_steps.matmul(jax.device_put(a, cpu), jax.device_put(b, cpu))
