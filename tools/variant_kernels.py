"""Tells which compiled kernel a variant launches, by the template arguments in the step's source and in the symbol.

A variant is `Variant("name", launch<ARGS>)`, `helper("name", 16, launch<ARGS>)` or `variant<ARGS>("name")`, and
`launch` hands its arguments on to `gemm_kernel`, so that the arguments of the symbol begin with those of the source.
"""

import hashlib
import re
from collections.abc import Sequence
from typing import Protocol, TypeVar

Arguments = tuple[str, ...]

_BUILTIN = {"i": "int", "j": "unsigned", "f": "float", "d": "double", "l": "long", "m": "unsigned long", "b": "bool"}
_DIRECT = re.compile(r'\b\w+\(\s*"([^"]+)"\s*,(?:\s*\w+\s*,)*\s*launch(?:<((?:[^<>]|<[^<>]*>)*)>)?')
_HELPED = re.compile(r'\bvariant<((?:[^<>]|<[^<>]*>)*)>\(\s*"([^"]+)"')
_HELPER = re.compile(r"template\s*<([^;{}]*?)>\s*(?:Variant|void)\s+(variant|launch)\s*\(")
_ENUM = re.compile(r"enum\s+class\s+(\w+)[^{]*\{([^}]*)\}")
_CONSTANT = re.compile(r"constexpr\s+(?:int|bool|unsigned)\s+(\w+)\s*=\s*(-?\d+|true|false)\s*;")
_ALIAS = re.compile(r"using\s+(\w+)\s*=\s*\w+<([^;]*)>\s*;")


class Named(Protocol):
    """Anything with a symbol for a name."""

    name: str


K = TypeVar("K", bound=Named)


def variants_in(source: str) -> dict[str, Arguments]:
    """The template arguments of each variant in a step's source, as plain words and numbers."""
    source = re.sub(r"//[^\n]*", "", source)
    words = {
        name: ("1" if value == "true" else "0" if value == "false" else value)
        for name, value in _CONSTANT.findall(source)
    }
    words |= {"true": "1", "false": "0"}
    for enum, body in _ENUM.findall(source):
        for index, member in enumerate(part.split("=")[0].strip() for part in body.split(",") if part.strip()):
            words[f"{enum}::{member}"] = str(index)
    aliases = dict(_ALIAS.findall(source))

    def plain(text: str) -> Arguments:
        text = re.sub(r"\b\w+\b", lambda m: aliases.get(m[0], m[0]), text)
        text = re.sub(r"\b\w+\s*<", "", text).replace(">", "")
        return tuple(words.get(part, part) for part in (p.strip() for p in text.split(",")) if part)

    parameters: dict[str, list[tuple[str, str]]] = {}  # of launch and variant: name and default
    for declared, function in _HELPER.findall(source):
        pairs = (part.partition("=") for part in declared.split(","))
        parameters[function] = [(left.split()[-1], right.strip()) for left, _, right in pairs]

    def filled(given: Arguments, function: str) -> Arguments:
        """The arguments with the function's defaults behind them; a default may be an earlier parameter."""
        known, row = dict(words), list(given)
        for index, (name, default) in enumerate(parameters.get(function, ())):
            if index >= len(row) and default:
                row.append(known.get(default, default))
            if index < len(row):
                known[name] = row[index]
        return tuple(row)

    found = {name: filled(plain(arguments or ""), "launch") for name, arguments in _DIRECT.findall(source)}
    found |= {name: filled(plain(arguments), "variant") for arguments, name in _HELPED.findall(source)}
    return found


def fingerprint(source: str) -> str:
    """A short hash of a step's source without comments and white space: changes when its code does."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.S)
    return hashlib.sha256("".join(code.split()).encode()).hexdigest()[:12]


def arguments_of(symbol: str) -> Arguments:
    """The template arguments in a kernel's symbol, flattened: numbers and names of types."""
    match = re.match(r"_Z(?:N\d+\w+?)?(\d+)gemm_kernel", symbol)
    if match is None or not symbol[match.end() :].startswith("I"):
        return ()
    rest, found, depth = symbol[match.end() + 1 :], [], 1
    while rest and depth:
        if literal := re.match(r"L(?:[a-z]|(\d+))", rest):
            rest = rest[literal.end() :]
            if literal[1]:
                rest = rest[int(literal[1]) :]
            value = re.match(r"(n?)(\d+)E", rest)
            if value is None:
                break
            found.append(("-" if value[1] else "") + value[2])
            rest = rest[value.end() :]
        elif name := re.match(r"\d+", rest):
            length = int(name[0])
            word, rest = rest[name.end() : name.end() + length], rest[name.end() + length :]
            if not rest.startswith("I"):
                found.append(word)
        elif rest[0] in "IE":
            depth += 1 if rest[0] == "I" else -1
            rest = rest[1:]
        elif rest[0] in _BUILTIN:
            found.append(_BUILTIN[rest[0]])
            rest = rest[1:]
        else:
            break
    return tuple(found)


def kernel_of(wanted: Arguments | None, kernels: Sequence[K]) -> K | None:
    """The one kernel with these arguments, or whose arguments begin with them; the only kernel when there is but one.

    What a launcher adds on its own is how wide a copy may be: of several, the widest is what aligned sizes run.
    """
    if len(kernels) == 1:
        return kernels[0]
    if wanted is None:
        return None
    exact = [k for k in kernels if arguments_of(k.name) == wanted]
    if len(exact) == 1:
        return exact[0]
    begins = {arguments_of(k.name)[len(wanted) :]: k for k in kernels if arguments_of(k.name)[: len(wanted)] == wanted}
    if len(begins) > 1 and all(len(rest) == 1 and rest[0].isdigit() for rest in begins):
        return begins[max(begins, key=lambda rest: int(rest[0]))]
    return next(iter(begins.values())) if len(begins) == 1 else None
