"""Draws every chart and picture, and rewrites every table, from the records: `python plots/plot.py`.

With --check nothing is written; what is stale is named, and the exit code is 1. Bad input is one line, exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

try:
    from gemm_plots import catalogue, markers, records, style, tables
    from gemm_plots.course import Course
except ModuleNotFoundError as missing:
    sys.exit(print(f"plot.py needs {missing.name}: pip install -r requirements.txt", file=sys.stderr) or 2)

from gemm_plots.figures import gallery  # noqa: E402
from gemm_plots.figures.text import LANGUAGES  # noqa: E402

from lab.variant_kernels import fingerprint  # noqa: E402


def wanted(root: Path, data: Path, notes: list[str]) -> Iterator[tuple[Path, str]]:
    """Every file that the records make, with its text; what cannot be made is told in `notes`."""
    course = Course(root, data)
    recorded = records.load(data, root)
    style.apply()
    for step in course.steps:
        kernel = root / "steps" / step.name / "kernel.cu"
        of = {r["source"] for r in recorded.mixes if r["step"] == step.name and r.get("source")}
        if kernel.is_file() and of and of != {fingerprint(kernel.read_text(encoding="utf-8"))}:
            notes.append(
                f"the instruction mix is of an older {step.name}: python -m tools.instruction_mix {step.number}"
            )
    for chart in catalogue.charts(course, recorded):
        for language in LANGUAGES:
            try:
                drawn = chart.draw(language)
            except style.Missing as why:
                if language == "en":
                    notes.append(f"{chart.name}.svg not drawn: {why}")
                continue
            suffix = "" if language == "en" else f".{language}"
            yield root / "plots" / "charts" / f"{chart.name}{suffix}.svg", style.to_svg(drawn)
    for path in markers.files(root):  # last: drawing takes long, and a write-up may be edited meanwhile
        text = path.read_text(encoding="utf-8")
        language = markers.language_of(path)

        def make(name: str, language: str = language, path: Path = path) -> str:
            try:
                made = tables.table(course, recorded, name, language)
                return made if path.parent == root else made.replace("](steps/", f"]({_up(path, root)}steps/")
            except style.Missing as why:
                notes.append(f"{path.relative_to(root)}: table:{name} is empty: {why}")
                return style.say(language, "*Nothing recorded yet.*", "*尚无记录。*")
            except tables.UnknownTable:
                raise KeyError(name) from None

        made = markers.rewrite(path.relative_to(root), text, make)
        if "<!-- table:" in text:
            yield path, made


def _up(path: Path, root: Path) -> str:
    return "../" * (len(path.relative_to(root).parts) - 1)


def _in_one_line(notes: list[str]) -> list[str]:
    """Notes of what is missing as they are when few, else their number and a hint."""
    if len(notes) < 2:
        return notes
    first = ", ".join(note.split(":")[0].removesuffix(" not drawn") for note in notes[:4])
    return [f"{len(notes)} charts and tables have no records yet ({first} …): plot.py --verbose tells of each"]


def write(path: Path, text: str) -> None:
    """Writes a file through a temporary beside it, so that it is never half there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(
        description="Draw every chart and picture and rewrite every table from the records."
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 and name what is stale")
    parser.add_argument("--verbose", action="store_true", help="tell of each chart and table why it has no records")
    parser.add_argument("--root", type=Path, default=HERE.parent, help="repository to work on")
    parser.add_argument("--data", type=Path, help="folder of the records (default: ROOT/plots/data)")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    data = (options.data or root / "plots" / "data").resolve()
    if not data.is_dir():
        print(f"plot.py: there is no folder of records {data}", file=sys.stderr)
        return 2

    notes: list[str] = []
    files = gallery.pictures(root / "docs" / "figures") if root == HERE.parent else {}
    try:
        files |= wanted(root, data, notes)
    except (records.RecordError, markers.MarkerError) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2

    changed = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    folders = (
        {root / "plots" / "charts", root / "docs" / "figures"} if root == HERE.parent else {root / "plots" / "charts"}
    )
    left_over = sorted(path for folder in folders for path in folder.glob("*.svg") if path not in files)
    for note in notes if options.verbose else _in_one_line(notes):
        print(note)
    if options.check:
        for path in changed:
            print(f"stale: {path.relative_to(root)}")
        for path in left_over:
            print(f"no longer made: {path.relative_to(root)}")
        if changed or left_over:
            print(f"{len(changed) + len(left_over)} of {len(files)} files are stale; run: python plots/plot.py")
        return 1 if changed or left_over else 0
    for path in changed:
        write(path, files[path])
    for path in left_over:
        path.unlink()
    print(
        f"{len(files)} files from the records, {len(changed)} of them new or changed; "
        f"charts: {root / 'plots' / 'charts'}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
