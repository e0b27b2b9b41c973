"""`./gemm test --changed`: the tests that a change can affect, by the paths of the files that differ. In doubt, more."""

import ast
import json
import os
import re
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from base import build, process, registry
from base.environment import Environment, ensure_build
from base.errors import Failure, UserError
from base.paths import BUILD, ROOT
from base.progress import say
from lab import events
from tools import suites

TESTS = "tests/python"
# Of Python files, a test that imports it, also by others, or starts it as a program. A page, a record and a picture are
# read by these, which are named here.
PAGES = ("test_complete", "test_figures", "test_glossary", "test_plots", "test_practice", "test_profile")
PAGES += ("test_bound", "test_registry", "test_site", "test_told", "test_validate")
KERNELS = ("test_chooser", "test_instruction_mix", "test_kernel_rules", "test_mutants", "test_practice")
KERNELS += ("test_registry", "test_steps_cli")
# By the beginning of a path.
ALL_STEPS = re.compile(r"common/(?:device|harness)/|steps/meson\.build|tests/gpu/")
SIMULATOR = re.compile(r"sim/(?!recordings/README|README|tests/)|subprojects/")
PROGRAMS = (".cu", ".cpp", ".h")
# Nothing but everything will do.
EVERYTHING = re.compile(
    r"(?:.*/)?meson\.(?:build|options)|requirements.*|pyproject\.toml|\.ci/.*|base/.*|tests/\w+\.py"
)
# What no test reads.
NOTHING = re.compile(r"\.devcontainer/.*|\.editorconfig|\.git\w*|LICENSE|\.clangd|\.clang-tidy|\.github/.*")


@dataclass
class Affected:
    """What has to be tested again."""

    everything: str = ""  # the path because of which
    steps: set[str] = field(default_factory=set)
    simulator: bool = False  # the simulator's own tests
    harness: bool = False
    python: set[str] = field(default_factory=set)  # names of files: test_told
    package: bool = False  # the kernels as a Python package

    def meson(self, names: Iterable[tuple[str, str]]) -> list[str]:
        """The tests of Meson's among these, given with their suites, "sim:simulator" and the like."""
        found = []
        for suite, name in names:
            project, _, kind = suite.partition(":")
            step, _, rest = name.partition(" ")
            of_step = step in self.steps and rest in ("simulated", "on other GPUs")
            of_simulator = self.simulator and project == "sim" and kind == "simulator"
            loops = self.simulator and name.startswith("main loops")
            of_harness = self.harness and kind == "harness"
            if of_step or of_simulator or loops or of_harness or (self.package and name == "python package"):
                found.append(f"{project}:{name}")
        return found


def paths(since: str = "") -> list[str]:
    """The files that differ from a commit: from where the branch left main, or on main itself from its head."""
    if not since:
        left = _git("merge-base", "HEAD", "main")
        since = left[0] if left else "HEAD"
    different = _git("diff", "--name-only", "--no-renames", since, "--")
    if different is None:
        raise UserError(f"git knows no commit '{since}'")
    return sorted({*different, *(_git("ls-files", "--others", "--exclude-standard") or [])})


def _git(*words: str) -> list[str] | None:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines() if done.returncode == 0 else None


def affected(changed: Sequence[str]) -> Affected:
    """What these files can affect."""
    found = Affected()
    every = _steps()
    for path in changed:
        if NOTHING.fullmatch(path):
            continue
        if EVERYTHING.fullmatch(path):
            return Affected(everything=path)
        kind = Path(path).suffix
        of_step = re.match(r"steps/(\w+)/", path)
        if kind == ".py" or path == "gemm":
            _python(path, found, every)
        elif of_step and kind in (".cu", ".h", ".toml"):
            if of_step[1] not in every:  # removed, or not yet in the order
                return Affected(everything=path)
            found.steps |= {of_step[1]} if kind != ".h" else every
            found.python |= {*KERNELS, *PAGES}
            found.package |= path.endswith("/kernel.cu")
        elif path.startswith("tests/cpp/"):
            found.harness = True
        elif path.startswith("sim/tests/") and kind in PROGRAMS:
            found.simulator = True
        elif SIMULATOR.match(path):
            found.simulator = found.harness = True
            found.steps |= every
            found.python |= {*KERNELS, "test_practice_mistakes"}
        elif path.startswith("common/device/"):
            found.steps |= set(including(path))
            found.harness |= path in _closure(ROOT / "tests" / "cpp") or not found.steps
            found.python |= set(KERNELS)
        elif ALL_STEPS.match(path):
            found.steps |= every
            found.harness = found.package = True
            found.python |= set(KERNELS)
        elif kind == ".md" or path.startswith(("docs/", "plots/", "records/", "steps/")):
            found.python |= set(PAGES)
            if path.startswith(("records/", "plots/")):
                found.python |= set(_importers("records.reader"))
            found.steps |= {Path(path).stem} & every if path.startswith("records/simulator/") else set()
        elif path.startswith("python/"):
            found.package = True
        elif path.startswith("common/cutlass/"):  # built where it is asked for
            found.python |= {"test_archs"}
        elif path.startswith(("tools/site/", "tests/site/")):
            found.python |= {"test_site"}
        elif path == ".clang-format":
            found.python |= {"test_format"}
        elif path.startswith("tests/python/"):
            found.python |= set(_python_tests())
        elif path.startswith("lab/"):
            found.python |= {"test_cli_run", "test_validate"}
        else:
            return Affected(everything=path)
    return found


@cache
def _steps() -> set[str]:
    return {step.name for step in registry.steps()}


