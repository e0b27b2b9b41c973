"""./gemm run and ./gemm record, with made-up steps in place of the compiled ones."""

import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from base import build, gpu, process, registry
from base.environment import Environment
from base.errors import Failure, UserError
from base.paths import ROOT
from lab import record, recorded_set
from records import files, read, schema
from tools import cli, measured, run, run_plan, simulated

# A step in place of a compiled one. In a shell, because a Python takes twenty times as long to start.
STEP = """\
#!/bin/sh
name=${0##*/} size=4096 given="$*"
while [ $# -gt 0 ]; do
  case $1 in
    --json=*) json=${1#*=} ;;
    --size=*) size=${1#*=} ;;
    --size) size=$2; shift ;;
    --sim) sim=1 ;;
    --list) list=1 ;;
  esac
  shift
done
if [ "$list" ] && [ "$json" ]; then printf '%s\\n' LISTED > $json; exit; fi
echo $name $given
if [ "$sim" ]; then echo "$name, m 64, in the simulator: right"; echo "counts, line by line"; fi
if [ "$json" ]; then echo '{"step": "'$name'", "m": '$size', "n": '$size', "k": '$size', RECORD}' >> $json; fi
THEN
exit EXIT
"""
COUNTS = {
    **{"by_class": {"fma": 512, "tensor": 0}, "instructions": 1024, "barriers": 8, "global_load_sectors": 64},
    **{"cp_async_global_sectors": 64, "shared_load_wavefronts": 32, "shared_store_wavefronts": 16},
    **{"cp_async_shared_wavefronts": 0, "shared_load_conflicts": 0, "shared_store_conflicts": 3},
}
RECORD = {
    **{"variant": "v", "default": True, "tflops": 1.0, "ratio": 0.5, "baseline": "cublas", "gpu": "Test GPU"},
    "counts": COUNTS,
}
LISTED = [("v", ""), ("w", ""), ("stages2", ""), ("stages3", ""), ("no_copy_a", "the copy of A")]


def step(exit_code=0, then=""):
    """The text of a made-up step, which ends with this exit code after doing something more."""
    listed = [
        {"variant": name, "default": name == "v", "leaves_out": part, "takes_swizzle_stride": True}
        for name, part in LISTED
    ]
    words = " ".join(f"'{json.dumps(one)}'" for one in listed)
    text = STEP.replace("LISTED", words).replace("RECORD", json.dumps(RECORD)[1:-1])
    return text.replace("THEN", then).replace("EXIT", str(exit_code))


HERE = gpu.Gpu("NVIDIA Test")


@pytest.fixture
def course(tmp_path, monkeypatch):
    """A built course: executables that write what they were told, a GPU, and nothing to build."""
    steps = tmp_path / "build" / "steps"
    steps.mkdir(parents=True)
    data = tmp_path / "data"
    data.mkdir()
    for module in (run, run_plan, record, build):
        monkeypatch.setattr(module, "BUILD", tmp_path / "build")
    for module in (run, run_plan, record, measured):
        monkeypatch.setattr(module, "DATA", data)
    monkeypatch.setattr(record, "PARTIAL", tmp_path / "build" / "recording")
    monkeypatch.setattr(simulated, "FOLDER", tmp_path / "build" / "simulated")
    monkeypatch.setattr(gpu, "detect", lambda: HERE)
    drawn, built = [], []
    for module in (run, record):
        monkeypatch.setattr(module, "ensure_build", lambda _: SimpleNamespace(variables=None))
    monkeypatch.setattr(build, "configure", lambda _: None)
    monkeypatch.setattr(build, "compile_targets", lambda _, targets=(): built.append(list(targets)))
    start_program = process.run

    def start_or_draw(command, *others):
        if "plots.draw" not in command:
            return start_program(command, *others)
        drawn.append(command[3:])
        return 0

    monkeypatch.setattr(process, "run", start_or_draw)
    course = SimpleNamespace(root=tmp_path, data=data, drawn=drawn, built=built, ladder=registry.steps())

    def make(exit_codes=None, then=None):
        for one in course.ladder:
            executable = steps / one.name
            executable.write_text(step((exit_codes or {}).get(one.number, 0), (then or {}).get(one.number, "")))
            executable.chmod(0o755)

    course.make = make
    make()
    return course


