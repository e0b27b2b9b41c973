"""The ladder: its order stands in steps/meson.build, and what is known of a step in one file of its folder, step.toml.

As a program it tells Meson of the steps whose files it is given: python -m base.registry steps/01_naive/step.toml …
"""

import re
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from base.errors import UserError
from base.languages import ENGLISH, LANGUAGES
from base.paths import REGISTRY, shown

FILE = "step.toml"
# The order as it stands in steps/meson.build: names of folders.
LIST = re.compile(r"^step_names = \[(.*?)^\]", re.MULTILINE | re.DOTALL)
ON_CUDA_CORES = ("fp32", "fp16")

# The keys of step.toml: of which type each is, a table of types, or a list of one of these; those that may be left out
# end in a question mark.
NUMBER, STRINGS = (int, float), [str]
BENT = {"most": int, "why": str}  # a rule of tests/python/test_kernel_rules.py: how far, and why
KEYS: dict[str, Any] = {
    "arch": str,
    "ladder": str,
    "types": str,
    "idea": dict.fromkeys(LANGUAGES, str),
    "question?": dict.fromkeys(LANGUAGES, str),
    "headline?": str,
    "also?": STRINGS,
    "cuda_args?": STRINGS,
    "also_cuda_args?": {"*": STRINGS},
    "at_4096?": str,
    "own?": str,
    "published?": STRINGS,
    "pictures?": STRINGS,
    "by_hand?": {
        "load_store_per_instruction?": NUMBER,
        "share_of_pipes?": NUMBER,
        "fmas_per_k?": int,
        "shared_loads_per_k?": int,
        "depth?": int,
    },
    "recorded?": {
        "largest?": int,
        "variants_at?": [int],
        "sweeps?": {"*": int},
        "chosen_from?": STRINGS,
        "strides?": bool,
        "order?": bool,
        "scaled?": [[int]],
        "scaled_variants?": STRINGS,
        "scaled_sweeps?": {"*": int},
        "few_rows?": {"sizes": [[int]], "variants": STRINGS},
    },
    "trace?": [{"variant?": str, "maps?": bool, "warps?": int, "k?": int, "every_slice?": bool, "engines?": bool}],
    "word?": [{
        **dict.fromkeys(("id", "group", "en", "zh", "means_en", "means_zh"), str),
        **{"use_en?": str, "use_zh?": str, "not_zh?": STRINGS},
    }],
    "bent?": {"lines?": BENT, "changed?": BENT, "parameters?": BENT},
}  # fmt: skip


