"""`./gemm test --sanitize-host`: the C++ tests of the simulator and of the harness under the compiler's sanitizers."""

from base import process
from base.environment import Environment, ensure_build
from base.errors import Failure
from base.paths import BUILD, ROOT, shown
from base.progress import say

SANITIZERS = {"address": "address,undefined", "thread": "thread"}
TARGETS = (
    *(f"subprojects/sim/tests/{name}" for name in ("sim_tests", "sim_runtime_tests")),
    *(f"tests/cpp/{name}" for name in ("harness_tests", "harness_kernel_tests")),
)
TESTS = ("sim:simulator", "sim:simulator runtime", "gemm:harness", "gemm:harness kernels")
# Each source is compiled on its own, so that none lives on what another one includes.
OPTIONS = ("-Db_lundef=false", "-Db_pch=false", "-Dpython=disabled", "-Darchs=", "-Doptimization=1", "-Ddebug=true")
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
    failed = [name for name in SANITIZERS if not _clean(environment, name, FIXED_ADDRESSES if wrapped else ())]
    if failed:
        raise Failure(f"the sanitizers found something: {', '.join(failed)}")
    say("The sanitizers found nothing")


def _clean(environment: Environment, name: str, prefix: tuple[str, ...]) -> bool:
    folder = BUILD.with_name(f"{BUILD.name}-sanitize-{name}")
    say(f"The C++ tests with -fsanitize={SANITIZERS[name]}, in {shown(folder)}")
    if not (folder / "build.ninja").exists():
        command = [environment.meson, "setup", folder, ROOT, f"-Db_sanitize={SANITIZERS[name]}", *OPTIONS]
        code, text = process.output(command, environment.variables)
        if code != 0:
            raise Failure(f"meson setup failed:\n{text}")
    if process.run([environment.ninja, "-C", folder, *TARGETS], environment.variables) != 0:
        raise Failure("the build failed; the compiler's words are above")
    words = ["test", "-C", folder, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", "10", *TESTS]
    return process.run([*prefix, environment.meson, *words], {**environment.variables, **SETTINGS}) == 0
