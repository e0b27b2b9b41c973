"""./gemm run and ./gemm record, with made-up steps in place of the compiled ones."""

import json
import os
from types import SimpleNamespace

import pytest
from programs import program

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
    steps, data = tmp_path / "build" / "steps", tmp_path / "data"
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
            program(steps / one.name, step((exit_codes or {}).get(one.number, 0), (then or {}).get(one.number, "")))

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


def test_one_step_builds_and_runs_alone(course, capfd):
    start("3", "--size", "2048", "--variant", "all")
    assert course.built == [["steps/03_smem_tiling"]] and course.drawn == []
    assert "03_smem_tiling --size 2048 --variant all --json=" in capfd.readouterr().out
    assert (course.data / "test" / "03_smem_tiling.jsonl").exists()


def test_variants_that_leave_out_work_are_recorded_apart(course):
    for asked in ("no_copy_a", "bottlenecks"):
        start("01", "--variant", asked)
    assert list(course.data.rglob("*.jsonl")) == [course.data / "test" / "bottlenecks" / "01_naive.jsonl"]
    start("01", "--variant", "w")
    assert (course.data / "test" / "01_naive.jsonl").exists()
    with pytest.raises(UserError, match="no_copy_a: leaves out work and is recorded apart; run it alone"):
        start("01", "--variant", "w,no_copy_a")


@pytest.mark.parametrize("options", [["--list"], ["--verify=off"], ["--verify", "off"], ["--fingerprint"]])
def test_what_is_no_measurement_is_not_recorded(course, options):
    start("01", *options)
    assert not list(course.data.rglob("*.jsonl"))


def test_the_simulator_writes_counts_only_where_asked(course, tmp_path, capfd):
    start("01", "--sim")
    assert "01_naive --sim" in capfd.readouterr().out
    assert course.built == [["steps/01_naive", "subprojects/sim/libcudart.so.13"]]
    assert not list(course.data.rglob("*.jsonl"))
    start("01", "--sim", "--json", str(tmp_path / "counts.jsonl"))
    assert (tmp_path / "counts.jsonl").exists()


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


def test_timing_options_reach_every_step(capsys):
    assert record.plan(cli.parse(["record", "--dry-run", "--min-time", "0.2", "--rounds", "5"])) is None
    titles = capsys.readouterr().out.splitlines()
    assert titles[-3:] == ["main_loop", "latency", "mma_limit"]
    titles = [title for title in titles[:-3] if not title.startswith("in_turn ")]  # programs of their own
    alone = [title for title in titles if " ".join(recorded_set.ALONE[:2]) in title]  # a sweep has no library either
    others = [title for title in titles if title not in alone]
    assert len(alone) == len(registry.steps())
    assert all("--min-time=0.2 --rounds=5" in title for title in others)
    assert all("--min-time=2.2 --rounds=1" in title for title in alone), "for longer than NVML's mean"


def test_variants_are_those_that_the_executable_lists(course, capsys):
    recorded(course, "--steps", "17", "--only", "strides")
    said = capsys.readouterr().out
    assert "17_wmma_stages --size=8192" in said and "--variant=stages2,stages3" in said
    recorded(course, "--steps", "17", "--only", "variants")
    assert "--variant=w,stages2,stages3" in capsys.readouterr().out


def test_at_the_time_limit_a_run_is_ended_and_what_it_measured_is_kept(course, capsys):
    course.make(then={1: "exec sleep 30"})
    assert recorded(course, "--steps", "1", "--only", "sizes", "--time-limit", "1") == [("01_naive", 1)]
    assert "0 runs recorded" in capsys.readouterr().out
    course.make()
    assert recorded(course, "--steps", "1", "--only", "sizes") == [("01_naive", 4)]


def test_recording_takes_a_gpu(course, monkeypatch):
    monkeypatch.setattr(gpu, "detect", lambda: gpu.NoGpu("no NVIDIA driver is installed"))
    with pytest.raises(UserError, match="recording takes a GPU: no NVIDIA driver"):
        record.plan(cli.parse(["record"]))


def line(size, tflops, **others):
    sizes = dict.fromkeys("mnk", size)
    return json.dumps({"step": "01_naive", "variant": "v", **sizes, "tflops": tflops, **others}) + "\n"


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


def test_no_two_recorded_measurements_are_the_same():
    """Otherwise one would replace the other when records are merged."""
    for file in (ROOT / "records").rglob("*.jsonl"):
        found = [record for record in read(file) if "gpu" in record]
        assert len({schema.identity(record) for record in found}) == len(found), file
