"""gemm_steps.torch.fp32 in the simulator: which products step 33 takes, their gradients, and what is left to PyTorch."""

import threading

import pytest

from gemm_steps import _load

_load.core()  # before PyTorch, so that the simulator is the CUDA runtime that it finds
torch = pytest.importorskip("torch")
if not _load.core().simulated():
    pytest.skip("the simulator is not the runtime here", allow_module_level=True)

from gemm_steps.torch import fp32  # noqa: E402

ROUNDOFF = 2.0**-16


def drawn(*shape, seed=1):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def assert_close(got, want, magnitude):
    assert got.shape == want.shape and got.dtype == torch.float32
    assert ((got - want).abs() <= ROUNDOFF * magnitude + 1e-30).all()


def held_against_double(call, *tensors, products):
    """Run a call inside and, in double, outside."""
    with fp32() as mode:
        got = call(*tensors)
    assert mode.products == products
    assert_close(got, call(*(one.double() for one in tensors)), call(*(one.double().abs() for one in tensors)))


LAYOUTS = {
    "as they are": lambda a, b: (a, b),
    "b transposed": lambda a, b: (a, b.T.contiguous().T),
    "a transposed": lambda a, b: (a.T.contiguous().T, b),
    "columns of wider ones": lambda *both: [torch.cat([one, one], 1)[:, : one.shape[1]] for one in both],
    "every other column": lambda a, b: (a.repeat_interleave(2, 1)[:, ::2], b.repeat_interleave(2, 1)[:, ::2]),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_matrices_in_any_layout(layout):
    held_against_double(torch.mm, *layout(drawn(33, 40), drawn(40, 17, seed=2)), products=1)


@pytest.mark.parametrize(
    ("call", "shapes", "products"),
    [
        (torch.nn.functional.linear, [(9, 20), (30, 20), (30,)], 1),
        (torch.nn.functional.linear, [(2, 9, 20), (30, 20)], 1),
        (torch.bmm, [(3, 9, 20), (3, 20, 12)], 3),
        (torch.matmul, [(2, 1, 9, 20), (3, 20, 12)], 6),
        (lambda a, b: torch.einsum("bij,kj->bik", a, b), [(2, 9, 20), (7, 20)], 1),
        (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), [(9, 12), (9, 20), (20, 12)], 1),
        (lambda c, a, b: torch.baddbmm(c, a, b, beta=0.5, alpha=2), [(2, 9, 12), (2, 9, 20), (2, 20, 12)], 2),
    ],
)
def test_calls_that_are_products(call, shapes, products):
    held_against_double(call, *(drawn(*shape, seed=i).abs() for i, shape in enumerate(shapes)), products=products)


def test_inference_mode_and_results_that_are_given():
    a, b = drawn(9, 20), drawn(12, 20, seed=2)
    with torch.inference_mode():
        held_against_double(torch.nn.functional.linear, a, b, products=1)
    out = torch.empty(0)
    with fp32() as mode:
        assert torch.mm(a, b.T, out=out) is out
    assert mode.products == 1
    assert_close(out, a.double() @ b.double().T, a.double().abs() @ b.double().T.abs())


def model_and_input():
    torch.manual_seed(1)
    layers = torch.nn.Sequential(torch.nn.Linear(20, 16), torch.nn.Tanh(), torch.nn.Linear(16, 4))
    return layers, drawn(12, 20)


def gradients(layers):
    return [parameter.grad.clone() for parameter in layers.parameters()]


def test_gradients_are_products_too_where_backward_lies_inside():
    layers, x = model_and_input()
    layers(x).square().mean().backward()
    want = gradients(layers)
    layers.zero_grad()
    with fp32() as mode:
        loss = layers(x).square().mean()
        forward = mode.products
        loss.backward()
    assert (forward, mode.products) == (2, 5)  # the input asks for no gradient of its own
    for got, expected in zip(gradients(layers), want, strict=True):
        assert torch.allclose(got, expected, rtol=1e-4, atol=1e-6)


def test_backward_outside_is_left_to_pytorch():
    layers, x = model_and_input()
    with fp32() as mode:
        loss = layers(x).square().mean()
    loss.backward()
    assert mode.products == 2


def test_other_threads_and_types_are_left_to_pytorch():
    a, b = drawn(9, 20), drawn(20, 12, seed=2)
    with fp32() as mode:
        other = threading.Thread(target=torch.mm, args=(a, b))
        other.start()
        other.join()
        torch.mm(a.double(), b.double())
        torch.mm(a.bfloat16(), b.bfloat16())
        assert torch.mm(a[:0], b).shape == (0, 12)
    assert mode.products == 0
    assert torch.equal(torch.mm(a, b), torch.mm(a, b)) and mode.products == 0  # it has ended


def test_a_sum_too_long_for_four_digits_is_cut():
    a, b = drawn(2, 33000), drawn(33000, 3, seed=2)
    with fp32() as mode:
        got = torch.mm(a, b)
    assert mode.products == 1
    assert_close(got, a.double() @ b.double(), a.double().abs() @ b.double().abs())