def _python(path: str, found: Affected, every: set[str]) -> None:
    name = Path(path).stem
    if path.startswith(("tests/gpu/", "tests/sim/")):
        found.steps |= every
    elif path.startswith("sim/"):
        found.simulator = True
    elif path.startswith(("python/", "tests/python_package/")):
        found.package = True
    if path.startswith(f"{TESTS}/test_"):
        found.python |= {name} & set(_python_tests())  # unless it was removed
        return
    found.python |= set(_importers("tools.cli" if path == "gemm" else _module(path)))
    found.python |= {"test_house", "test_format"}
    if path.startswith("plots/"):  # what draws is found by its place
        found.python |= {name for name in _python_tests() if "plots" in name or "figures" in name}


def _module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def _python_tests() -> tuple[str, ...]:
    return tuple(file.stem for file in sorted((ROOT / TESTS).glob("test_*.py")))


@cache
def _imports() -> dict[str, frozenset[str]]:
    """Each Python module of the project, and those that it imports, wherever in it, or names as a program: "lab.traces"."""
    files = {
        _module(str(file.relative_to(ROOT))): file
        for folder in ("base", "records", "lab", "plots", "tools", "tests", "python")
        for file in (ROOT / folder).rglob("*.py")
    }
    return {name: frozenset(_imported(file) & files.keys()) for name, file in files.items()}


def _imported(file: Path) -> set[str]:
    found: set[str] = set()
    own = _module(str(file.relative_to(ROOT)))
    is_test = own.startswith("tests.")
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = {name.name for name in node.names}
            found |= names | {f"tests.python.{name}" for name in names}  # from where pytest starts
        elif isinstance(node, ast.ImportFrom):
            inside = own.split(".")[: -node.level] if node.level else []
            module = ".".join([*inside, *([node.module] if node.module else [])])
            found |= {module, f"tests.python.{module}", *(f"{module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found |= {node.value} if "." in node.value else set()
            found |= {"tools.cli"} if is_test and node.value in ("gemm", "./gemm") else set()
    return found | {".".join(name.split(".")[:part]) for name in found for part in range(1, name.count(".") + 1)}


@cache
def _importers(module: str) -> tuple[str, ...]:
    """The tests that import a module, by whatever way."""
    reached, open_ends = {module}, deque([module])
    while open_ends:
        at = open_ends.popleft()
        for name, imported in _imports().items():
            if at in imported and name not in reached:
                reached.add(name)
                open_ends.append(name)
    return tuple(name for name in _python_tests() if f"tests.python.{name}" in reached)


INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


@cache
def _included(path: str) -> frozenset[str]:
    """What a source includes of the project's, also by others."""
    file = ROOT / path
    if not file.is_file():
        return frozenset()
    named = INCLUDE.findall(file.read_text(encoding="utf-8"))
    return frozenset(named).union(*(_included(name) for name in named))


@cache
def _closure(folder: Path) -> set[str]:
    files = (file for file in folder.rglob("*") if file.suffix in PROGRAMS)
    return set().union(*(_included(str(file.relative_to(ROOT))) for file in files))


def including(path: str) -> Iterator[str]:
    """The steps that include a header."""
    return (step for step in _steps() if path in _closure(ROOT / "steps" / step))


def run(setup: bool, since: str) -> None:
    """Builds what has changed and tests what that can affect."""
    changed = paths(since)
    if not changed:
        say("Nothing has changed")
        return
    what = affected(changed)
    if what.everything:
        say(f"{what.everything} can affect everything: the whole suite")
        suites.run(setup)
        return
    environment = ensure_build(setup)
    build.configure(environment)
    build.compile_targets(environment)
    commands = jobs(what, environment)
    if not commands:
        say(f"No test reads what has changed: {', '.join(changed)}")
        return
    failed = _together(commands, environment)
    say(f"{len(commands) - failed} of {len(commands)} groups of tests passed")
    if failed:
        raise Failure()


def jobs(what: Affected, environment: Environment) -> dict[str, list]:
    """The programs that test it, by what they are called."""
    python = sys.executable
    tests = json.loads((BUILD / "meson-info" / "intro-tests.json").read_text(encoding="utf-8"))
    names = what.meson((test["suite"][0], test["name"]) for test in tests)
    found: dict[str, list] = {}
    for name in names:
        found[name] = [environment.meson, "test", "-C", BUILD, "--no-rebuild", "--print-errorlogs", name]
    for step in sorted(what.steps):
        found[f"{step} as counted"] = [python, "-m", "lab.counts", BUILD, "--all", "--only", step]
        found[f"{step} broken on purpose"] = [python, "-m", "tests.sim.mutants", BUILD, "--only", step]
        if registry.find(step, registry.steps()).traces:
            found[f"{step} as traced"] = [python, "-m", "lab.traces", "--check", "--only", step]
        if events.of_step(step):
            found[f"{step}, its events"] = [python, "-m", "lab.events", "--check", "--only", step]
    if what.python:
        files = [f"{TESTS}/{name}.py" for name in sorted(what.python)]
        found[f"{len(files)} files of {TESTS}"] = [python, "-m", "pytest", "-q", "--tb=short", *files]
    return found


def _together(commands: dict[str, list], environment: Environment) -> int:
    """Runs programs beside one another; prints one line for each, and what a failed one said. How many failed."""

    def one(name: str) -> bool:
        start = time.monotonic()
        code, text = process.output([str(word) for word in commands[name]], environment.variables)
        say(f"{'passed' if code == 0 else 'FAILED'} {time.monotonic() - start:5.1f} s  {name}")
        if code != 0:
            print(text, flush=True)
        return code == 0

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # those that take longest come last in the dictionary
        return sum(not fine for fine in pool.map(one, reversed(commands)))
