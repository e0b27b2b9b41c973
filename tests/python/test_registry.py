"""The registry, the folders, the chapters in two languages: they agree, and there is one list of steps."""

import re
from pathlib import Path

import pytest

from base import registry
from base.errors import UserError
from base.paths import ROOT, STEPS

LADDER = registry.steps()
ENGLISH = "The idea|What changes|By hand|What the simulator counts|Measured|What limits it now|Try it|Sources"
HEADINGS = {
    "README.md": ENGLISH.split("|"),
    "README.zh-CN.md": ["思路", "代码变化", "手算", "模拟器的计数", "实测", "当前瓶颈", "动手", "参考"],
}
SIMULATOR_HEADINGS = {"What the simulator counts", "模拟器的计数"}


def is_ours(path: Path) -> bool:
    """Not something that a tool made: caches and environments are hidden."""
    parts = path.relative_to(ROOT).parts
    return not any(part.startswith(".") or part == "__pycache__" for part in parts) and not parts[0].startswith("build")


PAGES = sorted(page for page in ROOT.rglob("*.md") if is_ours(page))
ENGLISH_PAGES = [page for page in PAGES if not page.name.endswith(".zh-CN.md")]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def without_code(text: str) -> str:
    return re.sub(r"^(```|~~~).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL)


def shape_of(page: Path) -> dict[str, object]:
    text = page.read_text(encoding="utf-8")
    prose = without_code(text)
    return {
        "heading levels": [len(marks) for marks in re.findall(r"^(#{1,6}) ", prose, re.MULTILINE)],
        "tables (their columns)": [
            line.count("|") for line in prose.splitlines() if re.fullmatch(r"\|?[\s:|-]*-{3}[\s:|-]*\|?", line)
        ],
        "generated tables": re.findall(r"<!-- table:(\S+) -->", prose),
        "figures by key": sorted(re.findall(r"<!-- figure:(.+?) -->", prose)),
        "loops": re.findall(r"(?m)^<!-- loop:(\S+)", prose),
        "pictures": [
            Path(target).name.replace(".zh-CN.", ".") for target in re.findall(r"!\[[^]]*\]\(([^)\s]+)", prose)
        ],
        "code blocks": len(re.findall(r"^(?:```|~~~)", text, re.MULTILINE)),
    }


def test_every_folder_is_listed_in_order_and_once():
    assert [step.name for step in LADDER] == sorted(folder.name for folder in STEPS.iterdir() if folder.is_dir())


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_step_has_its_files(step):
    assert step.kernel.is_file()
    for readme in HEADINGS:
        assert (step.folder / readme).is_file(), f"{step.name} has no {readme}"
    known = {"kernel.cu", registry.FILE, "practice.toml", "data.md", "data.zh-CN.md", *HEADINGS, "also"}
    others = {path.name for path in step.folder.iterdir()} - known
    assert not others, f"{step.name} holds something that belongs elsewhere: {others}"


@pytest.mark.parametrize("language", HEADINGS)
@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
def test_a_chapter_has_its_headings_in_order(step, language):
    text = without_code((step.folder / language).read_text(encoding="utf-8"))
    found = re.findall(r"^## (.+?)\s*$", text, re.MULTILINE)
    wanted = HEADINGS[language]
    if not (ROOT / "records" / "simulator" / f"{step.name}.jsonl").exists():
        wanted = [heading for heading in wanted if heading not in SIMULATOR_HEADINGS]
        found = [heading for heading in found if heading not in SIMULATOR_HEADINGS]
    assert found == wanted
    assert len(re.findall(r"^# ", text, re.MULTILINE)) == 1


def bare(code: str) -> str:
    """Code without comments and white space, so that how it is broken into lines does not matter."""
    return re.sub(r"\s+", "", re.sub(r"//[^\n]*", "", code))


@pytest.mark.parametrize("step", LADDER, ids=lambda step: step.name)
@pytest.mark.parametrize(("language", "section"), [("README.md", "What changes"), ("README.zh-CN.md", "代码变化")])
def test_the_lines_that_a_chapter_quotes_are_in_the_code(step, language, section):
    before = LADDER[LADDER.index(step) - 1 : LADDER.index(step)]
    folders = [*(one.folder for one in (*before, step)), ROOT / "common"]
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in {".cu", ".h", ".cpp"}]
    code = "\n".join(bare(file.read_text(encoding="utf-8")) for file in files)
    page = (step.folder / language).read_text(encoding="utf-8")
    told = re.search(rf"^## {section}$(.*?)^## ", page, re.MULTILINE | re.DOTALL)[1]
    quoted = [line for block in re.findall(r"```cpp\n(.*?)```", told, re.DOTALL) for line in block.splitlines()]
    absent = [line for line in quoted if "…" not in line and bare(line) not in code]
    assert not absent, f"{step.name}/{language} quotes what is not there"


