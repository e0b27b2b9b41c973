"""What pages tell of step 26 and of the order of its clusters, against the records that the figures come from."""

import re

import pytest

import records
from base.paths import DATA, ROOT
from plots import traffic
from records import metrics

ENDING = {"en": "", "zh-CN": ".zh-CN"}
RECORDS = records.load(DATA, ROOT)
BEFORE, STEP = "25_overlapped_store", "26_clusters"
SIZES = (4096, 8192, 16384)
COUNTED = traffic.counted(RECORDS, "h200", [BEFORE, STEP])
ORDERED, AS_DEALT = (STEP, "bf16"), (STEP, "as_dealt")
LOOP = {"tile": "256x192", "a": "bf16", "zeros": 0.0, "l2_kb": 40, "dram_kb": 0}  # which reads what this step reads
UNIT = 128 * 256 * 64  # of M·N·K: the work by which the pages compare tiles


def text(page, language):
    """A page's text, without its generated tables."""
    folder, name = page.rsplit("/", 1)
    whole = (ROOT / folder / f"{name}{ENDING[language]}.md").read_text(encoding="utf-8")
    return re.sub(r"<!-- table:.*?<!-- /table -->", "", whole, flags=re.DOTALL)


def timing(variant, size, step=STEP, baseline="best_library"):
    """The one record of a square product beside a baseline."""
    rows = [r for r in RECORDS.of_step("h200", step) if r["m"] == r["n"] == r["k"] == size and not r["options"]]
    (found,) = [r for r in rows if (r["variant"], r["baseline"]) == (variant, baseline)]
    return found


def rounds(timing):
    """The speeds between which the middle 60 % of the rounds lie."""
    return [f"{timing['tflops'] * timing['ms'] / timing[ms]:.0f}" for ms in ("ms_p80", "ms_p20")]


def crossed(variant, size):
    """GB that crossed from L2."""
    return COUNTED[size, *variant][metrics.COALESCER_SECTORS] * metrics.SECTOR_BYTES / 1e9


def kb_per_unit(variant, size):
    """KB that crossed from L2 for a unit of work."""
    return crossed(variant, size) * 1e9 / 1024 / (size**3 / UNIT)


@pytest.mark.parametrize("language", ENDING)
def test_the_gains_are_those_of_the_records(language):
    page = text("steps/26_clusters/README", language)
    speeds = {variant: [timing(variant, size)["tflops"] for size in SIZES] for variant in ("bf16", "as_dealt")}
    before = [timing("bf16", size, BEFORE)["tflops"] for size in SIZES]
    for above, below, digits in (("as_dealt", before, 2), ("bf16", before, 2), ("bf16", speeds["as_dealt"], 3)):
        gains = (f"{one / other:.{digits}f}" for one, other in zip(speeds[above], below, strict=True))
        assert f" | {' | '.join(gains)} |\n" in page
    for size in SIZES[1:]:
        low, high = rounds(timing("bf16", size))
        dealt_low, dealt_high = rounds(timing("as_dealt", size))
        assert re.search(rf"{low} (to|到) {high}\D+({size}³)?\D+{dealt_low} (to|到) {dealt_high}", page)
        assert float(low) < float(dealt_high), "the text says that they overlap"


@pytest.mark.parametrize("language", ENDING)
def test_a_chapter_tells_what_was_counted(language):
    page = text("steps/26_clusters/README", language)
    before, ordered, dealt = (crossed(v, 8192) for v in ((BEFORE, "bf16"), ORDERED, AS_DEALT))
    merged = {v: COUNTED[8192, *v][metrics.MERGED] for v in (ORDERED, AS_DEALT)}
    told = (f"{merged[ORDERED]:.2f}", f"{merged[AS_DEALT]:.2f}", f"{before:.2f} GB", f"{dealt:.2f} GB")
    assert all(figure in page for figure in told)
    assert f"{dealt:.2f} − {ordered:.2f} = {dealt - ordered:.1f} GB" in page
    assert ordered / before == pytest.approx(0.75, abs=0.005) and dealt / before == pytest.approx(1.03, abs=0.005)
    units = [kb_per_unit(v, 8192) for v in ((BEFORE, "bf16"), ORDERED)]
    assert all(f"{kb:.1f}" in page for kb in (*units, units[0] - units[1]))
    for size, digits in ((8192, 2), (16384, 1)):
        read = [COUNTED[size, *v][metrics.DRAM_READ] / 1e9 for v in ((BEFORE, "bf16"), AS_DEALT, ORDERED)]
        assert f"| {' | '.join(f'{gb:.{digits}f} GB' for gb in read)} |" in page


@pytest.mark.parametrize("language", ENDING)
def test_other_pages_tell_the_same(language):
    hopper, power = (text(f"docs/{page}", language) for page in ("hopper", "power"))
    before, ordered, dealt = ((BEFORE, "bf16"), ORDERED, AS_DEALT)
    told = [f"{COUNTED[8192, *before][metrics.COALESCER_RATIO]:.2f}", f"{COUNTED[8192, *ordered][metrics.SHARED]:.2f}"]
    told += [f"{COUNTED[8192, *v][metrics.MERGED]:.2f}" for v in (dealt, ordered)]
    assert all(f"{figure} " in hopper for figure in told)
    assert all(f"{crossed(v, 8192):.1f}" in hopper for v in (before, dealt, ordered))
    assert f"{kb_per_unit(before, 8192):.0f} KB" in power
    (alone,) = [r for r in RECORDS.alone["h200"] if r["step"] == STEP]
    (loop,) = [r["tflops"] for r in RECORDS.main_loops["h200"] if LOOP.items() <= {**r, **r["options"]}.items()]
    assert f"{loop:.0f}" in power and f"{loop:.0f} TFLOPS" in text("steps/26_clusters/README", language)
    for speed, share in ((timing("bf16", 8192)["tflops"], 9), (timing("bf16", 16384)["tflops"], 6)):
        assert round(100 - 100 * speed / loop) == share and f"{speed:.0f}" in power
    assert round(100 - 100 * alone["tflops"] / loop) == 7 and f"{alone['tflops']:.0f}" in power
    gain = timing("bf16", 16384)["tflops"] / timing("bf16", 16384, BEFORE)["tflops"]
    front = (ROOT / f"README{ENDING[language]}.md").read_text(encoding="utf-8")
    assert re.search(rf"16384³ it is {gain * 100 - 100:.0f} % faster|16384³ 时快 {gain * 100 - 100:.0f}%", front)
