"""The recorded runs once more in WebAssembly, in Node: the same C, counts and findings as natively."""

from base import process
from tests.site.reader import KERNELS
from tools.site import simulator
from tools.site.check import TESTS


def test_a_kernel_counts_in_webassembly_what_it_counts_natively(kernel, pytestconfig):
    web = simulator.front(quick=pytestconfig.getoption("short")) / "web"
    line = ["node", TESTS / "node.js", web, KERNELS / f"{kernel}.js"]
    code, text = process.output(line)
    assert code == 0, text
