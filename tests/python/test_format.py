"""Every source is as the formatters and the linter want it. `./gemm format` puts most of it right."""

import subprocess

import pytest

from base.paths import ROOT
from tools import format as formatting


@pytest.mark.parametrize("command", formatting.commands(check=True), ids=["format", "lint", "c++"])
def test_formatters_and_linter_find_nothing(command):
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
