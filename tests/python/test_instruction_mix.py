"""lab/instruction_mix.py: loops and classes in PTX and SASS, and which kernel a variant launches."""

import json
import re

import pytest
from programs import program

from base import registry
from base.errors import UserError
from lab import disassembly, instruction_mix
from lab.variant_kernels import KERNEL, launched, products_of
from records.sources import fingerprint

PTX = """
.version 9.0
.target sm_80
.visible .entry _Z11gemm_kernelILi4ELb0EEv4GemmIfE(
.param .align 8 .b8 _Z11gemm_kernel_param_0[72]
)
.maxntid 256
{
.reg .pred %p<3>;
.shared .align 16 .b8 As[1024];
ld.param.u32 %r1, [_Z11gemm_kernel_param_0];
setp.lt.s32 %p1, %r1, 1;
@%p1 bra $L__BB0_4;
$L__BB0_1: // outer
mov.u32 %r2, 0;
$L__BB0_2:
.loc 1 20 3
ld.shared.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];
ld.global.nc.v2.f32 {%f5, %f6}, [%rd2]; st.shared.f32 [%rd1], %f5;
{ cp.async.cg.shared.global [%r3], [%rd2], 16; }
fma.rn.f32 %f7, %f1, %f5, %f7;
fma.rn.f32 %f8, %f2, %f5, %f8;
mad.lo.s32 %r4, %r1, %r2, %r3;
add.f32 %f9, %f9, %f8;
bar.sync 0;
add.s32 %r2, %r2, 1;
setp.lt.s32 %p2, %r2, 8;
@%p2 bra $L__BB0_2;
fma.rn.f32 %f9, %f9, %f9, %f9;
@%p1 bra $L__BB0_1;
$L__BB0_4:
ret;
}
.visible .entry other()
{
ret;
}
"""

# As cuobjdump prints it: absolute targets.
SASS = """
        Function : _Z11gemm_kernelILi4ELb0EEv4GemmIfE
    .headerflags    @"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;                      /* 0x00000a00ff017b82 */
        /*0010*/                   LDS.128 R4, [R2] ;                          /* 0x0 */
        /*0020*/                   FFMA R8, R4, R5, R8 ;                       /* 0x0 */
        /*0030*/                   FFMA R9, R4, R6, R9 ;                       /* 0x0 */
        /*0040*/                   HFMA2.MMA R3, -RZ, RZ, 0, 0 ;               /* 0x0 */
        /*0050*/                   IMAD.MOV.U32 R1, RZ, RZ, R2 ;               /* 0x0 */
        /*0060*/                   LDGSTS.E.BYPASS.128 [R1], desc[UR4][R2.64] ; /* 0x0 */
        /*0070*/              @!P0 BAR.SYNC.DEFER_BLOCKING 0x0 ;               /* 0x0 */
        /*0080*/                   ISETP.GE.AND P0, PT, R1, R2, PT ;           /* 0x0 */
        /*0090*/              @!P0 BRA 0x10 ;                                  /* 0x0 */
        /*00a0*/                   EXIT ;                                      /* 0x0 */
        /*00b0*/                   BRA 0xb0;                                   /* 0x0 */
"""


def test_machine_code_is_for_the_gpu_and_for_the_only_one_where_a_step_needs_it():
    steps = {arch: registry.Step("x", arch, "hopper", "bf16") for arch in ("80", "90", "90a")}
    assert [instruction_mix.machine_arch(90, steps[arch]) for arch in steps] == ["90", "90", "90a"]
    with pytest.raises(UserError, match="x is for sm_90a: there is no SASS of it for sm_100"):
        instruction_mix.machine_arch(100, steps["90a"])


def test_ptx_inner_loop_is_counted_by_class():
    kernels = disassembly.ptx_kernels(PTX)
    assert [k.name for k in kernels] == ["_Z11gemm_kernelILi4ELb0EEv4GemmIfE", "other"]
    loop = disassembly.inner_loop(kernels[0])
    assert loop.instructions == 12
    assert dict(loop.counts) == {
        "load_shared": 1, "load_global": 1, "store_shared": 1, "cp_async": 1, "fma": 2, "integer": 2, "float": 1,
        "barrier": 1, "predicate": 1, "branch": 1,
    }  # fmt: skip
    assert disassembly.inner_loop(kernels[1]) is None


def test_sass_inner_loop_is_counted_by_class():
    loop = disassembly.inner_loop(*disassembly.sass_kernels(SASS))
    assert loop.instructions == 9
    assert dict(loop.counts) == {
        "load_shared": 1, "fma": 2, "move": 2, "cp_async": 1, "barrier": 1, "predicate": 1, "branch": 1,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("opcode", "kind"),
    [
        ("mul.wide.s32", "integer"), ("cvt.rn.f16.f32", "convert"), ("st.global.v4.f32", "store_global"),
        ("cp.async.wait_group", "other"), ("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "tensor"),
        ("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes", "cp_async"),
        ("wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "tensor"), ("wgmma.fence.sync.aligned", "barrier"),
        ("LDSM.16.M88.4", "load_shared"), ("HGMMA.64x256x16.F32.BF16", "tensor"), ("IGMMA.64x128x32.S8.S8", "tensor"), ("UTMALDG.2D", "cp_async"),
        ("WARPGROUP.DEPBAR.LE", "barrier"), ("LEA.HI.X", "integer"), ("FADD", "float"), ("BSSY", "branch"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.global.f16", "load_global"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.shared.f16", "load_shared"),
        ("wmma.load.a.sync.aligned.row.m16n16k16.f16", "load_shared"),
    ],
)  # fmt: skip
def test_classes(opcode, kind):
    assert disassembly.classify(opcode) == kind


def simulated(folder, *symbols: str):
    """A step that does as one in the simulator does: it writes which kernels it launched."""
    record = json.dumps({"variant": "tiled", "kernels": symbols})
    write = f"for file; do :; done\necho '{record}' > ${{file#--json=}}"
    return program(folder / "03_step", f'echo "$*" > {folder}/asked\n{write}')


def test_a_variants_kernel_is_the_one_that_it_launches(tmp_path):
    step = simulated(tmp_path, "_Z11gemm_kernelILi8EE", "_Z12round_kernelv")
    assert launched(step, {"variant": "tiled", "block": [32, 16, 8]}) == "_Z11gemm_kernelILi8EE"
    assert (tmp_path / "asked").read_text().startswith("--sim --variant=tiled --m=64 --n=32 --k=32 --json=")


def test_the_fingerprint_is_of_the_code_alone():
    assert fingerprint("int a = 1;  // one\n") == fingerprint("int a\n= 1; /* two\nlines */")
    assert fingerprint("int a = 1;") != fingerprint("int a = 2;")


@pytest.mark.parametrize("step", registry.steps(), ids=lambda step: step.name)
def test_the_lab_finds_the_kernels_in_a_steps_sources(step):
    assert "gemm_kernel" in products_of(step) or step.number <= 2
    for source in step.sources:
        code = re.sub(r"//[^\n]*", "", source.read_text(encoding="utf-8"))
        assert len(KERNEL.findall(code)) == code.count("__global__"), f"{source}: a kernel is called …_kernel"
