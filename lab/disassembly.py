"""Reads PTX and SASS as text: the instructions of each kernel, its inner loop, and their classes."""

import itertools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass
class Kernel:
    """A kernel's instructions in order (opcode and operands), and where its labels stand."""

    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)
    labels: dict[str, int] = field(default_factory=dict)


_PTX_ENTRY = re.compile(r"\.entry\s+([\w$]+)")
_PTX_LABEL = re.compile(r"^([$\w]+):$")
_PTX_INSTRUCTION = re.compile(r"^(?:@!?%?[\w$]+\s+)?([a-z][\w.:]*)\s*(.*)$")

_SASS_FUNCTION = re.compile(r"^\s*Function\s*:\s*([\w$]+)")
_SASS_INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)\s*(.*?)\s*;")
_SASS_ZEROS = re.compile(r"-?RZ\s*,\s*-?RZ\s*,")
_SASS_TARGET = re.compile(r"\b0x[0-9a-f]+\b")


def ptx_kernels(text: str) -> list[Kernel]:
    """The kernels of a PTX module."""
    text = re.sub(r"/\*.*?\*/", " ", re.sub(r"//[^\n]*", "", text), flags=re.S)
    found: list[Kernel] = []
    depth = 0
    for line in _statements(text):
        if match := _PTX_ENTRY.search(line):
            found.append(Kernel(match[1]))
        if line == "{":
            depth += 1
        elif line == "}":
            depth -= 1
        elif depth and found and not line.startswith("."):
            if label := _PTX_LABEL.match(line):
                found[-1].labels[label[1]] = len(found[-1].instructions)
            elif instruction := _PTX_INSTRUCTION.match(line):
                found[-1].instructions.append((instruction[1], instruction[2]))
    return found


def _statements(text: str) -> Iterable[str]:
    """PTX cut into statements, labels and braces of blocks; braces of vector operands stay where they are."""
    for line in text.split("\n"):
        line = line.strip()
        while line:
            if line[0] in "{}":
                yield line[0]
                line = line[1:].strip()
            elif label := re.match(r"^([$\w]+:)(?!:)\s*", line):
                yield label[1]
                line = line[label.end() :]
            else:
                statement, end, line = line.partition(";")
                if not end and statement.endswith("{"):  # the brace that opens a function's body
                    yield statement[:-1].strip()
                    line = "{"
                    continue
                yield statement.strip()
                line = line.strip()


def sass_kernels(text: str) -> list[Kernel]:
    """The kernels in the output of `cuobjdump -sass`; every address is a label."""
    found: list[Kernel] = []
    for line in text.split("\n"):
        if match := _SASS_FUNCTION.match(line):
            found.append(Kernel(match[1]))
        elif found and (instruction := _SASS_INSTRUCTION.match(line)):
            found[-1].labels[f"0x{int(instruction[1], 16):x}"] = len(found[-1].instructions)
            found[-1].instructions.append((instruction[2], instruction[3]))
    return found


# By the whole opcode.
_PTX_CLASSES = (
    (r"cp\.async\.(?:bulk\.)?(?:commit|wait)_.*", "other"),
    (r"cp\.async.*", "cp_async"),
    (r"(?:mbarrier|wgmma\.(?:fence|commit_group|wait_group)|fence|setmaxnreg)\b.*", "barrier"),
    (r"wmma\.load.*\.global\b.*", "load_global"),  # generic addresses are those of dynamic shared memory
    (r"wmma\.store.*\.global\b.*", "store_global"),
    (r"ld\..*shared.*|ldmatrix.*|wmma\.load.*", "load_shared"),
    (r"st\..*shared.*|stmatrix.*|wmma\.store.*", "store_shared"),
    (r"ld\..*global.*", "load_global"),
    (r"st\..*global.*", "store_global"),
    (r"fma\..*|mad\.(?:.*\.)?b?f\d.*", "fma"),
    (r"(?:mma|wmma|wgmma)\..*", "tensor"),
    (r"cvta?\..*", "convert"),
    (r"(?:setp|selp|slct|set)\..*", "predicate"),
    (r"mov\..*", "move"),
    (r"(?:movmatrix|shfl|vote)\..*", "shuffle"),
    (r"bar(?:rier)?\..*", "barrier"),
    (r"(?:bra|ret|exit|call)\b.*", "branch"),
    (r"(?:atom|red)\..*", "atomic"),
    (r"(?!ld|st).*\.(?:b?f16(?:x2)?|f32|f64)\b.*", "float"),
    (r"(?:add|sub|mul|mad|shl|shr|and|or|xor|not|min|max|div|rem|neg|abs)\b.*", "integer"),
    (r"(?:lop3|shf|bfe|bfi|prmt|mul24|mad24|popc|clz|sad|dp4a)\b.*", "integer"),
)
# By what stands before the first point, but for the first.
_SASS_CLASSES = (
    (r"IMAD\.MOV.*", "move"),
    (r"WARPSYNC|BSYNC|BSSY|BRA|EXIT|RET|CALL|JMP|BRX", "branch"),
    (r"FFMA2?|HFMA2|DFMA", "fma"),
    (r"[HID]MMA|[HIQ]GMMA", "tensor"),
    (r"LDSM?", "load_shared"),
    (r"STSM?", "store_shared"),
    (r"LDGSTS|UTMALDG|UTMASTG|UBLKCP", "cp_async"),
    (r"LDG|LD", "load_global"),
    (r"STG|ST", "store_global"),
    (r"BAR|SYNCS|WARPGROUP|FENCE|USETMAXREG|UCGABAR_ARV|UCGABAR_WAIT", "barrier"),
    (r"SHFL|VOTE|VOTEU|MOVM|R2UR", "shuffle"),
    (r"ATOMG?|ATOMS|RED", "atomic"),
    (r"MOV|UMOV|CS2R|S2R|S2UR|CS2UR|SEL|USEL|FSEL", "move"),
    (r"U?ISETP|U?PLOP3|FSETP|HSETP2|U?P2R|R2P", "predicate"),
    (r"[FHD](?:ADD|MUL|MNMX|SET)2?|MUFU|FCHK", "float"),
    (r"I2F\w*|F2I\w*|F2F\w*|I2I|I2FP|F2FP", "convert"),
    (r"U?(?:IADD3?|IMAD|LEA|SHF|LOP3|IABS|IMNMX|PRMT|BFE|BMSK|SGXT|POPC|FLO|VIADD|VIMNMX)|IDP\w*", "integer"),
)


