"""./gemm run and ./gemm record, with made-up steps in place of the compiled ones."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab import record, record_files, recorded_set
from tools import build, cli, gpu, measured, plot, registry, run, simulated
from tools.errors import Failure, UserError
from tools.paths import ROOT

STEP = """\
#!/usr/bin/env python3
import json, sys
from pathlib import Path
COUNTS = {"by_class": {"fma": 512, "tensor": 0}, "instructions": 1024, "barriers": 8, "global_load_sectors": 64,
          "cp_async_global_sectors": 64, "shared_load_wavefronts": 32, "shared_store_wavefronts": 16,
          "cp_async_shared_wavefronts": 0, "shared_load_conflicts": 0, "shared_store_conflicts": 3}
name = Path(sys.argv[0]).name
words = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])
print(name, *sys.argv[1:])
if "sim" in words:
    print(f"{name}, m 64, in the simulator: right")
    print("counts, line by line")
if "json" in words:
    size = int(words.get("size", 4096))
    with open(words["json"], "a") as file:
        file.write(json.dumps({"step": name, "variant": "v", "default": True, "m": size, "n": size, "k": size,
                               "tflops": 1.0, "ratio": 0.5, "baseline": "cublas", "gpu": "Test GPU",
                               "counts": COUNTS}) + "\\n")
sys.exit(EXIT)
"""
HERE = gpu.Gpu("NVIDIA Test")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A built course: executables that write what they were told, a GPU, and nothing to build."""
    steps = tmp_path / "build" / "steps"
    steps.mkdir(parents=True)
    data = tmp_path / "data"
    data.mkdir()
    for module in (run, record, build):
        monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    for module in (run, record, measured):
        monkeypatch.setattr(module, "DATA", data)
    monkeypatch.setattr(record, "STATE", tmp_path / "build" / "recorded.json")
    monkeypatch.setattr(record, "PARTIAL", tmp_path / "build" / "recording")
    monkeypatch.setattr(simulated, "FOLDER", tmp_path / "build" / "simulated")
    monkeypatch.setattr(run, "SIMULATOR", tmp_path / "build" / "sim" / "libcudart.so.13")
    monkeypatch.setattr(gpu, "detect", lambda: HERE)
    drawn, built = [], []
    for module in (run, record):
        monkeypatch.setattr(module, "ensure_build", lambda _: SimpleNamespace(python=Path("python"), variables=None))
    monkeypatch.setattr(build, "configure", lambda _: None)
    monkeypatch.setattr(build, "compile_targets", lambda _, targets=(), title="": built.append(list(targets)))
    monkeypatch.setattr(build, "has_target", lambda _: True)
    monkeypatch.setattr(plot, "draw", lambda *_: drawn.append(1))
    course = SimpleNamespace(root=tmp_path, data=data, drawn=drawn, built=built, ladder=registry.steps())

    def make(exit_codes=None):
        for step in course.ladder:
            executable = steps / step.name
            executable.write_text(STEP.replace("EXIT", str((exit_codes or {}).get(step.number, 0))))
            executable.chmod(0o755)

    course.make = make
    make()
    return course


def start(*arguments):
    run.run(run.plan(cli.parse(["run", *arguments])), setup=False)


def test_the_whole_ladder_is_recorded_and_drawn(course, capsys):
    start()
    said = capsys.readouterr().out
    assert course.built == [[]] and course.drawn == [1]
    written = {file.stem for file in (course.data / "test").glob("*.jsonl")}
    assert written == {step.name for step in course.ladder}
    assert "The charts are in" in said and "plots/charts" in said
    assert said.index("01_naive --json") < said.index("02_coalesced --json")


def test_a_step_that_fails_does_not_stop_the_ladder_and_is_named(course, capsys):
    course.make({2: 1, 3: 2})
    with pytest.raises(Failure) as failed:
        start()
    said = capsys.readouterr().out
    assert failed.value.code == 1
    assert "2 of" in said and "02_coalesced, 03_smem_tiling" in said
    assert course.ladder[-1].name in said and course.drawn == [1]


def test_a_refused_step_is_exit_code_2(course):
    course.make({1: 2})
    with pytest.raises(Failure) as failed:
        start("01")
    assert failed.value.code == 2


def test_one_step_builds_and_runs_alone(course, capfd):
    start("3", "--size", "2048", "--variant", "all")
    assert course.built == [["steps/03_smem_tiling"]] and course.drawn == []
    assert "03_smem_tiling --size=2048 --variant=all --json=" in capfd.readouterr().out
    assert (course.data / "test" / "03_smem_tiling.jsonl").exists()


