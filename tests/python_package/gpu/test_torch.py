"""PyTorch: values, streams, graphs, torch.compile, gradients, refusals, and what a call costs."""

import statistics
import time

import pytest
from products import bound, complete_variants, size_for

import gemm_steps

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)

from torch import library  # noqa: E402

from gemm_steps import _torch  # noqa: E402

DTYPES = {"f32": torch.float32, "tf32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
CAPABILITY = int("".join(map(str, torch.cuda.get_device_capability())))
PRODUCTS = [
    pytest.param(step.name, variant, id=f"{step.name}-{variant['variant']}")
    for step in gemm_steps.steps()
    if (int(step.arch[:-1]) == CAPABILITY if step.arch.endswith("a") else int(step.arch) <= CAPABILITY)
    for variant in complete_variants(step.name)
    if variant["a"] in DTYPES  # the package takes no matrices of 8 bits
]
MOST_MICROSECONDS = 10  # of a call, beyond the launch itself


def drawn(m, n, k, dtype=torch.float32, transposed=False, device="cuda"):
    """A and B of random elements; B stored n × k where it is transposed."""
    torch.manual_seed(1)
    a = torch.randn(m, k, device=device).to(dtype)
    b = torch.randn(*((n, k) if transposed else (k, n)), device=device).to(dtype)
    return a, b.T if transposed else b


def assert_right(c, a, b, variant, alpha=1.0, beta=0.0, before=0.0):
    want = alpha * (a.double() @ b.double()) + beta * before
    magnitude = abs(alpha) * (a.double().abs() @ b.double().abs()) + abs(beta * before)
    assert (c.dtype, c.device, tuple(c.shape)) == (a.dtype, a.device, tuple(want.shape))
    assert ((c.double() - want).abs() <= bound(variant, magnitude, want)).all()


def default(step):
    return gemm_steps.variants(step)[0]


@pytest.mark.parametrize(("step", "variant"), PRODUCTS)
def test_every_variant_multiplies(step, variant):
    a, b = drawn(*size_for(variant), DTYPES[variant["a"]], variant["layout"] == "TN")
    assert_right(gemm_steps.matmul(a, b, step=step, variant=variant["variant"]), a, b, variant)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("size", [256, 1024])
def test_without_a_step_the_sums_are_in_fp32(dtype, size):
    a, b = drawn(size, size, size, dtype)
    out = torch.empty_like(a)
    step, name = _torch.framework().chosen(a, b, out, None)
    variant = next(one for one in gemm_steps.variants(step) if one["variant"] == name)
    assert (variant["acc"], variant["a"] == "tf32") == ("f32", False)
    assert_right(gemm_steps.matmul(a, b), a, b, variant)


def test_alpha_beta_and_out():
    a, b = drawn(128, 256, 64)
    out = torch.randn(128, 256, device="cuda")
    before = out.double()
    assert gemm_steps.matmul(a, b, step=7, out=out, alpha=-0.75, beta=0.5) is out
    assert_right(out, a, b, default(7), -0.75, 0.5, before)


def test_a_product_waits_for_what_is_before_it_on_the_current_stream():
    a, b = torch.zeros(256, 256, device="cuda"), torch.ones(256, 256, device="cuda")
    gemm_steps.matmul(a, b, step=7)  # loaded before anything is timed
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(100_000_000)
        a.fill_(1)
        c = gemm_steps.matmul(a, b, step=7)
        assert not stream.query(), "the product did not return before the stream was done"
    stream.synchronize()
    assert (c == 256).all()


@pytest.mark.parametrize("step", [7, 21, None])
def test_a_graph_multiplies_what_its_inputs_hold_when_it_is_replayed(step):
    dtype = torch.float32 if step == 7 else torch.float16
    a, b = drawn(512, 512, 512, dtype)
    gemm_steps.matmul(a, b, step=step)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        c = gemm_steps.matmul(a, b, step=step)
        d = gemm_steps.matmul(c, b, step=step, alpha=0.125)
    a.copy_(torch.randn_like(a))
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(c, gemm_steps.matmul(a, b, step=step))
    assert torch.equal(d, gemm_steps.matmul(c, b, step=step, alpha=0.125))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="there is one GPU")
