"""The order of the site: the path of the course, part by part, then what is looked up."""

from base import registry
from base.languages import said
from base.paths import ROOT

# Pages of docs/ that are looked up; every other one is read once: on the path, or in the order of their names.
LOOKED_UP = ("ladder", "glossary", "practice", "profiling", "benchmarking", "python", "simulator-reference")
FIRST = "start-here"
# A part begins with the opener of this name in docs/parts/, and with this step.
PARTS = (
    ("1", "01", "Out of DRAM", "走出显存"),
    ("2", "06", "Feeding the FMAs", "喂饱 FMA"),
    ("3", "12", "Halves and WMMA", "半精度与 WMMA"),
    ("4", "18", "mma.sync by hand", "手写 mma.sync"),
    ("5", "22", "Hopper", "Hopper"),
    ("6", "30", "Precision", "精度"),
)
# Long reads that the path has before or after a step, as README and the openers say.
BEFORE = {"04": ("bank-conflicts",), "14": ("tensor-cores",), "23": ("hopper", "power")}
AFTER = {"29": ("chooser", "stream-k")}


def entries(spoken: str) -> list:
    """The navigation in a language, as MkDocs takes it: places of pages below the language's folder."""
    looked_up = [f"docs/{name}.md" for name in LOOKED_UP if (ROOT / "docs" / f"{name}.md").is_file()]
    on_path = [name for places in (BEFORE, AFTER) for names in places.values() for name in names]
    own = ("README", "CONTRIBUTING", FIRST, *LOOKED_UP, *on_path)
    others = [
        f"docs/{file.name}" for file in sorted((ROOT / "docs").glob("*.md")) if file.name.split(".")[0] not in own
    ]
    others = [name for name in others if ".zh-CN." not in name]
    more = ["sim/index.md", "plots/index.md", "records/index.md", "CONTRIBUTING.md", "notices.md"]
    return [
        {"GEMM": "index.md"},
        f"docs/{FIRST}.md",
        *({said(spoken, english, chinese): pages} for english, chinese, pages in _parts()),
        {said(spoken, "Long reads", "长文"): others},
        {said(spoken, "Look up", "查阅"): looked_up},
        {said(spoken, "The project", "项目"): more},
    ]


def _parts() -> list[tuple[str, str, list[str]]]:
    steps = [step.name for step in registry.steps()]
    ends = [first for _, first, _, _ in PARTS[1:]] + ["99"]
    parts = []
    for (number, first, english, chinese), end in zip(PARTS, ends, strict=True):
        opener = [f"docs/parts/{file.name}" for file in (ROOT / "docs" / "parts").glob(f"{number}-*.md")]
        chapters = [page for name in steps if first <= name[:2] < end for page in _with_reads(name)]
        parts.append((english, chinese, [page for page in opener if ".zh-CN." not in page] + chapters))
    return parts


def _with_reads(step: str) -> list[str]:
    """A step's chapter between the long reads that belong before and after it."""
    before, after = ([f"docs/{name}.md" for name in reads.get(step[:2], ())] for reads in (BEFORE, AFTER))
    return [*before, f"steps/{step}/index.md", *after]
