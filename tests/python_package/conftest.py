"""Where the package is: in the build directory, unless PYTHONPATH says otherwise."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / os.environ.get("GEMM_BUILD_DIR", "build") / "python"))
sys.path.insert(0, str(Path(__file__).parent))
