"""What a command needs before it can start: the Python tools, the compilers, the system's packages."""

import importlib.util
import os
from dataclasses import dataclass

from base import cuda, packages, venv
from base.errors import UserError


@dataclass(frozen=True)
class Environment:
    """The programs to work with, and the environment variables to start them with."""

    meson: str
    ninja: str
    toolkit: cuda.Toolkit
    variables: dict[str, str]


def ensure_python(setup: bool, arguments: list[str], modules: tuple[str, ...] = ()) -> None:
    """The Python tools. With `setup`, from .venv, in which this very command starts again; else what is there."""
    if setup:
        venv.ensure()
        venv.restart_inside(arguments)
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise UserError(f"Python has no {module}: install requirements.txt, or leave out --no-setup")


def ensure_build(setup: bool) -> Environment:
    """Everything that building takes. Call it after `ensure_python`."""
    if setup:
        packages.ensure()
    toolkit = cuda.ensure(setup)
    variables = {**os.environ, **toolkit.environment()}
    if venv.running_inside():
        variables["PATH"] = f"{venv.VENV / 'bin'}{os.pathsep}{variables['PATH']}"
    return Environment(needed("meson"), needed("ninja"), toolkit, variables)


def needed(name: str) -> str:
    """The path of a tool that has to be there."""
    if found := venv.tool(name):
        return found
    raise UserError(f"there is no {name}: install requirements.txt, or delete .venv and leave out --no-setup")
