"""Breaks the steps' kernels on purpose: the simulator has to catch each mistake by the check that is meant for it.

Every mutant is a small change of one step's kernel.cu, or of a source in its folder also/, compiled like the step and
run in the simulator: `python -m tests.sim.mutants build`, and with `--only 10` those of one step. Prints what caught
each. Mutants that need the same architecture are compiled together, as variants of one executable.
"""

import argparse
import json
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from base.code import pattern, without_comments
from base.paths import ROOT, STEPS

AT_A_TIME = 40  # mutants in one compilation: a third of a second each, and three for the headers, which they share
EXPECTED = ROOT / "records" / "simulator"

BARRIER, WAIT, INDEX = "barrier removed", "wait removed or early", "index off by one"
GUARD, PAD, SWAP = "edge guard missing", "pad removed", "buffer not swapped"
FRAGMENT, FENCE, PHASE, BYTES = "wrong fragment row", "fence removed", "wrong phase", "wrong byte count"
SWIZZLE = "other swizzle"

# What catches a mistake: a kind of report, the comparison with the reference, or the counts that were recorded.
RACE, UNWAITED, OUTSIDE, MISALIGNED = "race", "unwaited copy", "out of bounds", "misaligned"
UNWRITTEN, PRODUCT, PROXY = "uninitialised read", "unwaited product", "missing proxy fence"
PRODUCT_FENCE, PARITY, TRANSACTIONS = "missing wgmma.fence", "wrong parity", "transaction count"
EXITED, UNSEEN, LAYOUT = "exited block", "warning, missing proxy fence", "wrong swizzle"
REPORTS = (
    *(RACE, UNWAITED, OUTSIDE, MISALIGNED, UNWRITTEN, PRODUCT, PROXY),
    *(PRODUCT_FENCE, PARITY, TRANSACTIONS, EXITED, UNSEEN, LAYOUT),
)
WRONG, COUNTS = "wrong result", "counts"

RAGGED = ("--m", "70", "--n", "67", "--k", "69")
RECORDED = ("--size", "256")
TILES = ("--m", "1536", "--n", "768", "--k", "128")  # 144 tiles of 128×64: more than multiprocessors
TURNS = ("--m", "1536", "--n", "2304", "--k", "256")  # 144 tiles of 128×192: some blocks have two, one per consumer
MORE_TURNS = ("--m", "1536", "--n", "4416", "--k", "64")  # 276: some consumers have a second one
DEEP = ("--m", "256", "--n", "256", "--k", "512")  # more slices than stages: every buffer is filled again


@dataclass(frozen=True)
class Mutant:
    """One mistake: in which step, of what kind, which code it replaces, and what has to catch it.

    The code is compared without comments, and however it is spaced. It stands once in its source; where it does not, it
    is given with what is before or behind it, and what stands in «» is replaced.
    """

    step: str
    kind: str
    old: str
    new: str
    caught_by: str
    variant: str = ""  # the default one
    arguments: tuple[str, ...] = ()  # the simulator's own small size
    source: str = "kernel"  # or also/NAME: the variant is then one of that file's
    says: str = ""  # words of the first line of the report; those that have some are the seeded set

    @property
    def file(self) -> Path:
        """The source that it changes."""
        return STEPS / self.step / f"{self.source}.cu"

    def place(self, source: str) -> tuple[int, int]:
        """Where it changes that source: begin and end. Raises LookupError where that is nowhere, or not one place."""
        parts = [pattern(part) for part in re.split("[«»]", self.old)]
        before, old, behind = parts if len(parts) == 3 else ("", *parts, "")
        found = list(re.finditer(rf"{before}\s*({old})\s*{behind}", without_comments(source)))
        if len(found) != 1:
            raise LookupError(f"{self.step}/{self.source}.cu has {len(found)} places, not 1, with '{self.old}'")
        return found[0].span(1)

    def applied(self, source: str) -> str:
        """The source with the mistake, without comments."""
        begin, end = self.place(source)
        code = without_comments(source)
        return code[:begin] + self.new + code[end:]