def start(*arguments):
    run.run(run_plan.choose(cli.parse(["run", *arguments])), setup=False)


def test_the_whole_ladder_is_recorded_and_drawn(course, capsys):
    start()
    said = capsys.readouterr().out
    assert course.built == [[]] and course.drawn == [["--beside=test"]]
    written = {file.stem for file in (course.data / "test").glob("*.jsonl")}
    assert written == {step.name for step in course.ladder}
    assert "The charts are in" in said and "plots/charts" in said
    assert said.index("01_naive --json") < said.index("02_coalesced --json")


@pytest.mark.parametrize(
    ("here", "options"), [(HERE, ["--sim"]), (gpu.Gpu("NVIDIA H200", 1), []), (gpu.NoGpu("there is none"), [])]
)
def test_a_gpu_without_records_or_the_courses_own_is_not_drawn_beside_it(course, monkeypatch, here, options):
    monkeypatch.setattr(gpu, "detect", lambda: here)
    start("--ladder", "fp16", *options)
    assert course.drawn == [[]]


def test_a_step_that_fails_does_not_stop_the_ladder_and_is_named(course, capsys):
    course.make({2: 1, 3: 2})
    with pytest.raises(Failure) as failed:
        start()
    said = capsys.readouterr().out
    assert failed.value.code == 1
    assert "2 of" in said and "02_coalesced, 03_smem_tiling" in said
    assert course.ladder[-1].name in said and len(course.drawn) == 1


def test_a_refused_step_is_exit_code_2(course):
    course.make({1: 2})
    with pytest.raises(Failure) as failed:
        start("01")
    assert failed.value.code == 2


def test_one_step_builds_and_runs_alone(course, capfd):
    start("3", "--size", "2048", "--variant", "all")
    assert course.built == [["steps/03_smem_tiling"]] and course.drawn == []
    assert "03_smem_tiling --size 2048 --variant all --json=" in capfd.readouterr().out
    assert (course.data / "test" / "03_smem_tiling.jsonl").exists()


def test_variants_that_leave_out_work_are_recorded_apart(course):
    for asked in ("no_copy_a", "bottlenecks"):
        start("01", "--variant", asked)
    assert [file.relative_to(course.data / "test") for file in course.data.rglob("*.jsonl")] == [
        Path("bottlenecks/01_naive.jsonl")
    ]
    start("01", "--variant", "w")
    assert (course.data / "test" / "01_naive.jsonl").exists()
    with pytest.raises(UserError, match="no_copy_a: leaves out work and is recorded apart; run it alone"):
        start("01", "--variant", "w,no_copy_a")


@pytest.mark.parametrize("options", [["--list"], ["--verify=off"], ["--verify", "off"], ["--fingerprint"]])
def test_what_is_no_measurement_is_not_recorded(course, options):
    start("01", *options)
    assert not list(course.data.rglob("*.jsonl"))


def test_a_file_of_one_s_own(course, tmp_path):
    start("01", "--json", str(tmp_path / "mine.jsonl"))
    assert (tmp_path / "mine.jsonl").exists() and not list(course.data.rglob("*.jsonl"))


def test_the_simulator_writes_counts_only_where_asked(course, tmp_path, capfd):
    start("01", "--sim")
    assert "01_naive --sim" in capfd.readouterr().out
    assert course.built == [["steps/01_naive", "subprojects/sim/libcudart.so.13"]]
    assert not list(course.data.rglob("*.jsonl"))
    start("01", "--sim", "--json", str(tmp_path / "counts.jsonl"))
    assert (tmp_path / "counts.jsonl").exists()


def test_a_trace_is_of_one_step(course, capfd):
    start("01", "--sim", "--trace", "t.json")
    assert "01_naive --trace t.json --sim" in capfd.readouterr().out
    with pytest.raises(UserError, match="name the step"):
        start("--sim", "--trace", "t.json")


