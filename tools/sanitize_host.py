"""`./gemm test --sanitize-host`: the C++ tests of the simulator and of the harness under the compiler's sanitizers.

The simulator's tests of single instructions have one thread; for the thread sanitizer, programs whose blocks tell each other
something take their place, run by as many threads as the host has processors. Kernels are those of the ordinary build: only
the simulator in which they run is instrumented.
"""

from pathlib import Path

from base import build, process
from base.environment import Environment, ensure_build
from base.errors import Failure
from base.paths import BUILD, ROOT, shown
from base.progress import say

# By folder: what is asked of the compiler, and the library that stands before a program that was compiled without it.
SANITIZERS = {"address": ("address,undefined", "libasan.so"), "thread": ("thread", "libtsan.so")}
ONE_THREAD = {"sim:simulator": "subprojects/sim/tests/sim_tests"}
TESTS = {
    "sim:simulator runtime": "subprojects/sim/tests/sim_runtime_tests",
    "gemm:harness": "tests/cpp/harness_tests",
}
KERNELS = ("tests/cpp/harness_kernel_tests", "--gtest_brief=1")
# Their blocks tell each other something, and none races.
PROGRAMS = tuple(
    (f"subprojects/sim/tests/program_{name}",)
    for name in ("dot_product", "grid_barrier", "histogram", "matrix_vector", "reduction", "scan", "softmax")
)
STEPS = (
    ("steps/29_split_k", "--sim", "--variant", "stream_k", "--m", "256", "--n", "512", "--k", "512"),
    ("steps/21_mma_persistent", "--sim", "--size", "256"),
)
RUN = {"address": (KERNELS,), "thread": (KERNELS, *PROGRAMS, *STEPS)}
# -w: GCC warns of more where it instruments. What is worth a warning the ordinary build says.
OPTIONS = ("-Db_lundef=false", "-Dpython=disabled", "-Darchs=", "-Doptimization=1", "-Dcpp_args=-g1 -w")
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
    say(f"This machine's programs, in {shown(BUILD)}")
    build.configure(environment)
    build.compile_targets(environment, sorted({program for programs in RUN.values() for program, *_ in programs}))
    wrapped = process.output([*FIXED_ADDRESSES, "true"])[0] == 0
    prefix = FIXED_ADDRESSES if wrapped else ()
    failed = [each for name in SANITIZERS for each in _failures(environment, name, prefix)]
    if failed:
        raise Failure(f"the sanitizers found something: {', '.join(failed)}")
    say("The sanitizers found nothing")


def _folder(name: str) -> Path:
    return BUILD.with_name(f"{BUILD.name}-sanitize-{name}")


def _failures(environment: Environment, name: str, prefix: tuple[str, ...]) -> list[str]:
    """What fails under one sanitizer: the tests that are compiled with it, the programs that run in its simulator."""
    (flags, library), folder = SANITIZERS[name], _folder(name)
    tests = TESTS if name == "thread" else ONE_THREAD | TESTS
    say(f"The C++ tests with -fsanitize={flags}, in {shown(folder)}")
    if not (folder / "build.ninja").exists():
        command = [environment.meson, "setup", folder, ROOT, f"-Db_sanitize={flags}", *OPTIONS]
        code, text = process.output(command, environment.variables)
        if code != 0:
            raise Failure(f"meson setup failed:\n{text}")
    if process.run([environment.ninja, "-C", folder, *tests.values()], environment.variables) != 0:
        raise Failure("the build failed; the compiler's words are above")
    words = ["test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "10", *tests]
    instrumented = process.run([*prefix, environment.meson, *words], {**environment.variables, **SETTINGS}) == 0
    failed = [] if instrumented else [f"tests with -fsanitize={flags}"]

    runtime = process.output(["g++", f"-print-file-name={library}"])[1].strip()
    variables = {**environment.variables, **SETTINGS, "LD_LIBRARY_PATH": str(folder / "sim")}
    for program, *arguments in RUN[name]:
        command = [*prefix, "env", f"LD_PRELOAD={runtime}", BUILD / program, *arguments]
        code, text = process.output(command, variables)
        say(f"{Path(program).name} in this simulator: {'clean' if code == 0 else 'not clean'}")
        if code != 0:
            print(text)
            failed.append(f"{Path(program).name} in the simulator with -fsanitize={flags}")
    return failed
