"""Which architectures meson.build compiles for: what nvidia-smi says, where it says any."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tools.paths import ROOT

DETECTION = re.compile(r"^archs = get_option.*?^gencode = ", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize(
    ("smi", "archs"),
    [
        ('printf "9.0\\n8.9\\n9.0\\n"', "90,89"),
        ("echo 10.3", "103"),
        ("echo No devices were found", ""),
        ("echo NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver. 9.", ""),
        ("echo 9.0; exit 9", ""),
        ('printf ".9\\n9.\\n1.2.3\\n90\\n"', ""),
    ],
)
def test_only_what_a_driver_calls_a_version_is_an_architecture(smi, archs, tmp_path):
    """A project of that part of meson.build alone, with a made-up nvidia-smi."""
    detection = DETECTION.search((ROOT / "meson.build").read_text(encoding="utf-8"))[0].removesuffix("gencode = ")
    project = f"project('archs', version: '1')\n{detection}message('archs <' + archs + '>')\n"
    (tmp_path / "meson.build").write_text(project, encoding="utf-8")
    shutil.copy(ROOT / "meson.options", tmp_path)
    program = tmp_path / "bin" / "nvidia-smi"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{smi}\n", encoding="utf-8")
    program.chmod(0o755)
    meson = Path(sys.executable).parent / "meson"
    path = f"{program.parent}:{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        [meson, "setup", tmp_path / "build", tmp_path], capture_output=True, text=True, check=False, env={"PATH": path}
    )
    assert f"Message: archs <{archs}>\n" in done.stdout, done.stdout + done.stderr
