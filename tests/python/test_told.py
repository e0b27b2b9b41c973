"""What pages take from records and kernels by key: figures in sentences, loops with marks; and how long a page may be."""

import json
import re
from types import SimpleNamespace

import pytest

pytest.importorskip("matplotlib")

import records
from base.paths import DATA, ROOT
from plots import loops, markers, text, told
from plots.course import Course

COURSE, RECORDS = Course(ROOT, DATA), records.load(DATA, ROOT)


def record(step, size=4096, variant=None):
    rows = [r for r in RECORDS.of_step("h200", step) if r["m"] == r["n"] == r["k"] == size and not r["options"]]
    return next(r for r in rows if (r["variant"] == variant if variant else r["default"]))


def told_of(key):
    return told.figure(COURSE, RECORDS, key)


def test_a_figure_is_that_of_its_record():
    padded, unpadded = (record("04_smem_padding", variant=v)["tflops"] for v in ("padded", "unpadded"))
    assert told_of("04:tflops") == f"{padded:.2f}" and told_of("04.unpadded:tflops:1") == f"{unpadded:.1f}"
    assert told_of("04/04.unpadded:tflops") == f"{padded / unpadded:.2f}"
    assert told_of("04.unpadded:of-6.45") == f"{100 * unpadded / 6.45:.0f}"
    assert told_of("03@8192:share") == f"{100 * record('03_smem_tiling', 8192)['ratio']:.0f}"
    assert told_of("03:gain") == f"{record('03_smem_tiling')['tflops'] / record('02_coalesced')['tflops']:.2f}"
    speeds = [record("03_smem_tiling", size)["tflops"] for size in (4096, 8192)]
    assert told_of("03@4096,8192:max-tflops") == f"{max(speeds):.2f}"
    assert told_of("03:count.shared_load_wavefronts") == "1,048,576" and told_of("03:sass.fma") == "32"
    one, other = (
        RECORDS.default_beside(gpu, "27_by_size", 8192, COURSE.yardstick("hopper"))["tflops"]
        for gpu in ("h100", "h200")
    )
    assert told_of("h100 27@8192:tflops") == f"{one:.0f}"
    assert told_of("h100/h200 27@8192:tflops") == f"{one / other:.2f}"


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("h100/none 27:tflops", "is no kind of record and no GPU"),
        ("h100/h200 27:nothing", "no quantity 'nothing' of a step"),
        ("03", "no quantity"),
        ("99:tflops", "there is no step 99"),
        ("03.none:tflops", "step 03 has no variant 'none'"),
        ("03@77:tflops", "no timing of 03_smem_tiling"),
        ("03@4096,8192:tflops", "several sizes"),
        ("03:speed", "there is no quantity 'speed'"),
        ("03:tflops:x", "only a number of decimals"),
        ("01:gain", "nothing before 01_naive"),
        ("warm 03:tflops", "'warm' is no kind of record"),
        ("loop 128x256.0.x:tflops", "tile.KB.percent"),
        ("steps none:last", "'none' is neither all, nor fp32"),
        ("large:nothing", "there is no quantity 'nothing'"),
    ],
)
def test_an_unknown_key_says_what_is_unknown(key, why):
    with pytest.raises(told.UnknownFigure, match=why):
        told_of(key)


def rewritten(page, tell=lambda key: "5", loop=lambda name, lines: "x"):
    return markers.rewrite("page.md", page, lambda name: "", tell, loop)


def test_code_is_left_alone():
    for code in ("```\na <!-- figure:k -->4<!-- /figure -->\n```\n", "a `<!-- figure:k -->4<!-- /figure -->` b"):
        assert rewritten(code) == code


def refuse(*_):
    raise KeyError("why")


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("x\na <!-- figure:k -->4<!-- /figure -->", "page.md:2: there is no figure 'k': why"),
        ("a <!-- figure:k -->4", "page.md:1: a figure is not closed"),
        ("<!-- figure:k -->4<!-- /figure -->", "page.md:1: a line must not begin with a figure"),
        ("<!-- loop:03 -->\n\n```", "page.md:1: loop:03 is not closed"),
        ("x\n<!-- loop:03 -->\n<!-- /loop -->", "page.md:2: loop:03: why"),
    ],
)
def test_a_wrong_figure_or_loop_is_named_by_file_and_line(page, why):
    with pytest.raises(markers.MarkerError, match=re.escape(why)):
        rewritten(page, refuse, refuse)


def test_marks_stand_beside_code_whatever_the_comments_say(tmp_path):
    kernel = tmp_path / "kernel.cu"
    kernel.write_text("__global__ void f() {\n  for (;;) {\n    load();  // store()\n    store();\n  }\n}\n")
    lines = loops.extract(kernel, "", "")
    assert lines == ["  for (;;) {", "    load();  // store()", "    store();", "  }"]
    assert loops.marked(lines, [("①", "store ( )")])[2] == "    store();  // ①"
    with pytest.raises(loops.LoopError, match="mark ②: no code 'load"):
        loops.marked(lines, [("①", "store()"), ("②", "load()")])


