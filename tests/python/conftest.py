"""What the Python tests share: instances, NumPy references that know nothing of nadir, and the command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

TREE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TREE / "bindings" / "python"))

COMMAND = os.environ.get("NADIR", str(TREE / "build" / "nadir"))


@pytest.fixture
def command():
    """Runs the command with --json and gives what it printed."""

    def run(*words, exit_status=0):
        done = subprocess.run([COMMAND, *map(str, words), "--json"], capture_output=True, text=True)
        assert done.returncode == exit_status, done.stderr
        return json.loads(done.stdout)

    return run


def random_mdp(seed, states=6, actions=3, zeros=0.0):
    """P (S, A, S), R (S, A) and a policy (S, A), from a fixed seed."""
    rng = np.random.default_rng(seed)
    P = rng.random((states, actions, states))
    P[rng.random(P.shape) < zeros] = 0
    P[..., 0] += P.sum(axis=2) == 0
    P /= P.sum(axis=2, keepdims=True)
    pi = rng.random((states, actions))
    return P, rng.normal(size=(states, actions)), pi / pi.sum(axis=1, keepdims=True)


def average(pi, X):
    """X^pi of (S, A, ...) numbers."""
    return np.einsum("sa,sa...->s...", pi, X)


def reference_return(P, R, pi, gamma, mu=None):
    """mu . v of a kernel, by a dense solve."""
    states = len(P)
    mu = np.full(states, 1 / states) if mu is None else mu
    return mu @ np.linalg.solve(np.eye(states) - gamma * average(pi, P), average(pi, R))


def reference_optimum(P, R, gamma, sweeps=4000):
    """mu . V*, by value iteration."""
    V = np.zeros(len(P))
    for _ in range(sweeps):
        V = (R + gamma * P @ V).max(axis=1)
    return V.mean()
