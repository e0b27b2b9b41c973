"""`./gemm list`: the ladder as a table."""

from collections.abc import Sequence

from base.languages import CHINESE, ENGLISH, percent, said
from base.progress import say
from base.registry import Step
from records import BEST_LIBRARY
from tools import measured
from tools.text_table import GAP, aligned, widths_of

HEADS = {
    ENGLISH: ("step", "idea", "types", "needs", "TFLOPS", "of cuBLAS", "of best library", "gain"),
    CHINESE: ("步骤", "思路", "类型", "需要", "TFLOPS", "相对 cuBLAS", "相对最快的库调用", "提速"),
}


def print_table(steps: Sequence[Step], asked_gpu: str | None, spoken: str = ENGLISH) -> None:
    """One line for each step: number, idea, types, the least GPU, and its figures where there are some."""
    records = measured.load()
    folder = measured.choose_gpu(records, asked_gpu)
    rows = [HEADS[spoken]]
    best: dict[str, float] = {}  # the best so far, ladder by ladder
    for step in steps:
        figures = ("–", "–", "", "")
        if record := measured.at_figure_size(records, folder, step.name):
            tflops, before = record["tflops"], best.get(step.ladder)
            at = said(spoken, f" at {record['m']}", f"（{record['m']}）")
            size = "" if record["m"] == measured.FIGURE_SIZE else at
            ratio = percent(spoken, record["ratio"]) if record.get("ratio") else "–"
            best_call = records.default_at(folder, step.name, record["m"], baseline=BEST_LIBRARY)
            of_best = percent(spoken, best_call["ratio"]) if best_call else ""
            figures = (f"{tflops:.2f}{size}", ratio, of_best, f"×{tflops / before:.2f}" if before else "")
            best[step.ladder] = max(before or 0.0, tflops)
        rows.append((step.name, step.idea(spoken), step.types, f"sm_{step.arch}", *figures))
    if not any(row[6] for row in rows[1:]):  # nothing was timed beside several calls of the libraries
        rows = [row[:6] + row[7:] for row in rows]
    for line in table(rows, right=range(4, len(rows[0]))):
        say(line)
    if folder is None:
        say(
            said(
                spoken,
                "No timings are recorded yet: ./gemm run on a machine with a GPU records them.",
                "还没有计时的记录：在有 GPU 的机器上运行 ./gemm run 就会记录。",
            )
        )
    else:
        gpu, size = records.gpu_name(folder), measured.FIGURE_SIZE
        say(
            said(
                spoken,
                f"Default variants on {gpu}, M = N = K = {size} where not said otherwise; "
                "gain: over the best step before in its ladder.",
                f"{gpu} 上的默认变体，未注明时 M = N = K = {size}；提速：相对同一阶梯里此前最快的一步。",
            )
        )


def table(rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> list[str]:
    """Rows of text as aligned lines; the first row is the heading. Columns in `right` are set to the right."""
    lines = aligned(rows, right)
    lines.insert(1, GAP.join("─" * width for width in widths_of(rows)))
    return lines
