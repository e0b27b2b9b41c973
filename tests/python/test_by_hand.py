"""What the chapters count by hand: each figure stands in both pages, and is what the recorded counts of the simulator, the
recorded instruction mix and the bounds of `./gemm bound` come to."""

import math
import os
import re
import unicodedata
from dataclasses import replace
from functools import cache

import pytest
from programs import built

from base import registry
from base.paths import BUILD, DATA, SIMULATOR
from records import REFERENCE_GPU, read
from tools import bound, bound_limits, measured, practice_goals, practice_tasks
from tools.bound_counts import Work

STEPS = {step.number: step for step in registry.steps()}
COUNTED = [step for step in STEPS.values() if "load_store_per_instruction" in step.by_hand]
TASKS = {task.step.number: task for task in practice_tasks.tasks(registry.steps())}
PAGES = ("README.md", "README.zh-CN.md")
H200 = bound_limits.gpu(REFERENCE_GPU)
HMMA = 4096  # FLOP
KB = 1024
# Variants whose look-ups a chapter counts, beside its default: no record has them.
OTHERS = {
    (14, "m32n8k16"): 40,
    (14, "m8n32k16"): 40,
    (15, "warp2x4"): 10.75,
    (15, "warp2x4_k32"): 3,
    (18, "unpadded"): 7.75,
}


@cache
def recorded():
    return measured.load()


def work(number: int) -> Work:
    """The work of a step's main loop, as it is recorded for the practice."""
    return practice_goals.recorded_work(TASKS[number])


def bounds(number: int, size: int = 4096, block: tuple[int, int] | None = None):
    """What `./gemm bound` makes of it; `block`: of another tile, which no other SM shares."""
    one = work(number)
    if block:
        one = replace(one, variant={**one.variant, "block": [*block, 64]}, sms_per_tile=1)
    return bound_limits.bounds(STEPS[number], one, H200, size, recorded())


def tflops(number: int, name) -> float:
    """A bound of a step by its name."""
    return next(one.tflops for one in bounds(number).all if one.name is name)


def each(number: int, variant: str, block: tuple[int, int, int], *names: str, once: bool = False) -> float:
    """A count of the simulator per block and slice; with `once`, what a block counts beside its slices.

    Two sizes are recorded, and a count is a sum of both: (slices · each + once) of a block.
    """
    found = []
    for record in read(DATA / "simulator" / f"{STEPS[number].name}.jsonl"):
        if record["variant"] == variant and record["m"] % 2 == 0:
            blocks = math.prod(math.ceil(record[edge] / part) for edge, part in zip("mn", block[:2], strict=True))
            counts = {**record["counts"], **record["counts"].get("tma", {}), **record["counts"]["by_class"]}
            found.append((math.ceil(record["k"] / block[2]), sum(counts[name] for name in names) / blocks))
    (slices, first), (others, second) = found[:2]
    slope = (first - second) / (slices - others)
    return first - slices * slope if once else slope


def filled(number: int, size: int, block: tuple[int, int] | None = None) -> float:
    """The share of the SMs' time that is spent on elements of C."""
    found = bounds(number, size, block)
    return found.filled * found.inside


def mix(number: int, variant: str = ""):
    """The recorded instruction mix of a variant, the default if none is named."""
    rows = recorded().mixes_of(STEPS[number].name, "sass", default_only=not variant)
    return next(row for row in rows if variant in ("", row["variant"]))


def before_products(number: int) -> int:
    """Loads and copies between the barrier and the first product of the loop, which may run around its end."""
    order = mix(number)["order"]
    kinds = [kind for kind, _ in order]
    at = kinds.index("barrier")
    behind = [*order[at:], *order[:at]]
    first = next(place for place, (kind, _) in enumerate(behind) if kind == "tensor")
    return sum(many for kind, many in behind[:first] if kind in ("load_shared", "cp_async"))


def of(number: int, size: tuple[int, int, int]) -> tuple[float, float]:
    """Wavefronts and look-ups of a block and slice, by the recorded work."""
    flop = 2 * math.prod(size)
    return work(number).wavefronts * flop, work(number).look_ups * flop


