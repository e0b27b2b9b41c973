"""The Python package: kernels from PTX that Triton and Numba made, findings, counts, and what is refused."""

import gzip
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import ptxsim
import pytest

HERE = Path(__file__).resolve().parent
REVERSE = """.version 9.0
.target sm_80
.address_size 64
.visible .entry reverse(.param .u64 out, .param .u32 n, .param .f32 scale)
{
  .reg .b64 %d<4>;
  .reg .b32 %r<8>;
  .reg .pred %p<2>;
  .shared .align 4 .b8 tile[256];
  .loc 1 4 1
  mov.u32 %r1, %tid.x;
  shl.b32 %r2, %r1, 2;
  mov.u32 %r3, tile;
  add.u32 %r4, %r3, %r2;
  st.shared.u32 [%r4], %r1;
  BARRIER
  .loc 1 5 1
  sub.u32 %r5, 252, %r2;
  add.u32 %r5, %r5, %r3;
  ld.shared.u32 %r6, [%r5];
  ld.param.u64 %d1, [out];
  mad.wide.u32 %d2, %r1, 4, %d1;
  st.global.u32 [%d2], %r6;
  ret;
}
.file 1 "reverse.cu"
"""


def recorded(name: str) -> str:
    """PTX that make_ptx.py recorded."""
    return gzip.decompress((HERE / f"{name}.ptx.gz").read_bytes()).decode()


def reverse(barrier: str = "bar.sync 0;") -> ptxsim.Kernel:
    """A kernel that reverses 64 numbers, with or without its barrier."""
    return ptxsim.Module(REVERSE.replace("BARRIER", barrier)).kernel("reverse")


def kernel_of(body: str, target: str) -> ptxsim.Kernel:
    """A kernel of one array, whose address is in %d1; %r1 is the thread's number."""
    return ptxsim.Module(f""".version 9.0
.target {target}
.address_size 64
.visible .entry kernel(.param .u64 out)
{{
  .reg .b64 %d<2>;
  .reg .b32 %r<6>;
  .reg .pred %p<3>;
  .shared .align 128 .b8 tile[256];
  ld.param.u64 %d1, [out];
  mov.u32 %r1, %tid.x;
{body}
  ret;
}}
""").kernel("kernel")


ENDLESS = """
  st.shared.u32 [tile], %r1;
loop:
  ld.volatile.global.u32 %r2, [%d1];
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra loop;
  st.global.u32 [%d1], %r1;
"""


@pytest.fixture
def random() -> np.random.Generator:
    """The same numbers each time."""
    return np.random.default_rng(1)


def test_numbas_kernel(ptxsim_checked, random) -> None:
    """An array of Numba's is seven parameters."""
    text = recorded("numba_saxpy")
    name = re.search(r"\.entry\s+(\S+)\(", text)
    x, y = random.standard_normal((2, 100), dtype=np.float32)
    out = np.zeros(100, np.float32)
    arrays = [part for a in (out, x, y) for part in (None, None, a.size, a.itemsize, a, a.size, a.itemsize)]
    assert name
    ptxsim_checked(ptxsim.Module(text).kernel(name[1])[4, 32](*arrays, 2.0))
    assert np.array_equal(out, 2 * x + y)


@pytest.mark.parametrize("number", [0, 3])
def test_tritons_softmax(ptxsim_checked, random, number: int) -> None:
    """Two parameters at the end are Triton's own scratch memory."""
    ptxsim.seed(number)
    x = random.standard_normal((5, 200), dtype=np.float32)
    out = np.zeros_like(x)
    ptxsim_checked(
        ptxsim.Module(recorded("triton_softmax")).kernel("softmax_rows")[5, 128, 16](x, out, 200, None, None)
    )
    expected = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(out, expected / expected.sum(1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("capability", [80, 90])
def test_tritons_matrix_product(ptxsim_checked, random, capability: int) -> None:
    """By mma, and by wgmma."""
    a, b = random.standard_normal((64, 64)).astype(np.float16), random.standard_normal((64, 128)).astype(np.float16)
    c = np.zeros((64, 128), np.float32)
    kernel = ptxsim.Module(recorded(f"triton_matmul_{capability}")).kernel("matmul")
    result = ptxsim_checked(kernel[(1, 2), 128, 16384](a, b, c, 64, 128, 64, None, None))
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), atol=1e-3)
    assert result.counts["tensor_ops"] == (256 if capability == 80 else 32)


def test_findings_and_counts() -> None:
    """A missing barrier is found whatever the order, with both lines; the right kernel has none."""
    out = np.zeros(64, np.int32)
    right = reverse()[1, 64](out, 64, 1.0)
    assert out.tolist() == list(range(63, -1, -1))
    assert right.findings == [] == right.warnings
    assert right.counts["shared_load_wavefronts"] == 2
    assert [line["line"] for line in right.lines] == [4, 5]
    for number in range(3):
        with ptxsim.using(ptxsim.Settings(seed=number)):
            wrong = reverse("")[1, 64](out, 64, 1.0)
        assert wrong.findings[0].kind == "race"
        assert sorted(wrong.findings[0].lines) == ["reverse.cu:4", "reverse.cu:5"]
        assert wrong.findings[0].rule.startswith("PTX ISA, “Conflict and Data-races”")
        with pytest.raises(AssertionError, match="with no barrier between"):
            wrong.check()
    short = reverse()[1, 64](out[:60], 64, 1.0)
    assert short.findings[0].kind == "out of bounds"
    assert short.findings[0].times == 4


