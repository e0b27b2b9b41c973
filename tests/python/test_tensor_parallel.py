"""python/examples/parallel_products.py: NumPy's arrays, and threads in place of GPUs."""

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import numpy as np
import parallel_products as products
import pytest

M, N, K = 48, 24, 36
PATIENCE = 20  # seconds until a thread that waits for ever is given up
WAYS = {
    "row": [
        (products.RowCollective, {}),
        (products.RowBoxes, {}),
        (products.RowBoxes, {"kernel_adds": True}),
        (products.RowBoxes, {"kernel_stores": True}),
    ],
    "column": [(products.ColumnCollective, {}), (products.ColumnBoxes, {})],
}


class Machine:
    """What the threads share: boxes, what has arrived in them, and a meeting point."""

    def __init__(self, gpus, chunks, rows, columns):
        self.gpus, self.meeting = gpus, threading.Barrier(gpus, timeout=PATIENCE)
        self.boxes = np.full((gpus, gpus, chunks, rows, columns), np.nan)  # by owner and sender
        self.full = [[[threading.Event() for _ in range(chunks)] for _ in range(gpus)] for _ in range(gpus)]
        self.shown = [None] * gpus
        self.sent = [0] * gpus  # elements


class _Moves:
    """One thread's view of them, with the methods of NCCL's and of the mailboxes' moves."""

    def __init__(self, machine, rank):
        self.machine, self.rank = machine, rank

    def _exchanged(self, mine):
        self.machine.shown[self.rank] = mine.copy()
        self.machine.meeting.wait()
        found = list(self.machine.shown)
        self.machine.meeting.wait()
        return found

    def reduce_scatter(self, mine, summands):
        assert not np.isnan(summands).any(), "begun before the summands were there"
        mine[...] = sum(of[self.rank] for of in self._exchanged(summands))
        self.machine.sent[self.rank] += mine.size * (self.machine.gpus - 1)
        return SimpleNamespace(wait=lambda: None)

    def all_gather(self, everyone, mine):
        found = self._exchanged(mine)
        self.machine.sent[self.rank] += mine.size * (self.machine.gpus - 1)

        def wait():
            everyone[...] = np.stack(found)

        return SimpleNamespace(wait=wait)

    def begin(self):
        self.machine.meeting.wait()

    def end(self):
        pass

    def box(self, owner, chunk):
        return self.machine.boxes[owner, self.rank, chunk]

    def announce(self, owner, chunk):
        assert not self.machine.full[owner][self.rank][chunk].is_set(), "a box is filled once"
        assert not np.isnan(self.box(owner, chunk)).any()
        self.machine.sent[self.rank] += self.box(owner, chunk).size
        self.machine.full[owner][self.rank][chunk].set()

    def send(self, what, owner, chunk):
        self.box(owner, chunk)[...] = what
        self.announce(owner, chunk)

    def received(self, sender, chunk):
        assert self.machine.full[self.rank][sender][chunk].wait(PATIENCE), "what is waited for never comes"
        return self.machine.boxes[self.rank, sender, chunk]

    def all_from(self, sender):
        return self.machine.boxes[self.rank, sender].reshape(-1, self.machine.boxes.shape[-1])


def multiply(a, b, out, beta=0.0):
    out[...] = a @ b + (beta * out if beta else 0.0)


def empty(*shape):
    return np.full(shape, np.nan)


@pytest.mark.parametrize(("gpus", "chunks"), [(1, 1), (1, 3), (2, 1), (2, 4), (3, 2), (4, 3)])
@pytest.mark.parametrize("layout", WAYS)
def test_every_way_gives_each_gpu_its_part(layout, gpus, chunks):
    random = np.random.default_rng(1)
    a, b = random.integers(-9, 9, (M, K)).astype(float), random.integers(-9, 9, (K, N)).astype(float)
    split = products.Split(M, N, K, gpus, chunks)
    width = N if layout == "row" else K
    for kind, more in WAYS[layout]:
        machine = Machine(gpus, chunks, split.chunk_rows, width)

        def on_gpu(rank, kind=kind, more=more, machine=machine):
            if layout == "row":
                part = split.columns_of(rank, K)
                own_a, own_b, want = a[:, part].copy(), b[part], (a @ b)[split.rows_of(rank)]
            else:
                part = split.columns_of(rank, N)
                own_a, own_b, want = a[split.rows_of(rank)], b[:, part], a @ b[:, part]
            way = kind(split, rank, own_a, own_b, empty, **more)
            assert np.array_equal(way(multiply, _Moves(machine, rank)), want), (kind.__name__, more, rank)

        with ThreadPoolExecutor(gpus) as pool:
            for one in [pool.submit(on_gpu, rank) for rank in range(gpus)]:
                one.result(PATIENCE)
        assert machine.sent == [split.bytes_sent(layout, element_bytes=1)] * gpus


@pytest.mark.parametrize("asked", [(48, 24, 36, 5, 1), (48, 24, 36, 2, 5), (48, 23, 36, 2, 1), (48, 24, 35, 2, 1)])
def test_what_cannot_be_shared_out_is_refused(asked):
    with pytest.raises(ValueError, match="cannot be shared out over"):
        products.Split(*asked)