def test_options_that_a_step_refuses_cost_the_building_of_one_step(course):
    course.make({1: 2})
    with pytest.raises(UserError):
        start("--szie", "2048")
    assert course.built == [["steps/01_naive"]] and not list(course.data.rglob("*.jsonl"))


def test_without_a_gpu_the_ladder_is_simulated(course, monkeypatch, capfd):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    start()
    said = capfd.readouterr().out
    assert "checked and counted, not timed" in said
    assert "02_coalesced, m 64, in the simulator: right" in said and "line by line" not in said
    heading, _, first, *_ = said[said.index("step  ") :].splitlines()
    assert "FMA share" in heading and "50.0 %" in first and "2.000" in first and "0.250" in first
    assert not list(course.data.rglob("*.jsonl"))
    kept = (course.root / "build" / "simulated" / "01_naive.txt").read_text()
    assert "line by line" in kept


def test_the_gpu_that_is_simulated(course, monkeypatch, capfd):
    course.make(then={20: 'echo "it is $PTXSIM_DEVICE"'})
    there = Environment("meson", "ninja", None, dict(os.environ))
    monkeypatch.setattr(run, "ensure_build", lambda _: there)
    start("20", "--sim", "--device", "rtx4090")
    assert "it is rtx4090" in capfd.readouterr().out and simulated.DEVICE not in there.variables
    start("--sim", "--device", "rtx4090")
    said = capfd.readouterr().out
    assert "The simulated GPU: rtx4090" in said and "this GPU has 8.9" in said and "23_wgmma" in said
    assert "20_mma_warp_swizzle, m 64" in said and "23_wgmma, m 64" not in said
    with pytest.raises(UserError, match="--device gtx480: there is no such GPU; choose from: a100, b200, gb10, h100"):
        start("--sim", "--device", "gtx480")
    with pytest.raises(UserError, match="add --sim"):
        start("20", "--device", "rtx4090")


def test_a_step_that_is_wrong_in_the_simulator_is_shown_in_full(course, monkeypatch, capfd):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
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
    for step in registry.steps():
        tasks = recorded_set.tasks_of(step)
        titles = [task.title.partition(" ")[2] for task in tasks]
        assert len(set(titles)) == len(titles)
        assert {task.part for task in tasks} >= {"variants", "sizes"}
        at = [task.options[0] for task in tasks if task.part == "variants"]
        assert at == ["--size=4096", "--size=8192"][: 2 if step.number >= 10 else 1], step.name
        sizes = [task.options for task in tasks if task.part == "sizes"]
        assert sizes == [(f"--size={1024 << i}",) for i in range(4 if step.number < 5 else 5)]
        assert any("--swizzle-stride=" in title for title in titles) == (step.number in (17, 19, 20, 21)), step.name
        assert any("--sweep=hgemm125" in title for title in titles) == (step.number in (21, 29))
        assert any("in_turn/plan.txt" in title for title in titles) == (step.number == 29)
        left_out = {task.file for task in tasks if "--variant=bottlenecks" in task.options}
        assert left_out == ({f"bottlenecks/{step.name}.jsonl"} if left_out or "without" in step.also else set())


def test_many_variants_are_measured_a_few_at_a_time():
    listed = [{"variant": f"v{i}", "default": i == 0, **({"leaves_out": "A"} if i == 3 else {})} for i in range(12)]
    task = recorded_set.Task("variants", "steps/x", "x.jsonl", ("--size=1",), variants=".*")
    pieces = recorded_set.pieces(task, listed)
    assert [piece.options for piece in pieces] == [
        ("--size=1", "--variant=v1,v2,v4,v5,v6,v7,v8,v9"),
        ("--size=1", "--variant=v10,v11"),
    ]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("stages2", True), ("warp4x4_stages_3", True), ("mma4x4_warp4x4_stages5", True)]
    + [(name, False) for name in ("tn", "tf32_stages_2", "tn_stages2", "static_stages_3", "swizzle", "stages")],
)
def test_the_variants_of_stages(name, is_one):
    task = recorded_set.Task("strides", "steps/x", "x.jsonl", variants=recorded_set.STAGES)
    listed = [{"variant": name, "default": False}]
    assert [piece.options for piece in recorded_set.pieces(task, listed)] == (
        [(f"--variant={name}",)] if is_one else []
    )


