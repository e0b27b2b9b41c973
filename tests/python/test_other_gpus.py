"""What docs/other-gpus writes by hand of the H100 beside the H200, against the records of both."""

import re
import sys
from types import SimpleNamespace

import pytest

from tools.paths import DATA, ROOT

sys.path.insert(0, str(ROOT / "plots"))

from gemm_plots import gpu_tables, panels, records
from gemm_plots.course import Course

ENDING = {"en": "", "zh-CN": ".zh-CN"}
COURSE = Course(ROOT, DATA)
RECORDS = records.load(DATA, ROOT)
AFTER_FP32 = [step for step in COURSE.steps if step.number >= 12]


@pytest.fixture(params=ENDING)
def page(request):
    return (ROOT / "docs" / f"other-gpus{ENDING[request.param]}.md").read_text(encoding="utf-8")


def beside(step, size):
    """A step's default on both GPUs and the ratio of the H100's speed to the H200's; None where one was not timed."""
    found = gpu_tables.timed(COURSE, RECORDS, step, size)
    if not all(found):
        return None
    h200, h100 = found
    ratio = h100["tflops"] / h200["tflops"]
    return SimpleNamespace(h200=h200, h100=h100, ratio=ratio, apart=panels.apart(h200, h100))


def test_the_steps_after_fp32_differ_by_four_percent_at_most_except_step_14(page):
    pairs = {(s.number, size): beside(s, size) for s in AFTER_FP32 for size in (4096, 8192) if s.number != 14}
    low, high = (f"{extreme(p.ratio for p in pairs.values()):.2f}" for extreme in (min, max))
    assert re.search(rf"{low} (and|到) {high}", page)
    clear = {key: f"{p.ratio:.2f}" for key, p in pairs.items() if p.apart}
    assert clear == {(15, 8192): "1.02", (18, 8192): "1.02", (26, 4096): "0.96"}
    speeds = [pairs[number, 8192].h100["tflops"] for number in (24, 25, 26)]
    assert re.search(r"{:.0f}(, |、){:.0f}( and |、){:.0f}".format(*speeds), page)


def test_at_1024_the_h100_is_ahead(page):
    pairs = {s.number: beside(s, 1024) for s in AFTER_FP32}
    inside = [number for number, p in pairs.items() if not p.apart]
    assert inside == [13, 21, 26] and re.search("13, 21 and 26|13、21、26", page)
    gains = [round(100 * p.ratio - 100) for number, p in pairs.items() if number not in (*inside, 27)]
    assert (min(gains), max(gains)) == (2, 9) and re.search(r"2 to 9 %|2 % 到 9 %", page)
    last = pairs[27]
    assert f"{last.ratio:.2f}" in page and f"{last.h100['power_w']:.0f} W" in page
    assert all(f"{r['sm_mhz']} MHz" in page for r in (last.h100,)) and str(last.h200["sm_mhz"]) in page


def test_step_14_is_as_slow_as_its_bytes_from_memory_say(page):
    (step,) = [s for s in COURSE.steps if s.number == 14]
    pair = beside(step, 8192)
    loaded = 2 * 8192**3 / 8  # a byte per 8 FLOP
    share, rate, read = {}, {}, {}
    for gpu, timed in (("h200", pair.h200), ("h100", pair.h100)):
        _, read[gpu] = gpu_tables.bytes_read(RECORDS, gpu, step.name, 8192)
        share[gpu], rate[gpu] = round(100 * read[gpu] / loaded), read[gpu] / timed["ms"] / 1e9
        assert f"{read[gpu] / 1e9:.1f} GB" in page and f"{rate[gpu]:.1f} TB/s" in page
        assert f"{timed['ms']:.1f} ms" in page
    assert re.search(rf"{share['h200']} (and|% 和) {share['h100']} %", page)
    bandwidth, more = rate["h100"] / rate["h200"], read["h100"] / read["h200"]
    assert f"{bandwidth:.2f} / {more:.2f} = {bandwidth / more:.2f}" in page
    assert f"{bandwidth / more:.2f}" == f"{pair.ratio:.2f}"


def test_watts_of_the_steps_at_the_power_limit(page):
    for gpu in ("h100", "h200"):
        watts = [RECORDS.alone[gpu][i]["power_w"] for i, r in enumerate(RECORDS.alone[gpu]) if int(r["step"][:2]) >= 15]
        assert re.search(rf"{min(watts):.0f} (to|到) {max(watts):.0f} W", page)


def test_the_loops_that_read_from_memory_are_slower(page):
    ratios = []
    for loop in RECORDS.main_loops["h200"]:
        if loop["options"].get("dram_kb"):
            (other,) = [r for r in RECORDS.main_loops["h100"] if r["options"] == loop["options"]]
            ratios.append(other["tflops"] / loop["tflops"])
            assert panels.apart(loop, other)
    assert re.search(rf"{min(ratios):.2f} (to|到) {max(ratios):.2f}", page)
