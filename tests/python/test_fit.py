"""From data to a ball: the posterior mean against NumPy, forms of data, and what is asked of the ball."""

import numpy as np
import pytest

import nadir

STATES, ACTIONS = 4, 2


@pytest.fixture(scope="module")
def log():
    """(state, action, next state, reward) of a walk through a random model."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(STATES), size=(STATES, ACTIONS))
    R = rng.normal(size=(STATES, ACTIONS))
    steps, state = [], 0
    for _ in range(2000):
        action = int(rng.integers(ACTIONS))
        successor = int(rng.choice(STATES, p=P[state, action]))
        steps.append((state, action, successor, R[state, action]))
        state = successor
    return np.array(steps), P, R


def test_posterior_mean_and_rewards(log):
    steps, _, R = log
    counts = np.zeros((STATES, ACTIONS, STATES))
    np.add.at(counts, tuple(steps[:, :3].astype(int).T), 1)
    found = nadir.fit(steps, gamma=0.9, prior=2, samples=500)
    mean = (counts + 2 / STATES) / (counts.sum(axis=2, keepdims=True) + 2)
    np.testing.assert_allclose(found.nominal.dense(), mean, rtol=1e-13)
    np.testing.assert_allclose(found.nominal.table(found.nominal.rewards), R, rtol=1e-12)
    assert (found.observations, found.rows_visited) == (2000, STATES * ACTIONS)
    assert found.data_kind == "transitions"


def test_forms_of_data(log, tmp_path):
    steps, _, _ = log
    wanted = nadir.fit(steps, gamma=0.9, samples=300)
    lines = [f"{int(s)},{int(a)},{int(t)},{r!r}" for s, a, t, r in steps.tolist()]
    (tmp_path / "log.csv").write_text("\n".join(["idstatefrom,idaction,idstateto,reward", *lines]) + "\n")
    columns = [("idstatefrom", "i8"), ("idaction", "i8"), ("idstateto", "i8"), ("reward", "f8")]
    records = np.array([tuple(row) for row in steps.tolist()], dtype=columns)
    for data in (tmp_path / "log.csv", records):
        found = nadir.fit(data, gamma=0.9, samples=300)
        assert found.model.sha256 == wanted.model.sha256
        assert found.radius == wanted.radius


def test_the_same_as_the_command(log, command, tmp_path):
    steps, _, _ = log
    np.save(tmp_path / "log.npy", steps)
    for words, asked in (
        (["--guarantee", "kernel"], {}),
        (["--scales", "ones", "--seed", 5], {"scales": "ones", "seed": 5}),
        (["--method", "bootstrap", "--policy", "uniform"], {"method": "bootstrap", "policy": "uniform"}),
        (["--method", "distribution-free", "--set", "sa"], {"method": "distribution-free", "set": "sa"}),
    ):
        common = ["--discount", 0.9, "--samples", 300, "--threads", 1, "--out", tmp_path / "model.npz"]
        printed = command("fit", tmp_path / "log.npy", *common, *words)
        found = nadir.fit(steps, gamma=0.9, samples=300, threads=1, **asked)
        made = found.to_dict()
        assert found.model.sha256 == printed["model_sha256"]
        for name in ("radius", "scales", "nominal_return", "confidence", "observations", "rows_visited"):
            if asked.get("set") is None or name not in ("radius", "scales"):  # of the set that is written
                assert made[name] == printed[name], name
        for mine, theirs in zip(made["guarantees"], printed["guarantees"]):
            assert mine["lower_bound"] == theirs["lower_bound"] and mine["radius"] == theirs["radius"]


def test_the_ball_reaches_the_questions(log):
    steps, P, R = log
    found = nadir.fit(steps, gamma=0.9, samples=1000, scales="ones")
    nonrect = found.guarantees[0]
    assert (nonrect.set, nonrect.radius) == ("nonrect", found.radius)
    asked = nadir.evaluate(found.model, "optimal")
    assert asked.radius == found.radius
    assert asked.robust_return == pytest.approx(nonrect.robust_return, rel=1e-8)
    assert nadir.evaluate(found.model, "optimal", radius=0.5 * found.radius).penalty < asked.penalty
    # At 95 % the truth lies inside for this seed, and so the promise is kept.
    assert np.linalg.norm(P - found.nominal.dense()) <= found.radius
    best = nadir.optimize(found.model)
    truth = nadir.Model(P, R, 0.9)
    assert nadir.Solver(truth, best.policy).nominal().nominal_return >= best.lower_bound
    assert "at least" in str(found) and found.to_dict()["confidence"] == 0.95


def test_wrong_data(tmp_path):
    (tmp_path / "log.csv").write_text("idstatefrom,idaction,idstateto\n0,0,x\n")
    with pytest.raises(nadir.FormatError, match="log.csv:2"):
        nadir.fit(tmp_path / "log.csv")
    with pytest.raises(nadir.UsageError, match="confidence"):
        nadir.fit(np.array([[0, 0, 0]]), confidence=1.5)
    with pytest.raises(nadir.UsageError, match="set is 'both'"):
        nadir.fit(np.array([[0, 0, 0]]), set="both")


def test_a_guarantee_of_the_return(log, command, tmp_path):
    steps, P, R = log
    np.save(tmp_path / "log.npy", steps)
    printed = command("fit", tmp_path / "log.npy", "--discount", 0.9, "--out", tmp_path / "model.npz")
    found = nadir.fit_return(steps, gamma=0.9)
    assert found.guaranteed == printed["guaranteed"] and found.ties == printed["ties"]
    assert found.radius == printed["radius"] and found.model.sha256 == printed["model_sha256"]
    assert found.guaranteed <= found.posterior_bound < found.nominal_return
    true = nadir.evaluate(nadir.Model(P, R, 0.9), found.policy.table, radius=0).nominal_return
    assert true >= found.guaranteed
    given = nadir.fit_return(steps, gamma=0.9, policy="uniform")
    assert given.guaranteed == given.posterior_bound and np.isnan(given.weight)


class Frame(dict):
    """As much of a frame as is asked for."""

    columns = property(lambda self: list(self))

    def __len__(self):
        return len(next(iter(self.values())))


def test_frames_count_by_name(log):
    steps, _, _ = log
    named = {"reward": steps[:, 3], "next_state": steps[:, 2], "action": steps[:, 1], "state": steps[:, 0]}
    assert nadir.fit_return(Frame(named), gamma=0.9).guaranteed == nadir.fit_return(steps, gamma=0.9).guaranteed
    with pytest.raises(nadir.FormatError):
        nadir.fit_return(Frame({f"column {i}": steps[:, i] for i in range(4)}), gamma=0.9)
    with pytest.raises(nadir.UsageError, match="does not hold numbers"):
        nadir.fit_return(Frame({**named, "state": np.array(["a"] * len(steps))}), gamma=0.9)
