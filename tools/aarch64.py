"""`./gemm test --aarch64`: simulator, harness and steps compiled for aarch64, run under qemu and compared with this machine.

qemu translates instructions one by one and keeps the order of memory of the machine below: what is compared is arithmetic,
layouts, calls and counts. That weak ordering suffices is the thread sanitizer's to say (`tools/sanitize_host.py`).
"""

import os
import re
import shutil
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from base import build, packages, process, registry
from base.environment import Environment, ensure_build
from base.errors import Failure, UserError
from base.paths import BUILD, ROOT, shown
from base.progress import say
from records import read

TARGET = "aarch64-linux-gnu"
PROGRAMS = {f"g++-{TARGET}": f"{TARGET}-g++", "qemu-user": "qemu-aarch64"}  # Debian's package -> what it brings
FOLDER = BUILD.with_name(f"{BUILD.name}-aarch64")
EMULATOR = ("qemu-aarch64", "-L", f"/usr/{TARGET}")
TESTS = (*(f"subprojects/sim/tests/{name}" for name in ("sim_tests", "sim_runtime_tests")), "tests/cpp/harness_tests")
STEPS = ("03", "11", "20", "23")
SIZE = ("--size", "256")
FINGERPRINT = re.compile(r": C [0-9a-f]{16}$")  # of the bits that were computed
PASSED = re.compile(r"\[  PASSED  \] (\d+) test")
HEADERS_ONLY = ("CLI11", "nlohmann_json")  # what pkg-config may say of this machine's packages

CROSS = """\
[binaries]
c = '{target}-gcc'
cpp = {launcher}['{target}-g++']
cuda = {launcher}['{nvcc}']
ar = '{target}-ar'
strip = '{target}-strip'
pkg-config = 'pkg-config'
[properties]
needs_exe_wrapper = true
pkg_config_libdir = ['{packages}']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'aarch64'
endian = 'little'
"""
# nvcc makes the same PTX, and the host's part by another compiler; the runtime that is linked is the simulator.
NVCC = """\
#!/bin/sh
exec '{nvcc}' -ccbin {target}-g++ -cudadevrt none -isystem '{root}/include' -isystem '{root}/include/cccl' -L'{simulator}' "$@"
"""


def run(setup: bool) -> None:
    """Builds for both machines, runs the tests, compares the steps; the next call builds only what has changed."""
    _need_programs(setup)
    environment = ensure_build(setup)
    steps = [step.name for step in (registry.find(asked, registry.steps()) for asked in STEPS)]
    targets = [f"steps/{name}" for name in steps]
    say("This machine's programs")
    build.configure(environment)
    build.compile_targets(environment, [build.SIMULATOR_TARGET, *targets])
    say(f"The same for aarch64, in {shown(FOLDER)}")
    _configure(environment)
    for made in ([build.SIMULATOR_TARGET], [*TESTS, *targets]):  # the second are linked with the first
        if process.run([environment.ninja, "-C", FOLDER, *made], environment.variables) != 0:
            raise Failure("the build failed; the compiler's words are above")
    say("The C++ tests under qemu")
    failed = [Path(test).name for test in TESTS if not _passes(test)]
    for name in steps:
        here, there = _told([], BUILD, name), _told(_emulated(), FOLDER, name)
        say(f"{name}: {'the same bits of C and counts' if here == there else 'not as on this machine'}")
        failed += [name] if here != there else []
    if failed:
        raise Failure(f"aarch64 fails or differs: {', '.join(failed)}")
    say("aarch64 does the same")


def _need_programs(setup: bool) -> None:
    missing = [package for package, program in PROGRAMS.items() if shutil.which(program) is None]
    if missing and not setup:
        raise UserError(f"there is no {' nor '.join(PROGRAMS[name] for name in missing)}: {packages.by_hand(missing)}")
    if missing:
        packages.install(missing)


def _configure(environment: Environment) -> None:
    if (FOLDER / "build.ninja").exists():
        return
    root = environment.toolkit.root
    compiler, described = FOLDER / "toolkit" / "bin" / "nvcc", FOLDER / "packages"
    for folder in (compiler.parent, described):
        folder.mkdir(parents=True, exist_ok=True)
    simulator = (FOLDER / build.SIMULATOR_TARGET).parent
    compiler.write_text(NVCC.format(nvcc=root / "bin" / "nvcc", root=root, target=TARGET, simulator=simulator))
    compiler.chmod(0o755)
    for name, to in (("include", root / "include"), ("lib", simulator)):  # as a toolkit's folder looks
        if not (compiler.parents[1] / name).is_symlink():
            (compiler.parents[1] / name).symlink_to(to)
    for name in HEADERS_ONLY:
        code, place = process.output(["pkg-config", "--variable=pcfiledir", name])
        if code == 0 and not (described / f"{name}.pc").is_symlink():
            (described / f"{name}.pc").symlink_to(Path(place.strip()) / f"{name}.pc")
    launcher = f"['{ccache}'] + " if (ccache := shutil.which("ccache")) else ""
    cross = FOLDER / "cross.ini"
    cross.write_text(CROSS.format(target=TARGET, launcher=launcher, nvcc=compiler, packages=described))
    command = [environment.meson, "setup", FOLDER, ROOT, "--cross-file", cross, "-Dpython=disabled", "-Darchs="]
    code, text = process.output(command, environment.variables)
    if code != 0:
        raise Failure(f"meson setup failed:\n{text}")


def _emulated() -> list[str]:
    simulator = FOLDER / "sim"
    return [*EMULATOR, "-E", f"LD_LIBRARY_PATH={simulator}"]


def _passes(test: str) -> bool:
    """Runs the cases of one executable, shared out over the processors; prints what fails."""
    processors, started = os.cpu_count() or 1, time.monotonic()
    shards = 4 * processors  # some cases take much longer than others

    def run_shard(index: int) -> tuple[int, str]:
        variables = {**os.environ, "GTEST_TOTAL_SHARDS": str(shards), "GTEST_SHARD_INDEX": str(index)}
        return process.output([*_emulated(), FOLDER / test, "--gtest_brief=1"], variables)

    with ThreadPoolExecutor(processors) as pool:
        done = list(pool.map(run_shard, range(shards)))
    for code, text in done:
        if code != 0:
            print(text)
    passed = sum(int(count) for _, text in done for count in PASSED.findall(text))
    say(f"{Path(test).name}: {passed} passed in {time.monotonic() - started:.0f} s")
    return passed > 0 and all(code == 0 for code, _ in done)


def _told(prefix: list[str], folder: Path, step: str) -> tuple[list, list[str]]:
    """What a step's default counts in the simulator, by line, and a hash of the bits that it computes."""
    program = folder / "steps" / step
    variables = {**os.environ, "PTXSIM_THREADS": "1", "LD_LIBRARY_PATH": str(folder / "sim")}
    if prefix:  # qemu itself is of this machine
        del variables["LD_LIBRARY_PATH"]
    with tempfile.TemporaryDirectory() as temporary:
        file = Path(temporary) / "counts.jsonl"
        bits: list[str] = []
        for words in (["--sim", "--json", file], ["--fingerprint"]):
            code, text = process.output([*prefix, program, *SIZE, *words], variables)
            if code != 0:
                raise Failure(f"{program.name} failed:\n{text}")
            bits = [line for line in text.splitlines() if FINGERPRINT.search(line)]
        if not bits:
            raise Failure(f"{program.name} told no bits of C:\n{text}")
        counts = read(file)
        for line in (line for record in counts for line in record["lines"]):
            line["file"] = os.path.normpath(line["file"])  # the compiler writes it as seen from its own build folder
        return counts, bits
