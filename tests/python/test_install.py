"""The package can be installed with the distribution's Python packages alone, and finds its library."""

import importlib.util
import os
import shutil
import subprocess
import sys

import pytest
from conftest import TREE

PACKAGE = TREE / "bindings" / "python"
NEEDED = ("pip", "setuptools", "wheel", "cffi")
USE = """
import nadir
print(nadir.__file__, nadir.evaluate(nadir.generate("riverswim"), "uniform", radius=0.05))
"""


@pytest.mark.skipif(any(importlib.util.find_spec(name) is None for name in NEEDED), reason=f"needs {NEEDED}")
def test_pip_install(tmp_path):
    """Into a folder, from a copy, so that nothing is left in the tree; the library goes with it."""
    target = tmp_path / "site"
    words = ["install", "--no-build-isolation", "--no-index", "--no-deps", "--quiet", "--target", str(target)]
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore"}
    environment.setdefault("NADIR_LIBRARY", str(TREE / "build" / "libnadir.so"))
    copy = tmp_path / "tree"
    (copy / "include").mkdir(parents=True)
    (copy / "include" / "nadir.h").write_bytes((TREE / "include" / "nadir.h").read_bytes())
    package = copy / "bindings" / "python"
    (package / "nadir").mkdir(parents=True)
    for path in [*PACKAGE.glob("*.*"), *PACKAGE.glob("nadir/*.*")]:
        if path.is_file():
            (package / path.relative_to(PACKAGE)).write_bytes(path.read_bytes())
    subprocess.run([sys.executable, "-m", "pip", *words, str(package)], check=True, env=environment)
    assert (target / "nadir" / "py.typed").is_file()
    plain = {name: value for name, value in os.environ.items() if name != "NADIR_LIBRARY"}
    done = subprocess.run(
        [sys.executable, "-c", USE],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**plain, "PYTHONPATH": str(target)},
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(target)) and "lower bound" in done.stdout


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