def test_recording_goes_on_where_it_stopped(course, capsys):
    assert recorded(course, "--steps", "1", "--only", "sizes") == [("01_naive", 4)]
    assert recorded(course, "--steps", "1-2", "--only", "sizes") == [("01_naive", 4), ("02_coalesced", 4)]
    said = capsys.readouterr().out
    assert "4 of 8 runs are recorded already" in said and "0 failed, 0 left" in said
    assert recorded(course, "--steps", "1", "--only", "sizes", "--again")[0] == ("01_naive", 4)
    assert capsys.readouterr().out.count("── 01_naive") == 4
    assert not (course.root / "build" / "recording").exists()


def test_what_a_run_had_measured_when_it_was_cut_off_is_kept(course):
    course.make(then={2: "kill $PPID; exec sleep 10"})
    with pytest.raises(KeyboardInterrupt):
        recorded(course, "--steps", "1-2", "--only", "sizes")
    files = sorted(course.data.rglob("*.jsonl"))
    assert [(file.stem, len(file.read_text().splitlines())) for file in files] == [("01_naive", 4), ("02_coalesced", 1)]
    assert not (course.root / "build" / "recording").exists()


def test_another_kernel_is_measured_again(course, capsys, monkeypatch):
    recorded(course, "--steps", "1", "--only", "sizes")
    monkeypatch.setattr(record, "_fingerprint", lambda program: "of a changed source")
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
    course.make(then=dict.fromkeys(range(1, 5), "echo on $CUDA_VISIBLE_DEVICES; sleep 0.05"))
    files = recorded(course, "--steps", "1-4", "--devices", "0,2")
    assert files == [*((step.name, 4) for step in course.ladder[:4]), ("alone", 4)]
    lines = capsys.readouterr().out.splitlines()
    assert {line.split("]")[0] for line in lines if "] on " in line} == {"[GPU 4", "[GPU 6"}
    assert all(line[:6] == f"[GPU {line[-1]}" for line in lines if "] on " in line)
    sizes = [line for line in lines if "── " in line and "--variant" not in line and "--baseline=none" not in line]
    assert len(sizes) == 16 and len({line[:7] for line in sizes}) == 1, "of one ladder on one GPU: comparable"
    assert any("s of GPU time in" in line for line in lines)


def test_the_defaults_of_one_ladder_are_all_measured_on_one_gpu(course, monkeypatch, capsys):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA Test", 2))
    course.make(then=dict.fromkeys(range(10, 15), "sleep 0.05"))
    recorded(course, "--steps", "10-14", "--only", "sizes", "--only", "power", "--devices", "all")
    begun = [line.split() for line in capsys.readouterr().out.splitlines() if "── " in line]
    sizes = [(line[1], line[3]) for line in begun if "--baseline=none" not in line]
    assert len(begun) == 5 * 5 + 5 and len(sizes) == 5 * 5
    of_ladder = {step.name: step.ladder for step in course.ladder}
    gpus = {ladder: {gpu for gpu, step in sizes if of_ladder[step] == ladder} for ladder in ("fp32", "fp16", "wmma")}
    assert all(len(of) == 1 for of in gpus.values()) and gpus["fp32"] != gpus["fp16"]


@pytest.mark.parametrize("devices", ["4", "0,x", "", "0,0", "-1"])
def test_gpus_that_are_not_there_are_refused(course, devices):
    with pytest.raises(UserError, match=f"--devices {devices}: "):
        record.plan(cli.parse(["record", f"--devices={devices}"]))


def test_timing_options_reach_every_step(capsys):
    assert record.plan(cli.parse(["record", "--dry-run", "--min-time", "0.2", "--rounds", "5"])) is None
    titles = capsys.readouterr().out.splitlines()
    assert titles[-3:] == ["main_loop", "latency", "mma_limit"]
    alone = [
        title for title in titles if " ".join(recorded_set.ALONE[:2]) in title
    ]  # the sweep of tiles has no library either
    others = [title for title in titles[:-3] if title not in alone]
    assert len(alone) == len(registry.steps())
    assert all("--min-time=0.2 --rounds=5" in title for title in others)
    assert all("--min-time=2.2 --rounds=1" in title for title in alone), "for longer than NVML's mean"


