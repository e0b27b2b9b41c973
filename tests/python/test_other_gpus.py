"""What docs/other-gpus writes by hand of the H100 beside the H200, against the records of both."""

import re
from types import SimpleNamespace

import pytest

import records
from base.paths import DATA, ROOT
from plots import gpu_tables, panels
from plots.course import Course

ENDING = {"en": "", "zh-CN": ".zh-CN"}
COURSE = Course(ROOT, DATA)
RECORDS = records.load(DATA, ROOT)
BANDWIDTH = {"h200": 4.8, "h100": 3.35}  # TB/s, of the data sheets
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
    assert f"{last.ratio:.2f}" in page and f"{last.h100['sm_mhz']} MHz" in page and str(last.h200["sm_mhz"]) in page


def test_shares_of_the_library_that_do_not_overlap(page):
    sizes = (4096, 8192, 16384)
    pairs = {(s.number, size): beside(s, size) for s in COURSE.steps if s.ladder == "hopper" for size in sizes}
    clear = {}
    for key, p in pairs.items():
        if p.h100["ratio_p20"] > p.h200["ratio_p80"] or p.h100["ratio_p80"] < p.h200["ratio_p20"]:
            clear[key] = p.h100["ratio"] > p.h200["ratio"]
    assert clear == {(22, 4096): False, (22, 16384): False, (23, 16384): True, (26, 4096): False, (27, 16384): False}
    assert re.search(
        rf"{len(pairs) - len(clear)} of the {len(pairs)}|{len(pairs)} 个里有 {len(pairs) - len(clear)} 个", page
    )


def test_2048_and_16384(page):
    small, large = ({s.number: beside(s, size) for s in AFTER_FP32} for size in (2048, 16384))
    assert [number for number, p in small.items() if p.apart and p.ratio < 1] == [16, 22, 26]
    assert [number for number, p in small.items() if p.apart and p.ratio > 1] == [14, 15, 17, 18, 19, 20]
    but_14 = sorted(p.ratio for number, p in small.items() if number != 14)
    assert re.search(rf"2048³.*{but_14[0]:.2f} (and|到) {but_14[-1]:.2f}", page)
    assert [number for number, p in large.items() if p.apart] == [12, 14]
    assert re.search(rf"16384³.*{large[12].ratio:.2f}.*{large[13].ratio:.2f}", page)


def test_the_bytes_that_step_14_reads_from_memory(page):
    (step,) = [s for s in COURSE.steps if s.number == 14]
    pair = beside(step, 8192)
    loaded = 2 * 8192**3 / 8  # a byte per 8 FLOP
    share, rate, read = {}, {}, {}
    for gpu, timed in (("h200", pair.h200), ("h100", pair.h100)):
        _, read[gpu] = gpu_tables.bytes_read(RECORDS, gpu, step.name, 8192)
        share[gpu], rate[gpu] = round(100 * read[gpu] / loaded), read[gpu] / timed["ms"] / 1e9
        assert f"{rate[gpu]:.1f} TB/s" in page
    assert re.search(rf"{share['h200']} (and|% 和) {share['h100']} %", page)
    of_the_bandwidth = [round(100 * rate[gpu] / peak) for gpu, peak in BANDWIDTH.items()]
    assert re.search(rf"{of_the_bandwidth[0]} %.*{of_the_bandwidth[1]} %", page)
    by_bandwidth, more = BANDWIDTH["h100"] / BANDWIDTH["h200"], read["h100"] / read["h200"]
    assert f"{by_bandwidth:.2f} / {more:.2f} = {by_bandwidth / more:.2f}" in page
    assert re.search(rf"(reaches |实测是 ){pair.ratio:.2f}", page)


def test_watts_of_the_steps_that_ran_alone(page):
    for gpu in ("h100", "h200"):
        watts = [r["power_w"] for r in RECORDS.alone[gpu] if int(r["step"][:2]) >= 15]
        assert re.search(rf"{min(watts):.0f} (to|到) {max(watts):.0f} W", page)


def test_a_clock_that_is_read_lies_below_the_mean(page):
    (alone,) = [r for r in RECORDS.alone["h100"] if r["step"].startswith("24")]
    most = 132 * 4096 / 1000  # TFLOPS per GHz
    per_ghz = alone["tflops"] / alone["sm_mhz"] * 1000
    assert per_ghz > most and f"{alone['sm_mhz']} MHz" in page
    assert all(re.search(rf"\b{value:.0f}\b", page) for value in (alone["tflops"], per_ghz, most))


def test_the_loops_that_read_from_memory_are_slower(page):
    ratios = []
    for loop in RECORDS.main_loops["h200"]:
        if loop["options"].get("dram_kb"):
            (other,) = [r for r in RECORDS.main_loops["h100"] if r["options"] == loop["options"]]
            ratios.append(other["tflops"] / loop["tflops"])
            assert panels.apart(loop, other)
    assert re.search(rf"{min(ratios):.2f} (to|到) {max(ratios):.2f}", page)