def lists(course, number, *variants):
    """The executable of a step says of its variants what is given: a name, and what it leaves out."""
    program = course.root / "build" / "steps" / course.ladder[number - 1].name
    listing = "\n".join(json.dumps({"variant": name, "leaves_out": part}) for name, part in variants)
    early = f'if "list" in words: Path(words["json"]).write_text({listing!r}); sys.exit(0)\nprint('
    program.write_text(program.read_text().replace("print(", early, 1))


def test_variants_that_leave_out_work_are_recorded_apart(course):
    lists(course, 1, ("best", ""), ("no_copy_a", "the copy of A"))
    for asked in ("no_copy_a", "bottlenecks"):
        start("01", "--variant", asked)
    assert [file.relative_to(course.data / "test") for file in course.data.rglob("*.jsonl")] == [
        Path("bottlenecks/01_naive.jsonl")
    ]
    start("01", "--variant", "best")
    assert (course.data / "test" / "01_naive.jsonl").exists()
    with pytest.raises(UserError, match="no_copy_a: leaves out work and is recorded apart; run it alone"):
        start("01", "--variant", "best,no_copy_a")


@pytest.mark.parametrize("option", ["--list", "--verify=off"])
def test_what_is_no_measurement_is_not_recorded(course, option):
    start("01", option)
    assert not list(course.data.rglob("*.jsonl"))


def test_a_file_of_one_s_own(course, tmp_path):
    start("01", "--json", str(tmp_path / "mine.jsonl"))
    assert (tmp_path / "mine.jsonl").exists() and not list(course.data.rglob("*.jsonl"))


def test_the_simulator_writes_counts_only_where_asked(course, tmp_path, capfd):
    run.SIMULATOR.parent.mkdir()
    run.SIMULATOR.touch()
    start("01", "--sim")
    assert "01_naive --sim" in capfd.readouterr().out
    assert course.built == [["steps/01_naive", "sim/libcudart.so.13"]]
    assert not list(course.data.rglob("*.jsonl"))
    start("01", "--sim", "--json", str(tmp_path / "counts.jsonl"))
    assert (tmp_path / "counts.jsonl").exists()


def test_no_gpu_and_no_simulator(course, monkeypatch, capfd):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    start()
    said = capfd.readouterr().out
    assert "no NVIDIA driver is installed" in said and "Everything is built" in said and course.drawn == [1]
    assert "--json" not in said
    with pytest.raises(UserError, match="the step is built, not run"):
        start("01")


def test_no_gpu_with_the_simulator(course, monkeypatch, capfd):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    run.SIMULATOR.parent.mkdir()
    run.SIMULATOR.touch()
    start()
    said = capfd.readouterr().out
    assert "checked and counted, not timed" in said
    assert "02_coalesced, m 64, in the simulator: right" in said and "line by line" not in said
    heading, _, first, *_ = said[said.index("step  ") :].splitlines()
    assert "FMA share" in heading and "50.0 %" in first and "2.000" in first and "0.250" in first
    assert not list(course.data.rglob("*.jsonl"))
    kept = (course.root / "build" / "simulated" / "01_naive.txt").read_text()
    assert "line by line" in kept


def test_a_step_that_is_wrong_in_the_simulator_is_shown_in_full(course, monkeypatch, capfd):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    run.SIMULATOR.parent.mkdir()
    run.SIMULATOR.touch()
    course.make({2: 1})
    with pytest.raises(Failure) as failed:
        start()
    assert failed.value.code == 1
    assert capfd.readouterr().out.count("line by line") == 1


def test_a_step_that_crashes_is_said(course, capfd):
    (course.root / "build" / "steps" / "01_naive").write_text("#!/bin/sh\nkill -SEGV $$\n")
    with pytest.raises(Failure) as failed:
        start("01")
    assert failed.value.code == 1 and "signal 11" in capfd.readouterr().out


def recorded(course, *arguments):
    """Records; returns how many records each file then has."""
    chosen = record.plan(cli.parse(["record", *arguments]))
    record.run(chosen, setup=False)
    return sorted((file.stem, len(file.read_text().splitlines())) for file in course.data.rglob("*.jsonl"))