# fmt: off
MUTANTS = (
    Mutant("03_smem_tiling", BARRIER, "«__syncthreads();» As[tile_row][tile_col] = a_copy;", "", RACE),
    *(Mutant(step, BARRIER, "= b_copy; «__syncthreads();»", "", RACE) for step in ("03_smem_tiling", "08_conflict_free")),
    *(Mutant(step, BARRIER, "b += BK * g.ldb; «__syncthreads();»", "", RACE) for step in ("06_thread_tile_4x4", "07_thread_tile_8x8", "12_half_pack", "15_wmma_tiled", "18_mma_naive")),
    Mutant("09_double_buffer", BARRIER, "store_slice(0); «__syncthreads();»", "", RACE),
    Mutant("09_double_buffer", BARRIER, "store_slice(write); «__syncthreads();»", "", RACE),
    Mutant("09_double_buffer", BARRIER, "«__syncthreads();» store_slice();", "", RACE, "one_buffer_unroll8", source="also/one_buffer"),
    Mutant("10_cp_async", BARRIER, "__syncthreads();", "", RACE, says="with no barrier between"),
    *(Mutant(step, BARRIER, "«__syncthreads();» write = read;", "", RACE) for step in ("11_warp_tiling", "20_mma_warp_swizzle")),
    Mutant("13_half_double_buffer", BARRIER, "«__syncthreads();» if (left > 0) read ^= 1;", "", RACE),
    Mutant("10_cp_async", WAIT, "cp_async_wait<STAGES - 2>();", "", UNWAITED, says="no cp.async wait has covered it"),
    Mutant("10_cp_async", WAIT, "cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();", UNWAITED, says="no cp.async wait has covered it"),
    Mutant("10_cp_async", WAIT, "cp_async_commit();", "", UNWAITED, says="no cp.async wait has covered it"),
    Mutant("11_warp_tiling", WAIT, "if (k == BK - 1) { «cp_async_wait<STAGES - 2>();»", "", UNWAITED),
    Mutant("11_warp_tiling", WAIT, "«cp_async_wait<STAGES - 2>();» __syncthreads(); load_fragments(0, 0);", "", UNWAITED),
    Mutant("13_half_double_buffer", WAIT, "store_a(read ^ 1); «cp_async_wait<0>();»", "", UNWAITED),
    Mutant("01_naive", INDEX, "k < g.k", "k <= g.k", OUTSIDE, says="0 bytes past the end of the 16384 bytes of a cudaMalloc"),
    Mutant("02_coalesced", INDEX, "k < g.k", "k <= g.k", OUTSIDE),
    Mutant("03_smem_tiling", INDEX, "As[tile_row][k] *", "As[tile_row][k + 1] *", WRONG),
    Mutant("05_vector_load", INDEX, "As[k][tile_row]", "As[k][tile_row + 1]", UNWRITTEN),
    Mutant("06_thread_tile_4x4", INDEX, "&As[k][tile_row]", "&As[k][tile_row + 1]", MISALIGNED, says="is no multiple of 16"),
    Mutant("08_conflict_free", INDEX, "As[a_col + 3]", "As[a_col + 4]", UNWRITTEN),
    Mutant("01_naive", GUARD, "if (row >= g.m || col >= g.n) return;", "", OUTSIDE, arguments=RAGGED),
    Mutant("02_coalesced", GUARD, " || col >= static_cast<Index>(g.n)", "", OUTSIDE, arguments=RAGGED),
    Mutant("03_smem_tiling", GUARD, "b_k < g.k && ", "", OUTSIDE, "checked", RAGGED, "also/checked"),
    Mutant("03_smem_tiling", GUARD, "if (row >= g.m || col >= g.n) return;", "", OUTSIDE, "checked", RAGGED, "also/checked"),
    Mutant("04_smem_padding", GUARD, "row < g.m && ", "", OUTSIDE, "checked_lanes_down", RAGGED, "also/lanes_down"),
    Mutant("11_warp_tiling", GUARD, "if (row < g.m && col < g.n)", "if (col < g.n)", OUTSIDE, "any_size", RAGGED, "also/any_size"),
    Mutant("11_warp_tiling", GUARD, "min(block_row + a_row + i * A_ROWS, g.m - 1)", "(block_row + a_row + i * A_ROWS)", OUTSIDE, "any_size", RAGGED, "also/any_size"),
    *(Mutant(step, PAD, "As[BK][BM + PAD]", "As[BK][BM]", COUNTS, arguments=RECORDED) for step in ("04_smem_padding", "05_vector_load", "06_thread_tile_4x4", "08_conflict_free")),
    Mutant("09_double_buffer", PAD, "[BK][BM + PAD]", "[BK][BM]", COUNTS, arguments=RECORDED),
    Mutant("09_double_buffer", SWAP, "write ^= 1;", "", RACE),
    Mutant("09_double_buffer", SWAP, "read = write;", "", RACE),
    Mutant("10_cp_async", SWAP, "read = read + 1 == STAGES ? 0 : read + 1;", "", UNWAITED, says="while the copy started at"),
    Mutant("10_cp_async", SWAP, "write = read;", "", UNWAITED, says="while the copy started at"),
    Mutant("11_warp_tiling", SWAP, "write = read;", "", RACE),
    Mutant("13_half_double_buffer", PAD, "row ^ (k / 8 * TURN)", "row", COUNTS, arguments=RECORDED),
    Mutant("13_half_double_buffer", SWAP, "if (left > 0) read ^= 1;", "", WRONG),
    Mutant("16_wmma_async", BARRIER, "cp_async_wait<0>(); «__syncthreads();»", "", RACE),
    Mutant("16_wmma_async", BARRIER, "«__syncthreads();» store_warp_tile(", "", RACE),
    Mutant("20_mma_warp_swizzle", BARRIER, "«__syncthreads();» load_frags(0, 0);", "", RACE),
    Mutant("21_mma_persistent", BARRIER, "«__syncthreads();» int read = 0", "", RACE, "large"),
    Mutant("21_mma_persistent", BARRIER, "«__syncthreads();» write = read;", "", RACE, "large"),
    Mutant("16_wmma_async", WAIT, "cp_async_wait<0>();", "", UNWAITED),
    Mutant("17_wmma_stages", WAIT, "cp_async_wait<T::STAGES - 2>();", "cp_async_wait<T::STAGES - 1>();", UNWAITED),
    Mutant("19_mma_stages", WAIT, "cp_async_wait<STAGES - 2>();", "cp_async_wait<STAGES - 1>();", UNWAITED),
    Mutant("20_mma_warp_swizzle", WAIT, "if (unit == T::UNITS - 1) { «cp_async_wait<STAGES - 2>();»", "cp_async_wait<STAGES - 1>();", UNWAITED),
    Mutant("21_mma_persistent", WAIT, "if (unit == T::UNITS - 1) { «cp_async_wait<STAGES - 2>();»", "", UNWAITED, "large"),
    Mutant("14_wmma_naive", FRAGMENT, "a_frag, a, g.lda", "a_frag, a + g.lda, g.lda", OUTSIDE),
    Mutant("15_wmma_tiled", FRAGMENT, "As + (warp_row + i * MMA)", "As + (warp_row + i * MMA + 1)", WRONG),
    Mutant("17_wmma_stages", FRAGMENT, "As + i * MMA *", "As + i * (MMA + 1) *", WRONG),
    Mutant("18_mma_naive", FRAGMENT, "[warp_row + i * MMA_M + lane % 16]", "[warp_row + i * MMA_M + lane % 8]", WRONG),
    Mutant("18_mma_naive", FRAGMENT, "&Bs[lane % 16]", "&Bs[(lane ^ 1) % 16]", WRONG),
    Mutant("19_mma_stages", FRAGMENT, "b_frag[j / 2] + j % 2 * 2", "b_frag[j / 2] + j % 2", WRONG),
    Mutant("19_mma_stages", FRAGMENT, "lane / 16 * 8 + lane % 8,", "lane / 16 * 8 + (lane ^ 1) % 8,", WRONG, "tn"),
    Mutant("20_mma_warp_swizzle", FRAGMENT, "(warp_row + lane % 16,", "(warp_row + (lane ^ 8) % 16,", WRONG),
    Mutant("20_mma_warp_swizzle", INDEX, "((a_addr + stage) ^ k_bytes)", "(a_addr + stage + k_bytes)", WRONG),
    Mutant("17_wmma_stages", GUARD, "min(block_row + a_row + i * A_STEP, g.m - 1)", "(block_row + a_row + i * A_STEP)", OUTSIDE, "any_size", RAGGED, "also/any_size"),
    Mutant("17_wmma_stages", GUARD, "k < g.k ? b_bytes : 0", "b_bytes", OUTSIDE, "any_size", RAGGED, "also/any_size"),
    Mutant("17_wmma_stages", GUARD, "EDGES = true", "EDGES = false", OUTSIDE, "any_size", RAGGED, "also/any_size"),
    Mutant("21_mma_persistent", GUARD, "if (row >= g.m || col >= g.n) continue;", "if (col >= g.n) continue;", OUTSIDE, "any_size", RAGGED, "also/any_size"),
    Mutant("21_mma_persistent", GUARD, "min(copy_row + a_row + i * A::STEP, g.m - 1)", "copy_row + a_row + i * A::STEP", OUTSIDE, "any_size", RAGGED, "also/any_size"),
    *(Mutant(step, PAD, "A_PITCH = BK + PAD", "A_PITCH = BK", COUNTS, arguments=RECORDED) for step in ("15_wmma_tiled", "16_wmma_async")),
    Mutant("18_mma_naive", PAD, "PITCH = COLS + PAD", "PITCH = COLS", COUNTS, arguments=RECORDED),
    Mutant("20_mma_warp_swizzle", PAD, "(chunk ^ (row % 8))", "chunk", COUNTS, arguments=RECORDED),
    Mutant("16_wmma_async", SWAP, "read = T::SLICE - read;", "", RACE),
    *(Mutant(step, SWAP, "write = read;", "", RACE, arguments=DEEP) for step in ("17_wmma_stages", "19_mma_stages", "20_mma_warp_swizzle")),
    Mutant("21_mma_persistent", SWAP, "write = read;", "", RACE, "large", DEEP),
    Mutant("21_mma_persistent", INDEX, "tile_to_copy += gridDim.x;", "", WRONG, "small", TILES),
    Mutant("21_mma_persistent", INDEX, "if (k_left <= 0) next_tile();", "if (k_left < 0) next_tile();", UNWRITTEN, "small", TILES),
    Mutant("21_mma_persistent", INDEX, "load_frags(0, read);", "load_frags(0, 0);", WRONG, "small", TILES),
    Mutant("22_tma", WAIT, "wait_for(slice + 1);", "", UNWAITED, arguments=DEEP, says="nobody has waited for its mbarrier"),
    Mutant("22_tma", BARRIER, "«__syncthreads();» if (lane == 0) copy(next);", "", RACE, arguments=DEEP, says="with no barrier between"),
    Mutant("22_tma", BYTES, "&full[stage], STAGE_BYTES)", "&full[stage], STAGE_BYTES - A_BYTES)", TRANSACTIONS, says="transaction count that does not balance"),
    Mutant("22_tma", FENCE, "barrier_init_fence();", "", UNSEEN, says=r"fence\.mbarrier_init"),
    Mutant("23_wgmma", FENCE, "wgmma_fence();", "", PRODUCT_FENCE, arguments=DEEP, says=r"no wgmma\.fence orders it"),
    Mutant("23_wgmma", WAIT, "wgmma_wait<0>();", "", PRODUCT, arguments=DEEP, says=r"no wgmma\.wait_group has covered it"),
    Mutant("23_wgmma", WAIT, "wgmma_wait<1>();", "", UNWAITED, arguments=DEEP, says="may still be reading: nobody has waited"),
    Mutant("24_warp_specialised", PHASE, "slice / STAGES % 2 ^ 1", "slice / STAGES % 2", PARITY, arguments=DEEP, says="parity"),
    Mutant("24_warp_specialised", WAIT, "if (slice > 0) release(slice - 1);", "release(slice);", UNWAITED, arguments=DEEP, says="may still be reading: nobody has waited"),
    *(Mutant(step, FENCE, "fence_for_async_reads();", "", PROXY, says=r"no fence\.proxy\.async between") for step in ("25_overlapped_store", "26_clusters")),
    Mutant("25_overlapped_store", WAIT, "wgmma_wait<0>();", "", PRODUCT, says=r"no wgmma\.wait_group has covered it"),
    Mutant("26_clusters", PHASE, "CLUSTER * CONSUMERS * 4", "CONSUMERS * 4", UNWAITED, arguments=DEEP, says="may still be reading"),
    Mutant("26_clusters", BARRIER, "__syncwarp(); «cluster_sync();»", "", EXITED, says="may have ended by then: nothing makes it wait"),
    Mutant("26_clusters", FENCE, "fence_for_async_reads();", "if (first_thread) fence_for_async_reads();", PROXY),
    Mutant("26_clusters", PHASE, "place.parity ^ 1", "place.parity", PARITY),
    Mutant("26_clusters", BYTES, "barrier_arrive_expect(landed, «STAGE_BYTES»)", "STAGE_BYTES + 16", TRANSACTIONS),
    Mutant("26_clusters", BARRIER, "barrier_init_fence(); } «cluster_sync();»", "__syncthreads();", RACE),
    Mutant("26_clusters", SWIZZLE, "matrix_descriptor<Major::K>(As_read, BK);", "matrix_descriptor<Major::K>(As_read, BK) ^ uint64_t{3} << 62;", LAYOUT),
    Mutant("28_in_turns", BARRIER, "named_barrier_sync(TURN + warpgroup, CONSUMERS", "(void)(1, CONSUMERS", UNWAITED, arguments=TURNS),
    Mutant("28_in_turns", PHASE, "place.skip(taken);", "", UNWAITED, arguments=MORE_TURNS),
    Mutant("29_split_k", BARRIER, "named_barrier_sync(MEETING, CONSUMERS", "(void)(1, CONSUMERS", RACE, "two"),
    Mutant("29_split_k", INDEX, "left(piece, quad), rank ^ other)", "left(piece, quad), rank)", WRONG, "two"),
    Mutant("29_split_k", INDEX, "int other = 1; other < SPLIT;", "int other = 1; other < 2;", WRONG, "four"),
    Mutant("29_split_k", BARRIER, "tma_store_wait_read<0>(); } «cluster_sync();»", "", EXITED, "two"),
    Mutant("29_split_k", FENCE, "fence_for_async_reads();", "", PROXY, "stream_k", source="also/stream_k"),
    Mutant("29_split_k", GUARD, "g.n % 8 != 0 && col + ROW > g.n;", "false;", WRONG, "stream_k", RAGGED, "also/stream_k"),
    Mutant("29_split_k", WAIT, "if (first_thread) flag_wait_and_lower(&left_flags[block][warpgroup]);", "", RACE, "stream_k", source="also/stream_k"),
    Mutant("29_split_k", INDEX, "slice > part.first ||", "slice > 0 ||", WRONG, "stream_k", source="also/stream_k"),
    Mutant("29_split_k", INDEX, "other <= last;", "other < last;", WRONG, "stream_k", source="also/stream_k"),
    Mutant("33_guarded", WAIT, "wgmma_commit(); «wgmma_wait<1>();»", "", UNWAITED, arguments=DEEP),
    Mutant("33_guarded", GUARD, "«if (guard.digits_at(tile.x * BM, tile.y * BN) != DIGITS) continue;» int stage_before", "", PARITY, arguments=DEEP),
    Mutant("33_guarded", INDEX, "2 * GUARD_DIGITS - 1 - DIGITS", "2 * GUARD_DIGITS - 2 - DIGITS", WRONG),
    Mutant("33_guarded", BYTES, "barrier_arrive_expect(landed, STAGE_BYTES);", "barrier_arrive_expect(landed, A_BYTES);", TRANSACTIONS),
    Mutant("30_tf32", FENCE, "wgmma_fence();", "", PRODUCT_FENCE),
    *(Mutant(step, WAIT, "wgmma_wait<0>();", "", PRODUCT) for step in ("30_tf32", "31_eight_bits")),
    Mutant("30_tf32", FRAGMENT, "pair_at(lane % 4 + 4, lane)", "pair_at(lane % 4, lane)", WRONG),
    Mutant("30_tf32", INDEX, "tile.y + rank * HALF * BOX_COLS", "tile.y", WRONG),
    Mutant("30_tf32", PHASE, "CLUSTER * WARPS);", "WARPS);", RACE, arguments=DEEP),
    Mutant("30_tf32", BARRIER, "__syncwarp(); «cluster_sync();»", "", EXITED),
    Mutant("31_eight_bits", FENCE, "          fence_for_async_reads();", "          //", PROXY),
    Mutant("31_eight_bits", WAIT, "Cs + piece * PIECE_BYTES", "Cs + piece % 2 * PIECE_BYTES", UNWAITED, "promoted", source="also/promoted"),
)
# fmt: on


