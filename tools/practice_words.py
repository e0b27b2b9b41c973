"""What `./gemm practice` says, in both languages."""

from base.languages import CHINESE

WORDS = {
    "laid out": (
        "{file} holds your starting point and the task. Edit it, then: ./gemm practice {number}",
        "{file} 里有起点和任务。改好后运行：./gemm practice {number}",
    ),
    "compiling": ("Compiling {file} …", "正在编译 {file} ……"),
    "not compiled": ("It does not compile: {problem}", "编译不通过：{problem}"),
    "refused": ("It does not take {size}: {problem}", "它不接受 {size}：{problem}"),
    "wrong": ("The result is wrong at {size}: {problem}", "{size} 的结果不对：{problem}"),
    "reported": ("At {size}: {problem}", "{size}：{kind}（{problem}）"),
    "also reported": ("The simulator says as well, causes first:", "模拟器还报告了（原因在前）："),
    "failed": ("It fails at {size}: {problem}", "{size} 运行失败：{problem}"),
    "no kernel": (
        "The result is right, but no kernel was launched: it comes from elsewhere.",
        "结果正确，但没有启动任何 kernel：结果来自别处。",
    ),
    "too few products": (
        "The result is right, but your kernel executes only {found} instructions that multiply and {least} are the "
        "least: it comes from elsewhere.",
        "结果正确，但你的 kernel 只执行了 {found} 条乘加指令，至少要 {least} 条：结果来自别处。",
    ),
    "computed elsewhere": (
        "The result is right, but the products are computed in {file}, not in your kernel.cu.",
        "结果正确，但乘积是在 {file} 里算的，不是在你的 kernel.cu 里。",
    ),
    "missed": ("{missed} of {all} goals missed: {names}.", "{all} 个目标里有 {missed} 个没有达到：{names}。"),
    "done": ("Done: the result is right and every goal is reached.", "完成：结果正确，目标全部达到。"),
    "right at": ("Right, and no report, at {sizes}.", "以下尺寸结果正确，没有报告：{sizes}。"),
    "scaled": ("alpha 1.5, beta -0.5, longer rows", "alpha 1.5、beta -0.5、行间距更大"),
    "at size": ("at {size}", "尺寸 {size}"),
    "yours": ("yours", "你的"),
    "step": ("step {number:02d}", "step {number:02d}"),
    "goal": ("goal", "目标"),
    "reached": ("reached", "达到"),
    "goal missed": ("missed", "没有达到"),
    "not comparable": ("other compiler", "编译器不同"),
    "line": ("line {line}: {count}  {text}", "第 {line} 行：{count}  {text}"),
    "to spare": (
        "A goal is the value of step {number:02d}, with a tenth to spare.",
        "目标是 step {number:02d} 的值，留有一成余量。",
    ),
    "seconds": (
        "Verdict after {all:.1f} s, {compiling:.1f} s of them for compiling.",
        "用时 {all:.1f} s，其中编译 {compiling:.1f} s。",
    ),
    "on gpu": (
        "On {gpu}: {tflops:.3g} TFLOPS at 4096×4096×4096.",
        "在 {gpu} 上：4096×4096×4096 为 {tflops:.3g} TFLOPS。",
    ),
    "hint": ("Hint {number} of {all}: {text}", "提示 {number}/{all}：{text}"),
    "no more hints": (
        "There are no more hints. The whole solution: ./gemm practice {number} --solution",
        "没有更多提示了。完整解答：./gemm practice {number} --solution",
    ),
    "watching": ("Watching {file}; Ctrl-C ends it.", "正在监视 {file}，按 Ctrl-C 结束。"),
    "gone": (
        "{file} is gone; ./gemm practice {number} lays out a new one",
        "{file} 不见了；./gemm practice {number} 会重新生成",
    ),
    "solution": ("Left: {file}. Right: step {number}.", "左边是 {file}，右边是 step {number}。"),
    "task": ("task", "任务"),
    "idea": ("idea", "内容"),
    "starts from": ("starts from", "起点"),
    "state": ("state", "状态"),
    "skeleton": ("a skeleton", "骨架"),
    "new": ("–", "–"),
    "begun": ("begun", "进行中"),
    "finished": ("done", "已完成"),
    "how": (
        "./gemm practice 02 lays out a task, and grades it from then on.",
        "./gemm practice 02 生成一个任务，以后每次运行都会评分。",
    ),
}

# The simulator's reports have English names, which its documentation explains.
KINDS = {
    "race": "数据竞争",
    "unwaited copy": "没有等待拷贝完成",
    "unwaited product": "没有等待乘积完成",
    "out of bounds": "越界访问",
    "misaligned": "地址没有对齐",
    "uninitialised read": "读了没有写过的共享内存",
    "missing proxy fence": "缺少 proxy fence",
    "missing wgmma.fence": "缺少 wgmma.fence",
    "divergent barrier": "部分线程没有到达屏障",
    "deadlock": "死锁",
    "endless": "死循环",
    "too long": "运行时间太长",
}


def say(spoken: str, key: str, **values: object) -> str:
    """A sentence in a language."""
    return WORDS[key][spoken == CHINESE].format(**values)


def kind_of(report: str) -> str:
    """What a report of the simulator is about, in Chinese; the English name where there is no other."""
    english = report.partition(" in ")[0]
    return KINDS.get(english, english)
