"""compute-sanitizer over the steps, with made-up programs in its and their places: what is run, and what not again."""

import os
import sys

from programs import program, ran

from base.paths import ROOT

STEP = """\
#!/usr/bin/env python3
import json, sys
RECORD = {"default": False, "a": "f32", "acc": "f32", "c": "f32", "layout": "NN", "block": [32, 32, 8],
          "multiple_m": 1, "multiple_n": 1, "multiple_k": 1, "multiple_lda": 1, "multiple_ldb": 1, "multiple_ldc": 1,
          "most_blocks": [65535, 2147483647], "takes_swizzle_stride": False, "shared_bytes": 0, "fits": True, "arch": "80"}
if "--list" in sys.argv:
    with open(sys.argv[-1], "w") as file:
        for name, more in (("good", {}), ("bad", {}), ("partial", {"leaves_out": "the store of C"})):
            file.write(json.dumps({**RECORD, **more, "variant": name}) + "\\n")
else:
    cases = [json.loads(line)["arguments"] for line in open(sys.argv[sys.argv.index("--check") + 1])]
    print(*(" ".join(case) for case in cases), sep="\\n")
    sys.exit(cases[0][1] == "bad")
"""
SANITIZER = """\
#!/bin/sh
echo "$@" >> {log}
shift 4
exec "$@"
"""


def test_each_variant_runs_under_each_tool_and_what_is_clean_is_not_run_again(tmp_path):
    steps, programs, log = tmp_path / "build" / "steps", tmp_path / "bin", tmp_path / "log"
    for name in ("01_one", "02_two"):
        program(steps / name, STEP)
    program(programs / "compute-sanitizer", SANITIZER.format(log=log))
    program(programs / "nvidia-smi", "echo 9.0")

    def run(*arguments: str) -> tuple[int, list[str], list[str]]:
        """The exit code, the lines, and the runs of the sanitizer."""
        log.write_text("", encoding="utf-8")
        command = [sys.executable, ROOT / "tests" / "gpu" / "sanitize.py", tmp_path / "build", *arguments]
        done = ran(*command, env={"PATH": f"{programs}:{os.environ['PATH']}"})
        assert not done.stderr, done.stderr
        return done.returncode, done.stdout.splitlines(), log.read_text(encoding="utf-8").splitlines()

    code, said, runs = run()
    assert code == 1
    assert said[0] == "8 runs of 2 steps, 0 clean already; 4 at a time"
    assert sorted(one.split()[:3] for one in runs) == [
        ["--tool", tool, "--error-exitcode"] for tool in 4 * ["memcheck"] + 4 * ["racecheck"]
    ]
    assert "4 clean, 4 failed" in said and "FAILED 02_two bad racecheck" in said
    assert any("--m 63 --n 63 --k 23" in line for line in said), "the output of what failed is shown"

    code, said, runs = run()
    assert (code, len(runs)) == (1, 4)
    assert said[0].startswith("8 runs of 2 steps, 4 clean already; 4 at a time")

    (steps / "02_two").write_text(STEP + "# changed\n", encoding="utf-8")
    code, said, runs = run("02", "--jobs", "1")
    assert (code, len(runs)) == (1, 4)
    assert said[0].startswith("4 runs of 1 steps, 0 clean already; 1 at a time")