LOAD, STORE, COPY, WGMMA = (
    "shared_load_wavefronts", "shared_store_wavefronts", "cp_async_shared_wavefronts", "wgmma_wavefronts",
)  # fmt: skip
BYTES = "shared_bytes"  # that TMA writes
STREAMS = {12: (128, 128, 16), 13: (256, 256, 16), 15: (128, 128, 64), 16: (128, 256, 32), 17: (256, 256, 64)}


def loads(number: int, variant: str, depth: int = 0) -> float:
    """Wavefronts of fragment loads of a block and slice."""
    bm, bn, bk = STREAMS[number]
    return each(number, variant, (bm, bn, depth or bk), LOAD)


def stores(number: int, variant: str, depth: int = 0) -> float:
    """Wavefronts of stores and copies of a block and slice."""
    bm, bn, bk = STREAMS[number]
    return each(number, variant, (bm, bn, depth or bk), STORE, COPY)


def hmmas(number: int, depth: int = 0) -> float:
    """HMMAs of a block and slice."""
    bm, bn, bk = STREAMS[number]
    return 2 * bm * bn * (depth or bk) / HMMA


def per_byte(number: int) -> float:
    """FLOP per byte that a block loads."""
    return 1 / bound_limits.l2_bytes(work(number))


# By step: texts of its section, the same in both languages, and what their numbers have to be; without values, the text
# itself was made from the counts. Texts are compared without spaces and bold type.
Claims = list[tuple[str, tuple[float, ...]]]
LDST, CORE = bound_limits.LOAD_STORE, bound_limits.MEASURED


def step_12() -> Claims:
    lds, sts, (_, look_ups) = loads(12, "f16x8_k16") / 8, stores(12, "f16x8_k16") / 8, of(12, STREAMS[12])
    total = lds + sts + look_ups / 8
    return [
        ("| 64 |", (lds,)), ("| 20 |", (sts,)), ("| 20 |", (look_ups / 8,)), ("0.203", (total / 512,)),
        ("104: 165", (total, tflops(12, LDST))), ("64", (per_byte(12),)), ("70", (mix(12)["registers"],)),
    ]  # fmt: skip


def step_13() -> Claims:
    lds, sts, (_, look_ups) = loads(13, "t16x16_doubled") / 8, stores(13, "t16x16_doubled") / 8, of(13, STREAMS[13])
    return [
        ("192", (lds,)), ("24", (sts,)), ("40", (look_ups / 8,)), ("256", (lds + sts + look_ups / 8,)),
        ("| 0.094 |", (lds / 2048,)), ("0.125", (work(13).load_store * 128,)), ("268", (tflops(13, LDST),)),
    ]  # fmt: skip


def step_14() -> Claims:
    product, sectors = 2 * HMMA, each(14, "m16n16k16", (16, 16, 16), "global_load_sectors")
    return [
        ("| 64 | 33.5", (work(14).load_store * product, tflops(14, LDST))), ("64", (sectors,)),
        ("8", (per_byte(14),)), ("| 80 | 26.8 |", (2 * OTHERS[14, "m32n8k16"], H200.cycles * HMMA / 40 / 1e12)),
    ]  # fmt: skip


def step_15() -> Claims:
    here, thin, half = "warp2x4_k64", "warp2x4", "warp2x4_k32"
    _, look_ups = of(15, STREAMS[15])
    rows = [
        (name, depth, loads(15, name, depth) / hmmas(15, depth), stores(15, name, depth) / hmmas(15, depth))
        for name, depth in ((thin, 16), (half, 32))
    ]
    return [
        ("| 512 | 1 |", (hmmas(15), 1)), ("| 768 | 1.5 |", (loads(15, here), loads(15, here) / hmmas(15))),
        ("| 256 | 0.5 |", (stores(15, here), stores(15, here) / hmmas(15))),
        ("| 256 | 0.5 |", (look_ups, look_ups / hmmas(15))),
        ("2.5: 428", (work(15).load_store * HMMA, tflops(15, LDST))),
        ("| 9 | 0.5 |", rows[0][2:]), ("| 1.5 | 0.75 |", rows[1][2:]),
        ("| 10.75 | 100 |", (OTHERS[15, thin], H200.cycles * HMMA / OTHERS[15, thin] / 1e12)),
        ("| 3.0 | 357 |", (OTHERS[15, half], H200.cycles * HMMA / OTHERS[15, half] / 1e12)),
        ("1071", (H200.cycles * HMMA / 1e12,)), ("261.4", (H200.cycles / 1e9,)), ("64", (per_byte(15),)),
        ("126", (mix(15)["registers"],)),
    ]  # fmt: skip


