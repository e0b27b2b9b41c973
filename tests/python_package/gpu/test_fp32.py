"""gemm_steps.torch.fp32 on a GPU: layouts, streams and graphs, autograd's own threads, and what the guard chooses."""

import threading

import pytest

torch = pytest.importorskip("torch")
if not torch.cuda.is_available() or torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("step 33 needs a GPU of compute capability 9.0", allow_module_level=True)

import gemm_steps  # noqa: E402
from gemm_steps.torch import fp32  # noqa: E402

MOST = 2.0**-16  # of |ai| |bj| / K, as the guard promises, and more than what FP32 rounds


def drawn(*shape, seed=1):
    return torch.randn(*shape, device="cuda", generator=torch.Generator("cuda").manual_seed(seed))


def wide(*shape, seed=1):
    """Rows and columns whose elements differ by many powers of two: no digits hold them."""
    return drawn(*shape, seed=seed) * (4 * drawn(*shape, seed=seed + 10)).exp()


def assert_close(got, a, b):
    """Within the promise, of the sums of absolute values."""
    exact = a.double() @ b.double()
    sizes = a.double().abs().sum(-1, keepdim=True) * b.double().abs().sum(-2, keepdim=True) / a.shape[-1]
    assert got.shape == exact.shape and ((got - exact).abs() <= MOST * sizes).all()


@pytest.mark.parametrize("transposed", ["neither", "a", "b", "both"])
@pytest.mark.parametrize("size", [(1000, 777, 531), (1, 1, 1), (2048, 1024, 512)])
def test_matrices_in_any_layout(transposed, size):
    m, n, k = size
    a = drawn(k, m).T if transposed in ("a", "both") else drawn(m, k)
    b = drawn(n, k, seed=2).T if transposed in ("b", "both") else drawn(k, n, seed=2)
    with fp32() as mode:
        assert_close(a @ b, a, b)
    assert mode.products == 1


def model_and_input():
    torch.manual_seed(1)
    layers = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.Tanh(), torch.nn.Linear(512, 64)).cuda()
    return layers, drawn(300, 256)


def test_autograds_threads_take_over_the_mode_of_the_thread_that_calls_backward():
    layers, x = model_and_input()
    threads = set()
    layers[2].weight.register_hook(lambda _: threads.add(threading.get_ident()))
    with fp32() as mode:
        loss = layers(x).square().mean()
        forward = mode.products
        loss.backward()
    assert (forward, mode.products) == (2, 5)
    assert threads != {threading.get_ident()}, "backward ran on the thread that called it: nothing was shown"
    inside = [parameter.grad.clone() for parameter in layers.parameters()]
    layers.zero_grad()
    layers(x).square().mean().backward()
    for parameter, got in zip(layers.parameters(), inside, strict=True):
        assert torch.allclose(parameter.grad, got, rtol=1e-3, atol=1e-7)


def test_a_graph_multiplies_what_its_inputs_hold_when_it_is_replayed():
    a, b = drawn(512, 512), wide(512, 512, seed=2)
    with fp32():
        a @ b
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            c = a @ b
    a.copy_(wide(512, 512, seed=3))  # digits can be chosen for the first, not for these
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(c, gemm_steps.matmul(a, b, step=11))
