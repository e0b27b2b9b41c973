"""Mutants and traces are keyed on code: a comment may be reworded."""

import json
import re
from dataclasses import replace

import pytest

from lab import traces
from tests.sim import mutants


@pytest.mark.parametrize("step", sorted({mutant.step for mutant in mutants.MUTANTS}))
def test_reworded_comments_leave_every_mutant_in_its_place(step):
    for mutant in (one for one in mutants.MUTANTS if one.step == step):
        source = mutant.file.read_text(encoding="utf-8")
        # With other comments, of another length, on more lines, and with code in them.
        changed = re.sub(r"//.*", '// other words: "it\'s"\n// __syncthreads(); write = read;', source)
        begin, end = mutant.place(source)
        new_begin, new_end = mutant.place(changed)
        assert source[begin:end] == changed[new_begin:new_end]
        assert mutant.applied(source).split() == mutant.applied(changed).split()


def test_no_mutant_is_lost():
    assert len(mutants.MUTANTS) >= 102 and len(set(mutants.MUTANTS)) == len(mutants.MUTANTS)
    assert sum(bool(mutant.says) for mutant in mutants.MUTANTS) == 22  # whose first line is held


def test_a_mutant_whose_code_is_gone_or_stands_twice_is_named_in_one_line():
    gone = replace(mutants.MUTANTS[0], old="no_such_barrier();")
    ((mutant, caught_by, _, problem),) = mutants.judged(None, [gone])
    assert (mutant, caught_by) == (gone, set())
    assert problem == "03_smem_tiling/kernel.cu has 0 places, not 1, with 'no_such_barrier();'"
    with pytest.raises(LookupError, match=re.escape("has 2 places, not 1, with '__syncthreads();'")):
        twice = replace(gone, old="__syncthreads();")
        twice.place(twice.file.read_text(encoding="utf-8"))


def test_a_trace_is_compared_by_its_lines_code():
    recorded = json.loads((traces.FOLDER / "08_conflict_free.json").read_text(encoding="utf-8"))
    before = traces.essence(recorded)
    for each in (each for kernel in recorded["kernels"] for each in kernel["instructions"]):
        each["source"] = each["source"].partition("//")[0] + "    // other words"
    assert traces.essence(recorded) == before
    each["source"] = "another(line);"
    assert traces.essence(recorded) != before
