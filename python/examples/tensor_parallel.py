"""One product on several GPUs: the course's kernel on each, NCCL or copy engines for what has to move.

    python tensor_parallel.py                                          all GPUs of this machine
    torchrun --nnodes 2 --nproc-per-node 8 … tensor_parallel.py        several machines

Every way is timed in turn with the product on one GPU, with its arithmetic alone and with its communication alone, and
checked bit for bit before and after. docs/several-gpus.md explains the ways and what they reach.
"""

import argparse
import itertools
import os
import socket
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import in_turn
import parallel_products as products
import timeline
import torch
import torch.distributed as dist
from mailboxes import Mailboxes

COLLECTIVE = ("serial", "chunked")  # through NCCL: all at once, chunk by chunk
BOXES = ("copied", "summed", "stored")  # through mailboxes: by copy engines; the kernel adds; the kernel stores
LAYOUTS = ("row", "column")
TORCH = "torch"  # in place of a step: torch.matmul
EXACT_DEVIATION = 30  # of the elements of C when it is checked: integers up to 256 are exact in BF16


def parse() -> argparse.Namespace:
    """The command line's options."""
    parser = argparse.ArgumentParser(description="Times matrix products that are shared out over several GPUs.")
    parser.add_argument("--gpus", type=int, help="of this machine; under torchrun: as it says (default: all)")
    parser.add_argument("--size", type=int, default=16384, help="M, N and K (default 16384)")
    parser.add_argument("--layout", nargs="+", choices=LAYOUTS, default=LAYOUTS, help="how A and B are shared out")
    ways = (*COLLECTIVE, *BOXES)
    parser.add_argument("--way", nargs="+", choices=ways, default=ways, help="how communication meets arithmetic")
    text = f"steps of the course, also with a variant (27:large), or {TORCH} (default: 27 24 {TORCH})"
    parser.add_argument("--product", nargs="+", default=("27", "24", TORCH), help=text)
    parser.add_argument(
        "--chunks", nargs="+", type=int, default=[4], help="per GPU, where there are chunks (default 4)"
    )
    text = "SMs that NCCL may use at most; 0: as many as it likes (default 0)"
    parser.add_argument("--nccl-blocks", nargs="+", type=int, default=[0], help=text)
    parser.add_argument("--seconds", type=float, default=0.2, help="of each side of a round (default 0.2)")
    text = "of the same before that, so that the clock settles (default 0.3)"
    parser.add_argument("--settle", type=float, default=0.3, help=text)
    parser.add_argument("--rounds", type=int, default=5, help="of all sides in turn (default 5)")
    parser.add_argument("--json", type=Path, help="append a record per way to this JSON Lines file")
    text = "append when each kernel of one call of each way ran, on the first GPU, to this JSON Lines file"
    parser.add_argument("--timeline", type=Path, metavar="FILE", help=text)
    return parser.parse_args()


@dataclass(frozen=True)
class Case:
    """One line of the table."""

    layout: str
    way: str
    product: str
    chunks: int = 1
    nccl_blocks: int = 0

    @property
    def moves(self) -> "Case":
        """What of it says how something moves."""
        return replace(self, product="")

    def __str__(self) -> str:
        chunks = f" in {self.chunks}" if self.chunks > 1 else ""
        blocks = f", NCCL on {self.nccl_blocks}" if self.nccl_blocks else ""
        return f"{self.layout}-parallel {self.way}{chunks}{blocks}, {self.product}"


def cases(options: argparse.Namespace, mailboxes: bool) -> list[Case]:
    """Everything that was asked for and that there is; `mailboxes`: are the GPUs several of one machine?"""
    found = []
    for layout, way, product in itertools.product(options.layout, options.way, options.product):
        if way in BOXES and (product == TORCH or not mailboxes or (layout == "column" and way != "copied")):
            continue
        chunks = [1] if way == "serial" else options.chunks
        blocks = options.nccl_blocks if way in COLLECTIVE else [0]
        found += [Case(layout, way, product, *numbers) for numbers in itertools.product(chunks, blocks)]
    return found


