"""Memory that the other GPUs of one machine write into, with a flag per piece that says when it is complete.

PyTorch's symmetric memory maps each GPU's boxes into the address space of every process. Two operations of the CUDA driver
on streams do without a kernel, so that neither has to wait for a free SM: one writes a flag after all work
before it on the stream, also one in another GPU's memory; the other lets a stream wait until a flag has a value.
"""

import ctypes

import torch
import torch.distributed as dist
from torch.distributed import _symmetric_memory as symmetric_memory

AT_LEAST = 0  # CU_STREAM_WAIT_VALUE_GEQ
FLAG_BYTES = 4


class Flags:
    """Numbers in the memory of each GPU, which only grow."""

    def __init__(self, group: dist.ProcessGroup, count: int, device: torch.device) -> None:
        self.memory = symmetric_memory.empty(count, dtype=torch.int32, device=device).zero_()
        torch.cuda.synchronize()
        self.mapped = symmetric_memory.rendezvous(self.memory, group)
        self.rank = group.rank()
        self.driver = ctypes.CDLL("libcuda.so.1")

    def write(self, gpu: int, flag: int, value: int) -> None:
        """After all that is before it on the current stream, and after its stores are visible."""
        self._enqueue(self.driver.cuStreamWriteValue32_v2, gpu, flag, value, 0)

    def wait(self, flag: int, value: int) -> None:
        """Nothing that comes later on the current stream begins before this GPU's flag has reached the value."""
        self._enqueue(self.driver.cuStreamWaitValue32_v2, self.rank, flag, value, AT_LEAST)

    def _enqueue(self, operation, gpu: int, flag: int, value: int, how: int) -> None:
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        address = ctypes.c_uint64(self.mapped.buffer_ptrs[gpu] + flag * FLAG_BYTES)
        if error := operation(stream, address, ctypes.c_uint32(value), ctypes.c_uint(how)):
            raise RuntimeError(f"{operation.__name__} failed with error {error} of the CUDA driver")


class Mailboxes:
    """On each GPU a box per chunk and other GPU, of `rows` × `columns`, into which that one puts it.

    A call of a product is between `begin` and `end`. In it each box is filled once.
    """

    def __init__(self, group: dist.ProcessGroup, chunks: int, rows: int, columns: int, device: torch.device) -> None:
        self.rank, self.gpus, self.chunks = group.rank(), group.size(), chunks
        self.shape = (self.gpus - 1, chunks, rows, columns)
        memory = symmetric_memory.empty(*self.shape, dtype=torch.bfloat16, device=device)
        self.mapped = symmetric_memory.rendezvous(memory, group)
        self.boxes = [self.mapped.get_buffer(gpu, self.shape, torch.bfloat16) for gpu in range(self.gpus)]
        self.flags = Flags(group, self.gpus * (1 + chunks), device)
        self.copies = torch.cuda.Stream()
        self.calls = 0
        dist.barrier(group)

    def begin(self) -> None:
        """Tells the others that this GPU's boxes are free, and lets copies wait until theirs are.

        All that this GPU has read of them is before this on the current stream.
        """
        self.calls += 1
        others = [gpu for gpu in range(self.gpus) if gpu != self.rank]
        for gpu in others:
            self.flags.write(gpu, self.rank, self.calls)
        self.waited_for = set()

    def _wait_until_free(self, owner: int) -> None:
        """Once per call and GPU, on the stream that is about to write."""
        if owner not in self.waited_for:
            self.flags.wait(owner, self.calls)
            self.waited_for.add(owner)

    def end(self) -> None:
        """What was sent may be overwritten by what comes later on the current stream."""
        torch.cuda.current_stream().wait_stream(self.copies)

    def here(self, sender: int, chunk: int) -> torch.Tensor:
        """This GPU's box for a chunk of another one."""
        return self.boxes[self.rank][self._place(sender, self.rank), chunk]

    def box(self, owner: int, chunk: int) -> torch.Tensor:
        """The box in another GPU's memory, for a kernel on the current stream to write into."""
        self._wait_until_free(owner)
        return self.boxes[owner][self._place(self.rank, owner), chunk]

    def announce(self, owner: int, chunk: int) -> None:
        """Says that what was written into this box on the current stream is complete."""
        self.flags.write(owner, self._flag(self.rank, chunk), self.calls)

    def send(self, chunk_of: torch.Tensor, owner: int, chunk: int) -> None:
        """Has a copy engine copy what the current stream has made so far."""
        self.copies.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.copies):
            self.box(owner, chunk).copy_(chunk_of)
            self.announce(owner, chunk)

    def received(self, sender: int, chunk: int) -> torch.Tensor:
        """This GPU's box; the current stream waits until it is full."""
        self.flags.wait(self._flag(sender, chunk), self.calls)
        return self.here(sender, chunk)

    def all_from(self, sender: int) -> torch.Tensor:
        """All chunks of another GPU, one below the other."""
        return self.boxes[self.rank][self._place(sender, self.rank)].reshape(-1, self.shape[-1])

    def _place(self, sender: int, owner: int) -> int:
        return (sender - owner) % self.gpus - 1

    def _flag(self, sender: int, chunk: int) -> int:
        return self.gpus + sender * self.chunks + chunk