def step_16() -> Claims:
    here, (_, look_ups) = "warp4x4_k32", of(16, STREAMS[16])
    limit = recorded().limit(REFERENCE_GPU, "f16", "f16", "mma")
    return [
        ("| 512 | 1 |", (hmmas(16), 1)), ("| 512 | 1.0 |", (loads(16, here), loads(16, here) / hmmas(16))),
        ("| 128 | 0.25 |", (stores(16, here) / 2, stores(16, here) / 2 / hmmas(16))),
        ("| 256 | 0.5 |", (look_ups, look_ups / hmmas(16))),
        ("2.0: 535", (work(16).load_store * HMMA, tflops(16, LDST))), ("85.3", (per_byte(16),)),
        ("1.63", (HMMA * H200.sms * limit["sm_mhz"] / limit["tflops"] / 1e6,)), ("123", (mix(16)["registers"],)),
    ]  # fmt: skip


def step_17() -> Claims:
    here, (_, look_ups) = "mma4x2_warp4x8", of(17, STREAMS[17])
    return [
        ("| 2048 | 1 |", (hmmas(17), 1)), ("| 1536 | 0.75 |", (loads(17, here), loads(17, here) / hmmas(17))),
        ("| 512 | 0.25 |", (stores(17, here), stores(17, here) / hmmas(17))),
        ("| 512 | 0.25 |", (look_ups, look_ups / hmmas(17))),
        ("1.25: 857", (work(17).load_store * HMMA, tflops(17, LDST))), ("128", (per_byte(17),)),
        ("631", (tflops(17, CORE),)), ("3.0", (390 / per_byte(17),)),
    ]  # fmt: skip


def step_18() -> Claims:
    block, (_, look_ups) = (128, 128, 16), of(18, (128, 128, 16))
    padded, bare = (each(18, name, block, LOAD, STORE) + look_ups for name in ("mma2x4_warp4x4", "unpadded"))
    return [
        ("| 160 | 160 |", (look_ups, look_ups)), ("| 448 | 992 |", (padded, bare)),
        ("306", (tflops(18, LDST),)), ("138", (H200.cycles * HMMA / (bare / 128) / 1e12,)), ("64", (per_byte(18),)),
        ("64", (mix(18)["registers"],)), ("98", (mix(18, "fp32_accumulate")["registers"],)),
        ("631", (tflops(18, CORE),)),
    ]  # fmt: skip


def step_19() -> Claims:
    block = (256, 256, 64)
    old, new = [
        (each(step, name, tile, LOAD) / many, each(step, name, tile, STORE, COPY) / many, work(step).look_ups * HMMA)
        for step, name, tile, many in (
            (18, "mma2x4_warp4x4", (128, 128, 16), 128), (19, "large_stages3", block, 2048),
        )
    ]  # fmt: skip
    return [
        ("| 1.5 | 0.75 |", (old[0], new[0])), ("| 0.75 | 0.25 |", (old[1], new[1])),
        ("| 1.25 | 0.25 |", (old[2], new[2])), ("| 3.5 | 1.25 |", (sum(old), sum(new))),
        ("| 306 | 857 |", (tflops(18, LDST), tflops(19, LDST))), ("612", (bounds(19).predicted,)),
        ("256", (bounds(19).tiles,)), ("226", (mix(19)["registers"],)),
    ]  # fmt: skip


def step_20() -> Claims:
    block = (256, 256, 64)
    written = [
        each(step, name, block, "store_global", once=True) for step, name in ((19, "large_stages3"), (20, "swizzle"))
    ]
    return [
        ("0.75", (each(20, "swizzle", block, LOAD) / 2048,)), ("0.25", (each(20, "swizzle", block, COPY) / 2048,)),
        ("| 27 | 8 |", (before_products(19), before_products(20))), ("| 1024 | 256", tuple(written)),
        ("1024", (each(20, "swizzle", block, "shuffle", once=True),)),
    ]  # fmt: skip


def step_21() -> Claims:
    tiles = ((1.0, (256, 256)), (0.95, (128, 256)), (0.8, (128, 128)), (0.6, (128, 64)))
    found = []
    for speed, block in tiles:
        row = [bounds(21, size, block) for size in (1024, 2048, 4096)]
        text = "".join(f" | {math.ceil(one.rounds)}: {speed * one.filled:.2f}" for one in row)
        found.append((f"| {speed:.2f}{text} |", ()))
    return found