def kernels(tmp_path, *bodies):
    """A course with a kernel per body, 01 …"""
    steps = []
    for number, body in enumerate(bodies, 1):
        folder = tmp_path / f"{number:02}_step"
        folder.mkdir()
        (folder / "kernel.cu").write_text(f"__global__ void f() {{\n{body}}}\n")
        steps.append(SimpleNamespace(name=folder.name, folder=folder))
    return SimpleNamespace(steps=steps)


def beside(course, asked):
    return loops.block(course, "01..02", loops.parse(asked)).split("\n")[1:-1]


def test_an_older_loop_may_begin_elsewhere(tmp_path):
    course = kernels(
        tmp_path, "  for (int k;;) {\n    use();\n  }\n", "  int s = 0;\n  for (int t;;) {\n    use();\n  }\n"
    )
    new = ["+int s = 0;  // ①", "+for (int t;;) {", "   use();", " }"]
    assert beside(course, ["from int s", "to for (int t", "was-from for (int k", "① int s"]) == [
        "-for (int k;;) {",
        *new,
    ]
    assert beside(course, ["from int s", "to for (int t", "was-from use", "was-to use", "① int s"])[0] != new[0]
    with pytest.raises(loops.LoopError, match=r"01_step/kernel\.cu has no line with the code 'int s'"):
        beside(course, ["from int s", "to for (int t"])


def test_code_that_has_only_moved_to_the_right_is_the_same_unless_it_is_a_line_or_two(tmp_path):
    three = "    a();\n    b();\n    c();\n"
    loop = f"  for (;;) {{\n{three}  }}\n"
    under = "".join(f"  {line}\n" for line in loop.splitlines())
    course = kernels(tmp_path, loop, f"  for (int t;;) {{\n{under}  }}\n")
    same = ["   for (;;) {", "     a();", "     b();", "     c();"]
    assert beside(course, ["from for (int t", "was-from for (;"]) == ["+for (int t;;) {", *same, "+  }", " }"]
    (tmp_path / "01_step" / "kernel.cu").write_text("__global__ void f() {\n  for (;;) {\n    a();\n    x();\n  }\n}\n")
    assert "-  a();" in beside(course, ["from for (int t", "was-from for (;"])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("3", "is no step"),
        ("98", "no kernel"),
        ("03.none", "no kernel '03.none'"),
        ("common/none.h", "no file 'common"),
    ],
)
def test_a_loop_that_there_is_not(name, why):
    with pytest.raises(loops.LoopError, match=why):
        loops.block(COURSE, name, loops.parse([]))


def test_the_pages_keep_their_limits_and_each_of_docs_is_counted(capsys):
    code = text.main([])
    told = capsys.readouterr()
    assert code == 0, told.err
    listed = {line.split()[0] for line in told.out.splitlines()}
    assert {file.relative_to(ROOT).as_posix() for file in (ROOT / "docs").glob("*.md")} <= listed


def test_a_page_that_is_too_long_is_named(tmp_path, capsys):
    (tmp_path / "docs").mkdir()
    limit = "words = 3\nrows = 20\nfigures = 9\nfolded = 600\n"
    limits = f"[chapter]\n{limit}[long]\n{limit}steps = []\n[front]\nwords = 9\n[exempt]\npages = "
    (tmp_path / "docs" / "text.toml").write_text(limits + "[]\n", encoding="utf-8")
    (tmp_path / "steps" / "01_x").mkdir(parents=True)
    (tmp_path / "steps" / "01_x" / "README.md").write_text("one two three four\n", encoding="utf-8")
    assert text.main(["--root", str(tmp_path)]) == 1
    assert "steps/01_x/README.md: 4 words, at most 3" in capsys.readouterr().err
    (tmp_path / "docs" / "text.toml").write_text(limits + json.dumps(["02"]) + "\n", encoding="utf-8")
    assert text.main(["--root", str(tmp_path)]) == 2
    assert "exempt is no page: 02" in capsys.readouterr().err
    (tmp_path / "docs" / "text.toml").write_text("[chapter\n", encoding="utf-8")
    assert text.main(["--root", str(tmp_path)]) == 2


def test_two_steps_are_told_over_all_their_pairs_and_ways_by_their_mean():
    assert int(told_of("25/24:apart")) + int(told_of("25/24:overlap")) == int(told_of("25/24:pairs"))
    assert told_of("ways large.512:time") == "1.00" and told_of("ways turns.512:sizes") == "9"
    shared, turns = (float(told_of(f"ways {name}.once:slices")) for name in ("large", "turns"))
    assert shared > 1.5 * turns > 0, "what a tile takes once, which turns hide in part"
    with pytest.raises(told.UnknownFigure, match="not timed in turn"):
        told_of("ways nothing.512:time")
