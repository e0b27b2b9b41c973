"""The simulator for the pages: WebAssembly made by emscripten, and the scripts and kernels that go with it."""

import base64
import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from base import build, environment, packages, process, registry
from base.errors import Failure, UserError
from base.paths import ROOT
from base.progress import say
from tools.site import EXPLORABLES, FOLDER, explorable, follow, kernels, mistakes, rings

SOURCES = ROOT / "tools" / "site" / "explorables"
COURSE = ROOT / "tools" / "site" / "wasm"
ON_PAGES = ("core.js", "run.js", "follow.js", "rings.js", "banks.js", "break.js", "waves.js", "digits.js")
IN_WORKER = ("session.js", "worker.js")
EXPORTS = (
    "fill",
    "rounded",
    "value",
    "depth",
    "dot",
    "fma",
    "digits",
    "waves",
    "times",
    "swizzled",
)  # of course.cpp, to JavaScript


def missing() -> list[str]:
    """The packages of emscripten and Node that are not there."""
    wanted = {"emscripten": "em++", "nodejs": "node"}
    return [package for package, program in wanted.items() if shutil.which(program) is None]


def ensure(setup: bool) -> bool:
    """Whether emscripten and Node are there; with `setup` they are installed where that is allowed."""
    if setup and (wanted := missing()):
        packages.install(wanted)
    return not missing()