def test_the_recorded_set_of_each_step():
    steps = {step.number: step for step in registry.steps()}
    titles = {
        number: [task.title.partition(" ")[2] for task in recorded_set.tasks_of(step)] for number, step in steps.items()
    }
    slow = [f"--size={size}" for size in (1024, 2048, 4096, 8192)]
    assert titles[1] == ["--variant=all --size=4096", *slow]
    assert titles[5] == ["--variant=all --size=4096", *slow, "--size=16384"]
    assert titles[9][0] == "--sweep=sgemm27"
    for number in set(titles) & set(range(12, 21)):
        assert {"--variant=all --size=4096", "--variant=all --size=8192", "--size=16384"} <= set(titles[number])
        strides = [title for title in titles[number] if "--swizzle-stride=512,1024,2048,4096,8192" in title]
        assert bool(strides) == (number in (17, 19, 20)), number
        bottlenecks = [title for title in titles[number] if title.startswith("--variant=bottlenecks")]
        assert bool(bottlenecks) == (number in (16, 17, 20)), number
    if 20 in titles:
        assert {f"--sweep=hgemm125 --part={part}/4" for part in range(1, 5)} | {"--sweep=hgemm27"} <= set(titles[20])
        files = {task.file for task in recorded_set.tasks_of(steps[20])}
        assert files == {f"{steps[20].name}.jsonl", f"bottlenecks/{steps[20].name}.jsonl"}


def test_each_title_is_of_one_task():
    titles = [task.title for step in registry.steps() for task in recorded_set.tasks_of(step)]
    assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("stages2", True), ("warp4x4_stages_3", True), ("mma4x4_warp4x4_stages5", True)]
    + [(name, False) for name in ("tn", "tf32_stages_2", "tn_stages2", "static_stages_3", "swizzle", "stages")],
)
def test_the_variants_of_stages(name, is_one):
    assert bool(recorded_set.STAGES.fullmatch(name)) == is_one


def test_recording_goes_on_where_it_stopped(course, capsys):
    assert recorded(course, "--steps", "1", "--only", "sizes") == [("01_naive", 4)]
    assert recorded(course, "--steps", "1-2", "--only", "sizes") == [("01_naive", 4), ("02_coalesced", 4)]
    said = capsys.readouterr().out
    assert "4 of 8 runs are recorded already" in said and "0 failed, 0 left" in said
    assert recorded(course, "--steps", "1", "--only", "sizes", "--again")[0] == ("01_naive", 4)
    assert capsys.readouterr().out.count("── 01_naive") == 4
    assert not (course.root / "build" / "recording").exists()


def test_what_a_run_had_measured_when_it_was_cut_off_is_kept(course):
    executable = course.root / "build" / "steps" / "02_coalesced"
    ending = "atexit.register(lambda: (os.kill(os.getppid(), signal.SIGTERM), time.sleep(1)))"
    begin = f"import atexit, os, signal, time\n{ending}\nname ="
    executable.write_text(executable.read_text().replace("name =", begin, 1))
    with pytest.raises(KeyboardInterrupt):
        recorded(course, "--steps", "1-2", "--only", "sizes")
    files = sorted(course.data.rglob("*.jsonl"))
    assert [(file.stem, len(file.read_text().splitlines())) for file in files] == [("01_naive", 4), ("02_coalesced", 1)]
    assert not (course.root / "build" / "recording").exists()


def test_another_kernel_is_measured_again(course, capsys):
    recorded(course, "--steps", "1", "--only", "sizes")
    executable = course.root / "build" / "steps" / "01_naive"
    executable.write_text(executable.read_text() + "# changed\n")
    recorded(course, "--steps", "1", "--only", "sizes")
    assert capsys.readouterr().out.count("── 01_naive") == 8


def test_a_run_that_fails_is_named_and_done_again(course):
    course.make({1: 1})
    with pytest.raises(Failure, match=r"01_naive --size=1024 \(exit code 1\)"):
        recorded(course, "--steps", "1", "--only", "sizes")
    course.make()
    recorded(course, "--steps", "1", "--only", "sizes")


def test_several_gpus_share_the_runs(course, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA Test", 4))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
    for step in course.ladder:
        executable = course.root / "build" / "steps" / step.name
        where = 'print("on", os.environ["CUDA_VISIBLE_DEVICES"]); time.sleep(0.05)\n'
        executable.write_text(executable.read_text().replace("name =", f"import os, time\n{where}name =", 1))
    files = recorded(course, "--steps", "1-4", "--devices", "0,2")
    assert files == [(step.name, 4) for step in course.ladder[:4]]
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("]")[0] for line in lines if "] on " in line} == {"[GPU 4", "[GPU 6"}
    assert all(line[:6] == f"[GPU {line[-1]}" for line in lines if "] on " in line)
    sizes = [line for line in lines if "── " in line and "--variant" not in line]
    assert len(sizes) == 16 and all(line.startswith("[GPU 4] ") for line in sizes), "comparable: all on one GPU"
    assert any("s of GPU time in" in line for line in lines)