def step_22() -> Claims:
    block = (128, 256, 64)
    old = each(20, "bf16", block, "cp_async_requests") * 32
    moved = each(22, "bf16", block, LOAD) + each(22, "bf16", block, BYTES) / 128
    limit = recorded().limit(REFERENCE_GPU, "bf16", "f32", "mma")
    products = 2 * math.prod(block) * H200.sms / tflops(22, CORE) / 1e6  # microseconds
    return [
        ("3072 | 5 |", (old, each(22, "bf16", block, "load_requests"))), ("1408", (moved,)),
        ("256", (each(22, "bf16", block, "shared_load_requests"),)), ("1024", (each(22, "bf16", block, "tensor_ops"),)),
        ("| 48 KB | 48 KB |", (each(20, "bf16", block, COPY) * 128 / KB, each(22, "bf16", block, BYTES) / KB)),
        ("617", (bounds(22).predicted,)), ("636", (tflops(22, CORE),)), ("0.87", (products,)),
        ("1935", (limit["sm_mhz"],)), ("1684", (products * limit["sm_mhz"],)), ("512", (bounds(22).tiles,)),
    ]  # fmt: skip


def step_23() -> Claims:
    block = (128, 256, 64)
    read_before, read_now = each(22, "bf16", block, LOAD), each(23, "bf16", block, WGMMA)
    return [
        ("| 128 KB | 80 KB |", (read_before * 128 / KB, read_now * 128 / KB)), ("822", (bounds(23).predicted,)),
        ("848", (tflops(23, CORE),)), ("512", (bounds(23).tiles,)),
    ]  # fmt: skip


def step_24() -> Claims:
    return [("384", (work(24).threads,)), ("48 KB", (each(24, "bf16", (128, 256, 64), BYTES) / KB,))]


def step_25() -> Claims:
    block = (128, 256, 64)
    return [
        ("512", (each(25, "bf16", block, STORE, once=True),)), ("64 KB", (each(25, "bf16", block, "store_bytes", once=True) / KB,)),
        ("1024", (2 * math.prod(block) / HMMA,)),
    ]  # fmt: skip


def step_26() -> Claims:
    received = work(26).loaded_bytes * 2 * math.prod((128, 256, 64)) / KB
    rows = []
    for size in (1024, 2048, 4096, 8192, 16384):
        now = bounds(26, size)
        share = f"{filled(25, size):.2f}"
        pairs = f"{now.tiles} / {66 * math.ceil(now.rounds)} = {now.filled:.2f}"
        rows.append((f"| {size} | {share} | {pairs} | {now.inside:.2f} | {now.filled * now.inside:.2f} |", ()))
    return [*rows, ("26.7", (received,)), ("0.86", (filled(26, 4096),)), ("0.97", (filled(25, 4096),))]


def step_28() -> Claims:
    tile = (128, 192, 64)
    return [
        ("8 · 1,024 | 8 · 768", (8, 2 * 128 * 256 * 64 / HMMA, 8, 2 * math.prod(tile) / HMMA)),
        ("704", (bounds(28).tiles,)), ("5.3", (bounds(28).rounds,)), ("0.86", (filled(28, 4096),)),
        ("40 KB", (each(28, "bf16", tile, BYTES) / KB,)), ("0.97", (filled(27, 4096, (128, 256)),)),
    ]  # fmt: skip


def step_29() -> Claims:
    blocks, flop = 512 * 1024 / (128 * 64), 2 * 512 * 1024 * 8192
    return [
        ("64 | 48", (blocks, 100 * blocks / H200.sms)), ("128 | 97", (2 * blocks, 200 * blocks / H200.sms)),
        ("24 KB", (each(29, "two", (128, 64, 64), BYTES) / KB,)), ("201 MB", (work(29).loaded_bytes * flop / 1e6,)),
    ]  # fmt: skip