def test_arrays_are_copied_whatever_their_strides() -> None:
    """Into the array that was given; one that is read-only stays as it is."""
    wide = np.zeros((64, 2), np.int32)
    reverse()[1, 64](wide[:, 1], 64, 1.0)
    assert wide[:, 1].tolist() == list(range(63, -1, -1))
    assert not wide[:, 0].any()
    fixed = np.zeros(64, np.int32)
    fixed.flags.writeable = False
    reverse()[1, 64](fixed, 64, 1.0)
    assert not fixed.any()


def test_what_is_refused() -> None:
    """One line each, and the next launch is none the worse."""
    out = np.zeros(64, np.int32)
    with pytest.raises(ptxsim.PtxError, match=r"PTX line 15, column 23: expected ';', found '%r1'"):
        ptxsim.Module(REVERSE.replace("[%r4], %r1", "[%r4] %r1"))
    with pytest.raises(ptxsim.PtxError, match=r"'bar\.red' in kernel reverse at reverse.cu:4"):
        reverse("bar.red;")[1, 64](out, 64, 1.0)
    with pytest.raises(KeyError, match="no kernel revers "):
        ptxsim.Module(REVERSE.replace("BARRIER", "")).kernel("revers")
    kernel = reverse()
    for arguments, why in [
        ((out,), "takes 3 arguments, not 1"),
        ((out, out, 1.0), "argument 2 is an array"),
        ((out, np.int64(1), 1.0), "argument 2 is a int64 of 8 bytes; the parameter has 4 bytes"),
        ((out, 1 << 40, 1.0), "which does not fit"),
        ((out, "x", 1.0), "is a str"),
    ]:
        with pytest.raises(TypeError, match=re.escape(why)):
            kernel[1, 64](*arguments)
    with pytest.raises(ptxsim.LaunchError, match="a block of 2048 x 1 x 1 threads"):
        kernel[1, 2048](out, 64, 1.0)
    with pytest.raises(ptxsim.LaunchError, match="of which only"):
        kernel[1 << 20, 64](out, 64, 1.0, cooperative=True)
    trapped = reverse("trap;")[1, 64](out, 64, 1.0)
    assert trapped.findings[0].kind == "trap"
    assert reverse()[1, 64](out, 64, 1.0).findings == []


@pytest.mark.parametrize("device, target, fits", [
    ("a100", "sm_80", True), ("a100", "sm_86", False), ("a100", "sm_90a", False), ("h200", "sm_121", False),
    ("h200", "sm_90a", True), ("rtx4090", "sm_80", True), ("b200", "sm_90a", False), ("b200", "sm_100f", True),
])  # fmt: skip
def test_ptx_for_another_gpu_is_refused(device: str, target: str, fits: bool) -> None:
    """As in an executable: newer, or for one GPU alone. The device is chosen at the first use."""
    text = REVERSE.replace("BARRIER", "bar.sync 0;").replace("sm_80", target)
    program = f"import ptxsim\ntry:\n  ptxsim.Module({text!r})\nexcept ptxsim.PtxError as why:\n  print(why)"
    said = subprocess.run([sys.executable, "-c", program], env={**os.environ, "PTXSIM_DEVICE": device},
                          capture_output=True, text=True, check=True)  # fmt: skip
    assert (said.stdout == "") == fits, said.stdout
    assert fits or f"this PTX is for {target}, which the simulated GPU, compute_" in said.stdout
    assert said.stderr == ""


def test_what_is_wrong_is_said_in_the_exception(capfd) -> None:
    """And nowhere else."""
    out, text = np.zeros(64, np.int32), REVERSE.replace("BARRIER", "bar.sync 0;")
    kernel = reverse()
    with pytest.raises(ptxsim.LaunchError, match=r"^300000 bytes of dynamic and 256 of static .* has 232448$"):
        kernel[1, 64, 300000](out, 64, 1.0)
    with pytest.raises(ptxsim.LaunchError, match=r"^cudaMalloc of 3221225472 bytes: .* has 2048 MiB"):
        kernel[1, 64](np.broadcast_to(np.uint8(0), 3 << 30), 64, 1.0)
    with pytest.raises(TypeError, match="argument 1 is an array of Python's objects"):
        kernel[1, 64](out.astype(object), 64, 1.0)
    for number in (float("nan"), 64.0, np.float32(64)):
        with pytest.raises(TypeError, match=rf"argument 2 is {number}; the parameter is a whole number \(\.u32\)"):
            kernel[1, 64](out, number, 1.0)
    for wrong, why in [
        ("", r"there is no \.target"),
        ("\u00fc", r"PTX line 1, column 1: expected a directive, found '\\xc3'"),
        (text + text[text.index(".visible") :], "kernel 'reverse' is defined a second time"),
    ]:
        with pytest.raises(ptxsim.PtxError, match=why):
            ptxsim.Module(wrong)
    ptxsim.Module("// \u00fcber\n" + text)
    for grid in (1.5, 0, (1, 2.0), (1, 1, 1, 1), 1 << 32, "1", None):
        with pytest.raises(ValueError, match="the grid should be one to three whole numbers from 1 to"):
            kernel[grid, 64]
    for shared in (-1, 1.5, 1 << 32):
        with pytest.raises(ValueError, match="the bytes of shared memory should be"):
            kernel[1, 64, shared]
    assert kernel[np.int64(1), np.array([64])](out, 64, 1.0).findings == []
    assert capfd.readouterr().err == ""


