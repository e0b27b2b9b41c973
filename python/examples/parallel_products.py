"""C = A·B shared out over GPUs in two ways, and four orders of arithmetic and communication for them.

Column-parallel: a GPU has some columns of B and computes the same columns of C. It needs all of A, of which it has some
rows, so that A is gathered. Row-parallel: a GPU has some columns of A and the same rows of B. Its product is as large as
C, but only one of the summands; they are added, and each GPU keeps some rows of the sum.

Nothing here knows PyTorch: `empty` makes arrays, `multiply(a, b, out, beta)` multiplies them, and `moves` moves them.
tests/python/test_tensor_parallel.py passes NumPy's, and threads in place of GPUs.
"""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Split:
    """M×N×K over some GPUs. The rows that a GPU has of A (column-parallel) or of C (row-parallel) are cut into chunks."""

    m: int
    n: int
    k: int
    gpus: int
    chunks: int

    def __post_init__(self) -> None:
        if self.m % (self.gpus * self.chunks) or self.n % self.gpus or self.k % self.gpus:
            raise ValueError(
                f"{self.m}x{self.n}x{self.k} cannot be shared out over {self.gpus} GPUs in {self.chunks} chunks each:"
                " M has to be a multiple of GPUs times chunks, N and K of the GPUs"
            )

    @property
    def chunk_rows(self) -> int:
        """Rows of one chunk."""
        return self.m // (self.gpus * self.chunks)

    def rows_of(self, gpu: int) -> slice:
        """All rows of a GPU."""
        return slice(gpu * self.chunks * self.chunk_rows, (gpu + 1) * self.chunks * self.chunk_rows)

    def rows(self, gpu: int, chunk: int) -> slice:
        """The rows of one of its chunks."""
        first = (gpu * self.chunks + chunk) * self.chunk_rows
        return slice(first, first + self.chunk_rows)

    def columns_of(self, gpu: int, length: int) -> slice:
        """A GPU's share of N or K."""
        return slice(gpu * length // self.gpus, (gpu + 1) * length // self.gpus)

    def bytes_sent(self, layout: str, element_bytes: int = 2) -> int:
        """What each GPU sends, and receives: of C all rows but its own, or its rows of A once to each other GPU."""
        width = self.n if layout == "row" else self.k
        return self.m // self.gpus * width * element_bytes * (self.gpus - 1)

    def flops(self) -> int:
        """Of the whole product."""
        return 2 * self.m * self.n * self.k


def exposed(together: float, arithmetic: float) -> float:
    """The time that communication adds to the arithmetic."""
    return together - arithmetic


def hidden(together: float, arithmetic: float, communication: float) -> float:
    """The share of the communication that takes no time of its own: 1 all, 0 none, negative: it even disturbs."""
    return 1 - exposed(together, arithmetic) / communication


class RowCollective:
    """Row-parallel: a reduce-scatter per chunk, in the background while the next chunk is multiplied."""

    def __init__(self, split: Split, rank: int, a, b, empty: Callable) -> None:
        self.split, self.a, self.b = split, a, b
        self.summands = empty(split.chunks, split.gpus, split.chunk_rows, split.n)
        self.c = empty(split.chunks, split.chunk_rows, split.n)

    def __call__(self, multiply: Callable, moves):
        """Returns this GPU's part of C, which the next call overwrites."""
        split, under_way = self.split, []
        for chunk in range(split.chunks):
            if split.chunks == 1:  # nothing is cut, so one product does
                multiply(self.a, self.b, self.summands.reshape(split.m, split.n))
            else:
                for owner in range(split.gpus):
                    multiply(self.a[split.rows(owner, chunk)], self.b, self.summands[chunk, owner])
            under_way.append(moves.reduce_scatter(self.c[chunk], self.summands[chunk]))
        for one in under_way:
            one.wait()
        return self.c.reshape(-1, split.n)


class ColumnCollective:
    """Column-parallel: an all-gather per chunk, in the background while the rows that are here are multiplied."""

    def __init__(self, split: Split, rank: int, a, b, empty: Callable) -> None:
        self.split, self.rank, self.a, self.b = split, rank, a, b
        self.gathered = empty(split.chunks, split.gpus, split.chunk_rows, split.k)
        self.c = empty(split.m, split.n // split.gpus)

    def __call__(self, multiply: Callable, moves):
        """Returns this GPU's part of C, which the next call overwrites."""
        split, rows = self.split, self.split.chunk_rows
        own = [self.a[chunk * rows : (chunk + 1) * rows] for chunk in range(split.chunks)]
        under_way = [moves.all_gather(self.gathered[chunk], one) for chunk, one in enumerate(own)]
        if split.chunks == 1:
            under_way[0].wait()
            multiply(self.gathered.reshape(split.m, split.k), self.b, self.c)
            return self.c
        multiply(self.a, self.b, self.c[split.rows_of(self.rank)])  # own rows wait for nobody
        for chunk, one in enumerate(under_way):
            one.wait()
            for sender in others(self.rank, split.gpus):
                multiply(self.gathered[chunk, sender], self.b, self.c[split.rows(sender, chunk)])
        return self.c


class RowBoxes:
    """Row-parallel through mailboxes: each summand goes straight to the GPU that keeps it.

    The rows of others come first. By the time that the own rows are multiplied, the others' summands have arrived.
    They are added in a pass of their own, or, with `kernel_adds`, the kernel adds its product to one of them where it
    lies (beta = 1). With `kernel_stores` the kernel itself writes into the other GPU's memory; otherwise it writes
    here, and a copy engine copies.
    """

    def __init__(
        self, split: Split, rank: int, a, b, empty: Callable, kernel_stores: bool = False, kernel_adds: bool = False
    ) -> None:
        self.split, self.rank, self.a, self.b = split, rank, a, b
        self.stores, self.adds = kernel_stores, kernel_adds and split.gpus > 1
        self.c = None if self.adds else empty(split.chunks, split.chunk_rows, split.n)
        if not kernel_stores:
            self.summands = empty(split.gpus - 1, split.chunks, split.chunk_rows, split.n)

    def __call__(self, multiply: Callable, moves):
        """Returns this GPU's part of C, which the next call overwrites."""
        split, senders = self.split, others(self.rank, self.split.gpus)
        moves.begin()
        for number, owner in enumerate(senders):
            for chunk in range(split.chunks):
                out = moves.box(owner, chunk) if self.stores else self.summands[number, chunk]
                multiply(self.a[split.rows(owner, chunk)], self.b, out)
                if self.stores:
                    moves.announce(owner, chunk)
                else:
                    moves.send(out, owner, chunk)
        for chunk in range(split.chunks):
            rows = self.a[split.rows(self.rank, chunk)]
            if self.adds:
                mine, *summands = [moves.received(sender, chunk) for sender in senders]
                multiply(rows, self.b, mine, beta=1.0)
            else:
                mine = self.c[chunk]
                multiply(rows, self.b, mine)
                summands = [moves.received(sender, chunk) for sender in senders]
            for summand in summands:
                mine += summand
        moves.end()
        return moves.all_from(senders[0]) if self.adds else self.c.reshape(-1, split.n)


class ColumnBoxes:
    """Column-parallel through mailboxes: a copy engine copies the rows of A to everyone, chunk by chunk."""

    def __init__(self, split: Split, rank: int, a, b, empty: Callable) -> None:
        self.split, self.rank, self.a, self.b = split, rank, a, b
        self.c = empty(split.m, split.n // split.gpus)

    def __call__(self, multiply: Callable, moves):
        """Returns this GPU's part of C, which the next call overwrites."""
        split, rows = self.split, self.split.chunk_rows
        moves.begin()
        for chunk in range(split.chunks):
            for receiver in others(self.rank, split.gpus):
                moves.send(self.a[chunk * rows : (chunk + 1) * rows], receiver, chunk)
        multiply(self.a, self.b, self.c[split.rows_of(self.rank)])
        for chunk in range(split.chunks):
            for sender in reversed(others(self.rank, split.gpus)):  # in the order in which they send to this one
                multiply(moves.received(sender, chunk), self.b, self.c[split.rows(sender, chunk)])
        moves.end()
        return self.c


def others(rank: int, gpus: int) -> list[int]:
    """All but this one, the next first, so that no two send to one GPU at a time."""
    return [(rank + distance) % gpus for distance in range(1, gpus)]


class Still:
    """Moves nothing, for timing the arithmetic alone; the results are wrong."""

    def __init__(self, boxes=None) -> None:
        self.boxes = boxes

    def wait(self) -> None:
        """What was begun is done."""

    def reduce_scatter(self, mine, summands) -> "Still":
        """Begins nothing."""
        return self

    all_gather = reduce_scatter

    def begin(self, *_) -> None:
        """Nobody is waited for."""

    end = announce = send = begin

    def box(self, owner: int, chunk: int):
        """Room in this GPU's own memory."""
        return self.boxes.here(owner, chunk)

    received = box

    def all_from(self, sender: int):
        """What lies there."""
        return self.boxes.all_from(sender)
