"""mypy --strict: the package, the examples, and that wrong calls are seen."""

import shutil
import subprocess
import sys

import pytest
from conftest import TREE

PACKAGE = TREE / "bindings" / "python"
MYPY = [shutil.which("mypy") or "", "--ignore-missing-imports", "--python-executable", sys.executable]

pytestmark = pytest.mark.skipif(shutil.which("mypy") is None, reason="needs mypy (Debian: mypy)")

GOOD = """
import numpy as np
import nadir

model = nadir.Model(np.ones((1, 1, 1)), np.ones((1, 1)), 0.9)
for domain in ("simplex", "support"):
    for norm in (1, 2.5):
        found = nadir.evaluate(model, "uniform", radius=0.1, norm=norm, domain=domain, time_limit=3.0)
reveal_type(found.guaranteed)
reveal_type(nadir.Solver(model).sweep([0.1, 0.2]).to_pandas())
reveal_type(model.optimize(radius=0.1).policy)
reveal_type(found.explain()[0].share)
reveal_type(model.initial)
"""
BAD = """
import numpy as np
import nadir

model = nadir.Model(np.ones((1, 1, 1)), np.ones((1, 1)), 0.9)
nadir.evaluate(model, "uniform", radius=0.1, domian="free")
nadir.evaluate(model, "uniform", radius=0.1, time_limit="long")
nadir.optimize(model, radius=0.1).polcy
model.sweep("uniform")
nadir.solve(model, iterations_limit=None, costs="no")
"""


def mypy(tmp_path, *words, **more):
    environment = {"MYPYPATH": str(PACKAGE), "PATH": "/usr/bin:/bin"}
    cache = ["--cache-dir", str(tmp_path.parent / "mypy")]
    done = subprocess.run([*MYPY, *cache, *map(str, words)], capture_output=True, text=True, env=environment, **more)
    return done.returncode, done.stdout + done.stderr


def test_the_package(tmp_path):
    """strict, as pyproject.toml says."""
    code, said = mypy(tmp_path, "--config-file", PACKAGE / "pyproject.toml", "-p", "nadir", cwd=PACKAGE)
    assert code == 0, said


def test_the_examples(tmp_path):
    scripts = sorted((TREE / "examples" / "python").glob("*.py"))
    code, said = mypy(tmp_path, "--strict", "--follow-imports=silent", *scripts)
    assert code == 0 and f"{len(scripts)} source files" in said, said


def test_answers_have_types(tmp_path):
    (tmp_path / "good.py").write_text(GOOD)
    code, said = mypy(tmp_path, "--strict", "--follow-imports=silent", tmp_path / "good.py")
    assert code == 0, said
    shown = [line.split('"')[1] for line in said.splitlines() if "Revealed type" in line]
    assert shown[0] == shown[3] == "builtins.float" and shown[2] == "nadir.model.Policy"
    assert shown[4].startswith("numpy.ndarray[Any, numpy.dtype[numpy.floating")


def test_wrong_calls_are_seen(tmp_path):
    (tmp_path / "bad.py").write_text(BAD)
    code, said = mypy(tmp_path, "--strict", "--follow-imports=silent", tmp_path / "bad.py")
    assert code == 1
    lines = {int(line.split(":")[1]) for line in said.splitlines() if ": error:" in line}
    assert lines == {6, 7, 8, 9, 10}, said
