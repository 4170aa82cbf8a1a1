"""Finding and loading libnadir.

In this order: the file that the environment variable NADIR_LIBRARY names; a library in this folder (put there
when the package was built from nadir's source tree); build/ of the source tree that this folder lies in; the
library that pkg-config knew when the package was built; what the system's loader finds.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator

from . import _declarations

_HERE = Path(__file__).resolve().parent
_TREE = _HERE.parents[2]
_HEADER = _TREE / "include" / "nadir.h"


def _in_tree() -> bool:
    return _HERE == _TREE / "bindings" / "python" / "nadir" and _HEADER.is_file()


def _parsed() -> Any:
    if _in_tree():
        return _declarations.compiled(_HEADER.read_text(encoding="utf-8"))
    from . import _bindings  # type: ignore[attr-defined]  # made by setup.py

    return _bindings.ffi


def _known_to_build() -> list[str]:
    try:
        from . import _built  # type: ignore[attr-defined]  # made by setup.py
    except ImportError:
        return []
    return [_built.LIBRARY]


def _places(soname: str) -> Iterator[str]:
    for path in (_HERE / soname, _HERE / "libnadir.so"):
        if path.is_file():
            yield str(path)
    if _in_tree():
        yield str(_TREE / "build" / "libnadir.so")
    yield from _known_to_build()
    yield soname


def _load(ffi: Any) -> Any:
    wanted = os.environ.get("NADIR_LIBRARY")
    header = ffi.dlopen(None)  # constants of the header need no library
    soname = f"libnadir.so.{header.NADIR_VERSION_MAJOR}.{header.NADIR_VERSION_MINOR}"
    tried = []
    for place in [wanted] if wanted else _places(soname):
        try:
            library = ffi.dlopen(place)
        except OSError as error:
            tried.append(str(error))
            continue
        found = ffi.string(library.nadir_version()).decode()
        if found.split(".")[:2] == [str(header.NADIR_VERSION_MAJOR), str(header.NADIR_VERSION_MINOR)]:
            return library
        tried.append(f"{place}: version {found}")
    raise ImportError(
        f"no {soname} was found; tried: " + "; ".join(tried) + ". Build it (make in nadir's source tree), "
        "install it (make install), or name it in the environment variable NADIR_LIBRARY."
    )


ffi: Any = _parsed()
lib: Any = _load(ffi)

__version__: str = ffi.string(lib.nadir_version()).decode()


def text(pointer: Any) -> str | None:
    """A C string; None for NULL."""
    return ffi.string(pointer).decode("utf-8", "replace") if pointer else None


def encoded(value: str | os.PathLike[str] | None) -> Any:
    """A path or a word as a C string, which lives as long as what is returned; NULL for None."""
    if value is None:
        return NULL
    word = os.fsencode(value)
    if b"\0" in word:
        raise ValueError("embedded null byte")
    return ffi.new("char[]", word)


NULL: Any = ffi.NULL


class Struct:
    """A struct nadir_NAME of the library."""

    def __init__(self, name: str):
        self.name = f"nadir_{name}"
        self.size = ffi.sizeof(self.name)
        self._pointer = ffi.typeof(f"{self.name} *")
        self._fill: Any = getattr(lib, f"{self.name}_fill", None)

    def filled(self) -> Any:
        """A new one with the library's defaults."""
        made = ffi.new(self._pointer)
        self._fill(made, self.size)
        return made

    def empty(self) -> Any:
        """A new one for an answer, its size set."""
        made = ffi.new(self._pointer)
        made.size = self.size
        return made


_structs: dict[str, Struct] = {}
_handles: dict[str, Any] = {}


def _struct(name: str) -> Struct:
    found = _structs.get(name)
    if found is None:
        found = _structs[name] = Struct(name)
    return found


def filled(name: str) -> Any:
    """A new struct nadir_NAME with the library's defaults."""
    return _struct(name).filled()


def result(name: str) -> Any:
    """A new, empty struct nadir_NAME for an answer, its size set."""
    return _struct(name).empty()


def place(name: str) -> Any:
    """A place for a handle nadir_NAME that a call is to make."""
    kind = _handles.get(name)
    if kind is None:
        kind = _handles[name] = ffi.typeof(f"nadir_{name} **")
    return ffi.new(kind)
