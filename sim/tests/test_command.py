"""Runs `ptxsim` on programs as nvcc makes them, and on what is none: test_command.py PTXSIM NVCC."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PTXSIM, NVCC = (Path(word).absolute() for word in sys.argv[1:3])

SUM = r"""
#include <cstdio>
#include <cstdlib>
__global__ void sum(int* out, bool waits) {
  __shared__ int tile[64];
  tile[threadIdx.x] = threadIdx.x;
  if (waits) __syncthreads();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}
__global__ void endless(int* out) { while (atomicAdd(out, 0) >= 0) {} }
int main(int count, char** words) {
  int* out;
  cudaMallocManaged(&out, 256);
  const char how = count > 1 ? words[1][0] : 'r';
  sum<<<1, 64>>>(out, how != 'w' && how != 'a' && how != 'b');
  cudaDeviceProp properties;
  cudaGetDeviceProperties(&properties, 0);
  std::printf("%s %d on %d.%d\n", cudaGetErrorString(cudaDeviceSynchronize()), out[0], properties.major, properties.minor);
  if (how == 'a') std::abort();
  if (how == 'e' || how == 'b') { std::fflush(stdout); out[0] = 1; endless<<<1, 1>>>(out); }
  void* much = nullptr;
  if (how == 'm') std::printf("%d\n", cudaMalloc(&much, size_t(64) << 20));
}
"""
APART = {
    "first.cu": "#include <cstdio>\nextern __device__ int twice(int);\nstatic __device__ int own = 3;\n"
    "__global__ void k(int* out) { *out = twice(own); }\nint main() { int* out; cudaMallocManaged(&out, 4); "
    'k<<<1, 1>>>(out); cudaDeviceSynchronize(); std::printf("apart %d\\n", *out); }\n',
    "second.cu": "static __device__ int own = 4;\n__device__ int twice(int x) { return 2 * x + own; }\n",
}
wrong: list[str] = []


def run(*words: object, folder: Path | None = None) -> tuple[int, str]:
    """Exit code and all that was printed, in a folder."""
    done = subprocess.run(
        list(map(str, words)), cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    return done.returncode, done.stdout


def expect(name: str, got: tuple[int, str], code: int, *texts: str) -> None:
    """Notes where the code is another, or a text is missing."""
    missing = [text for text in texts if text not in got[1]]
    if got[0] != code or missing:
        wrong.append(f"{name}: code {got[0]} (expected {code}), without {missing}:\n{got[1]}")


def expect_refusals(folder: Path, program: Path) -> None:
    """What cannot be run: each one line, with what to do."""
    stripped = folder / "stripped"
    shutil.copy(program, stripped)
    run("strip", stripped)
    (folder / "text").write_text("no program")
    other = bytearray(program.read_bytes()[:4096])
    other[18:20] = (0xF3).to_bytes(2, "little")  # RISC-V
    (folder / "other").write_bytes(other)
    (folder / "other").chmod(0o755)
    (folder / "source.cu").write_text(SUM)
    refusals: list[tuple[list[object], int, str]] = [
        ([folder / "absent"], 127, "there is no program"),
        ([folder], 126, "is a folder"),
        ([folder / "text"], 126, "chmod +x"),
        ([folder / "source.cu"], 126, "ptxsim nvcc"),
        ([folder / "other"], 126, "another processor"),
        ([stripped], 126, "-cudart shared"),
        (["--sed", 1, program], 2, "there is no option --sed"),
        (["--seed", "x", program], 2, "a whole number, not 'x'"),
        *(([option, 0, program], 2, "from 1 up, not 0") for option in ("--seeds", "--memory", "--threads")),
        ([], 2, "which program?"),
        (["--follow", "0:0:4", program], 2, "--follow needs --trace-events"),
        (["--device", "rtx1", program], 2, "there is no device 'rtx1'"),
    ]
    refusals += [
        (["source.cu"], 126, "ptxsim nvcc"),
        (["text"], 127, "the one in this folder is ./text"),
    ]
    for words, code, text in refusals:
        got = run(PTXSIM, *words, folder=folder)
        expect(f"refuses {words}", got, code, text)
        if got[1].count("\n") != 1:
            wrong.append(f"{words}: not one line:\n{got[1]}")


def expect_summary_of_seeds(folder: Path, program: Path) -> None:
    """After Ctrl-C: of the runs until then, whether a terminal sends it to all or a process to the command alone."""
    scratch, report = folder / "scratch", folder / "interrupted.json"
    scratch.mkdir()
    for name, send in (("all", os.killpg), ("the command", os.kill)):
        report.unlink(missing_ok=True)
        command = subprocess.Popen(
            [PTXSIM, "--seeds", "5", "--json", report, program, "b"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, env={**os.environ, "TMPDIR": str(scratch)}, start_new_session=True,
        )  # fmt: skip
        assert command.stdout is not None
        command.stdout.readline()
        time.sleep(0.3)
        send(command.pid, signal.SIGINT)
        said = command.communicate(timeout=60)[0]
        expect(
            f"Ctrl-C for {name}", (command.returncode, said), 130, "ptxsim: interrupted; 1 of 5 seeds, ", "race in sum"
        )
        seen = json.loads(report.read_text()) if report.exists() else {}
        if seen.get("exit_codes") != [130] or not seen["reports"] or list(scratch.iterdir()):
            wrong.append(f"Ctrl-C for {name}: {seen}, {list(scratch.iterdir())}")


def main() -> int:
    """Compiles the programs, runs them, and says what was wrong."""
    os.environ["PTXSIM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "sum.cu").write_text(SUM)
        program = folder / "sum"
        os.environ["PATH"] = f"{NVCC.parent}:{os.environ['PATH']}"
        expect("ptxsim nvcc", run(PTXSIM, "nvcc", folder / "sum.cu", "-o", program), 0)
        expect("static runtime", run(PTXSIM, program), 0, "no error 63 on 9.0")
        expect("device", run(PTXSIM, "--device=a100", program), 0, "no error 63 on 8.0")
        expect("memory", run(PTXSIM, "--memory", 16, program, "m"), 0, "has 16 MiB", "\n2\n")
        race = (
            "race in sum",
            "sum.cu:8 by thread",
            "with no barrier between",
            "in all 2 errors, causes first",
            "1. race",
            "rule: PTX ISA, “Conflict and Data-races”: ",
        )
        expect("a mistake", run(PTXSIM, program, "w"), 1, *race, "2. uninitialised read")
        expect("a mistake, then abort", run(PTXSIM, program, "a"), -signal.SIGABRT, *race)
        expect("few reports", run(PTXSIM, "--reports", 1, program, "w"), 1, "and 1 more")
        expect("counts", run(PTXSIM, "--counts", program), 0, "sum, launched once", "instructions of warps")
        report = folder / "report.json"
        expect(
            "seeds",
            run(PTXSIM, "--seeds", 3, "--json", report, program, "w"),
            1,
            "3 seeds",
            "race in sum",
            "--seed",
            "sum.cu:6 and ",
        )
        seen = json.loads(report.read_text())
        if seen["exit_codes"] != [1, 1, 1] or not all(each["seeds"] for each in seen["reports"]):
            wrong.append(f"seeds: {seen['exit_codes']}, {seen['reports']}")
        run(PTXSIM, "--json", report, program)
        seen = json.loads(report.read_text())
        if seen["reports"] or seen["kernels"][0]["counts"]["barriers"] != 2:
            wrong.append(f"json: {seen['reports']}")
        endless = subprocess.Popen([PTXSIM, program, "e"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert endless.stdout is not None
        endless.stdout.readline()
        time.sleep(0.3)
        endless.send_signal(signal.SIGINT)
        said = endless.communicate(timeout=60)[0]
        expect("Ctrl-C", (endless.returncode, said), 130, "interrupted")
        expect_summary_of_seeds(folder, program)
        expect_refusals(folder, program)

        run(NVCC, folder / "sum.cu", "-o", folder / "plain")
        plain = ("at PTX line ", "written at PTX line ", "(compiled with nvcc -lineinfo, or by ptxsim nvcc")
        expect("without -lineinfo", run(PTXSIM, folder / "plain", "w"), 1, *plain)
        run(NVCC, "--compress-mode=speed", "-cudart", "shared", folder / "sum.cu", "-o", folder / "lz4")
        expect("LZ4, shared runtime", run(PTXSIM, folder / "lz4"), 0, "no error 63 on 9.0")
        run(NVCC, "-gencode", "arch=compute_80,code=sm_80", folder / "sum.cu", "-o", folder / "machine_code")
        expect("no PTX", run(PTXSIM, folder / "machine_code"), 1, "holds no PTX, only machine code for sm_80")
        for name, text in APART.items():
            (folder / name).write_text(text)
        run(NVCC, "-rdc=true", *(folder / name for name in APART), "-o", folder / "apart")
        expect("compiled apart", run(PTXSIM, folder / "apart"), 0, "apart 10")
    print("\n".join(wrong) or "the command does what it says")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
