"""`./gemm test --sanitize-host`: the C++ tests of the simulator and of the harness under the compiler's sanitizers.

The simulator's tests of single instructions have one thread; for the thread sanitizer, programs whose blocks tell each other
something take their place, run by as many threads as the host has processors.
"""

from pathlib import Path

from base import build, process
from base.environment import Environment, ensure_build
from base.errors import Failure
from base.paths import BUILD, ROOT, shown
from base.progress import say

SANITIZERS = {"address": "address,undefined", "thread": "thread"}
ONE_THREAD = {"sim:simulator": "subprojects/sim/tests/sim_tests"}
TESTS = {
    "sim:simulator runtime": "subprojects/sim/tests/sim_runtime_tests",
    "gemm:harness": "tests/cpp/harness_tests",
    "gemm:harness kernels": "tests/cpp/harness_kernel_tests",
}
# Of the ordinary build: only the simulator in which they run is instrumented. Those that race on purpose are not here.
PROGRAMS = tuple(
    f"subprojects/sim/tests/program_{name}"
    for name in ("dot_product", "grid_barrier", "histogram", "matrix_vector", "reduction", "scan", "softmax")
)
STEPS = (
    ("steps/29_split_k", "--sim", "--variant", "stream_k", "--m", "256", "--n", "512", "--k", "512"),
    ("steps/21_mma_persistent", "--sim", "--size", "256"),
)
# Each source is compiled on its own, so that none lives on what another one includes.
OPTIONS = ("-Db_lundef=false", "-Db_pch=false", "-Dpython=disabled", "-Darchs=", "-Doptimization=1", "-Dcpp_args=-g1")
SETTINGS = {
    # Tests end without giving memory back. The sanitizer is not the first library where the simulator stands before it.
    "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1",
}
# Where addresses are random in too many bits, the thread sanitizer of GCC 12 does not start.
FIXED_ADDRESSES = ("setarch", "-R")


def run(setup: bool) -> None:
    """Builds and runs the tests, a folder for each sanitizer; the next call builds only what has changed."""
    environment = ensure_build(setup)
    wrapped = process.output([*FIXED_ADDRESSES, "true"])[0] == 0
    prefix = FIXED_ADDRESSES if wrapped else ()
    failed = [name for name in SANITIZERS if not _clean(environment, name, prefix)]
    if not _programs_clean(environment, prefix):
        failed.append("programs in several threads")
    if failed:
        raise Failure(f"the sanitizers found something: {', '.join(failed)}")
    say("The sanitizers found nothing")


def _folder(name: str) -> Path:
    return BUILD.with_name(f"{BUILD.name}-sanitize-{name}")


def _clean(environment: Environment, name: str, prefix: tuple[str, ...]) -> bool:
    folder, tests = _folder(name), TESTS if name == "thread" else ONE_THREAD | TESTS
    say(f"The C++ tests with -fsanitize={SANITIZERS[name]}, in {shown(folder)}")
    if not (folder / "build.ninja").exists():
        command = [environment.meson, "setup", folder, ROOT, f"-Db_sanitize={SANITIZERS[name]}", *OPTIONS]
        code, text = process.output(command, environment.variables)
        if code != 0:
            raise Failure(f"meson setup failed:\n{text}")
    if process.run([environment.ninja, "-C", folder, *tests.values()], environment.variables) != 0:
        raise Failure("the build failed; the compiler's words are above")
    words = ["test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "10", *tests]
    return process.run([*prefix, environment.meson, *words], {**environment.variables, **SETTINGS}) == 0


def _programs_clean(environment: Environment, prefix: tuple[str, ...]) -> bool:
    """Programs of the ordinary build in the simulator of the thread sanitizer's."""
    build.configure(environment)
    build.compile_targets(environment, [*PROGRAMS, *(step for step, *_ in STEPS)])
    runtime = process.output(["g++", "-print-file-name=libtsan.so"])[1].strip()
    variables = {**environment.variables, **SETTINGS, "LD_LIBRARY_PATH": str(_folder("thread") / "sim")}
    clean = True
    for program, *words in (*((program,) for program in PROGRAMS), *STEPS):
        command = [*prefix, "env", f"LD_PRELOAD={runtime}", BUILD / program, *words]
        code, text = process.output(command, variables)
        if code != 0:
            clean = False
            print(f"{program}:\n{text}")
    return clean
