"""Builds the package: what cffi has to know is made from nadir.h, and the library is found or built, and carried.

The library, in this order: the one that NADIR_LIBRARY names; one installed with a pkg-config file, of the header's
version (NADIR_BUNDLE=1 skips it); that of the source tree's build/, or one built there with CMake. It is copied into
the package. Where patchelf is there, so are the libraries that it needs, all but glibc's: they are found relative to
each other, and the wheel has the tag of the glibc that they need. NADIR_BUNDLE=0: an installed library is used
where it is.
"""

import hashlib
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:
    from wheel.bdist_wheel import bdist_wheel

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
    sources = max(newest(TREE / folder, "*.[chj]*") for folder in ("include", "src", "paper"))
    if made.is_file() and made.stat().st_mtime >= sources:
        return made.resolve()
    if not (TREE / "CMakeLists.txt").is_file():
        sys.exit("libnadir was not found: install it, or name it in NADIR_LIBRARY")
    configure = ["cmake", "-S", str(TREE), "-B", str(folder), "-DCMAKE_BUILD_TYPE=Release"]
    subprocess.run(configure, check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "nadir", "--parallel",
                    str(os.cpu_count() or 1)], check=True)
    return (folder / "libnadir.so").resolve()


# Parts of glibc and of the compiler, which every system has that the tag of the wheel admits.
SYSTEM = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|util|resolv|gcc_s|stdc\+\+))\.so\b.*")


def needed(library: Path) -> list[str]:
    return subprocess.run(
        ["patchelf", "--print-needed", str(library)], check=True, capture_output=True, text=True
    ).stdout.split()


def resolved(library: Path) -> dict[str, Path]:
    """Where the loader finds everything that a library needs, by name."""
    said = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
    return {name: Path(path).resolve() for name, path in re.findall(r"(\S+) => (/\S+)", said)}


def licence(path: Path) -> Path | None:
    """The copyright file of the Debian package that a library comes from."""
    for name in {str(path), str(path).removeprefix("/usr")}:
        try:
            said = subprocess.run(["dpkg", "-S", name], check=True, capture_output=True, text=True).stdout
        except (OSError, subprocess.CalledProcessError):
            continue
        found = Path("/usr/share/doc") / said.split(":")[0] / "copyright"
        if found.is_file():
            return found
    return None


def carry(library: Path, folder: Path) -> None:
    """Copies what a library in a package needs into `folder`, under names of their own: another copy of the same library
    in the process is another one. Each finds the others by a path relative to itself."""
    found = {name: path for name, path in resolved(library).items() if not SYSTEM.fullmatch(name)}
    folder.mkdir()
    called = {}
    for name, path in sorted(found.items()):
        stem, rest = name.split(".so", 1)
        called[name] = f"{stem}-{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}.so{rest}"
        shutil.copyfile(path, folder / called[name])
        text = licence(path)
        if text is not None:
            shutil.copyfile(text, folder / f"{stem}.copyright")
    for path, rpath in [(library, f"$ORIGIN/{folder.name}"), *((folder / one, "$ORIGIN") for one in called.values())]:
        steps = [["--replace-needed", name, called[name]] for name in needed(path) if name in called]
        steps += [] if path == library else [["--set-soname", path.name]]
        for words in [*steps, ["--set-rpath", rpath]]:  # one at a time: patchelf 0.14 loses some of several
            subprocess.run(["patchelf", *words, str(path)], check=True)


def glibc(package: Path) -> int | None:
    """The y of the glibc 2.y that the libraries of a package need."""
    libraries = [str(path) for path in package.rglob("*.so*")]
    try:
        said = subprocess.run(["readelf", "-V", "-W", *libraries], check=True, capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return max((int(minor) for minor in re.findall(r"\bGLIBC_2\.(\d+)", said)), default=None)


class Wheel(bdist_wheel):
    """For any Python 3; for any Linux with the glibc that its libraries need, where it carries them all."""

    def get_tag(self) -> tuple[str, str, str]:
        tag = super().get_tag()[2]
        package = Path(self.get_finalized_command("build").build_lib) / "nadir"
        minor = glibc(package) if (package / "libs").is_dir() and platform.system() == "Linux" else None
        return "py3", "none", tag if minor is None else f"manylinux_2_{minor}_{platform.machine()}"


class Build(build_py):
    def run(self) -> None:
        super().run()
        if getattr(self, "editable_mode", False):
            return  # the package lies in the source tree, which holds both
        package = Path(self.build_lib) / "nadir"
        for stale in [*package.glob("libnadir.so*"), *package.glob("_built.py")]:
            stale.unlink()
        shutil.rmtree(package / "libs", ignore_errors=True)
        text = header()
        DECLARATIONS["write"](text, str(package / "_bindings.py"))
        major, minor, _ = DECLARATIONS["version"](text).split(".")
        named = os.environ.get("NADIR_LIBRARY")
        there = None if named else installed(DECLARATIONS["version"](text))
        if there is not None and os.environ.get("NADIR_BUNDLE") == "0":
            (package / "_built.py").write_text(f"LIBRARY = {str(there)!r}\n", encoding="utf-8")
            return
        carried = package / f"libnadir.so.{major}.{minor}"
        with tempfile.TemporaryDirectory(prefix="nadir-build.") as folder:
            library = Path(named).resolve() if named else there or from_tree(Path(folder))
            shutil.copyfile(library, carried)
        if shutil.which("patchelf") and shutil.which("ldd"):
            carry(carried, package / "libs")
        else:
            print("without patchelf the package carries libnadir alone, not what it needs", file=sys.stderr)


class Binary(Distribution):
    """The package holds a library, or the place of one: it is made for this machine."""

    def has_ext_modules(self) -> bool:
        return True


setup(version=DECLARATIONS["version"](header()), cmdclass={"build_py": Build, "bdist_wheel": Wheel}, distclass=Binary)
