"""The names in the records: baselines, and the folders and files that have a meaning of their own."""

from base.languages import Words

CUBLAS, CUBLAS_F32_SUMS, CUBLAS_F16_SUMS = "cublas", "cublas_f32_sums", "cublas_f16_sums"
CUBLASLT, BEST_LIBRARY = "cublaslt", "best_library"
CUTLASS = "cutlass"
BASELINES = {  # what a kernel is timed in turn with: in its own types, but for those that say which sums they have
    CUBLAS: Words("cuBLAS", "cuBLAS"),
    CUBLAS_F32_SUMS: Words("cuBLAS, FP32 sums", "cuBLAS（FP32 累加）"),
    CUBLAS_F16_SUMS: Words("cuBLAS, FP16 sums", "cuBLAS（FP16 累加）"),
    CUBLASLT: Words("cublasLt", "cublasLt"),
    BEST_LIBRARY: Words("the best library call", "最快的库调用"),  # of those above that are as precise as the kernel
    CUTLASS: Words("CUTLASS", "CUTLASS"),  # compiled from templates, where it was asked for: no library's call
}
CHOSEN_FROM = 4096  # the least size for which step.toml tells what a default launches (`at_4096`)
REFERENCE_GPU = "h200"  # the one that every page shows
COMPLETE = "complete"  # the default once more, among the variants that leave work out

SIMULATOR_DIR = "simulator"
MIX_DIR = "instruction_mix"
BOTTLENECK_DIR = "bottlenecks"  # inside a GPU's folder, as are the files
LIMITS_FILE = "limits"
PROFILE_FILE = "profile"
MAIN_LOOP_FILE = "main_loop"
ALONE_FILE = "alone"
ALONE_SIZE = 8192  # at which each default was run alone, for its power
LATENCY_FILE = "latency"
STREAM_K_FILE = "stream_k"
SEVERAL_FILE = "several_gpus"
TIMELINE_FILE = "several_gpus_timeline"
ERRORS_FILE = "errors"
GUARD_FILE = "guard"
PASSES_FILE = "passes"
PROGRAMS_FILE = "programs"
VARIANTS_FILE = "variants.jsonl"