def multiplier(product: str):
    """multiply(a, b, out, beta) with a step of the course, or with PyTorch."""
    if product == TORCH:
        return lambda a, b, out, beta=0.0: (
            torch.addmm(out, a, b, beta=beta, out=out) if beta else torch.mm(a, b, out=out)
        )
    import gemm_steps

    step, _, variant = product.partition(":")
    return lambda a, b, out, beta=0.0: gemm_steps.matmul(a, b, step, variant or None, out, beta=beta)


class Nccl:
    """NCCL's collectives, on its own stream, with as many blocks as are allowed."""

    def __init__(self, blocks: int) -> None:
        options = dist.ProcessGroupNCCL.Options(is_high_priority_stream=True)
        if blocks:
            options.config.max_ctas = blocks
        self.group = dist.new_group(pg_options=options)

    def reduce_scatter(self, mine: torch.Tensor, summands: torch.Tensor) -> dist.Work:
        """Begins to add the summands of all GPUs; `mine` becomes this one's part of the sum."""
        return dist.reduce_scatter_tensor(mine, summands.flatten(0, 1), group=self.group, async_op=True)

    def all_gather(self, everyone: torch.Tensor, mine: torch.Tensor) -> dist.Work:
        """Begins to collect what all GPUs have."""
        return dist.all_gather_into_tensor(everyone.flatten(0, 1), mine, group=self.group, async_op=True)


class Problem:
    """A and B on every GPU, and the shares of them that the ways work on."""

    def __init__(self, size: int, rank: int, gpus: int, device: torch.device) -> None:
        self.split = products.Split(size, size, size, gpus, 1)
        self.rank, self.device = rank, device
        self.a, self.b, self.c = (self.empty(size, size) for _ in range(3))
        self.shares = {"row": self._row_shares(), "column": self._column_shares()}

    def empty(self, *shape: int) -> torch.Tensor:
        """Memory of this GPU."""
        return torch.empty(shape, dtype=torch.bfloat16, device=self.device)

    def _row_shares(self) -> tuple[torch.Tensor, torch.Tensor]:
        part = self.split.columns_of(self.rank, self.split.k)
        return self.a[:, part].contiguous(), self.b[part].contiguous()

    def _column_shares(self) -> tuple[torch.Tensor, torch.Tensor]:
        part = self.split.columns_of(self.rank, self.split.n)
        return self.a[self.split.rows_of(self.rank)].contiguous(), self.b[:, part].contiguous()

    def fill(self, exact: bool) -> None:
        """New elements, the same on every GPU: normal ones, or integers whose sums BF16 holds without rounding."""
        for number, matrix in enumerate((self.a, self.b)):
            torch.manual_seed(number)
            matrix.normal_()
            if exact:  # -1, 0 and 1: K products of variance (1 - zeros)² each
                share = EXACT_DEVIATION / self.split.k**0.5
                matrix.copy_(matrix.sign() * (torch.rand_like(matrix, dtype=torch.float32) < min(1.0, share)))
            dist.broadcast(matrix, 0)
        for shares, new in ((self.shares["row"], self._row_shares()), (self.shares["column"], self._column_shares())):
            for share, part in zip(shares, new, strict=True):
                share.copy_(part)

    def expected(self, layout: str) -> torch.Tensor:
        """What this GPU has to have of C."""
        a = self.a[self.split.rows_of(self.rank)] if layout == "row" else self.a
        b = self.b if layout == "row" else self.b[:, self.split.columns_of(self.rank, self.split.n)]
        return a @ b


