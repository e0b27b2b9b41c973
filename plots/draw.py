"""Draws every chart and picture that a page shows, and rewrites every table, from the records: `python plots/plot.py`.

With --check nothing is written; what is stale is named, and the exit code is 1. Bad input is one line, exit code 2.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import records
from base import registry
from base.errors import UserError
from base.paths import ROOT
from records import moved
from records.sources import step_fingerprint

try:
    from plots import catalogue, dark, data_pages, loops, markers, style, tables, told
    from plots.course import Course
    from plots.figures import gallery
except ModuleNotFoundError as missing:
    sys.exit(print(f"plot.py needs {missing.name}: pip install -r requirements.txt", file=sys.stderr) or 2)

CHARTS, FIGURES = Path("plots") / "charts", Path("docs") / "figures"


def drawn(root: Path, course: Course, recorded: records.Records, notes: list[str]) -> Iterator[tuple[Path, str]]:
    """Every chart and picture that a page shows, with its text; what has no records is told in `notes`."""
    style.apply()
    drawings = dict(gallery.drawings())
    for step in course.steps:
        for name in set(step.pictures) - drawings.keys():
            raise UserError(f"steps/{step.name}/{registry.FILE}: pictures: there is no picture '{name}'")
    for folder in (CHARTS, FIGURES):
        for path, page in markers.shown(root, root / folder).items():
            name, language = path.stem.removesuffix(".zh-CN"), markers.language_of(path)
            draw = catalogue.find(course, recorded, name) if folder == CHARTS else drawings.get(name)
            if draw is None:
                raise markers.MarkerError(f"{page}: there is no {'chart' if folder == CHARTS else 'picture'} '{name}'")
            try:
                svg = style.to_svg(draw(language)) if folder == CHARTS else draw(language).svg()
                yield path, dark.with_dark(svg)
            except style.Missing as why:
                notes.append(f"{path.name} not drawn: {why}")


def written(root: Path, course: Course, recorded: records.Records, notes: list[str]) -> Iterator[tuple[Path, str]]:
    """Every page that holds something made, with its text; what has no records is told in `notes`."""
    new = data_pages.missing(course)
    for path in sorted([*markers.files(root), *new]):
        text = new[path] if path in new else path.read_text(encoding="utf-8")
        language, up = markers.language_of(path), "../" * (len(path.relative_to(root).parts) - 1)

        def make(name: str, language: str = language, path: Path = path, up: str = up) -> str:
            try:
                return tables.table(course, recorded, name, language).replace("](steps/", f"]({up}steps/")
            except style.Missing as why:
                notes.append(f"{path.relative_to(root)}: table:{name} is empty: {why}")
                return style.say(language, "*Nothing recorded yet.*", "*尚无记录。*")
            except tables.UnknownTable:
                raise KeyError(name) from None

        def tell(key: str, language: str = language, path: Path = path) -> str | None:
            try:
                return told.figure(course, recorded, key, language)
            except style.Missing as why:
                notes.append(f"{path.relative_to(root)}: figure:{key} stays as it is: {why}")
                return None
            except told.UnknownFigure as why:
                raise KeyError(str(why)) from None

        def loop(name: str, lines: list[str]) -> str:
            try:
                return loops.block(course, name, loops.parse(lines))
            except loops.LoopError as why:
                raise KeyError(str(why)) from None

        made = markers.rewrite(path.relative_to(root), text, make, tell, loop)
        if any(f"<!-- {kind}:" in text for kind in ("table", "figure", "loop")):
            yield path, made


def older_kernels(course: Course, recorded: records.Records) -> list[str]:
    """A note where instruction mixes were recorded from other sources than those that are here now."""
    older = []
    for step in course.steps:
        of = {r["source"] for r in recorded.mixes if r["step"] == step.name and r.get("source")}
        if of and step.kernel.is_file() and of != {step_fingerprint(step)}:
            older.append(step.name)
    return [f"the instruction mix is of an older {', '.join(older)}: python -m lab.instruction_mix"] if older else []


def _in_one_line(notes: list[str]) -> list[str]:
    """Notes of what is missing as they are when few, else their number and a hint."""
    if len(notes) < 2:
        return notes
    first = ", ".join(note.split(":")[0].removesuffix(" not drawn") for note in notes[:4])
    return [f"{len(notes)} charts and tables have no records yet ({first} …): plot.py --verbose tells of each"]


def shown(recorded: records.Records, beside: list[str]) -> frozenset[str] | None:
    """The GPUs that charts and tables show: the reference and those asked for; all where the reference has no records."""
    for gpu in beside:
        if gpu not in recorded.timings:
            known = ", ".join(sorted(recorded.timings)) or "none yet"
            raise UserError(f"--beside {gpu}: there are no timings of it; there are some of: {known}")
    return frozenset([records.REFERENCE_GPU, *beside]) if records.REFERENCE_GPU in recorded.timings else None


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
        prog="plot.py",
        description="Draw every chart and picture that a page shows and rewrite every table, from the records.",
    )
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 and name what is stale")
    parser.add_argument("--verbose", action="store_true", help="tell of each chart and table why it has no records")
    parser.add_argument(
        "--beside", action="append", default=[], metavar="GPU", help="show the records of this GPU beside the H200's"
    )
    parser.add_argument("--root", type=Path, default=ROOT, help="repository to work on")
    parser.add_argument("--data", type=Path, help="folder of the records (default: ROOT/records)")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    data = (options.data or root / "records").resolve()
    moved.bring_over(root)
    if not data.is_dir():
        print(f"plot.py: there is no folder of records {data}", file=sys.stderr)
        return 2

    notes: list[str] = []
    try:
        course, recorded = Course(root, data), records.load(data, root)
        recorded.shown = shown(recorded, options.beside)
        older = older_kernels(course, recorded)
        files = dict(drawn(root, course, recorded, notes))
        files |= written(root, course, recorded, notes)  # last: drawing takes long, and a page may be edited meanwhile
    except (records.RecordError, markers.MarkerError, UserError) as error:
        print(f"plot.py: {error}", file=sys.stderr)
        return 2

    changed = [path for path, text in files.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    left_over = [path for folder in (CHARTS, FIGURES) for path in sorted((root / folder).glob("*.svg"))]
    left_over = [path for path in left_over if path not in files]
    for note in older + (notes if options.verbose else _in_one_line(notes)):
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
    print(f"{len(files)} files from the records, {len(changed)} of them new or changed; charts: {root / CHARTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