def try_compiler() -> None:
    """UserError where emscripten cannot make a program: its libraries cannot be compiled here, say."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "empty.cpp")
        source.write_text(
            "#include <string>\nint main(int n, char** all) { return std::string(all[0]).size() == n; }\n"
        )
        code, text = process.output(["em++", source, "-o", source.with_suffix(".js")], _variables())
    if code != 0:
        raise UserError(f"emscripten makes no program here: {' '.join(text.splitlines()[-1:])}")


def _variables() -> dict[str, str]:
    variables = {**os.environ}
    if Path("/usr/share/nodejs").is_dir():  # Debian's emscripten finds its own scripts by this
        variables["NODE_PATH"] = "/usr/share/nodejs"
    return variables


def make(quick: bool = False) -> Path:
    """Compiles the front for pages in a build folder of its own; the folder with ptxsim.js and ptxsim.wasm.

    `quick`: without optimisation, to see that it computes the same.
    """
    folder = front(quick)
    variables = _variables()
    headers = folder.with_name("include")
    options = [
        *("--cross-file", str(ROOT / "sim" / "web" / "toolchain" / "emscripten.ini"), "-Db_ndebug=true"),
        *(f"-Dheaders_of_json={headers}", f"-Dweb_sources={COURSE / 'course.cpp'}", f"-Dweb_includes={COURSE},{ROOT}"),
        "-Dweb_exports=" + ",".join(f"_course_{name}" for name in EXPORTS),
        f"-Dweb_quick={str(quick).lower()}",
    ]
    stamp = folder.with_suffix(".options")
    if not (folder / "build.ninja").is_file() or not stamp.is_file() or stamp.read_text() != str(options):
        headers.mkdir(parents=True, exist_ok=True)
        link = headers / "nlohmann"
        link.unlink(missing_ok=True)
        link.symlink_to(_json_headers())
        shutil.rmtree(folder, ignore_errors=True)
        code, text = process.output([environment.needed("meson"), "setup", folder, ROOT / "sim", *options], variables)
        if code != 0:
            raise Failure(f"the simulator for the pages could not be configured: {' '.join(text.splitlines()[-1:])}")
        stamp.write_text(str(options))
    say("Compiling the simulator for the pages (minutes, the first time) …")
    if process.run([environment.needed("ninja"), "-C", folder, "--quiet"], variables) != 0:
        raise Failure("the simulator for the pages could not be compiled, see above")
    return folder / "web"


def front(quick: bool) -> Path:
    """The build folder of the front for pages."""
    return FOLDER / ("wasm-quick" if quick else "wasm")


def _json_headers() -> Path:
    for folder in (Path("/usr/include"), Path("/usr/local/include")):
        if (folder / "nlohmann" / "json.hpp").is_file():
            return folder / "nlohmann"
    raise UserError("there is no nlohmann/json.hpp: install nlohmann-json3-dev")


def prepare(setup: bool, only: Sequence[registry.Step] = ()) -> bool:
    """Makes all that runs in the pages, of the steps that are built. False, and a line, where a tool is missing.

    `only`: these steps' defaults, without mistakes, rings and elements to follow, in a simulator without optimisation.
    """
    if not ensure(setup):
        say("There is no emscripten or no node: nothing runs in the pages, which are a book without")
        shutil.rmtree(EXPLORABLES, ignore_errors=True)
        return False
    environs = environment.ensure_build(setup)
    build.configure(environs)
    wanted = [f"steps/{step.name}" for step in only or registry.steps()]
    build.compile_targets(environs, [*wanted, build.SIMULATOR_TARGET])
    return pack(only)


def pack(only: Sequence[registry.Step] = ()) -> bool:
    """The same with the steps as they are."""
    web = make(quick=bool(only))
    say("Recording the steps' launches for the pages …")
    variants = kernels.write(FOLDER / "kernels", FOLDER / "work", web, only)
    if not only:
        for step in mistakes.write(FOLDER / "kernels", FOLDER / "work", web):
            variants.setdefault(step, []).append(explorable.MISTAKES)
        for step in rings.write(FOLDER / "kernels", FOLDER / "work", web):
            variants.setdefault(step, []).append(explorable.RINGS)
        follow.write(FOLDER / "kernels", FOLDER / "work")
    wanted = [f"{step}.{variant}" for step, names in variants.items() for variant in names]
    made = assets(web, FOLDER / "kernels", wanted)
    for name, content in made.items():
        file = EXPLORABLES / name
        file.parent.mkdir(parents=True, exist_ok=True)
        data = content.read_bytes() if isinstance(content, Path) else content.encode()
        if not (file.is_file() and file.read_bytes() == data):
            file.write_bytes(data)
    for file in EXPLORABLES.rglob("*"):
        if file.is_file() and file.relative_to(EXPLORABLES).as_posix() not in made:
            file.unlink()
    return True


def assets(web: Path, recorded: Path, wanted: list[str]) -> dict[str, str | Path]:
    """The files below assets/explorables/, by name."""
    worker = "\n".join([(web / "ptxsim.js").read_text(encoding="utf-8"), *(_text(name) for name in IN_WORKER)])
    module = (web / "ptxsim.wasm").read_bytes()
    made: dict[str, str | Path] = {
        "explorables.js": "\n".join(
            [
                *(_text(name) for name in ON_PAGES),
                f"explorables.tiles27 = {json.dumps(_tiles())};",
                f"explorables.swizzles = {json.dumps(_swizzles(web))};",
            ]
        ),
        "explorables.css": _text("explorables.css"),
        "simulator.js": f"explorables.worker = {json.dumps(worker)};\n",
        "ptxsim.wasm": web / "ptxsim.wasm",
        # For pages that were opened as files, which may load scripts alone.
        "ptxsim.wasm.js": f'explorables.wasm = "{base64.b64encode(module).decode()}";\n',
    }
    made["variants.txt"] = "\n".join(wanted) + "\n"
    return made | {f"kernels/{name}.js": recorded / f"{name}.js" for name in wanted}


def _swizzles(web: Path) -> list[list[list[int]]]:
    """Where a row's chunks lie, by the bits of the row in the XOR, the row and the chunk, as far as it does not repeat."""
    places = (
        "[0, 1, 2, 3].map((bits) => eight.map((row) => eight.map((chunk) => made._course_swizzled(row, chunk, bits))))"
    )
    script = f"""
        const eight = [...Array(8).keys()], folder = process.argv[1];
        const wasmBinary = require("fs").readFileSync(folder + "/ptxsim.wasm");
        require(folder + "/ptxsim.js")({{ wasmBinary }}).then((made) => console.log(JSON.stringify({places})));
    """
    code, text = process.output(["node", "-e", script, web.resolve()])
    if code != 0:
        raise Failure(f"node could not ask for the swizzles: {text.strip()}")
    return json.loads(text)


def _tiles() -> list[dict]:
    """The tiles among which step 27's launcher chooses, and what they cost, as its kernel.cu has them."""
    code = (registry.find("27", registry.steps()).folder / "kernel.cu").read_text(encoding="utf-8")
    sides = {name: (int(bm), int(bn)) for name, bm, bn in re.findall(r"using (\w+) = Tile<(\d+), (\d+),", code)}
    depth = int(re.search(r"\bBK = (\d+)", code)[1])
    costs = re.findall(r"\{(\w+)::BM, \1::BN, ([\d.]+), ([\d.]+), launch", code)
    return [
        {
            "name": name.lower(),
            "bm": sides[name][0],
            "bn": sides[name][1],
            "bk": depth,
            "perSlice": float(slice_),
            "perTile": float(once),
        }
        for name, slice_, once in costs
    ]


def _text(name: str) -> str:
    return (SOURCES / name).read_text(encoding="utf-8")
