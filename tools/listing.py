"""`./gemm list`: the ladder as a table."""

from collections.abc import Sequence

from tools import measured
from tools.measured import plot_records
from tools.progress import say
from tools.registry import Step
from tools.text_table import GAP, aligned, widths_of


def print_table(steps: Sequence[Step], asked_gpu: str | None) -> None:
    """One line for each step: number, idea, types, the least GPU, and its figures where there are some."""
    records = measured.load()
    folder = measured.choose_gpu(records, asked_gpu)
    rows = [("step", "idea", "types", "needs", "TFLOPS", "of cuBLAS", "of best library", "gain")]
    best: dict[str, float] = {}  # the best so far, ladder by ladder
    for step in steps:
        figures = ("–", "–", "", "")
        if record := measured.at_figure_size(records, folder, step.name):
            tflops, before = record["tflops"], best.get(step.ladder)
            size = "" if record["m"] == measured.FIGURE_SIZE else f" at {record['m']}"
            ratio = f"{100 * record['ratio']:.1f} %" if record.get("ratio") else "–"
            best_call = records.default_at(folder, step.name, record["m"], baseline=plot_records.BEST_LIBRARY)
            of_best = f"{100 * best_call['ratio']:.1f} %" if best_call else ""
            figures = (f"{tflops:.2f}{size}", ratio, of_best, f"×{tflops / before:.2f}" if before else "")
            best[step.ladder] = max(before or 0.0, tflops)
        rows.append((step.name, step.idea(), step.types, f"sm_{step.arch}", *figures))
    if not any(row[6] for row in rows[1:]):  # nothing was timed beside several calls of the libraries
        rows = [row[:6] + row[7:] for row in rows]
    for line in table(rows, right=range(4, len(rows[0]))):
        say(line)
    if folder is None:
        say("No timings are recorded yet: ./gemm run on a machine with a GPU records them.")
    else:
        size = f"M = N = K = {measured.FIGURE_SIZE} where not said otherwise"
        say(f"Default variants on {records.gpu_name(folder)}, {size}; gain: over the best step before in its ladder.")


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows of text as aligned lines; the first row is the heading. Columns in `right` are set to the right."""
    lines = aligned(rows, right)
    lines.insert(1, GAP.join("─" * width for width in widths_of(rows)))
    return lines
