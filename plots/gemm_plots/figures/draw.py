"""Draws the pictures of ideas: `python -m gemm_plots.figures.draw [NAME …] [--to FOLDER]`; plots/plot.py draws them too."""

import argparse
import sys
from pathlib import Path

from gemm_plots.figures import gallery
from gemm_plots.figures.text import LANGUAGES

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "figures"


def main(arguments: list[str] | None = None) -> int:
    """The command; returns the exit code."""
    parser = argparse.ArgumentParser(description="Draw the pictures of ideas as SVG.")
    parser.add_argument("names", nargs="*", help="pictures whose names contain one of these (default: all)")
    parser.add_argument("--to", type=Path, default=FOLDER, help="folder to write to")
    options = parser.parse_args(arguments)
    chosen = [(n, d) for n, d in gallery.drawings() if not options.names or any(part in n for part in options.names)]
    if not chosen:
        print(f"no picture is called {' or '.join(options.names)}", file=sys.stderr)
        return 2
    options.to.mkdir(parents=True, exist_ok=True)
    for name, draw in chosen:
        for language in LANGUAGES:
            canvas = draw(language)
            path = options.to / (f"{name}.svg" if language == "en" else f"{name}.{language}.svg")
            path.write_text(canvas.svg(), encoding="utf-8")
            for problem in canvas.problems():
                print(f"{path.name}: {problem}")
    print(f"{len(chosen)} pictures in {len(LANGUAGES)} languages: {options.to}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
