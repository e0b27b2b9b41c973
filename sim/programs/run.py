"""Builds and runs other people's CUDA programs in the simulator, and compares with what programs.toml expects.

    python sim/programs/run.py --clones DIR [--only NAME]... [--clone] [--ptxsim build/sim/ptxsim] [--made DIR]

DIR holds each repository as OWNER/NAME; --clone fetches those that are missing, at the commit of the list. nvcc has to
be on PATH. A program is built in its folder with `ptxsim nvcc`, which is nvcc with -lineinfo, and its outcome is one of

    clean      exit code 0, the texts of `says` in its output, no finding
    exits      the same with another exit code: the program itself says what is wrong
    finds      exactly these mistakes are reported, each with its line: they are the program's own
    refused    the simulator says by name what it does not do
"""

import argparse
import json
import resource
import shlex
import signal
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent


@dataclass
class Program:
    """One program of the list."""

    repository: str
    commit: str
    folder: str
    build: str  # sources and flags for nvcc, from the folder; $ROOT is the clone
    run: str = ""  # arguments
    name: str = ""
    says: list[str] = field(default_factory=list)
    code: int = 0
    finds: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    why: str = ""  # what is wrong in the program, or why it is refused
    smaller: dict[str, str] = field(default_factory=dict)  # constants of the source that are made smaller
    seconds: int = 60

    @property
    def title(self) -> str:
        """By which it is chosen and told."""
        return f"{self.repository.split('/')[1]}/{self.name or Path(self.build.split()[0]).stem}"


@dataclass
class Outcome:
    """What happened: a word, and the details."""

    word: str
    details: list[str]
    output: str = ""
    seconds: float = 0


def listed(file: Path) -> list[Program]:
    """The programs of the list."""
    programs = []
    for repository in tomllib.loads(file.read_text(encoding="utf-8"))["repository"]:
        flags = repository.get("flags", "")
        for entry in repository["programs"]:
            entry["build"] = f"{entry['build']} {flags}".strip()
            entry["folder"] = str(Path(repository.get("folder", ".")) / entry.get("folder", "."))
            programs.append(Program(repository["name"], repository["commit"], **entry))
    return programs


def clone(program: Program, root: Path, wanted: bool) -> str:
    """Fetches the repository where that is wanted; why it cannot be used, or nothing."""
    if not root.exists():
        url = f"https://github.com/{program.repository}"
        if not wanted:
            return f"no clone {root}: git clone {url} {root} && git -C {root} checkout {program.commit}"
        root.mkdir(parents=True)
        for words in (
            ["init", "-q"],
            ["fetch", "-q", "--depth=1", url, program.commit],
            ["checkout", "-q", "FETCH_HEAD"],
        ):
            subprocess.run(["git", "-C", root, *words], check=True)
    if (root / ".git").exists():
        words = ["git", "-C", root, "rev-parse", "HEAD"]
        head = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        if not head.startswith(program.commit):
            return f"{root} is at {head[:10]}, not at {program.commit}"
    return ""


def compiled(program: Program, folder: Path, made: Path, asked: argparse.Namespace) -> tuple[Path, str]:
    """The executable, and why it could not be built."""
    out = made / program.title.replace("/", "-")
    root = asked.clones / program.repository
    words = [word.replace("$ROOT", str(root)) for word in shlex.split(program.build)]
    note = Path(f"{out}.command")
    command = [str(asked.ptxsim), "nvcc", "-w", *words, "-o", str(out)]
    text = shlex.join([*words, str(program.smaller)])
    if out.exists() and note.exists() and note.read_text() == text:
        return out, ""
    kept = {}
    try:
        for place, smaller in program.smaller.items():
            file, _, old = place.partition(": ")
            source = (folder / file).read_text()
            kept.setdefault(file, source)
            if old not in source:
                return out, f"{file} has no '{old}'"
            (folder / file).write_text(source.replace(old, smaller))
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    finally:
        for file, source in kept.items():
            (folder / file).write_text(source)
    if done.returncode != 0:
        return out, (done.stdout + done.stderr)[-3000:]
    note.write_text(text)
    return out, ""