@dataclass(frozen=True)
class Step:
    """What is known of one step beside its kernel and its chapter."""

    name: str  # 07_thread_tile_8x8: its folder's
    arch: str  # the least compute capability it needs, as in compute_80; the only one where it ends in `a`: 90a
    ladder: str  # fp32, fp16, wmma, mma, hopper, precision
    types: str  # of A and B, the accumulator and C, as shown to people
    also: tuple[str, ...] = ()  # names of the sources in its folder also/, in the order of their variants
    cuda_args: tuple[str, ...] = ()  # of the compiler, beside those of every step
    also_cuda_args: dict[str, list[str]] = field(default_factory=dict, hash=False)  # of sources in also/, instead
    home: Path = REGISTRY.parent  # the folder that holds every step's
    ideas: dict[str, str] = field(default_factory=dict, hash=False)  # by language, in a few words
    questions: dict[str, str] = field(default_factory=dict, hash=False)  # that its chapter answers, by language
    headline: str = ""  # the variant that the front page shows where that is not the default: calls one by one, say
    own: str = ""  # the variant of kernel.cu that is practised, where the default is no variant of kernel.cu
    at_4096: str = ""  # the variant that a default which chooses by the size takes at 4096³; "": the default itself
    published: tuple[str, ...] = ()  # kernels that its variants have to cover, as `covers` writes them
    pictures: tuple[str, ...] = ()  # drawn for it (plots/figures), and shown by its chapter
    # As its chapter works it out. load_store_per_instruction: wavefronts and look-ups per FMA, HMMA or, on Hopper, 4096
    # FLOP. share_of_pipes: of those that multiply, where its FMAs can use but a part. The others: FMAs and shared loads of
    # a thread per k, and the depth of a slice.
    by_hand: dict[str, float] = field(default_factory=dict, hash=False)
    # What the recorded set of a GPU holds of it. largest, of the square sizes; variants_at: sizes at which every variant
    # is timed; sweeps, each with the number of parts that it is measured in; chosen_from: variants that its default
    # chooses among, timed in turn; strides: of the block swizzle. scaled, scaled_sweeps: sizes and sweeps with beta
    # = 0.5, at the sizes by scaled_variants where they are named, else by the default; few_rows: sizes with few rows of
    # C, and the variants that are timed there.
    recorded: dict[str, Any] = field(default_factory=dict, hash=False)
    traces: tuple[dict[str, Any], ...] = field(default=(), hash=False)  # recorded for pictures: lab/traces.py
    words: tuple[dict[str, Any], ...] = field(
        default=(), hash=False
    )  # terms that its chapter brings: docs/glossary.toml
    bent: dict[str, dict[str, Any]] = field(default_factory=dict, hash=False)  # rules for kernels: how far, and why

    @property
    def number(self) -> int:
        """Its place in the ladder: 7 for 07_thread_tile_8x8."""
        return int(self.name.split("_", 1)[0])

    def runs_on(self, capability: str) -> bool:
        """Whether a GPU of this compute capability, such as 89, can run it."""
        needed, here = int(self.arch.rstrip("a")), int(capability)
        return here == needed if self.arch.endswith("a") else here >= needed

    @property
    def needs(self) -> str:
        """The GPU that it needs, in words."""
        number = self.arch.rstrip("a")
        alone = "alone" if self.arch.endswith("a") else "or newer"
        return f"compute capability {number[:-1]}.{number[-1]} {alone}"

    @property
    def folder(self) -> Path:
        """Where its kernel and its chapters are."""
        return self.home / self.name

    @property
    def kernel(self) -> Path:
        """The source of the step's own kernel."""
        return self.folder / "kernel.cu"

    @property
    def sources(self) -> list[Path]:
        """Every source: the kernel, then those of the variants that take another path."""
        return [self.kernel, *(self.folder / "also" / f"{name}.cu" for name in self.also)]

    def ptxas_args(self, source: str = "kernel") -> list[str]:
        """What nvcc hands on to ptxas for one of the sources, by its name without `.cu`."""
        arguments = self.also_cuda_args.get(source, self.cuda_args)
        return [now for before, now in pairwise(arguments) if before == "-Xptxas"]

    @property
    def element(self) -> str:
        """The element type of A and B: the first of its types."""
        return self.types.split()[0]

    @property
    def on_tensor_cores(self) -> bool:
        """Whether its ladder runs on tensor cores."""
        return self.ladder not in ON_CUDA_CORES

    @property
    def instruction(self) -> str:
        """The tensor-core instruction whose limit is its limit: mma, or wgmma, which sm_90a alone has; "" without."""
        return "wgmma" if self.arch == "90a" else "mma" if self.on_tensor_cores else ""

    @property
    def short(self) -> str:
        """`07 thread tile 8×8` for `07_thread_tile_8x8`."""
        return re.sub(r"(\d)x(\d)", r"\1×\2", self.name.replace("_", " "))

    def idea(self, language: str = ENGLISH) -> str:
        """The step's idea in a few words, in a language (en, zh-CN)."""
        return self.ideas.get(language, self.short)


def steps(registry: Path = REGISTRY) -> list[Step]:
    """Every step, in the order of the ladder."""
    try:
        text = registry.read_text(encoding="utf-8")
    except OSError as error:
        raise UserError(f"the list of steps cannot be read: {error}") from None
    found = LIST.search(text)
    names = re.findall(r"^ *'([^']*)',?(?: *#.*)?$", found[1], re.MULTILINE) if found else []
    if not names:
        raise UserError(f"{shown(registry)} lists no step")
    return of_files([registry.parent / name / FILE for name in names])


def of_files(files: list[Path]) -> list[Step]:
    """The steps that these files tell of. Their numbers are the two digits that their folders' names begin with."""
    ladder = [_step(file, _changed(file)) for file in files]
    named: dict[int, Step] = {}
    for step in ladder:
        if step.number in named:
            taken = f"{step.number:02d} is the number of {named[step.number].name}, too"
            raise UserError(f"steps/{step.name}/{FILE}: number: {taken}")
        named[step.number] = step
    return ladder


def _changed(file: Path) -> int:
    """When a file was changed last, 0 where there is none."""
    return file.stat().st_mtime_ns if file.is_file() else 0


