"""Holds the order of the simulator's folders: what may include what."""

import re
import sys
from pathlib import Path

SIM = Path(__file__).resolve().parent.parent
# A folder includes itself and those before it.
CORE = (
    *("base", "ptx", "checks", "warp", "arithmetic", "tensor", "wgmma", "machine"),
    *("memory", "control", "synchronisation", "asynchronous"),
)
FRONTS = ("cuda", "web")
ORDER = (*(f"core/{folder}" for folder in CORE), "session")
# Core and session get their settings and texts from a front.
OUTSIDE = re.compile(r"#include <(?:filesystem|fstream|unistd\.h)>|\bgetenv\b|\benviron\b")
# Sources that act on the block or the cluster which owns what their headers declare.
REACH_THE_MACHINE = {"core/warp/warp.cpp", "core/warp/address.cpp"}
FOLDERS_THAT_REACH_IT = {"core/tensor", "core/wgmma"}
INCLUDE = re.compile(r'^#include (["<])([^">]+)[">]', re.MULTILINE)


def wrong_of(file: Path) -> list[str]:
    """What a file includes but may not."""
    name = file.relative_to(SIM).as_posix()
    folder = name.rpartition("/")[0]
    allowed = {*ORDER, folder} if folder in FRONTS else set(ORDER[: ORDER.index(folder) + 1])
    if name in REACH_THE_MACHINE or (folder in FOLDERS_THAT_REACH_IT and file.suffix == ".cpp"):
        allowed.add("core/machine")
    text = file.read_text(encoding="utf-8")
    wrong = [f"{name} has {found}" for found in OUTSIDE.findall(text) if folder in ORDER]
    for mark, included in INCLUDE.findall(text):
        if included.endswith("_json.h"):
            continue  # made by Meson
        if mark == '"' and (included.rpartition("/")[0] not in allowed or not (SIM / included).is_file()):
            wrong.append(f"{name} includes {included}")
        if mark == "<" and included.startswith("cuda") and folder != "cuda":
            wrong.append(f"{name} includes {included}, but only cuda/ knows CUDA's headers")
    return wrong


def main() -> int:
    """Prints every include that breaks the order."""
    wrong = []
    for folder in ("core", "session", *FRONTS):
        for file in sorted((SIM / folder).rglob("*.*")):
            if file.suffix in (".h", ".cpp") and file.parent.name not in ("pch", "toolchain"):
                wrong += wrong_of(file)
    for folder in ("recordings", "tests"):
        for file in sorted((SIM / folder).rglob("*.*")):
            if file.suffix in (".h", ".cpp", ".cu"):
                included = [name for mark, name in INCLUDE.findall(file.read_text(encoding="utf-8")) if mark == '"']
                known = [file.parent, SIM, SIM / "tests"]
                missing = [name for name in included if not any((base / name).is_file() for base in known)]
                wrong += [f"{file.relative_to(SIM)} includes {name}, which is not in sim/" for name in missing]
    print("\n".join(wrong) or "every folder includes those before it only")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