class Way:
    """A case with its memory: called, it computes one product; alone, only its arithmetic or its communication."""

    def __init__(self, case: Case, problem: Problem, multiply, moves) -> None:
        whole = problem.split
        split = products.Split(whole.m, whole.n, whole.k, whole.gpus, case.chunks)
        by_boxes, row = case.way in BOXES, case.layout == "row"
        kinds = (products.ColumnCollective, products.RowCollective, products.ColumnBoxes, products.RowBoxes)
        more = {"kernel_stores": case.way == "stored", "kernel_adds": case.way == "summed"} if by_boxes and row else {}
        self.compute = kinds[2 * by_boxes + row](
            split, problem.rank, *problem.shares[case.layout], problem.empty, **more
        )
        self.case, self.multiply, self.moves = case, multiply, moves
        self.still = products.Still(moves if by_boxes else None)
        self.moves_apart = case.way != "stored"  # its communication is its kernel's

    def __call__(self) -> torch.Tensor:
        """Returns this GPU's part of C, which the next call overwrites."""
        return self.compute(self.multiply, self.moves)

    def arithmetic(self) -> None:
        """Moves nothing."""
        self.compute(self.multiply, self.still)

    def communication(self) -> None:
        """Multiplies nothing."""
        self.compute(lambda *_, **__: None, self.moves)


def right(ways: list[Way], problem: Problem) -> list[Way]:
    """The ways whose result is right on every GPU, bit for bit, on integers; the others are named."""
    problem.fill(exact=True)
    good = [in_turn.over_gpus(torch.equal(way(), problem.expected(way.case.layout)), all) for way in ways]
    for way, is_right in zip(ways, good, strict=True):
        if not is_right and problem.rank == 0:
            print(f"WRONG RESULT: {way.case}")
    return [way for way, is_right in zip(ways, good, strict=True) if is_right]


def work(options: argparse.Namespace) -> None:
    """What each process does: one GPU."""
    local = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", local)
    torch.cuda.set_device(device)
    torch.cuda.set_stream(torch.cuda.Stream())  # CUDA's default one would wait for others
    dist.init_process_group("nccl", device_id=device)
    rank, gpus = dist.get_rank(), dist.get_world_size()
    one_machine = int(os.environ["LOCAL_WORLD_SIZE"]) == gpus > 1
    problem = Problem(options.size, rank, gpus, device)
    nccl = {blocks: Nccl(blocks) for blocks in options.nccl_blocks}
    multiply = {product: multiplier(product) for product in options.product}

    ways, boxes = [], {}
    for case in cases(options, one_machine):
        if case.way in BOXES and case.chunks not in boxes:
            rows = options.size // gpus // case.chunks
            boxes[case.chunks] = Mailboxes(dist.group.WORLD, case.chunks, rows, options.size, device)
        moves = nccl[case.nccl_blocks] if case.way in COLLECTIVE else boxes[case.chunks]
        ways.append(Way(case, problem, multiply[case.product], moves))

    asked = len(ways)
    ways = right(ways, problem)
    problem.fill(exact=False)
    sides = {}
    for product, call in multiply.items():
        sides[product, "one GPU"] = lambda call=call: call(problem.a, problem.b, problem.c)
    for way in ways:
        sides[way.case, "together"], sides[way.case, "arithmetic"] = way, way.arithmetic
        if way.moves_apart:  # the same whatever multiplies
            sides.setdefault((way.case.moves, "communication"), way.communication)
    rounds = in_turn.time(sides, options)
    if options.timeline:
        pieces = [piece for way in ways for piece in timeline.of(way, problem)]
        if rank == 0:
            in_turn.append(options.timeline, pieces)
    ways = right(ways, problem)
    if rank == 0:
        in_turn.show(ways, rounds, problem, options)
    dist.destroy_process_group()
    if len(ways) < asked:
        sys.exit(1)


def spawned(rank: int, options: argparse.Namespace, port: int) -> None:
    """A process that this program started itself."""
    variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": options.gpus, "LOCAL_WORLD_SIZE": options.gpus}
    variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in variables.items()})
    work(options)


def main() -> None:
    """Under torchrun this process has one GPU; otherwise it starts a process per GPU."""
    options = parse()
    if "LOCAL_RANK" in os.environ:
        work(options)
        return
    present = torch.cuda.device_count()
    options.gpus = options.gpus or present
    if not 0 < options.gpus <= present:
        sys.exit(f"tensor_parallel: {options.gpus} GPUs are asked for, and there are {present}")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    torch.multiprocessing.spawn(spawned, (options, port), nprocs=options.gpus)


if __name__ == "__main__":
    main()