@cache
def _step(file: Path, _: int) -> Step:
    """One step. `_`: when its file was changed, so that each version of a file is read once."""
    file = file.resolve()
    name, at = file.parent.name, "/".join(file.parts[-3:])  # steps/07_thread_tile_8x8/step.toml
    if not re.match(r"\d\d_[a-z]", name):
        raise UserError(f"{at}: number: the folder's name has to begin with one, as in 07_thread_tile_8x8")
    try:
        told = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"{at} cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{at}: {error}") from None
    if wrong := _wrong(told, KEYS):
        raise UserError(f"{at}: {wrong}")
    renamed = {"idea": "ideas", "question": "questions", "trace": "traces", "word": "words"}
    values = {key: tuple(value) if isinstance(value, list) else value for key, value in told.items()}
    return Step(name=name, home=file.parent.parent, **{renamed.get(key, key): value for key, value in values.items()})


def _wrong(value: Any, wanted: Any, key: str = "") -> str:
    """What is wrong with a value of step.toml: its key, and why; "" where nothing is."""
    if isinstance(wanted, dict):
        if not isinstance(value, dict):
            return f"{key}: has to be a table"
        by_name = {name.removesuffix("?"): (name, of) for name, of in wanted.items()}
        inner = f"{key}." if key else ""
        for name in value if "*" not in by_name else ():
            if name not in by_name:
                return f"{inner}{name}: there is no such key; there are {', '.join(by_name)}"
        for name, (written, _) in by_name.items():
            if name not in value and not written.endswith("?") and name != "*":
                return f"{inner}{name}: is missing"
        of_name = {name: by_name["*" if "*" in by_name else name][1] for name in value}
        return next(filter(None, (_wrong(value[name], of, f"{inner}{name}") for name, of in of_name.items())), "")
    if isinstance(wanted, list):
        if not isinstance(value, list):
            return f"{key}: has to be a list"
        return next(filter(None, (_wrong(one, wanted[0], key) for one in value)), "")
    fits = isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool))
    names = {str: "a text", int: "a whole number", bool: "true or false", NUMBER: "a number"}
    return "" if fits else f"{key}: has to be {names[wanted]}, not {value!r}"


def runnable(ladder: list[Step], capability: str) -> tuple[list[Step], str]:
    """The steps that a GPU of this compute capability can run, and what to say of the others; "" without any."""
    fitting = [step for step in ladder if step.runs_on(capability)]
    others = [step for step in ladder if step not in fitting]
    told = [
        f"{', '.join(step.name for step in others if step.needs == needs)} needs {needs}"
        for needs in dict.fromkeys(step.needs for step in others)
    ]
    return fitting, f"{'; '.join(told)}; this GPU has {capability[:-1]}.{capability[-1]}" if told else ""


def find(asked: str, ladder: list[Step]) -> Step:
    """The step that a reader means by `7`, `07` or `07_thread_tile_8x8`."""
    for step in ladder:
        if asked == step.name or (asked.isascii() and asked.isdigit() and int(asked) == step.number):
            return step
    known = f"{ladder[0].number:02d} to {ladder[-1].number:02d}"
    raise UserError(f"there is no step '{asked}'; the ladder has {known}, ./gemm list shows them")


def of_ladder(asked: str, ladder: list[Step]) -> list[Step]:
    """The steps of one part of the ladder: fp32, fp16, wmma, mma, hopper, precision."""
    chosen = [step for step in ladder if step.ladder == asked]
    if not chosen:
        names = ", ".join(dict.fromkeys(step.ladder for step in ladder))
        raise UserError(f"there is no ladder '{asked}'; choose from: {names}")
    return chosen


def find_many(asked: str, ladder: list[Step]) -> list[Step]:
    """The steps that `01-04,07` or `1,2,11_warp_tiling` name, in the order of the ladder."""
    chosen: set[Step] = set()
    for part in filter(None, (piece.strip() for piece in asked.split(","))):
        ends = re.fullmatch(r"(\d+)-(\d+)", part)
        first, last = (find(end, ladder).number for end in (ends.groups() if ends else (part, part)))
        chosen.update(step for step in ladder if first <= step.number <= last)
    if not chosen:
        raise UserError(f"'{asked}' names no step; write for instance --steps 01-04,07")
    return [step for step in ladder if step in chosen]


def for_meson(step: Step) -> str:
    """A step as lines that Meson takes apart: fields between `|`, words between blanks. Sources with arguments of their
    own come first, then the step."""
    own = [f"{source}|{' '.join(arguments)}" for source, arguments in step.also_cuda_args.items()]
    of_step = (step.name, step.arch, step.ladder, step.types, " ".join(step.also), " ".join(step.cuda_args))
    return "\n".join([*own, "|".join(of_step)])


if __name__ == "__main__":
    try:
        for told in of_files([Path(file) for file in sys.argv[1:]]):
            print(for_meson(told))
    except UserError as problem:
        sys.exit(print(problem, file=sys.stderr) or 2)
