"""Takes the PTX and the machine code out of an executable that nvcc built, without any tool of the toolkit.

The layout: ELF section `.nv_fatbin` holds containers (magic 0xBA55ED50), each a header and a row of entries; an entry
has a header of its own and a payload, PTX text (kind 1) or a cubin (kind 2).
"""

import struct
from dataclasses import dataclass
from pathlib import Path

from tools.errors import UserError

_CONTAINER = struct.Struct("<IHHQ")  # magic, version, header bytes, payload bytes
_ENTRY = struct.Struct(
    "<HHIQIIHHIIIQQQ"
)  # kind, version, header, size, packed size, -, minor, major, arch, name…, flags
_MAGIC = 0xBA55ED50
_PTX, _CUBIN = 1, 2
_COMPRESSED = 0x2000 | 0x8000  # LZ4, zstd


@dataclass(frozen=True)
class Entry:
    """One image in the executable: PTX text or a cubin, and the architecture it is for (80 for sm_80)."""

    kind: str  # ptx, cubin
    arch: int
    payload: bytes


def entries(executable: Path) -> list[Entry]:
    """Every image embedded in an executable. Raises UserError with what is wrong with the file."""
    try:
        data = executable.read_bytes()
    except OSError as error:
        raise UserError(f"{executable} cannot be read: {error.strerror}") from None
    try:
        section = _section(data, b".nv_fatbin")
    except (struct.error, IndexError, ValueError):  # cut off
        section = None
    if section is None:
        raise UserError(f"{executable} holds no GPU code: it is no program built by nvcc")
    found = []
    at = 0
    while at + _CONTAINER.size <= len(section):
        magic, _, header, size = _CONTAINER.unpack_from(section, at)
        if magic != _MAGIC:
            at += 8  # padding between containers
            continue
        end = at + header + size
        at += header
        while at + _ENTRY.size <= end:
            kind, _, entry_header, entry_size, packed, _, _, _, arch, _, _, flags, _, _ = _ENTRY.unpack_from(
                section, at
            )
            payload = section[at + entry_header : at + entry_header + entry_size]
            if kind in (_PTX, _CUBIN):
                if packed or flags & _COMPRESSED:
                    raise UserError(f"{executable} holds compressed GPU code: build it with nvcc --no-compress")
                payload = payload.split(b"\0", 1)[0] if kind == _PTX else payload
                found.append(Entry("ptx" if kind == _PTX else "cubin", arch, payload))
            at += entry_header + entry_size
        at = end
    return found


def _section(elf: bytes, wanted: bytes) -> bytes | None:
    """A section of a 64-bit little-endian ELF file."""
    if elf[:6] != b"\x7fELF\x02\x01" or len(elf) < 64:
        return None
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    size, count, names = struct.unpack_from("<HHH", elf, 0x3A)
    headers = [struct.unpack_from("<IIQQQQ", elf, table + i * size) for i in range(count)]
    names_at = headers[names][4]
    for name, _, _, _, offset, length in headers:
        end = elf.index(b"\0", names_at + name)
        if elf[names_at + name : end] == wanted:
            return elf[offset : offset + length]
    return None
