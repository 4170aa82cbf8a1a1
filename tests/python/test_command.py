"""Results are those of the command, to the last bit, on the same number of threads."""

import math

import numpy as np
import pytest

import nadir

MODELS = {
    "riverswim": {},
    "machine": {},
    "garnet": {"states": 40, "actions": 4, "branch": 6, "seed": 3},
    "random": {"states": 30, "actions": 3, "seed": 5},
    "gridworld": {"width": 4, "height": 3},
}
TIMES = {"seconds", "backend_bytes"}


def same(ours, printed, leave=TIMES):
    """Every number and word that both have; how many there were."""
    compared = 0
    for name in (ours.keys() & printed.keys()) - leave:
        mine, theirs = ours[name], printed[name]
        if isinstance(mine, float) and not math.isfinite(mine):
            theirs = mine if theirs is None or theirs == "inf" else theirs
            assert repr(mine) == repr(theirs), name
        else:
            assert mine == theirs, (name, mine, theirs)
        compared += 1
    return compared


@pytest.fixture(params=MODELS)
def written(request, tmp_path):
    """A model, made here, and its file."""
    model = nadir.generate(request.param, **MODELS[request.param])
    path = tmp_path / f"{request.param}.npz"
    nadir.write(model, path)
    return model, path


BALLS = [
    ({"radius": 0.02}, ["--radius", "0.02"]),
    ({"radius": 0.05, "domain": "support"}, ["--radius", "0.05", "--domain", "support"]),
    ({"radius": 0.001, "domain": "free"}, ["--radius", "0.001", "--domain", "free"]),
    ({"radius": 0.03, "set": "sa", "norm": 1}, ["--radius", "0.03", "--set", "sa", "--norm", "1"]),
    ({"radius": 0.03, "set": "s", "norm": "inf"}, ["--radius", "0.03", "--set", "s", "--norm", "inf"]),
    ({"radius": 0.02, "optimistic": True}, ["--radius", "0.02", "--optimistic"]),
]


@pytest.mark.parametrize("threads", [1, 2])
def test_evaluate(written, command, threads):
    model, path = written
    for policy in ("uniform", "optimal"):
        for asked, words in BALLS:
            found = nadir.evaluate(model, policy, threads=threads, **asked)
            printed = command("evaluate", path, "--policy", policy, "--threads", threads, *words)
            assert same(found.to_dict(), printed) >= 25


def test_borrowed_kernel(command, tmp_path):
    """Arrays that are used where they lie give the bits of a model that was read."""
    rng = np.random.default_rng(8)
    P = rng.random((50, 3, 50))
    P /= P.sum(axis=2, keepdims=True)
    R = rng.normal(size=(50, 3))
    model = nadir.Model(P, R, 0.9)
    assert model.is_borrowed
    np.savez(tmp_path / "model.npz", P=P, R=R, gamma=0.9)
    words = ["--policy", "uniform", "--radius", 0.1, "--threads", 1]
    printed = command("evaluate", tmp_path / "model.npz", *words)
    assert same(nadir.evaluate(model, "uniform", radius=0.1, threads=1).to_dict(), printed) >= 25


def test_sweep(written, command):
    model, path = written
    printed = command("sweep", path, "--policy", "uniform", "--radius", "0:0.1:5", "--threads", 1)
    found = nadir.sweep(model, "uniform", radius=[one["radius"] for one in printed["curve"]], threads=1)
    assert len(found) == len(printed["curve"])
    for mine, theirs in zip(found, printed["curve"]):
        assert same(mine.to_dict(), theirs) == 8


def test_gradient(written, command, tmp_path):
    model, path = written
    out = tmp_path / "gradient.npy"
    words = ["--policy", "uniform", "--radius", 0.02, "--threads", 1, "--out", out]
    printed = command("gradient", path, *words)
    found = nadir.gradient(model, "uniform", radius=0.02, threads=1)
    np.testing.assert_array_equal(found.gradient, np.load(out).ravel())
    assert same(found.evaluation.to_dict(), printed) >= 25
    assert found.promise == pytest.approx(printed["promise"], rel=1e-12, abs=1e-12)
    assert found.norm == pytest.approx(printed["gradient_norm"], rel=1e-14)


def test_optimize(written, command, tmp_path):
    model, path = written
    out = tmp_path / "policy.npy"
    printed = command("optimize", path, "--radius", 0.02, "--threads", 1, "--out", out)
    found = nadir.optimize(model, radius=0.02, threads=1)
    leave = TIMES | {"nominal_return"}  # the command's is that of the evaluation
    assert same(found.to_dict(), printed, leave) >= 12
    assert found.evaluation.nominal_return == printed["nominal_return"]
    np.testing.assert_array_equal(found.policy.table, model.policy(out).table)


def test_solve_radius_and_norm(written, command, tmp_path):
    model, path = written
    printed = command("solve", path, "--out", tmp_path / "best.csv", "--threads", 1)
    found = nadir.solve(model, threads=1)
    assert same(found.to_dict(), printed) >= 8
    assert found.policy.sha256 == printed["policy_sha256"]
    target = 0.9 * found.nominal_optimum - 1
    printed = command("radius", path, "--policy", "optimal", "--target", repr(target), "--threads", 1)
    assert same(nadir.radius(model, "optimal", target=target, threads=1).to_dict(), printed) >= 12
    np.save(tmp_path / "matrix.npy", np.random.default_rng(2).normal(size=(20, 20)))
    printed = command("norm", tmp_path / "matrix.npy", "--bounds", "--threads", 1)
    made = nadir.norm(np.load(tmp_path / "matrix.npy"), bounds=True, threads=1)
    assert same(made.to_dict(), printed) >= 3


def test_files_of_either_are_verified_by_the_other(written, command, tmp_path):
    model, path = written
    kernel, witness = tmp_path / "kernel.npz", tmp_path / "witness.json"
    found = nadir.evaluate(model, "uniform", radius=0.02)
    found.write(kernel, witness, model_file=path)
    words = ["--policy", "uniform", "--kernel", kernel, "--witness", witness]
    assert command("verify", path, *words)["verified"] is True
    command("evaluate", path, "--radius", 0.05, *words)
    assert nadir.verify(path, "uniform", kernel=kernel, witness=witness, model_file=path).verified
    with pytest.raises(nadir.VerificationError) as failed:
        nadir.verify(path, "optimal", kernel=kernel, witness=witness)
    assert not failed.value.result.verified
    assert any(not check.holds for check in failed.value.result.checks)
