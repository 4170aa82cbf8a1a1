"""Builds the package: what cffi has to know is made from nadir.h, and the library is found or built.

In this order: the library that NADIR_LIBRARY names, copied into the package; one installed with a pkg-config
file, of the header's version, used where it is; that of the source tree's build/, or one built there with
CMake, copied into the package. NADIR_BUNDLE=1 skips pkg-config.
"""

import os
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).resolve().parent
TREE = HERE.parents[1]
DECLARATIONS = runpy.run_path(str(HERE / "nadir" / "_declarations.py"))


def pkg_config(*question: str) -> str | None:
    try:
        words = ["pkg-config", *question, "nadir"]
        answer = subprocess.run(words, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return answer.stdout.strip()


def header() -> str:
    """The text of nadir.h: the source tree's, or else the installed one's."""
    folders = [TREE / "include", Path(pkg_config("--variable=includedir") or "/usr/include")]
    for folder in folders:
        if (folder / "nadir.h").is_file():
            return (folder / "nadir.h").read_text(encoding="utf-8")
    sys.exit("nadir.h was not found, neither in the source tree nor through pkg-config")


def installed(version: str) -> Path | None:
    """The library that pkg-config knows, if it is of this version."""
    if os.environ.get("NADIR_BUNDLE") == "1" or pkg_config("--modversion") != version:
        return None
    library = Path(pkg_config("--variable=libdir") or "") / "libnadir.so"
    return library.resolve() if library.is_file() else None


def newest(folder: Path, pattern: str) -> float:
    return max((path.stat().st_mtime for path in folder.rglob(pattern)), default=0.0)


def from_tree(folder: Path) -> Path:
    """The library of the source tree; built in `folder` if it is not there or older than its sources."""
    made = TREE / "build" / "libnadir.so"
    sources = max(newest(TREE / folder, "*.[ch]") for folder in ("include", "src", "paper"))
    if made.is_file() and made.stat().st_mtime >= sources:
        return made.resolve()
    if not (TREE / "CMakeLists.txt").is_file():
        sys.exit("libnadir was not found: install it, or name it in NADIR_LIBRARY")
    configure = ["cmake", "-S", str(TREE), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release"]
    subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "nadir", "--parallel",
                    str(os.cpu_count() or 1)], check=True)
    return (folder / "libnadir.so").resolve()


class Build(build_py):
    def run(self) -> None:
        super().run()
        if getattr(self, "editable_mode", False):
            return  # the package lies in the source tree, which holds both
        package = Path(self.build_lib) / "nadir"
        for stale in [*package.glob("libnadir.so*"), *package.glob("_built.py")]:
            stale.unlink()
        text = header()
        DECLARATIONS["write"](text, str(package / "_bindings.py"))
        major, minor, _ = DECLARATIONS["version"](text).split(".")
        named = os.environ.get("NADIR_LIBRARY")
        there = None if named else installed(DECLARATIONS["version"](text))
        if there is not None:
            (package / "_built.py").write_text(f"LIBRARY = {str(there)!r}\n", encoding="utf-8")
        else:
            with tempfile.TemporaryDirectory(prefix="nadir-build.") as folder:
                library = Path(named).resolve() if named else from_tree(Path(folder))
                shutil.copyfile(library, package / f"libnadir.so.{major}.{minor}")


class Binary(Distribution):
    """The package holds a library, or the place of one: it is made for this machine."""

    def has_ext_modules(self) -> bool:
        return True


setup(version=DECLARATIONS["version"](header()), cmdclass={"build_py": Build}, distclass=Binary)