def only_variant(source: str, name: str) -> str:
    """The source with one variant in its table, so that no other is compiled: the named one, or the first."""
    table = re.compile(r"(?:return|> all|> table =) ?\{").search(source, source.index("variants()"))
    if table is None:
        raise LookupError("there is no table of variants")
    start = table.end()
    entries, depth, at, quoted = [], 0, start, False
    for position in range(start, len(source)):
        letter = source[position]
        quoted ^= letter == '"'
        if quoted:
            continue
        if letter == "," and depth == 0 and source[position + 1] == "\n":  # not one of a template's arguments
            entries.append(source[at:position])
            at = position + 1
        elif letter == "}" and depth == 0:
            entries.append(source[at:position])
            wanted = next((entry for entry in entries if not name or f'"{name}"' in entry), None)
            if wanted is None:
                raise LookupError(f"no variant {name}")
            after = source.index("return all;") if "return all;" in source else position
            return source[:start] + wanted + ("};\n  " if after != position else "") + source[after:]
        depth += (letter in "({[") - (letter in ")}]")
    raise LookupError("the table of variants does not end")


def table_of(entries: Sequence[str]) -> list[str]:
    """A source's table of variants: the first of each `add("name", its_namespace::variants());`, by that name."""
    add = "  const auto add = [&](const char* name, std::vector<Variant> v) { v[0].name = name, all.push_back(v[0]); };"
    return ["std::vector<Variant> variants() {\n  std::vector<Variant> all;", add, *entries, "  return all;\n}\n"]


