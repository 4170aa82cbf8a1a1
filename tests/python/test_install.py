"""The package can be installed with the distribution's Python packages alone, and finds its library."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import TREE

import nadir

PACKAGE = TREE / "bindings" / "python"
NEEDED = ("pip", "setuptools", "wheel", "cffi")
USE = """
import nadir
print(nadir.__file__, nadir.evaluate(nadir.generate("riverswim"), "uniform", radius=0.05))
"""


def copied(tmp_path):
    """The sources of the package with the header, outside of the tree: nothing is left in it, nor found there."""
    copy = tmp_path / "tree"
    (copy / "include").mkdir(parents=True)
    (copy / "include" / "nadir.h").write_bytes((TREE / "include" / "nadir.h").read_bytes())
    package = copy / "bindings" / "python"
    (package / "nadir").mkdir(parents=True)
    for path in [*PACKAGE.glob("*.*"), *PACKAGE.glob("nadir/*.*")]:
        if path.is_file():
            (package / path.relative_to(PACKAGE)).write_bytes(path.read_bytes())
    return package


def pip(*words, **more):
    environment = {**os.environ, **more, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    environment.setdefault("NADIR_LIBRARY", str(TREE / "build" / "libnadir.so"))
    words = ["-m", "pip", words[0], "--no-index", "--no-deps", "--quiet", *map(str, words[1:])]
    subprocess.run([sys.executable, *words], check=True, env=environment)


@pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in NEEDED), reason=f"needs {NEEDED}")
def test_pip_install(tmp_path):
    """Into a folder, from a copy, so that nothing is left in the tree; the library goes with it, alone without patchelf."""
    target = tmp_path / "site"
    pip("install", "--no-build-isolation", "--target", target, copied(tmp_path), PATH=str(tmp_path))
    assert (target / "nadir" / "py.typed").is_file() and not (target / "nadir" / "libs").exists()
    (wheel,) = target.glob("nadir-*.dist-info/WHEEL")
    assert "Tag: py3-none-linux_" in wheel.read_text()
    plain = {name: value for name, value in os.environ.items() if name != "NADIR_LIBRARY"}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**plain, "PYTHONPATH": str(target)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(target)) and "Worst case" in done.stdout


IN_A_VENV = """
import re, sys
import nadir
river = nadir.generate("riverswim")
found = nadir.evaluate(river, "uniform", radius=0.05, threads=1)
river.write("river.npz", compress=True)
nadir.optimize(nadir.read("river.npz"), radius=0.1)
nadir.Solver(nadir.generate("garnet", states=200, branch=2), backend="klu").nominal()
print(repr(found.robust_return), repr(found.guaranteed))
print(nadir.__file__)
print(*sorted(set(re.findall(r"(/\\S+\\.so\\S*)", open("/proc/self/maps").read()))), sep="\\n")
"""


@pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in (*NEEDED, "venv")), reason="needs venv")
@pytest.mark.skipif(shutil.which("patchelf") is None, reason="needs patchelf (Debian: patchelf)")
@pytest.mark.skipif(not Path("/proc/self/maps").is_file(), reason="needs /proc")
def test_wheel_carries_its_libraries(tmp_path):
    """In a virtual environment, without the tree and with no library of the system but glibc's: the same bits."""
    pip("wheel", "--no-build-isolation", "--wheel-dir", tmp_path / "wheels", copied(tmp_path))
    (wheel,) = (tmp_path / "wheels").glob("*.whl")
    assert re.fullmatch(r"nadir-[0-9.]+-py3-none-manylinux_2_\d+_\w+\.whl", wheel.name)
    inside = zipfile.ZipFile(wheel).namelist()
    carried = {name.split("/")[-1].split("-")[0] for name in inside if name.startswith("nadir/libs/") and ".so" in name}
    assert {"libklu", "libopenblas", "libzip", "libcrypto", "libnlopt"} <= carried
    assert "nadir/py.typed" in inside and any(name.startswith("nadir/libnadir.so.") for name in inside)
    shutil.rmtree(tmp_path / "tree")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", venv], check=True)
    site = next((venv / "lib").glob("python*")) / "site-packages"
    pip("install", "--target", site, wheel)
    plain = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OMP_NUM_THREADS": "2"}
    plain |= {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}  # which of its code runs
    done = subprocess.run([venv / "bin" / "python", "-c", IN_A_VENV], capture_output=True, text=True, cwd=tmp_path, env=plain)
    assert done.returncode == 0, done.stderr
    numbers, where, *loaded = done.stdout.splitlines()
    assert where.startswith(str(site))
    ours = {Path(path).name.split("-")[0].split(".so")[0] for path in loaded if path.startswith(str(site))}
    assert carried | {"libnadir"} <= ours
    assert not any(str(TREE) in path for path in loaded)
    # what is loaded from elsewhere is Python's, NumPy's and cffi's, or of glibc: nothing that nadir alone needs
    others = {Path(path).name.split(".so")[0] for path in loaded if not path.startswith(str(venv))}
    assert not others & {"libklu", "libamd", "libcolamd", "libbtf", "libzip", "libnlopt", "libnadir"}
    here = nadir.evaluate(nadir.generate("riverswim"), "uniform", radius=0.05, threads=1)
    assert numbers == f"{here.robust_return!r} {here.guaranteed!r}"


def refused(library):
    """What importing says with this library, which has to fail."""
    environment = {**os.environ, "NADIR_LIBRARY": str(library), "PYTHONPATH": str(PACKAGE)}
    words = [sys.executable, "-c", "import nadir"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode != 0
    assert "no libnadir.so" in done.stderr and "NADIR_LIBRARY" in done.stderr
    return done.stderr


def test_a_wrong_library_is_refused(tmp_path):
    fake = tmp_path / "libnadir.so"
    fake.write_bytes(b"no library")
    assert str(fake) in refused(fake)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_another_version_is_refused(tmp_path):
    fake = tmp_path / "libnadir.so"
    source = 'const char *nadir_version(void) { return "9.1.0"; }'
    words = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(fake)]
    subprocess.run(words, input=source, text=True, check=True)
    assert "version 9.1.0" in refused(fake)