def test_a_whole_number_is_what_its_parameter_takes() -> None:
    """As a float for .f32, as C++ would have it."""
    text = REVERSE.replace("BARRIER", "bar.sync 0;\nld.param.u32 %r6, [scale];").replace(
        "ld.shared.u32 %r6, [%r5];", ""
    )
    out = np.zeros(64, np.float32)
    ptxsim.Module(text).kernel("reverse")[1, 64](out, 64, 2)
    assert out.tolist() == [2.0] * 64


@pytest.mark.parametrize(
    "send", [lambda: signal.raise_signal(signal.SIGINT), lambda: os.kill(os.getpid(), signal.SIGINT)]
)
def test_ctrl_c_ends_a_launch(send) -> None:
    """Also where the thread that the signal comes to is another one; and the next launch is as ever."""
    endless = kernel_of(ENDLESS, "sm_80")
    out = np.zeros(1, np.uint32)
    before = signal.getsignal(signal.SIGINT)
    timer = threading.Timer(0.3, send)
    timer.start()
    with pytest.raises(KeyboardInterrupt) as stopped:
        endless[1, 64](out)
    timer.join()
    assert isinstance(stopped.value, ptxsim.Interrupted)
    assert [each.kind for each in stopped.value.result.findings] == ["race"]
    assert stopped.value.result.counts["instructions"] > 100
    assert out[0] == 0 and signal.getsignal(signal.SIGINT) is before
    turned = np.zeros(64, np.uint32)
    reverse()[1, 64](turned, 64, 1.0).check()
    assert turned[0] == 63


def test_ctrl_c_between_launches_is_pythons() -> None:
    """No launch, no change."""
    reverse()[1, 64](np.zeros(64, np.uint32), 64, 1.0).check()
    with pytest.raises(KeyboardInterrupt) as stopped:
        signal.raise_signal(signal.SIGINT)
    assert not isinstance(stopped.value, ptxsim.Interrupted)


# Block 0 stores into block 1's shared memory, and block 1 copies that out by the async proxy.
HANDED_OVER = """
  mov.u32 %r2, %cluster_ctarank;
  mov.u32 %r3, tile;
  mapa.shared::cluster.u32 %r4, %r3, 1;
  shl.b32 %r5, %r1, 2;
  add.u32 %r4, %r4, %r5;
  setp.eq.u32 %p1, %r2, 0;
  @!%p1 bra meet;
  st.shared::cluster.u32 [%r4], %r1;
  WRITER
meet:
  MEET
  setp.ne.u32 %p2, %r1, 0;
  @%p1 bra end;
  @%p2 bra end;
  READER
  cp.async.bulk.global.shared::cta.bulk_group [%d1], [tile], 128;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 0;
end:
"""
PROXY, CLUSTER = "fence.proxy.async;", "fence.acq_rel.cluster;"
MEET, WAIT = "barrier.cluster.arrive;\nbarrier.cluster.wait;", "barrier.cluster.wait;"
RELAXED = "barrier.cluster.arrive.relaxed;\n" + WAIT


@pytest.mark.parametrize(
    ("writer", "meet", "reader", "kinds"),
    [
        (PROXY, MEET, "", []),  # on either side of the cluster's barrier
        ("", MEET, PROXY, []),
        ("", MEET, "", ["missing proxy fence"]),
        ("", PROXY + MEET, "", []),  # by all, before: the writer's own counts
        (PROXY + CLUSTER, RELAXED, "", []),
        (CLUSTER, RELAXED, PROXY, []),
        # The proxy's fence orders no threads, and so nobody knows of the store.
        (PROXY, RELAXED, "", ["exited block", "race"]),
        ("", RELAXED, PROXY, ["exited block", "race"]),
    ],
)
def test_fences_across_a_cluster(writer: str, meet: str, reader: str, kinds: list[str]) -> None:
    """The fence of the async proxy may stand with the block that writes, or with the one that copies."""
    text = HANDED_OVER.replace("WRITER", writer).replace("MEET", meet).replace("READER", reader)
    for number in range(4):
        with ptxsim.using(ptxsim.Settings(seed=number)):
            out = np.zeros(32, np.uint32)
            result = kernel_of(text, "sm_90")[2, 32](out, cluster=2)
        assert sorted({each.kind for each in result.findings}) == kinds, (number, result)
        assert kinds or out.tolist() == list(range(32))