@pytest.mark.parametrize("page", ENGLISH_PAGES, ids=named)
def test_a_page_says_the_same_in_both_languages(page):
    chinese = page.with_name(page.name.removesuffix(".md") + ".zh-CN.md")
    assert chinese.is_file(), f"{named(page)} has no Chinese page beside it"
    assert shape_of(page) == shape_of(chinese)
    assert re.search(r"[\u4e00-\u9fff]", chinese.read_text(encoding="utf-8")), f"{named(chinese)} is not in Chinese"


def test_no_chinese_page_is_alone():
    chinese = [page for page in PAGES if page not in ENGLISH_PAGES]
    assert {page.with_name(page.name.replace(".zh-CN.md", ".md")) for page in chinese} <= set(ENGLISH_PAGES)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_within_the_repository_leads_somewhere(page):
    text = without_code(page.read_text(encoding="utf-8"))
    targets = re.findall(r"\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"", text)
    broken = []
    for target in ("".join(pair) for pair in targets):
        path = target.split("#", 1)[0]
        if path and not re.match(r"[a-z]+:", path) and not (page.parent / path).exists():
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_emphasis_is_shown_as_asterisks(page):
    """Markdown takes `**` for emphasis by what stands beside it: not between a Chinese letter and a bracket."""
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    parsed = markdown.enable("table").parse(page.read_text(encoding="utf-8"))
    texts = [part.content for token in parsed for part in token.children or () if part.type == "text"]
    assert not [text for text in texts if "**" in text]


def test_a_step_is_found_by_number_and_by_name():
    last = LADDER[-1]
    for asked in (str(last.number), f"{last.number:02d}", last.name):
        assert registry.find(asked, LADDER) == last
    assert registry.find_many("1-3,02", LADDER) == LADDER[:3]
    for asked in ("0", "99", "naive", "-1", "", "１"):
        with pytest.raises(UserError, match="there is no step"):
            registry.find(asked, LADDER)
    with pytest.raises(UserError, match="names no step"):
        registry.find_many("3-1", LADDER)


WHOLE = 'arch = "80"\nladder = "fp32"\ntypes = "f32"\n'
IDEA = '[idea]\nen = "an idea"\nzh-CN = "一个想法"\n'


def listed(folder, **files):
    """A list of steps with these files, `_01_a` for that of 01_a."""
    texts = {name.removeprefix("_"): text for name, text in files.items()}
    for name, text in texts.items():
        (folder / "steps" / name).mkdir(parents=True)
        (folder / "steps" / name / registry.FILE).write_text(text, encoding="utf-8")
    order = folder / "steps" / "meson.build"
    order.write_text("step_names = [\n" + "".join(f"  '{name}',\n" for name in texts) + "]\n", encoding="utf-8")
    return order


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (WHOLE, "idea: is missing"),
        (WHOLE + "[idea]\nen = 'x'\n", "idea.zh-CN: is missing"),
        (WHOLE.replace("arch", "archs") + IDEA, "archs: there is no such key; there are arch, ladder"),
        ("arch = 80\n" + WHOLE.split("\n", 1)[1] + IDEA, "arch: has to be a text, not 80"),
        (WHOLE + "also = 'x'\n" + IDEA, "also: has to be a list"),
        (WHOLE + IDEA + "[recorded]\nstrides = 1\n", "recorded.strides: has to be true or false, not 1"),
        (WHOLE + IDEA + "[by_hand]\ndepth = true\n", "by_hand.depth: has to be a whole number, not True"),
        (WHOLE + IDEA + "[[trace]]\nlane = 1\n", "trace.lane: there is no such key"),
        (WHOLE + IDEA + "[bent.lines]\nmost = 1\n", "bent.lines.why: is missing"),
        ("arch", "Expected '=' after a key"),
    ],
)
def test_a_steps_file_is_refused_by_file_and_key(tmp_path, text, says):
    with pytest.raises(UserError) as refused:
        registry.steps(listed(tmp_path, _01_a=text))
    assert str(refused.value).startswith(f"steps/01_a/step.toml: {says}") and "\n" not in str(refused.value)


def test_an_order_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^steps/01_b/step\.toml: number: 01 is the number of 01_a, too$"):
        registry.steps(listed(tmp_path, _01_a=WHOLE + IDEA, _01_b=WHOLE + IDEA))
    order = tmp_path / "steps" / "meson.build"
    (tmp_path / "steps" / "01_b" / registry.FILE).unlink()
    with pytest.raises(UserError, match=r"^steps/01_b/step\.toml cannot be read: No such file"):
        registry.steps(order)
    order.write_text("step_names = [\n]\n", encoding="utf-8")
    with pytest.raises(UserError, match="lists no step"):
        registry.steps(order)
    with pytest.raises(UserError, match="cannot be read"):
        registry.steps(tmp_path / "missing")


def test_every_source_of_a_step_is_built():
    for step in LADDER:
        assert set(step.folder.rglob("*.cu")) == set(step.sources), step.name
