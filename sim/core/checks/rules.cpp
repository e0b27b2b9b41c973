#include "core/checks/rules.h"

namespace sim {

const char* rule(Finding kind) {
  switch (kind) {
    case Finding::out_of_bounds:
      return "CUDA Runtime API, “cudaErrorIllegalAddress”: a load or store has to stay within valid memory";
    case Finding::misaligned:
      return "PTX ISA, “Addresses as Operands”: an address is a multiple of the size of the access; else the behaviour "
             "is undefined";
    case Finding::uninitialised:
      return "PTX ISA, “Initializers”: only variables of .global and .const begin with a value; shared memory has none "
             "until it is written";
    case Finding::race:
      return "PTX ISA, “Conflict and Data-races”: two accesses to the same memory, one of them a write, are a "
             "data race unless causality orders them or both are strong with scopes that reach each other";
    case Finding::unwaited:
      return "PTX ISA, “Completion Mechanisms for Asynchronous Copy Operations”: until a copy's completion has "
             "been waited for, reading what it writes and changing what it reads is undefined";
    case Finding::divergent_barrier:
      return "PTX ISA, “bar, barrier” and the instructions with .sync or .aligned: all threads that are meant "
             "execute the same one, so a condition around it has to be the same for all of them; the CUDA C++ "
             "Programming Guide, “Synchronization Functions”, says so of __syncthreads()";
    case Finding::deadlock:
      return "PTX ISA, “bar, barrier” and “Phase Completion of the mbarrier object”: whoever waits goes on "
             "when all the arrivals that are expected have come";
    case Finding::endless: return "the simulator's own limit, no rule of CUDA: PTXSIM_MAX_INSTRUCTIONS";
    case Finding::too_long: return "the simulator's own limit, no rule of CUDA: PTXSIM_MAX_SECONDS";
    case Finding::failed_assertion:
      return "CUDA C++ Programming Guide, “Assertion”: assert() stops the kernel where its expression is zero";
    case Finding::trap:
      return "PTX ISA, “trap”: aborts the kernel; “brx.idx”: with an index that is not below the list's length the "
             "behaviour is undefined";
    case Finding::tensor_map:
      return "CUDA Driver API, “cuTensorMapEncodeTiled”: a tensor map is an opaque value, which only CUDA's functions "
             "and PTX's instructions access";
    case Finding::mbarrier:
      return "PTX ISA, “Lifecycle of the mbarrier object” and “Contents of the mbarrier object”: it is "
             "initialised before it is used, nothing else uses its memory, and its counts stay within their "
             "ranges";
    case Finding::transaction_count:
      return "PTX ISA, “Phase Completion of the mbarrier object”: a phase is complete when no arrivals are "
             "pending and its tx-count is zero";
    case Finding::wrong_parity:
      return "PTX ISA, “mbarrier.test_wait / mbarrier.try_wait”: phaseParity is that of the current phase or "
             "of the one just before it; even phases have 0, odd ones 1";
    case Finding::unfenced:
      return "PTX ISA, “Async Proxy”: between an access by the generic proxy and one by the async proxy to the "
             "same memory stands fence.proxy.async";
    case Finding::exited_block:
      return "CUDA C++ Programming Guide, “Distributed Shared Memory”: all that others do in a block's shared "
             "memory happens before it exits";
    case Finding::unwaited_product:
      return "PTX ISA, “wgmma.wait_group”: touching a wgmma's accumulators or its registers of A before a wait "
             "for its group is undefined";
    case Finding::wgmma_fence:
      return "PTX ISA, “wgmma.mma_async”: wgmma.fence orders its registers after the accesses before; else the "
             "behaviour is undefined";
    case Finding::swizzle:
      return "PTX ISA, “Matrix Descriptor Format”: the swizzle mode in it is how the tile lies in shared memory";
    case Finding::metadata:
      return "PTX ISA, “Sparse matrix storage”: metadata name each group's elements that are not zero; other values "
             "are undefined";
    case Finding::registers:
      return "PTX ISA, “setmaxnreg”: .inc waits until the block's pool has the registers that it asks for";
    case Finding::bad_launch:
      return "CUDA C++ Programming Guide, “Thread Block Clusters” and “Grid Synchronization”: a grid is whole "
             "clusters of a size that the GPU has, and all blocks of a cooperative launch are resident at once";
    case Finding::unsupported: return "the simulator's own, no rule of CUDA: what it does not model it refuses by name";
    case Finding::clock: return "";  // a warning
  }
  return "";
}

}  // namespace sim
