"""Names of Nsight Compute's metrics as they stand in the records: what is asked of it, and what charts look for."""

L2_HITS = "lts__t_sector_hit_rate.pct"
TMA_RECEIVED = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld.sum"  # bytes, in all SMs
MULTICAST = "l1tex__m_xbar2l1tex_read_bytes_mem_global_op_tma_ld_dest_multicast.sum"  # of the bytes, those shared
COALESCER_SECTORS = "lrc__lrc2xbar_sectors_op_read.sum"  # that crossed from L2
COALESCER_RATIO = "lrc__average_xbar2gpc_sectors_op_read.ratio"  # sectors delivered per sector that crossed
# The coalescer's ratio without multicast, and by multicast:
MERGED = "lrc__average_xbar2gpc_sectors_op_read_coalescing_achieved_type_hardware.ratio"
SHARED = "lrc__average_xbar2gpc_sectors_op_read_coalescing_achieved_type_programmatic.ratio"
DRAM_READ = "dram__bytes_read.sum"
SECTOR_BYTES = 32

# Of one launch of a kernel that copies with cp.async, by ncu's command line:
RECEIVED_SECTORS = "l1tex__m_xbar2l1tex_read_sectors.sum"  # in all SMs
L2_REQUESTS = "lts__t_requests_srcunit_tex.sum"
CYCLES = "sm__cycles_elapsed.max"
TENSOR_PIPE = "sm__pipe_tensor_op_hmma_cycles_active.avg.pct_of_peak_sustained_elapsed"

# What python -m lab.l2_traffic records of each launch. Its caches are warm; lab.pipes counts the same bytes with empty ones.
WARM = "warm caches: "
L2_TRAFFIC = (TMA_RECEIVED, MULTICAST, COALESCER_SECTORS, COALESCER_RATIO, MERGED, SHARED, WARM + DRAM_READ)

# What python -m lab.pipes records of each launch, ours and the library's
TENSOR_ANY = "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"
DRAM_WRITTEN = "dram__bytes_write.sum"
PIPES = (CYCLES, TENSOR_ANY, RECEIVED_SECTORS, DRAM_READ, DRAM_WRITTEN)
CALL_CYCLES = "all kernels of a call: sm__cycles_elapsed.max"
BESIDE_CUBLAS = "beside cuBLAS"  # ends the name of a variant: what the library launched for the same product