def test_a_product_is_on_the_gpu_of_its_arrays():
    a, b = drawn(256, 256, 256, device="cuda:1")
    assert torch.cuda.current_device() == 0
    assert_right(gemm_steps.matmul(a, b, step=7), a, b, default(7))
    with pytest.raises(ValueError, match="a is on GPU 0 and b on GPU 1; move them to one device"):
        gemm_steps.matmul(a.to("cuda:0"), b)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_programs_call_the_operator_without_a_break(backend):
    if backend == "inductor":
        pytest.importorskip("triton")

    def program(x, y):
        return gemm_steps.matmul(torch.relu(x), y, step=7) + 1

    a, b = drawn(256, 256, 256)
    with torch.no_grad():
        got = torch.compile(program, backend=backend, fullgraph=True)(a, b)
        assert torch.equal(got, program(a, b))


def test_the_operators_keep_pytorchs_rules():
    a, b = drawn(256, 256, 256)
    out = torch.empty(256, 256, device="cuda")
    checks = ("test_schema", "test_faketensor", "test_aot_dispatch_dynamic")
    library.opcheck(torch.ops.gemm_steps.matmul.default, (a, b), {"step": "7"}, test_utils=checks)
    library.opcheck(torch.ops.gemm_steps.matmul_out.default, (a, b, out), {"step": "7"}, test_utils=checks)


def test_gradients_are_refused():
    a, b = drawn(128, 128, 128)
    with pytest.raises(RuntimeError) as refusal:
        gemm_steps.matmul(a.requires_grad_(), b)
    assert str(refusal.value) == (
        "gemm_steps.matmul has no gradient; call it under torch.no_grad(), or pass a.detach() and b.detach()"
    )
    with torch.no_grad():
        assert not gemm_steps.matmul(torch.nn.Parameter(a), b).requires_grad
    with pytest.raises(RuntimeError, match=r"gemm_steps\.matmul has no gradient"):
        torch.ops.gemm_steps.matmul(a, b).sum().backward()


def test_what_is_not_on_the_gpu_or_of_no_type_of_the_steps_is_refused():
    a, b = drawn(128, 128, 128)
    with pytest.raises(ValueError, match=r"a is on GPU 0 and b in the memory of the CPU; move them to one device"):
        gemm_steps.matmul(a, b.cpu())
    with pytest.raises(ValueError, match=r"a is in the memory of the CPU; move the arrays to the GPU"):
        gemm_steps.matmul(a.cpu(), b.cpu())
    with pytest.raises(TypeError, match=r"a is an array of PyTorch and b is a ndarray; convert one of them"):
        gemm_steps.matmul(a, b.cpu().numpy())
    with pytest.raises(TypeError, match=r"a holds int64; the steps multiply float32, float16 and"):
        gemm_steps.matmul(a.long(), b)


def seconds_of(call, calls=200, batches=31):
    """The median of the time that the CPU takes for a call; few enough that none waits for room in the queue."""
    times = []
    for _ in range(batches):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times)


@pytest.mark.parametrize(("step", "dtype"), [(7, torch.float32), (21, torch.float16), (None, torch.bfloat16)])
def test_a_call_takes_at_most_ten_microseconds_more_than_the_launch(step, dtype):
    a, b = drawn(256, 256, 256, dtype)
    out = torch.empty_like(a)
    gemm_steps.matmul(a, b, step=step)
    launch = _torch.framework().launch_seconds(a, b, out, step, 200, 31)
    call = seconds_of(lambda: gemm_steps.matmul(a, b, step=step))
    into = seconds_of(lambda: gemm_steps.matmul(a, b, step=step, out=out))
    figures = {
        "launch": launch,
        "call": call,
        "call with out": into,
        "torch.matmul": seconds_of(lambda: torch.matmul(a, b)),
        "Tensor.new_empty": seconds_of(lambda: a.new_empty((256, 256))),
        "the package's allocation": seconds_of(lambda: _torch.made(a, 256, 256)),
    }
    for name, value in figures.items():
        print(f"step {step}: {name} {value * 1e6:.2f} us")
    assert (call - launch) * 1e6 <= MOST_MICROSECONDS
