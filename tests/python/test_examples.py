"""Every script of examples/python, its notebook, and the sessions of README and docs/: run, and compared."""

import ast
import doctest
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import TREE

import nadir

EXAMPLES = TREE / "examples" / "python"
EXPECTED = Path(__file__).parent / "expected"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
ROUGH = {"from_data": 0.02}  # drawn kernels: how many it takes, and which, may change


def same(printed, expected, tolerance):
    """The same words, and numbers that agree."""
    assert NUMBER.sub("#", printed).split() == NUMBER.sub("#", expected).split()
    for mine, theirs in zip(NUMBER.findall(printed), NUMBER.findall(expected)):
        close = math.isclose(float(mine), float(theirs), rel_tol=tolerance, abs_tol=2e-6)
        assert close, f"{mine} is printed, {theirs} was expected"


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_script(script, tmp_path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=tmp_path, env=environment
    )
    assert done.returncode == 0, done.stderr
    expected = (EXPECTED / f"{script.stem}.txt").read_text(encoding="utf-8")
    same(done.stdout, expected, ROUGH.get(script.stem, 1e-5))


def test_there_are_five():
    assert len(list(EXAMPLES.glob("*.py"))) >= 5


def test_notebook():
    """Cell after cell, as Jupyter would; what a cell ends with is shown."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    notebook = json.loads((EXAMPLES / "tour.ipynb").read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    names: dict = {}
    shown = 0
    for number, cell in enumerate(notebook["cells"]):
        if cell["cell_type"] != "code":
            continue
        parsed = ast.parse("".join(cell["source"]), f"cell {number}")
        last = parsed.body.pop() if isinstance(parsed.body[-1], ast.Expr) else None
        exec(compile(parsed, f"cell {number}", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), f"cell {number}", "eval"), names)
            page = getattr(value, "_repr_html_", None)
            shown += bool(page() if page else repr(value))
    assert shown == 7
    matplotlib.pyplot.close("all")


PAGES = [page for page in sorted([TREE / "README.md", *TREE.glob("docs/*.md")]) if "```pycon" in page.read_text(encoding="utf-8")]


def test_pages_have_sessions():
    assert {"README", "python", "radius", "rewards", "uncertified"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_sessions_of_pages(page, tmp_path, monkeypatch):
    """What stands behind >>> is run, what stands below is compared."""
    monkeypatch.chdir(tmp_path)
    nadir.generate("riverswim").write("riverswim.npz")
    sessions = page.read_text(encoding="utf-8").count("```pycon")
    found = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert found.attempted >= 2 * sessions and found.failed == 0


def test_programs_of_pages(tmp_path, monkeypatch, capsys):
    """Blocks of Python without a prompt: they run, and print something."""
    monkeypatch.chdir(tmp_path)
    nadir.generate("machine").write("machine.npz")
    page = (TREE / "docs" / "start.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert blocks
    for block in blocks:
        exec(block, {})
    assert "Worst case" in capsys.readouterr().out
