"""Where things are in the repository."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STEPS = ROOT / "steps"
REGISTRY = STEPS / "meson.build"
VENV = ROOT / ".venv"
REQUIREMENTS = ROOT / "requirements.txt"
CUDA_REQUIREMENTS = ROOT / "requirements-cuda.txt"
DISASSEMBLER_REQUIREMENTS = ROOT / "requirements-disassembler.txt"
TIDY_REQUIREMENTS = ROOT / "requirements-tidy.txt"
SITE_REQUIREMENTS = ROOT / "requirements-site.txt"
DATA = ROOT / "records"
CHARTS = ROOT / "plots" / "charts"
DEVICES = ROOT / "sim" / "devices.json"

# Other directories can be named for a while, for instance by the tests.
BUILD = ROOT / os.environ.get("GEMM_BUILD_DIR", "build")
PRACTICE = ROOT / os.environ.get("GEMM_PRACTICE_DIR", "practice")
SIMULATOR = BUILD / "sim" / "libcudart.so.13"


def shown(path: Path) -> str:
    """The path as a reader types it: relative to the working directory where that is shorter."""
    try:
        return os.path.relpath(path) if path.is_relative_to(ROOT) else str(path)
    except ValueError:
        return str(path)