def together(mutants: Sequence[Mutant]) -> str:
    """One source with all these mutants: each in a namespace of its own, as a variant that is called like that."""
    includes: dict[str, None] = {}
    parts, table = [], []
    for number, mutant in enumerate(mutants):
        text = mutant.applied(mutant.file.read_text(encoding="utf-8"))
        includes.update(dict.fromkeys(re.findall(r"^#include .*$", text, re.MULTILINE)))
        bare = re.sub(r"^(?:#include |const Also added\().*$", "", text, flags=re.MULTILINE)
        changed = only_variant(bare, mutant.variant)
        # Reports name the lines of the step's own source.
        parts.append(f'namespace mutant_{number} {{\n#line 1 "{mutant.file}"\n{changed}\n}}')
        table.append(f'  add("mutant_{number}", mutant_{number}::variants());')
    return "\n".join([*includes, *parts, *table_of(table)])


class Build:
    """A build directory in which the steps were built: how to compile a changed kernel like them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        commands = json.loads((self.directory / "compile_commands.json").read_text(encoding="utf-8"))
        words = {one["file"].partition("steps/")[2]: shlex.split(one["command"]) for one in commands}
        self.compile = {STEPS / file: command for file, command in words.items()}

    def arch(self, mutant: Mutant) -> str:
        """The least architecture that the mutant's step is compiled for."""
        return re.search(r"arch=compute_(\w+),code=compute_", " ".join(self.compile[mutant.file]))[1]

    def make(self, mutants: Sequence[Mutant], folder: Path) -> Path:
        """Compiles and links mutants of one architecture, with the flags of the first one's step."""
        first = mutants[0]
        source, executable = folder / "mutants.cu", folder / "steps" / "mutants"
        source.write_text(together(mutants), encoding="utf-8")
        executable.parent.mkdir()
        (folder / "sim").symlink_to(self.directory / "sim")
        kept, skip = [], False
        for word in self.compile[first.file]:  # without the outputs, the dependency file and the host's optimisation
            if not skip and word not in ("-c", "-MD", "-O3", "-MT", "-MF", "-MQ", "-o") and not word.endswith(".cu"):
                kept.append(word)
            skip = word in ("-MT", "-MF", "-MQ", "-o")
        names = f"harness_main step_arch_{self.arch(first)} harness harness_cuda tensor_map compiled_once"
        libraries = [f"common/harness/lib{name}.a" for name in names.split()]
        line = [*kept, str(source), *libraries, "-cudart", "shared", "-ldl", "-o", str(executable)]
        done = subprocess.run(line, cwd=self.directory, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise LookupError(f"they do not compile: {done.stderr.strip()[-500:]}")
        return executable


def catches(executable: Path, number: int, mutant: Mutant) -> tuple[set[str], str]:
    """Everything that catches a mutant, and the first line that is said."""
    counts = executable.parent / f"{number}.jsonl"
    line = [str(executable), "--sim", "--variant", f"mutant_{number}", *mutant.arguments, "--json", str(counts)]
    done = subprocess.run(line, capture_output=True, text=True, check=False, timeout=300)
    lines = [line.removeprefix("simulator: ") for line in done.stderr.splitlines()]
    found = {kind for kind in REPORTS if any(line.startswith(f"{kind} in ") for line in lines)}
    if done.returncode == 1 and not found:
        found.add(WRONG)
    if done.returncode not in (0, 1):
        raise LookupError(f"exit code {done.returncode}: {done.stderr.strip()}")
    if counts.exists():
        found |= {COUNTS for record in _records(counts) if not _as_recorded(record, mutant)}
    return found, next((line for line in lines if line.startswith(REPORTS)), "")


def _records(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _as_recorded(record: dict, mutant: Mutant) -> bool:
    """Whether shared memory was used as the committed record says. A size without a record is nothing to go by."""
    key = ("m", "n", "k", "alpha", "beta")
    for expected in _records(EXPECTED / f"{mutant.step}.jsonl"):
        same_variant = expected["variant"] == mutant.variant if mutant.variant else expected["default"]
        if same_variant and all(expected[part] == record[part] for part in key):
            names = [name for name in expected["counts"] if name.startswith("shared_")]
            return all(expected["counts"][name] == record["counts"][name] for name in names)
    return True


def judged(build: Build, mutants: Sequence[Mutant]) -> list[tuple[Mutant, set[str], str, str]]:
    """What catches each of some mutants of one architecture, or why that is not known."""
    found, there = [], []
    for mutant in mutants:
        try:
            mutant.place(mutant.file.read_text(encoding="utf-8"))
            there.append(mutant)
        except LookupError as problem:
            found.append((mutant, set(), "", str(problem)))
    with tempfile.TemporaryDirectory() as folder:
        try:
            executable = build.make(there, Path(folder)) if there else Path()
        except LookupError as problem:
            return [*found, *((mutant, set(), "", str(problem)) for mutant in there)]
        for number, mutant in enumerate(there):
            try:
                found.append((mutant, *catches(executable, number, mutant), ""))
            except (LookupError, subprocess.TimeoutExpired) as problem:
                found.append((mutant, set(), "", str(problem)))
    return found


def batches(build: Build, mutants: Sequence[Mutant]) -> list[list[Mutant]]:
    """The mutants by architecture, a few at a time, so that no compilation takes much longer than others."""
    alike: dict[str, list[Mutant]] = {}
    for mutant in mutants:
        alike.setdefault(build.arch(mutant), []).append(mutant)
    return [some[at : at + AT_A_TIME] for some in alike.values() for at in range(0, len(some), AT_A_TIME)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("build", type=Path, help="the build directory, with the steps and the simulator built")
    parser.add_argument("--only", default="", help="mutants of the steps whose name begins like this")
    parser.add_argument("--part", default="1/1", help="2/4: the second of four parts of them")
    parser.add_argument("--seeded", action="store_true", help="only the 22 whose first line is held, and print it")
    asked = parser.parse_args()
    build = Build(asked.build)
    some = [mutant for mutant in MUTANTS if mutant.step.startswith(asked.only) and (mutant.says or not asked.seeded)]
    wanted = batches(build, some)
    part, parts = map(int, asked.part.split("/"))
    passed = missed = 0
    print(f"{'step':<20}{'mistake':<23}{'has to be caught by':<21}caught by")
    for mutant, found, first, problem in (one for batch in wanted[part - 1 :: parts] for one in judged(build, batch)):
        caught = mutant.caught_by in found
        if mutant.says:  # the first line names the mistake
            caught = first.startswith(mutant.caught_by) and re.search(mutant.says, first) is not None
        passed, missed = passed + caught, missed + (not caught)
        verdict = problem or ", ".join(sorted(found)) or "nothing"
        words = f"{mutant.step:<20}{mutant.kind:<23}{mutant.caught_by:<21}{verdict}{'' if caught else '  MISSED'}"
        print(words, flush=True)
        if asked.seeded or (found and not caught):
            print(f"    {first}", flush=True)
    print(f"{passed} passed, {missed} failed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
