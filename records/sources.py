"""Which sources a record is of: a hash that stands in it, so that an older record can be told from a newer one."""

import hashlib
import re

from base.registry import Step


def step_fingerprint(step: Step) -> str:
    """The fingerprint of all of a step's sources together."""
    return fingerprint("\n".join(source.read_text(encoding="utf-8") for source in step.sources))


def fingerprint(source: str) -> str:
    """A short hash of a step's source without comments and white space: changes when its code does."""
    code = re.sub(r"/\*.*?\*/|//[^\n]*", "", source, flags=re.S)
    return hashlib.sha256("".join(code.split()).encode()).hexdigest()[:12]