def run(program: Program, asked: argparse.Namespace) -> Outcome:
    """Builds and runs one program."""
    root = asked.clones / program.repository
    if missing := clone(program, root, asked.clone):
        return Outcome("absent", [missing])
    folder = root / program.folder
    executable, why = compiled(program, folder, asked.made, asked)
    if why:
        return Outcome("does not compile", why.splitlines()[:6], why)
    counts = Path(f"{executable}.json")
    counts.unlink(missing_ok=True)
    # However slow a busy machine is: the limit is the processor's.
    line = [
        str(asked.ptxsim),
        "--json",
        str(counts),
        "--max-seconds",
        "100000",
        *asked.option,
        str(executable),
        *shlex.split(program.run),
    ]
    most = program.seconds  # of the processor, so that a busy machine changes nothing
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    try:
        done = subprocess.run(
            line, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (most, most)), timeout=6 * most, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired as late:
        return Outcome("too late", [f"after {late.timeout} s"], (late.output or b"").decode(errors="replace"), most)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    output = done.stdout.decode(errors="replace")
    Path(f"{executable}.out").write_text(output)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return Outcome("too late", [f"after {most} s of the processor", *output.splitlines()[-3:]], output, took)
    reports = json.loads(counts.read_text())["reports"] if counts.exists() else []
    refused = [each["message"] for each in reports if each["kind"] == "unsupported"]
    refused += [text[11:] for text in output.splitlines() if text.startswith("simulator: ") and "not supported" in text]
    if refused:
        return Outcome("refused", refused, output, took)
    found = [
        f"{each['kind']} in {each['kernel']}: {' and '.join(line.split('/')[-1] for line in each['lines'] if line)}"
        for each in reports
    ]
    if found:
        return Outcome("finds", found, output, took)
    if done.returncode != program.code:
        return Outcome("fails", [f"exit code {done.returncode}", *output.splitlines()[-4:]], output, took)
    missing = [text for text in program.says if text not in output]
    if missing:
        return Outcome("fails", [f"does not say {missing}", *output.splitlines()[-4:]], output, took)
    return Outcome("exits" if program.code else "clean", [], output, took)


def as_expected(program: Program, outcome: Outcome) -> bool:
    """Whether every detail is expected, and every expectation met."""
    expected = program.refused or program.finds
    otherwise = "exits" if program.code else "clean"
    word = "refused" if program.refused else "finds" if program.finds else otherwise
    met = all(any(each in detail for detail in outcome.details) for each in expected)
    return outcome.word == word and met and all(any(each in detail for each in expected) for detail in outcome.details)


def main() -> int:
    """Runs what was asked for, and says what differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True, help="the folder with the repositories")
    parser.add_argument("--clone", action="store_true", help="fetch those that are missing")
    parser.add_argument("--only", action="append", default=[], help="programs whose name holds this")
    parser.add_argument("--ptxsim", type=Path, default=HERE.parents[1] / "build/sim/ptxsim")
    parser.add_argument("--made", type=Path, help="where executables are kept, and what they print (DIR/made)")
    parser.add_argument("--list", type=Path, default=HERE / "programs.toml")
    parser.add_argument(
        "--option", action="append", default=[], help="a further option of ptxsim, e.g. --option=--seed=3"
    )
    parser.add_argument("--output", action="store_true", help="print what the programs print")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a changed source is restored
    asked.clones = asked.clones.resolve()
    asked.made = (asked.made or asked.clones / "made").resolve()
    asked.made.mkdir(parents=True, exist_ok=True)
    words: dict[str, int] = {}
    wrong = 0
    for program in listed(asked.list):
        if asked.only and not any(part in program.title for part in asked.only):
            continue
        outcome = run(program, asked)
        right = as_expected(program, outcome)
        wrong += not right
        words[outcome.word] = words.get(outcome.word, 0) + 1
        note = "" if right else "  UNEXPECTED"
        print(f"{program.title:<62}{outcome.word:<17}{outcome.seconds:6.1f} s{note}", flush=True)
        if not right or outcome.word != "clean":
            print("".join(f"    {text[:300]}\n" for text in outcome.details[:12]), end="")
        if asked.output:
            print(outcome.output)
    print(", ".join(f"{count} {word}" for word, count in words.items()) + f"; {wrong} not as expected")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
