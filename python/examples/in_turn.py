"""The clock: every side in turn, in rounds, of the slowest GPU; and what is told of it."""

import json
import os
import statistics
import subprocess
import time as calendar
from pathlib import Path

import parallel_products as products
import torch
import torch.distributed as dist

WARM_UPS = 3


def milliseconds(call, calls: int) -> float:
    """Per call, in a batch that all GPUs begin together."""
    dist.barrier()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(calls):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / calls


def over_gpus(value: float, of) -> float:
    """The largest, or what `of` makes of the values of all GPUs, the same on each."""
    values = [None] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return of(values)


def time(sides: dict, options) -> dict[tuple, list[float]]:
    """Milliseconds of every side in every round: of the slowest GPU, and of one GPU's product the median over GPUs."""
    settling, calls = {}, {}
    for name, side in sides.items():
        milliseconds(side, WARM_UPS)
        took = over_gpus(milliseconds(side, WARM_UPS), max)
        settling[name] = max(1, round(options.settle * 1e3 / took))
        calls[name] = max(WARM_UPS, round(options.seconds * 1e3 / took))
    rounds = {name: [] for name in sides}
    for _ in range(options.rounds):
        for name, side in sides.items():
            milliseconds(side, settling[name])  # at the power limit the clock still remembers the side before
            alone = name[1] == "one GPU"
            rounds[name].append(over_gpus(milliseconds(side, calls[name]), statistics.median if alone else max))
    return rounds


def spread(values: list[float]) -> tuple[float, float, float]:
    """Median, 20th and 80th percentile."""
    cuts = statistics.quantiles(values, n=5, method="inclusive") if len(values) > 1 else values * 4
    return statistics.median(values), cuts[0], cuts[-1]


def about(way, problem) -> dict:
    """What was run, on what, when: the part of a record that says nothing of the time it took."""
    case, split = way.case, problem.split
    made = {"layout": case.layout, "way": case.way, "product": case.product, "gpus": split.gpus, "chunks": case.chunks}
    made |= {"nccl_blocks": case.nccl_blocks, "m": split.m, "n": split.n, "k": split.k, "a": "bf16", "acc": "f32"}
    asked = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short", "HEAD"]
    commit = os.environ.get("GEMM_COMMIT") or subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    made |= {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda, "torch": torch.__version__}
    made |= {"nccl": ".".join(map(str, torch.cuda.nccl.version())), "commit": commit.strip() or "unknown"}
    return made | {"date": calendar.strftime("%Y-%m-%d")}


def record(way, rounds: dict[tuple, list[float]], problem) -> dict:
    """What was measured of one way."""
    case, split = way.case, problem.split
    together, arithmetic = rounds[case, "together"], statistics.median(rounds[case, "arithmetic"])
    one = rounds[case.product, "one GPU"]
    ratios = spread([alone / both for alone, both in zip(one, together, strict=True)])
    ms = spread(together)
    made = {"ms": ms[0], "ms_p20": ms[1], "ms_p80": ms[2], "one_gpu_ms": statistics.median(one)}
    made |= {"speed_up": ratios[0], "speed_up_p20": ratios[1], "speed_up_p80": ratios[2]}
    made |= {"tflops": split.flops() / ms[0] / 1e9, "arithmetic_ms": arithmetic}
    made |= {"exposed_ms": products.exposed(ms[0], arithmetic), "bytes_sent": split.bytes_sent(case.layout)}
    if way.moves_apart:
        communication = statistics.median(rounds[case.moves, "communication"])
        made |= {"communication_ms": communication, "hidden": products.hidden(ms[0], arithmetic, communication)}
    return about(way, problem) | made


HEAD = (
    f"{'':44}{'ms':>8}{'TFLOPS':>8}{'speed-up':>10}{'arithmetic':>12}{'communication':>15}{'exposed':>9}{'hidden':>8}"
)


def line(way, of: dict) -> str:
    """A record as a line of the table."""
    apart = f"{of['communication_ms']:15.3f}" if way.moves_apart else f"{'–':>15}"
    share = f"{of['hidden']:8.0%}" if way.moves_apart else f"{'–':>8}"
    times = f"{of['ms']:8.3f}{of['tflops']:8.0f}{of['speed_up']:10.3f}{of['arithmetic_ms']:12.3f}"
    return f"{way.case!s:44}{times}{apart}{of['exposed_ms']:9.3f}{share}"


def show(ways: list, rounds: dict, problem, options) -> None:
    """Prints the table and writes the records."""
    split = problem.split
    print(f"{split.m}x{split.n}x{split.k} in BF16 on {split.gpus} of {torch.cuda.get_device_name()}")
    for product in options.product:
        ms = statistics.median(rounds[product, "one GPU"])
        print(f"one GPU, {product}: {ms:.3f} ms, {split.flops() / ms / 1e9:.0f} TFLOPS")
    print(HEAD)
    records = [record(way, rounds, problem) for way in ways]
    for way, made in zip(ways, records, strict=True):
        print(line(way, made))
    if options.json:
        append(options.json, records)


def append(path: Path, records: list[dict]) -> None:
    """Writes records to the end of a JSON Lines file."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(made) + "\n" for made in records)
