"""Without a discount, from arrays: probabilities to reach a goal and total rewards, against NumPy and the command."""

import pickle

import numpy as np
import pytest
from test_forms import LAKE

import nadir

S, A = 6, 2
GOAL, TRAP = 5, 4


@pytest.fixture(scope="module")
def maze():
    """P, R: states 0 to 3 move about, 4 and 5 stay."""
    rng = np.random.default_rng(8)
    P = rng.dirichlet(np.ones(S), size=(S, A))
    P[[TRAP, GOAL]] = np.eye(S)[[TRAP, GOAL], None]
    R = rng.normal(size=(S, A))
    R[[TRAP, GOAL]] = 0
    return P, R


def reached(P, policy, goal):
    """The probability to reach the goal from each state."""
    live = [s for s in range(len(P)) if s not in (TRAP, GOAL)]
    moves = np.array([P[s, policy[s]] for s in live])
    return np.linalg.solve(np.eye(len(live)) - moves[:, live], moves[:, goal])


def test_the_probability_to_reach_a_goal(maze):
    P, R = maze
    policy = [0, 1, 1, 0, 0, 0]
    wanted = reached(P, policy, GOAL)
    mask = np.arange(S) == GOAL
    for goal in (GOAL, [GOAL], np.int64(GOAL), mask, str(GOAL)):
        model = nadir.Model(P, goal=goal, avoid=TRAP, initial=1)
        assert model.discount == 1
        np.testing.assert_allclose(nadir.Solver(model, policy).value()[:4], wanted, rtol=1e-12)
        found = nadir.evaluate(P, None, policy, goal=goal, avoid=[TRAP], initial=1, radius=0)
        assert found.nominal_return == pytest.approx(wanted[1], rel=1e-12)
    assert nadir.evaluate(nadir.Model(P, R), policy, goal=GOAL, initial=1, radius=0.05).guaranteed < wanted[1]
    best = nadir.optimize(P, R, goal=GOAL, initial=1, radius=0.05)
    assert best.guaranteed >= nadir.evaluate(P, R, policy, goal=GOAL, initial=1, radius=0.05).guaranteed
    assert nadir.solve(P, R, goal=GOAL).nominal_optimum >= wanted.mean() * 4 / S


def test_total_rewards(maze):
    P, R = maze
    policy = [1, 1, 0, 0, 0, 0]
    moves = np.array([P[s, policy[s]] for s in range(4)])
    wanted = np.linalg.solve(np.eye(4) - moves[:, :4], [R[s, policy[s]] for s in range(4)])
    for asked in ({"total": True, "discount": 1}, {"until": [TRAP, GOAL]}, {"until": np.arange(S) >= TRAP}):
        model = nadir.Model(P, R, **asked)
        np.testing.assert_allclose(nadir.Solver(model, policy).value()[:4], wanted, rtol=1e-12)
        again = pickle.loads(pickle.dumps(model))
        assert again.sha256 == model.sha256
        assert model.replace(initial=2).initial[2] == 1 and model.replace(initial=2).discount == 1


def test_the_same_as_the_command(maze, command, tmp_path):
    P, R = maze
    names = ["a", "b", "c", "d", "hole", "exit"]
    nadir.Model(P, R, 0.9, state_names=names).write(tmp_path / "maze.npz")
    np.save(tmp_path / "policy.npy", np.array([0, 1, 1, 0, 0, 0]))
    asked = ["--policy", tmp_path / "policy.npy", "--radius", 0.05, "--discount", 1]
    printed = command("evaluate", tmp_path / "maze.npz", *asked, "--goal", "exit", "--avoid", "hole")
    model = nadir.Model(P, R, 1, state_names=names)
    for goal, avoid in (("exit", "hole"), (["exit"], ["hole"]), (5, 4)):
        found = nadir.evaluate(model, [0, 1, 1, 0, 0, 0], goal=goal, avoid=avoid, radius=0.05)
        assert found.lower_bound == printed["lower_bound"] and found.robust_return == printed["robust_return"]
        file = nadir.evaluate(tmp_path / "maze.npz", tmp_path / "policy.npy", goal=goal, avoid=avoid, radius=0.05, discount=1)
        assert file.lower_bound == printed["lower_bound"]


def test_dictionaries_and_frames():
    lake = nadir.Model(LAKE, goal=nadir.Model(LAKE).states - 1, initial=0)
    assert lake.discount == 1 and 0 < nadir.solve(lake).nominal_optimum <= 1
    found = nadir.evaluate(LAKE, "optimal", goal=lake.states - 1, initial=0, radius=0.01, domain="support")
    assert 0 < found.guaranteed <= found.nominal_return <= 1
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        [("in", "go", "out", 0.5), ("in", "go", "in", 0.5), ("out", "go", "out", 1.0)], columns=["s", "a", "next", "p"]
    ).assign(r=1.0)
    assert nadir.solve(frame, goal="out", initial="in").nominal_optimum == pytest.approx(1)


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"goal": 9}, "goal has 9, which is no state; expected 0 to 5$"),
        ({"goal": "exti", "state_names": ["a", "b", "c", "d", "hole", "exit"]}, "goal has 'exti'.*did you mean 'exit'"),
        ({"goal": 5, "discount": 0.9}, "without a discount, and the discount is 0.9"),
        ({"goal": 5, "until": 4}, "goal= asks for a probability and until= for rewards"),
        ({"avoid": 4}, "avoid= says what is to be avoided on the way to goal="),
        ({"goal": 5, "avoid": 5}, "state 5 is both a goal and to be avoided"),
        ({"goal": []}, "no state is a goal"),
        ({"goal": [0.5]}, "goal has 0.5, which is no state"),
    ],
)
def test_what_is_wrong_is_named(maze, asked, words):
    with pytest.raises(nadir.NadirError, match=words):
        nadir.Model(*maze, **asked)


def test_a_discount_of_one_is_told_what_it_needs(maze):
    P, R = maze
    with pytest.raises(nadir.IllPosedError, match=r"horizon= of nadir.evaluate\), or say that rewards are totals \(total=True\)"):
        nadir.evaluate(P, R, "uniform", discount=1, radius=0.1)
    R = R + 1
    with pytest.raises(nadir.IllPosedError, match="say where it ends, until=, or ask for goal="):
        nadir.evaluate(P, R, "uniform", discount=1, total=True, radius=0.1)