def classify(opcode: str, operands: str = "") -> str:
    """The class of an instruction, PTX (lower case) or SASS (upper case)."""
    if _SASS_ZEROS.search(operands) and opcode.startswith(("HFMA2", "IMAD.U32")):
        return "move"  # ptxas writes constants and copies as multiplications of zeros, on units that idle
    table, word = _SASS_CLASSES, opcode if opcode.startswith("IMAD.MOV") else opcode.split(".")[0]
    if opcode[0].islower():
        table, word = _PTX_CLASSES, opcode
    return next((kind for pattern, kind in table if re.fullmatch(pattern, word)), "other")


# What the order of a loop is told of.
ORDERED = ("tensor", "fma", "load_global", "store_shared", "load_shared", "cp_async", "barrier")


@dataclass(frozen=True)
class Loop:
    """A loop: instructions from its first to the branch back, counted by class."""

    first: int
    last: int
    counts: Counter[str]

    @property
    def instructions(self) -> int:
        """How many instructions there are."""
        return self.last - self.first + 1


def loops(kernel: Kernel) -> list[Loop]:
    """Every loop: a branch back to a label before it."""
    found = []
    for place, (opcode, operands) in enumerate(kernel.instructions):
        if opcode.split(".")[0] not in ("bra", "BRA"):
            continue
        target = _target(kernel, operands)
        if target is not None and target < place:
            body = kernel.instructions[target : place + 1]
            found.append(Loop(target, place, Counter(classify(op, operands) for op, operands in body)))
    return found


def _target(kernel: Kernel, operands: str) -> int | None:
    """The instruction a branch goes to."""
    names = [*_SASS_TARGET.findall(operands), operands.split(",")[0].strip()]
    return next((kernel.labels[name] for name in names if name in kernel.labels), None)


def order(kernel: Kernel, loop: Loop) -> list[tuple[str, int]]:
    """A loop's products, loads, copies and barriers in their order: each kind, and how many follow one another.

    Loads into no register, which ptxas puts before copies, are left out: a predicate keeps them from running.
    """
    body = kernel.instructions[loop.first : loop.last + 1]
    kinds = (classify(opcode, operands) for opcode, operands in body if not operands.startswith("RZ, ["))
    shown = (kind for kind in kinds if kind in ORDERED)
    return [(kind, len(list(group))) for kind, group in itertools.groupby(shown)]


def inner_loop(kernel: Kernel) -> Loop | None:
    """The innermost loop with the most multiply-adds (tensor-core instructions count before FMAs); None without one."""
    every = loops(kernel)
    innermost = [
        loop
        for loop in every
        if not any(
            other is not loop and loop.first <= other.first and other.last <= loop.last and _busy(other)
            for other in every
        )
    ]
    busy = [loop for loop in innermost if _busy(loop)]
    return max(busy, key=lambda loop: (loop.counts["tensor"], loop.counts["fma"], -loop.instructions), default=None)


def _busy(loop: Loop) -> bool:
    return bool(loop.counts["fma"] or loop.counts["tensor"])
