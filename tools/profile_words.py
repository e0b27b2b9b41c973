"""What `./gemm profile` says, in both languages."""

from collections.abc import Sequence

from base.languages import CHINESE, listed

WORDS = {
    "profiling": (
        "Profiling {step} on {gpu}: ncu repeats the launch until it has read every counter.",
        "正在 {gpu} 上分析 {step}：ncu 会反复启动同一个 kernel，直到读完所有计数器。",
    ),
    "lacks": ("This GPU has no counters for: {names}.", "这块 GPU 没有这些计数器：{names}。"),
    "time": ("Time", "时间"),
    "under ncu": ("under ncu, caches emptied, not a measurement", "ncu 下，缓存已清空，不能当作测量结果"),
    "settled": ("timed by the harness, without ncu", "由测试框架计时，不带 ncu"),
    "speed": ("{ms:.4g} ms, {tflops:.3g} TFLOPS", "{ms:.4g} ms，{tflops:.3g} TFLOPS"),
    "power": ("power in the timed run", "计时运行的功率"),
    "watts": ("{watts:.0f} W at {mhz} MHz", "{watts:.0f} W，频率 {mhz} MHz"),
    "use": ("In use, % of the launch's cycles", "利用率，占本次启动周期的百分比"),
    "tensor": ("tensor pipe", "Tensor pipe"),
    "fma": ("FMA pipe", "FMA pipe"),
    "issue": ("issue slots", "发射槽"),
    "percent": ("{value:.1f} %", "{value:.1f}%"),
    "occupancy": ("Occupancy", "占用率"),
    "registers": ("registers per thread", "每线程寄存器"),
    "blocks": ("blocks per SM", "每个 SM 的线程块"),
    "limited": ("{blocks}, limited by {resources}", "{blocks}，受限于{resources}"),
    "waves": ("waves of blocks", "线程块的 wave 数"),
    "warps": ("warps resident, % of what an SM holds", "驻留的 warp，占 SM 上限的百分比"),
    "stalls": ("Why warps wait: the three largest stall reasons", "warp 为什么等待：最大的三个停顿原因"),
    "stall": ("{value:.2f} warps per issue, {share:.0f} %", "每次发射 {value:.2f} 个 warp，{share:.0f}%"),
    "no lines": ("the report names no source lines", "报告里没有源码行"),
    "bytes": ("Bytes", "字节数"),
    "L1": ("requested of L1", "向 L1 请求"),
    "received": ("received by the SMs", "SM 收到"),
    "sent": ("sent by the SMs", "SM 发出"),
    "coalescer": ("read across the request coalescer", "经过 LRC 的读"),
    "L2": ("requested of L2", "向 L2 请求"),
    "dram read": ("read from DRAM", "从 DRAM 读"),
    "dram written": ("written to DRAM", "写到 DRAM"),
    "hits": ("{bytes}, {hits:.1f} % hits", "{bytes}，命中 {hits:.1f}%"),
    "delivered": ("{bytes}, each sector delivered {ratio:.2f} times", "{bytes}，每个扇区平均送达 {ratio:.2f} 次"),
    "shared": ("Shared memory", "共享内存"),
    "gpu at": ("GPU, {size}³", "GPU，{size}³"),
    "simulator at": ("simulator, {size}³", "模拟器，{size}³"),
    "not compared": (
        "The simulator's counts are left out: {problem}",
        "没有列出模拟器的计数：{problem}",
    ),
    "kept": ("The whole report is in {file}; to open it: ncu-ui {file}", "完整报告在 {file}；打开它：ncu-ui {file}"),
    # What the simulator and the GPU both count
    "shared_load_wavefronts": ("load wavefronts", "读的 wavefront"),
    "shared_store_wavefronts": ("store wavefronts", "写的 wavefront"),
    "shared_load_conflicts": ("load conflicts", "读的 bank conflict"),
    "shared_store_conflicts": ("store conflicts", "写的 bank conflict"),
    "shared_conflicts": ("bank conflicts", "bank conflict"),
    "wgmma_wavefronts": ("wgmma wavefronts", "wgmma 的 wavefront"),
}
# The resources that limit how many blocks fit on an SM.
LIMITED_BY = {
    "registers": ("registers", "寄存器"),
    "shared_mem": ("shared memory", "共享内存"),
    "barriers": ("barriers", "barrier 数"),
    "warps": ("warps", "warp 数"),
    "blocks": ("the most blocks that an SM takes", "SM 的线程块上限"),
}

# What a warp waits for, by the reason's name; the name itself is Nsight Compute's in both languages.
REASONS = {
    "barrier": ("other warps at a barrier", "barrier 处的其他 warp"),
    "branch_resolving": ("the target of a branch", "分支目标的确定"),
    "dispatch_stall": ("the dispatch of its instruction", "指令分派"),
    "drain": ("its stores to drain before it ends", "结束前把写出的数据排空"),
    "gmma": ("wgmma to accept the registers", "wgmma 接收寄存器"),
    "imc_miss": ("a constant that missed its cache", "未命中缓存的常量"),
    "lg_throttle": ("room in the queue of global and local accesses", "全局与局部访存队列的空位"),
    "long_scoreboard": ("data from global or local memory", "来自全局或局部内存的数据"),
    "math_pipe_throttle": ("a pipe that is busy with arithmetic", "被运算占满的 pipe"),
    "membar": ("a memory fence", "内存 fence"),
    "mio_throttle": ("room in the queue of shared-memory accesses", "共享内存访问队列的空位"),
    "misc": ("other reasons", "其他原因"),
    "no_instruction": ("its next instruction to be fetched", "取下一条指令"),
    "not_selected": ("its turn: another warp issues", "轮到自己：别的 warp 在发射"),
    "short_scoreboard": ("data from shared memory", "来自共享内存的数据"),
    "sleeping": ("a sleep to end", "休眠结束"),
    "tex_throttle": ("room in the texture queue", "纹理队列的空位"),
    "wait": ("a latency that the compiler knows", "编译器已知的固定延迟"),
}


def say(spoken: str, key: str, **values: object) -> str:
    """A phrase in a language."""
    return WORDS[key][spoken == CHINESE].format(**values)


def waits_for(spoken: str, reason: str) -> str:
    """What a stalled warp waits for; "" for a reason that only newer GPUs have."""
    return REASONS.get(reason, ("", ""))[spoken == CHINESE]


def resources(spoken: str, names: Sequence[str]) -> str:
    """What limits the blocks on an SM."""
    return listed(spoken, (LIMITED_BY[name][spoken == CHINESE] for name in names))