@pytest.mark.parametrize("devices", ["4", "0,x", "", "0,0", "-1"])
def test_gpus_that_are_not_there_are_refused(course, devices):
    with pytest.raises(UserError, match=f"--devices {devices}: "):
        record.plan(cli.parse(["record", f"--devices={devices}"]))


def test_timing_options_reach_every_step(capsys):
    assert record.plan(cli.parse(["record", "--dry-run", "--min-time", "0.2", "--rounds", "5"])) is None
    titles = capsys.readouterr().out.splitlines()
    assert titles[-1] == "mma_limit"
    assert all(title.endswith("--min-time=0.2 --rounds=5") for title in titles[:-1] if "those of" not in title)


def test_the_limits_are_recorded_without_a_step(course, capsys):
    program = course.root / "build" / "micro" / "mma_limit"
    program.parent.mkdir()
    program.write_text((course.root / "build" / "steps" / "01_naive").read_text())
    program.chmod(0o755)
    assert recorded(course, "--only", "limits") == [("limits", 1)]
    assert course.built == [["lab/micro/mma_limit"]]


def test_variants_of_stages_are_asked_of_the_executable(course, capsys):
    program = course.root / "build" / "steps" / "17_wmma_stages"
    listed = [{"variant": name, "default": name == "best"} for name in ("best", "stages_2", "tn_stages_2", "stages_5")]
    listing = "\n".join(json.dumps(one) for one in listed)
    source = (course.root / "build" / "steps" / "01_naive").read_text()
    wanted = f'if "list" in words: Path(words["json"]).write_text({listing!r}); sys.exit(0)\nprint('
    program.write_text(source.replace("print(", wanted, 1))
    program.chmod(0o755)
    task = recorded_set.Task("strides", "steps/17_wmma_stages", "x.jsonl", ("--size=1",), recorded_set.STAGES)
    said = []
    assert record._measure(task, course.root / "parts", dict(os.environ), said.append) == 0
    assert "--variant=best,stages_2,stages_5" in said[0]


def test_the_time_limit(course, capsys):
    assert recorded(course, "--steps", "1", "--time-limit", "0") == []
    assert "goes on from here" in capsys.readouterr().out


def test_recording_takes_a_gpu(course, monkeypatch):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    with pytest.raises(UserError, match="recording takes a GPU: no NVIDIA driver"):
        record.plan(cli.parse(["record"]))


def line(size, tflops, **others):
    return (
        json.dumps({"step": "01_naive", "variant": "v", "m": size, "n": size, "k": size, "tflops": tflops, **others})
        + "\n"
    )


def test_records_are_merged_by_what_they_measure(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    for folder in (source, target):
        (folder / "h200").mkdir(parents=True)
    (target / "h200" / "01_naive.jsonl").write_text(line(1024, 1.0) + line(2048, 2.0))
    (source / "h200" / "01_naive.jsonl").write_text(line(2048, 3.0) + line(4096, 4.0) + line(1024, 5.0, beta=1.0))
    (source / "h200" / "02_coalesced.jsonl").write_text(line(1024, 6.0))
    assert record_files.merge(source, target) == 4
    merged = record_files.read(target / "h200" / "01_naive.jsonl")
    assert [(one["m"], one["tflops"]) for one in merged] == [(1024, 1.0), (2048, 3.0), (4096, 4.0), (1024, 5.0)]
    assert (target / "h200" / "02_coalesced.jsonl").exists()
    assert not list(target.rglob("*.part*"))


def test_a_corrupt_record_stops_a_merge_before_anything_is_written(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "01_naive.jsonl").write_text(line(1024, 1.0))
    (source / "02_coalesced.jsonl").write_text(line(1024, 1.0) + "{broken\n")
    with pytest.raises(UserError, match=r"02_coalesced.jsonl:2: not JSON"):
        record_files.merge(source, target)
    assert not target.exists()


def test_what_makes_two_records_the_same_is_what_the_harness_says():
    source = "".join(file.read_text() for file in (ROOT / "common" / "harness").glob("*.cpp"))
    listed = source.split("IDENTITY = {", 1)[1].split("}", 1)[0]
    assert tuple(word.strip().strip('"') for word in listed.split(",")) == record_files.IDENTITY