def step_30() -> Claims:
    tile = (192, 256, 32)
    parts = [each(30, "tf32_192x256", tile, name) for name in (WGMMA, LOAD, BYTES)]
    return [
        ("| 768 |", parts[:1]), ("| 256 |", parts[1:2]), ("| 448 |", (parts[2] / 128,)), ("56 KB", (parts[2] / KB,)),
        ("1472", (work(30).wavefronts * 2 * math.prod(tile),)), ("| 1536 |", (2 * math.prod(tile) / (HMMA / 2),)),
        ("16", (each(30, "tf32_192x256", tile, "tensor_ops") / 4,)),
    ]  # fmt: skip


def step_31() -> Claims:
    large, other = (256, 192, 128), (128, 256, 128)
    a, b = (each(31, name, tile, BYTES) / KB for name, tile in (("s8_256x192", large), ("s8_128x256", other)))
    one = each(31, "s8_256x192", large, WGMMA) / each(31, "s8_256x192", large, "tensor_ops") * 4
    return [
        ("56 KB", (a,)), ("48 KB", (b,)), ("64", (one,)), ("768", (2 * 128 * 192 * 128 / (2 * HMMA),)),
        ("96", (2 * 64 * 192 * 32 / (2 * HMMA),)),
    ]  # fmt: skip


def step_32() -> Claims:
    flop, size = 2 * 4096**3, 4096**2
    split = (2 * 4 * size + 2 * 3 * size) / 4.8e12 * 1e6
    product = flop / tflops(32, bound_limits.TENSOR) / 1e6
    return [
        ("48 KB", (each(32, "three_digits", (128, 128, 64), BYTES) / KB,)), ("6 · 137.44 = 825", (work(32).products, flop / 1e9, 6 * flop / 1e9)),
        ("134 MB", (2 * 4 * size / 1e6,)), ("101 MB", (2 * 3 * size / 1e6,)), ("49", (split,)), ("417", (product,)),
        ("466", (split + product,)), ("295", (flop / (split + product) / 1e6,)),
    ]  # fmt: skip


CLAIMED = {int(name.removeprefix("step_")): made for name, made in list(globals().items()) if name.startswith("step_")}


def by_hand(step, page: str) -> str:
    """A chapter's count by hand: without marks and bold type, in one kind of punctuation."""
    text = (step.folder / page).read_text(encoding="utf-8")
    section = re.search(r"^## (?:By hand|手算)$(.*?)^## ", text, re.MULTILINE | re.DOTALL)[1]
    return unicodedata.normalize("NFKC", re.sub(r"<!--.*?-->|\*\*", "", section))


def stands(text: str, page: str) -> bool:
    """Whether these numbers stand there, whole, whatever spaces are between them."""
    found = "".join(text.split())
    before = r"(?<!\d)(?<!\d[.,])" if found[0].isdigit() else ""
    behind = r"(?!\d|[.,]\d)" if found[-1].isdigit() else ""
    return re.search(before + re.escape(found) + behind, "".join(page.split())) is not None


@pytest.mark.parametrize("number", CLAIMED)
def test_a_chapters_figures_are_what_the_records_come_to(number):
    for text, values in CLAIMED[number]():
        for page in PAGES:
            assert stands(text, by_hand(STEPS[number], page)), f"{text} does not stand in {page}"
        told = [word.replace(",", "") for word in re.findall(r"\d[\d,]*(?:\.\d+)?", text)] if values else []
        for word, value in zip(told, values, strict=True):
            last_digit = 10.0 ** -len(word.partition(".")[2])
            assert float(word) == pytest.approx(value, abs=0.501 * last_digit, rel=0.0015), (text, values)


@pytest.mark.parametrize("step", COUNTED, ids=lambda step: step.name)
def test_the_count_of_step_toml_is_what_is_recorded(step):
    if step.number not in TASKS or step.own or bound.chooses(step):
        pytest.skip("no work of its tile at 4096 is recorded")
    counted = work(step.number).load_store * bound_limits.per_instruction(step)
    assert counted == pytest.approx(step.by_hand["load_store_per_instruction"], rel=0.015)


@pytest.mark.parametrize(("number", "variant"), OTHERS, ids=lambda one: str(one))
def test_what_is_counted_of_other_variants_is_what_the_chapter_counts(number, variant):
    step = STEPS[number]
    executable = built(BUILD / "steps" / step.name, SIMULATOR)
    counted = bound.counted(executable, step, variant, dict(os.environ))
    assert counted.load_store * HMMA == pytest.approx(OTHERS[number, variant], rel=0.002)