@pytest.mark.parametrize(("capability", "programs"), [("90", ["main_loop"]), ("80", [])])
def test_the_main_loops_are_recorded_where_there_is_wgmma(course, monkeypatch, capability, programs):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.Gpu("NVIDIA Test", 1, (capability,)))
    tasks = record.plan(cli.parse(["record", "--only", "power"])).tasks
    assert [task.title for task in tasks if task.program.startswith("lab/")] == programs


def test_the_limits_are_recorded_without_a_step(course, capsys):
    programs = ["lab/latency/latency", "lab/micro/mma_limit"]
    for name in programs:
        program = course.root / "build" / name
        program.parent.mkdir(parents=True)
        program.write_text(step())
        program.chmod(0o755)
    assert recorded(course, "--only", "limits") == [("latency", 1), ("limits", 1)]
    assert course.built == [programs]


def test_variants_are_those_that_the_executable_lists(course, capsys):
    recorded(course, "--steps", "17", "--only", "strides")
    said = capsys.readouterr().out
    assert "17_wmma_stages --size=8192" in said and "--variant=stages2,stages3" in said
    recorded(course, "--steps", "17", "--only", "variants")
    assert "--variant=w,stages2,stages3" in capsys.readouterr().out


def test_strides_are_asked_of_variants_that_take_them():
    listed = [{"variant": f"stages{i}", "default": False, "takes_swizzle_stride": i > 2} for i in (2, 3, 4)]
    (task,) = (
        t for t in recorded_set.tasks_of(registry.find("17", registry.steps())) if t.variants == recorded_set.STAGES
    )
    assert recorded_set.pieces(task, listed)[0].options[-1] == "--variant=stages3,stages4"


def test_a_sweep_leaves_the_default_variants_own_sizes_alone(course):
    assert recorded(course, "--steps", "9", "--only", "sweep") == []  # the made-up step measures 4096 alone


def test_the_time_limit(course, capsys):
    assert recorded(course, "--steps", "1", "--time-limit", "0") == []
    assert "goes on from here" in capsys.readouterr().out


def test_at_the_time_limit_a_run_is_ended_and_what_it_measured_is_kept(course, capsys):
    course.make(then={1: "exec sleep 30"})
    assert recorded(course, "--steps", "1", "--only", "sizes", "--time-limit", "1") == [("01_naive", 1)]
    assert "0 runs recorded" in capsys.readouterr().out
    course.make()
    assert recorded(course, "--steps", "1", "--only", "sizes") == [("01_naive", 4)]


def test_the_list_of_what_is_done_is_beside_records_that_go_elsewhere(course, tmp_path):
    elsewhere = str(tmp_path / "elsewhere")
    recorded(course, "--steps", "1", "--only", "sizes", "--data", elsewhere)
    assert (tmp_path / "elsewhere" / "recorded.json").exists() and not list(course.data.rglob("*.jsonl"))


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
    assert files.merge(source, target) == 4
    merged = read(target / "h200" / "01_naive.jsonl")
    assert [(one["m"], one["tflops"]) for one in merged] == [(1024, 1.0), (2048, 3.0), (4096, 4.0), (1024, 5.0)]
    assert (target / "h200" / "02_coalesced.jsonl").exists()
    assert not list(target.rglob("*.part*"))


def test_a_corrupt_record_stops_a_merge_before_anything_is_written(tmp_path):
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    (source / "01_naive.jsonl").write_text(line(1024, 1.0))
    (source / "02_coalesced.jsonl").write_text(line(1024, 1.0) + "{broken\n")
    with pytest.raises(UserError, match=r"02_coalesced.jsonl:2: corrupt record"):
        files.merge(source, target)
    assert not target.exists()


def test_no_two_recorded_measurements_are_the_same():
    """Otherwise one would replace the other when records are merged."""
    for file in (ROOT / "records").rglob("*.jsonl"):
        found = [record for record in read(file) if "gpu" in record]
        assert len({schema.identity(record) for record in found}) == len(found), file
