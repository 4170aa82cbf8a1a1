"""What cffi has to know of the C library, read from its only header.

Nothing is declared twice: `declarations` turns the text of nadir.h into what `cffi.FFI.cdef` understands.
The installed package holds the outcome, a module `_bindings`, so that nothing is parsed at import.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import runpy
import tempfile
from typing import Any

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_CONTINUED = re.compile(r"\\\n")
_STATUS = re.compile(r"X\((NADIR_\w+),\s*(\d+),")
_VERSION = re.compile(r"#define (NADIR_VERSION_(?:MAJOR|MINOR|PATCH)) +(\d+)")
_STATUS_ENUM = re.compile(r"typedef enum nadir_status \{.*?\} nadir_status;", re.DOTALL)
_INLINE = re.compile(r"static inline void \w+\([^)]*\)\s*\{.*?\n\}", re.DOTALL)
_LINKAGE = re.compile(r'extern "C" \{')


def declarations(header: str) -> str:
    """The declarations in `header`, the text of nadir.h, for `cffi.FFI.cdef`."""
    text = _COMMENT.sub(" ", header)
    statuses = ", ".join(f"{name} = {code}" for name, code in _STATUS.findall(text))
    versions = "\n".join(f"#define {name} {value}" for name, value in _VERSION.findall(text))
    text = _STATUS_ENUM.sub(f"typedef enum nadir_status {{ {statuses} }} nadir_status;", text)
    text = _INLINE.sub("", _CONTINUED.sub(" ", text))
    text = _LINKAGE.sub("", re.sub(r"^#ifdef __cplusplus\n\}\n#endif", "", text, flags=re.MULTILINE))
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    return versions + "\n" + "\n".join(lines).replace("NADIR_API ", "")


def version(header: str) -> str:
    """ "MAJOR.MINOR.PATCH", as the header has it."""
    return ".".join(value for _, value in _VERSION.findall(header))


def write(header: str, path: str) -> None:
    """Writes the module `_bindings` to a file."""
    import cffi

    ffi = cffi.FFI()
    ffi.cdef(declarations(header))
    no_source: Any = None  # read by a compiler if there were any; types-cffi does not know that there need not be
    ffi.set_source("nadir._bindings", no_source)
    ffi.emit_python_code(path)


def compiled(header: str) -> Any:
    """What the module `_bindings` holds, where there is none: in the source tree."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "_bindings.py")
        with contextlib.redirect_stdout(io.StringIO()):
            write(header, path)
        return runpy.run_path(path)["ffi"]
