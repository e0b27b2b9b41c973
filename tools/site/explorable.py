"""Which page has which explorable: what a reader can run in it."""

from dataclasses import dataclass, field
from pathlib import Path

ASSETS = "assets/explorables"  # below the English pages, where the generator puts what both languages share
MISTAKES = "mistakes"  # the variant that holds a step's mistakes
RINGS = "rings"  # the variant that holds a run whose events are played
WAVES = ("steps/21_mma_persistent", "steps/27_by_size", "docs/start-here")
MODEL = "steps/27_by_size"  # the page whose tile and wave has the launcher's model
DIGITS = ("steps/31_eight_bits", "steps/32_digits", "docs/tensor-cores")
FOLLOWED = ("03_smem_tiling", "07_thread_tile_8x8", "18_mma_naive", "20_mma_warp_swizzle", "23_wgmma")
BANKS = ("steps/04_smem_padding", "steps/08_conflict_free", "steps/20_mma_warp_swizzle", "docs/bank-conflicts")


@dataclass(frozen=True)
class Runs:
    """What there is to run: files by name below `ASSETS`, and of each step the variants that have one."""

    files: dict[str, Path] = field(default_factory=dict)
    variants: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def found(cls, folder: Path | None) -> "Runs":
        """Those in a folder that tools/site/simulator.py has filled."""
        if folder is None or not (folder / "explorables.js").is_file():
            return NOTHING
        files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()}
        variants: dict[str, list[str]] = {}
        order = (folder / "variants.txt").read_text(encoding="utf-8").split()
        for step, variant in (name.split(".") for name in order):
            variants.setdefault(step, []).append(variant)
        del files["variants.txt"]
        return cls(files, variants)

    def on(self, source: Path) -> str:
        """What stands below the text of a page."""
        if not self.files:
            return ""
        place = str(source.parent) if source.name.startswith("README") else str(source).split(".")[0]
        step = source.parent.name if source.name.startswith("README") and place.startswith("steps/") else ""
        variants = self.variants.get(step, [])
        normal = " ".join(name for name in variants if name not in (MISTAKES, RINGS))
        parts = [_div("run", step=step, variants=normal)] if normal else []
        parts += [_div("follow", step=step, variant=variants[0])] if step in FOLLOWED and normal else []
        parts += [_div("rings", step=step)] if RINGS in variants else []
        parts += [_div("break", step=step)] if MISTAKES in variants else []
        parts += [_div("banks")] if place in BANKS else []
        parts += [_div("waves", **({"model": "yes"} if place == MODEL else {}))] if place in WAVES else []
        parts += [_div("digits")] if place in DIGITS else []
        return "".join(f"\n\n{part}\n" for part in parts)


def _div(name: str, **data: str) -> str:
    words = "".join(f' data-{key}="{value}"' for key, value in data.items())
    return f'<div class="explorable" data-explorable="{name}"{words}></div>'


NOTHING = Runs()
