"""The forms of other tools: the same model, to the bit, whichever it came from; and what is refused."""

import warnings

import numpy as np
import pytest
from conftest import random_mdp
from scipy import sparse

import nadir


@pytest.fixture(params=[0.0, 0.7])
def arrays(request):
    P, R, pi = random_mdp(11, states=8, actions=3, zeros=request.param)
    return P, R, pi


def by_action(P):
    return np.ascontiguousarray(P.transpose(1, 0, 2))


def test_kernels(arrays):
    P, R, _ = arrays
    states, actions, _ = P.shape
    rows = P.reshape(-1, states)
    wanted = nadir.Model(P, R, 0.9).sha256
    wide = sparse.csr_matrix(rows)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    forms = {
        "(S, A, S)": P,
        "(A, S, S)": by_action(P),
        "Fortran order": np.asfortranarray(P),
        "a view": np.repeat(P, 2, axis=1)[:, ::2],
        "nested lists": P.tolist(),
        "rows": rows,
        "CSR rows": sparse.csr_matrix(rows),
        "CSC rows": sparse.csc_matrix(rows),
        "COO array": sparse.coo_array(rows),
        "DOK rows": sparse.dok_matrix(rows),
        "64-bit columns": wide,
        "dense per action": [P[:, a] for a in range(actions)],
        "CSR per action": [sparse.csr_matrix(P[:, a]) for a in range(actions)],
        "COO per action, tuple": tuple(sparse.coo_matrix(P[:, a]) for a in range(actions)),
    }
    objects = np.empty(actions, dtype=object)
    objects[:] = [sparse.csc_matrix(P[:, a]) for a in range(actions)]
    forms["object array"] = objects
    for name, form in forms.items():
        assert nadir.Model(form, R, 0.9).sha256 == wanted, name
    per_state = [sparse.csr_matrix(P[s]) for s in range(states)]
    assert nadir.Model(per_state, R, 0.9, layout="sas").sha256 == wanted


def test_rewards(arrays):
    P, R, _ = arrays
    states, actions, _ = P.shape
    wanted = nadir.Model(P, R, 0.9).sha256
    assert nadir.Model(P, R.ravel(), 0.9).sha256 == wanted
    assert nadir.Model(P, -R, 0.9, costs=True).sha256 == wanted
    assert nadir.Model(P, R.tolist(), 0.9).sha256 == wanted
    by_state = np.arange(states, dtype=float)
    table = np.repeat(by_state[:, None], actions, axis=1)
    assert nadir.Model(P, by_state, 0.9).sha256 == nadir.Model(P, table, 0.9).sha256


def test_rewards_of_transitions(arrays):
    P, _, _ = arrays
    states, actions, _ = P.shape
    T = np.random.default_rng(5).normal(size=P.shape)
    mean = (P * T).sum(axis=2).ravel()
    split = [sparse.csr_matrix(P[:, a]) for a in range(actions)]
    cases = [
        (P, T),
        (by_action(P), by_action(T)),
        (P, by_action(T)),
        (P.reshape(-1, states), T.reshape(-1, states)),
        (sparse.csr_matrix(P.reshape(-1, states)), T),
        (sparse.csr_matrix(P.reshape(-1, states)), sparse.csr_matrix(T.reshape(-1, states))),
        (split, [T[:, a] for a in range(actions)]),
        (split, [sparse.coo_matrix(T[:, a]) for a in range(actions)]),
        (P, [sparse.csr_matrix(T[:, a]) for a in range(actions)]),
    ]
    for kernel, rewards in cases:
        np.testing.assert_allclose(nadir.Model(kernel, rewards, 0.9).rewards, mean, atol=1e-14)


def test_policies(arrays):
    P, R, pi = arrays
    model = nadir.Model(P, R, 0.9)
    wanted = nadir.Policy(model, pi).sha256
    assert nadir.Policy(model, pi.ravel()).sha256 == wanted
    assert nadir.Policy(model, pi.tolist()).sha256 == wanted
    assert nadir.Policy(model, nadir.Policy(nadir.Model(P), pi)).sha256 == wanted
    actions = np.arange(8) % 3
    chosen = nadir.Policy(model, actions)
    np.testing.assert_array_equal(chosen.table, np.eye(3)[actions])
    np.testing.assert_array_equal(chosen.actions, actions)
    assert chosen.is_deterministic and not nadir.Policy(model, pi).is_deterministic
    assert nadir.Policy(model, list(map(int, actions))).sha256 == chosen.sha256
    assert nadir.Policy(model, "optimal").sha256 == nadir.solve(model).policy.sha256
    np.testing.assert_array_equal(np.asarray(chosen), chosen.table)


def test_policy_files(arrays, tmp_path):
    P, R, pi = arrays
    model = nadir.Model(P, R, 0.9)
    for name in ("policy.csv", "policy.npy"):
        nadir.Policy(model, pi).write(tmp_path / name)
        assert nadir.Policy(model, tmp_path / name).sha256 == nadir.Policy(model, pi).sha256


def test_layouts_that_cannot_be_told():
    P, R, _ = random_mdp(2, states=3, actions=3)
    with pytest.raises(nadir.UsageError, match="may be \\(S, A, S\\) or \\(A, S, S\\): say layout="):
        nadir.Model(P, R, 0.9)
    sas = nadir.Model(P, R, 0.9, layout="sas")
    assert nadir.Model(by_action(P), R, 0.9, layout="ass").sha256 == sas.sha256
    assert nadir.Model(P, R, 0.9, layout="ass").sha256 != sas.sha256
    assert nadir.Model([P[:, a] for a in range(3)], R, 0.9).sha256 == sas.sha256
    assert nadir.Model(np.ones((1, 1, 1)), [[1.0]], 0.5).states == 1


def test_ragged_states():
    """Two actions in state 0, one in state 1, by rows and by state."""
    rows = np.array([[0.5, 0.5], [0.1, 0.9], [1.0, 0.0]])
    model = nadir.Model(rows, [1.0, 2.0, 3.0], 0.5, state_rows=[0, 2, 3])
    listed = nadir.Model([rows[:2], rows[2:]], np.array([1.0, 2.0, 3.0]), 0.5, layout="sas")
    padded = nadir.Model(sparse.csr_matrix(rows), [[1.0, 2.0], [3.0, np.nan]], 0.5, state_rows=[0, 2, 3])
    assert model.sha256 == listed.sha256 == padded.sha256
    assert model.actions is None
    np.testing.assert_array_equal(model.row_states, [0, 0, 1])
    np.testing.assert_array_equal(model.row_actions, [0, 1, 0])
    np.testing.assert_array_equal(model.table(model.rewards, fill=0), [[1, 2], [3, 0]])
    policy = nadir.Policy(model, [[0.25, 0.75], [1, 0]])
    np.testing.assert_array_equal(policy.probabilities, [0.25, 0.75, 1])
    found = nadir.evaluate(model, policy, radius=0.1)
    assert found.kernel().shape == (3, 2)
    # Action numbers with gaps: state 0 has the actions 1 and 4.
    gaps = nadir.Model(rows, [1.0, 2.0, 3.0], 0.5, state_rows=[0, 2, 3], row_actions=[1, 4, 0])
    np.testing.assert_array_equal(gaps.row_actions, [1, 4, 0])
    assert nadir.Policy(gaps, [4, 0]).probabilities.tolist() == [0, 1, 1]


# --------------------------------------------------------------------------------------------- Gymnasium

LAKE = {  # a frozen lake of four squares: start, ice, hole (2) and goal (3)
    0: {0: [(0.5, 0, 0.0, False), (0.5, 1, 0.0, False)], 1: [(0.8, 2, 0.0, True), (0.2, 1, 0.0, False)]},
    1: {0: [(1.0, 0, 0.0, False)], 1: [(0.3, 3, 1.0, True), (0.3, 3, 1.0, True), (0.4, 2, 0.0, True)]},
    2: {0: [(1.0, 2, 0, True)], 1: [(1.0, 2, 0, True)]},
    3: {0: [(1.0, 3, 0, True)], 1: [(1.0, 3, 0, True)]},
}
TAXI = {  # the passenger is dropped with a reward, and the episode ends in a state that has actions
    0: {0: [(1.0, 1, -1, False)], 1: [(1.0, 0, -10, False)]},
    1: {0: [(1.0, 0, 20, True)], 1: [(1.0, 0, -1, False)]},
}


def test_gymnasium_ends_that_stay():
    model = nadir.Model(LAKE, gamma=0.9)
    assert (model.states, model.states_given) == (4, 4)
    np.testing.assert_array_equal(model.dense()[1, 1], [0, 0, 0.4, 0.6])
    np.testing.assert_array_equal(model.scales, [1, 1, 1, 1, 0, 0, 0, 0])
    np.testing.assert_allclose(model.rewards, [0, 0, 0, 0.6, 0, 0, 0, 0])
    found = nadir.evaluate(model, np.full((4, 2), 0.5), radius=0.1)
    np.testing.assert_array_equal(found.kernel()[2:], model.dense()[2:])


def test_gymnasium_ends_that_go_on():
    model = nadir.Model(TAXI, gamma=0.5)
    assert (model.states, model.states_given) == (3, 2)
    assert model.state_name(2) == "terminal"
    np.testing.assert_array_equal(model.mu, [0.5, 0.5, 0])
    policy = nadir.Policy(model, np.array([0, 0]))
    # Drive (-1), then drop (20): v(1) = 20, v(0) = -1 + 0.5 * 20.
    np.testing.assert_allclose(nadir.Solver(model, policy).value(), [9, 20, 0], atol=1e-12)
    assert nadir.Policy(model, [[1.0, 0.0], [0.5, 0.5]]).table.shape == (2, 2)
    found = nadir.evaluate(model, policy, radius=0.1)
    assert found.robust_return < 14.5
    np.testing.assert_array_equal(found.apply([0, 0, 1])[4], 1)  # the terminal state is left alone
    best = nadir.optimize(model, radius=0.1)
    np.testing.assert_array_equal(best.policy.actions, [0, 0])
    named = nadir.Model(TAXI, gamma=0.5, scales=np.full((2, 2), 0.5), state_names=["here", "there"])
    assert [named.state_name(s) for s in range(3)] == ["here", "there", "terminal"]
    np.testing.assert_array_equal(named.scales, [0.5, 0.5, 0.5, 0.5, 0])


def test_gymnasium_environments():
    class Environment:
        P = LAKE
        initial_state_distrib = np.array([1.0, 0, 0, 0])

        @property
        def unwrapped(self):
            return self

    model = nadir.Model(Environment(), gamma=0.9)
    assert model.sha256 == nadir.Model(LAKE, gamma=0.9, mu=0).sha256
    np.testing.assert_array_equal(model.mu, [1, 0, 0, 0])


def test_gymnasium_that_is_wrong():
    with pytest.raises(nadir.UsageError, match="expected keys 0, 1"):
        nadir.Model({0: LAKE[0], 2: LAKE[2]})
    with pytest.raises(nadir.UsageError, match="expected \\(probability, successor, reward, done\\)"):
        nadir.Model({0: {0: [(1.0, 0, 0.0)]}})
    with pytest.raises(nadir.ModelError, match="sum to 0.5"):
        nadir.Model({0: {0: [(0.5, 0, 0.0, False)]}})
    # One past the last state is not the terminal state that may be added.
    for successor in (-1, 1, 10**12):
        for done in (False, True):
            with pytest.raises(nadir.ModelError, match=f"successor {successor} is not a state"):
                nadir.Model({0: {0: [(1.0, successor, 1.0, done)]}})
    with pytest.raises(nadir.UsageError, match="expected \\(probability, successor"):
        nadir.Model({0: {0: [(1.0, 0.5, 0.0, False)]}})
    for actions in ({"left": [(1.0, 0, 1.0, False)]}, [[(1.0, 0, 1.0, False)]]):
        with pytest.raises(nadir.UsageError, match="state 0: expected a dictionary"):
            nadir.Model({0: actions})


# ------------------------------------------------------------------------------------------------ refused


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"P": np.ones((2, 3, 4))}, "expected \\(S, A, S\\) or \\(A, S, S\\)"),
        ({"P": np.ones((2, 3, 2)), "layout": "ass"}, "is not that of layout='ass'"),
        ({"P": np.ones((2, 3, 2)), "layout": "ssa"}, "expected 'sas'"),
        ({"P": np.ones(3)}, "1 dimensions"),
        ({"P": np.ones((3, 2)) / 2}, "expected a multiple of the columns"),
        ({"P": np.ones((3, 2)) / 2, "state_rows": [0, 3]}, "expected 3 numbers"),
        ({"P": [np.ones((2, 2)), np.ones((3, 3))]}, "the matrix of action 1"),
        ({"P": np.array([{}, "x"], dtype=object)}, "objects"),
        ({"P": np.full((2, 1, 2), 0.5), "R": np.ones((1, 2))}, "R has the shape \\(1, 2\\); expected"),
        ({"P": np.full((2, 1, 2), 0.5), "R": np.ones((2, 2, 2))}, "expected \\(2, 1, 2\\)"),
        ({"P": np.full((2, 1, 2), 0.5), "R": sparse.eye(3)}, "that of the rows of P"),
        ({"P": np.full((2, 1, 2), 0.5), "mu": [1, 0, 0]}, "initial has the shape"),
        ({"P": np.full((2, 1, 2), 0.5), "mu": 5}, "expected a state"),
        ({"P": np.full((2, 1, 2), 0.5), "mu": 0.5}, "initial is 0.5; expected a state, 0 to 1"),
        ({"P": np.full((2, 1, 2), 0.5), "mu": np.nan}, "expected a state"),
        ({"P": np.full((2, 1, 2), 0.5), "norm": np.nan}, "norm is nan; expected a number"),
        ({"P": np.full((2, 1, 2), 0.5), "norm": [2]}, "expected a number"),
        ({"P": np.full((2, 1, 2), 0.5), "set": "rect"}, "sets is 'rect'; expected one of 'nonrect'"),
        ({"P": np.full((2, 1, 2), 0.5), "domain": "all"}, "domain is 'all'"),
        ({"P": np.full((2, 1, 2), 0.5), "state_names": ["a"]}, "1 state_names; expected 2"),
        ({"P": np.full((2, 1, 2), 0.5), "row_actions": [1]}, "row_actions has the shape \\(1,\\)"),
        ({"P": np.full((2, 1, 2), 0.5), "scales": [1, 1, 1]}, "scales has the shape"),
    ],
)
def test_shapes_that_are_refused(arguments, words):
    with pytest.raises(nadir.UsageError, match=words):
        nadir.Model(**arguments)


def test_matrices_that_are_broken_are_refused():
    """SciPy lets its arrays be replaced; none of them is read past its end."""

    def broken(**arrays):
        matrix = sparse.csr_matrix(np.full((2, 2), 0.5))
        for name, array in arrays.items():
            setattr(matrix, name, np.array(array))
        return matrix

    for matrix, words in (
        (broken(indptr=[0, 2, 10**6]), "no CSR matrix"),
        (broken(data=[0.5, 0.5, 0.5]), "no CSR matrix"),
        (broken(indptr=[0, 10**6, 4]), "ends before it starts"),
        (broken(indices=np.array([0, 2, 0, 1], dtype=np.int32)), "successor 2 is not a state"),
        (broken(indices=np.array([0, 1, 0, 2**32 + 1])), "no states"),
    ):
        with pytest.raises(nadir.ModelError, match=words):
            nadir.Model(matrix, gamma=0.9)


def test_policies_that_are_refused():
    model = nadir.Model(np.full((2, 3, 2), 0.5), np.ones((2, 3)), 0.9)
    for policy, words in (
        ([0.5, 0.5], "of type float64; expected 2 action numbers"),
        ([[1, 0], [0, 1]], "expected \\(2, 3\\)"),
        ([["a", "b", "c"]], "expected numbers"),
    ):
        with pytest.raises(nadir.UsageError, match=words):
            nadir.Policy(model, policy)
    with pytest.raises(nadir.PolicyError, match="state 1"):
        nadir.Policy(model, [[1, 0, 0], [0.5, 0, 0]])
    with pytest.raises(nadir.PolicyError, match="action"):
        nadir.Policy(model, [0, 3])
    with pytest.raises(nadir.FileError):
        nadir.Policy(model, "nowhere.csv")


def test_names():
    model = nadir.Model(
        np.full((2, 2, 2), 0.5), layout="sas", state_names=["up", "down"], action_names=["stay", "go"]
    )
    assert [model.state_name(s) for s in range(2)] == ["up", "down"]
    assert [model.action_name(row) for row in range(4)] == ["stay", "go"] * 2
    again = model.replace(gamma=0.3)
    assert again.state_name(1) == "down" and again.action_name(3) == "go"


def test_ends_of_episodes_survive_csv(tmp_path):
    """States that are done have several actions in a dictionary, and none in a file."""
    table = {
        0: {a: [(0.5, 0, 0.0, False), (0.3, 1, 0.0, True), (0.2, 2, 1.0, True)] for a in range(2)},
        1: {a: [(1.0, 1, 0, True)] for a in range(2)},
        2: {a: [(1.0, 2, 0, True)] for a in range(2)},
    }
    model = nadir.Model(table, gamma=0.9, mu=[1, 0, 0])
    path = tmp_path / "lake.csv"
    with pytest.warns(nadir.NadirWarning):
        nadir.write(model, path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # ends without actions are what such a file should have
        again = nadir.read(path, gamma=0.9, initial="0")
    first, second = (nadir.evaluate(one, "uniform", radius=0.1) for one in (model, again))
    assert first.robust_return == pytest.approx(second.robust_return, rel=1e-12)
    assert first.robust_return > 0


def test_intervals_are_the_worst_rows_of_a_box():
    P, R, pi = random_mdp(7)
    rng = np.random.default_rng(7)
    lower = P * rng.random(P.shape)
    upper = np.minimum(1, P + 0.3 * rng.random(P.shape))
    v = np.zeros(len(P))
    for _ in range(2000):  # cheapest successors first
        Q = np.empty_like(R)
        order = np.argsort(v)
        for s in range(len(P)):
            for a in range(R.shape[1]):
                room = (upper - lower)[s, a, order]
                left = 1 - lower[s, a].sum()
                more = np.minimum(room, np.maximum(0, left - np.concatenate([[0], np.cumsum(room)[:-1]])))
                Q[s, a] = R[s, a] + 0.9 * (lower[s, a] @ v + more @ v[order])
        v = (pi * Q).sum(axis=1)
    model = nadir.Model(P, R, 0.9, lower=lower, upper=upper)
    answer = nadir.evaluate(model, policy=pi)
    assert answer.domain == "box" and answer.certified
    assert answer.robust_return == pytest.approx(v.mean(), abs=1e-10)
    rows = [sparse.csr_matrix(x.reshape(-1, len(P))) for x in (P, lower, upper)]
    again = nadir.Model(rows[0], R, 0.9, lower=rows[1], upper=rows[2])
    assert nadir.evaluate(again, policy=pi).robust_return == answer.robust_return
    ball = nadir.evaluate(model, policy=pi, radius=0.05)
    assert ball.robust_return >= answer.robust_return
    unknown = nadir.Model(np.full_like(P, np.nan), R, 0.9, lower=lower, upper=upper)
    assert nadir.evaluate(unknown, policy=pi).robust_return == pytest.approx(v.mean(), abs=1e-10)
    with pytest.raises(nadir.UsageError, match="upper is missing"):
        nadir.Model(P, R, 0.9, lower=lower)


def test_weights_of_entries():
    """`weights`, and the chi^2 ball, which has the roots of the nominal kernel."""
    rng = np.random.default_rng(5)
    P = rng.dirichlet(np.ones(5), (5, 2)) * (rng.random((5, 2, 5)) < 0.7) + np.eye(5)[:, None] * 0.2
    P /= P.sum(axis=2, keepdims=True)
    R = rng.random((5, 2))
    chi = nadir.evaluate(nadir.Model(P, R, 0.9), policy="uniform", radius=0.1, norm="chi2")
    own = nadir.evaluate(nadir.Model(P, R, 0.9, weights=np.sqrt(P)), policy="uniform", radius=0.1)
    assert chi.norm == "chi2" and chi.domain == "support" and chi.lower_bound <= chi.robust_return and "chi2" in str(chi)
    assert own.norm == 2 and own.robust_return == pytest.approx(chi.robust_return, abs=1e-7)
    with pytest.raises(nadir.UsageError, match="'inf' or 'chi2'"):
        nadir.evaluate(nadir.Model(P, R, 0.9), policy="uniform", radius=0.1, norm="chi3")


def test_single_precision_is_no_reason_to_warn():
    """Sums that are off by its rounding are mended, and facts say so; others are warned of as ever."""
    P, R, _ = random_mdp(4, states=40, zeros=0.5)
    single = P.astype(np.float32)
    exact = single / single.sum(axis=2, keepdims=True, dtype=float)
    rows = single.reshape(-1, 40)
    for form in (single, rows, sparse.csr_matrix(rows), [sparse.csr_matrix(one) for one in single.transpose(1, 0, 2)]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model = nadir.Model(form, R, 0.9)
        np.testing.assert_allclose(model.dense(), exact, rtol=1e-15)
        facts = model.facts()
        assert 0 < facts.normalised_rows <= model.rows and "of a P in single precision" in str(facts)
    assert nadir.Model(P, R, 0.9).facts().normalised_rows == 0 and single.dtype == np.float32
    single[1, 1] *= np.float32(1 + 4e-6 * 2)
    with pytest.warns(nadir.NadirWarning, match="1 row was normalised; .*state 1, action 1"):
        nadir.Model(single, R, 0.9)


def test_what_others_call_the_sets():
    model = nadir.generate("machine")
    for word, meant in (("s-rect", "s"), ("s_rectangular", "s"), ("sa-rect", "sa"), ("(s,a)", "sa"), ("nonrec", "nonrect")):
        with pytest.raises(nadir.UsageError, match=f"did you mean {meant!r}"):
            model.evaluate(radius=0.1, sets=word)


def test_keywords_of_models_are_named():
    with pytest.raises(TypeError, match=r"no keyword 'columns': make the model first, nadir.evaluate\(nadir.Model\(..., columns=...\)"):
        nadir.evaluate({}, "uniform", columns={"state": "s"}, radius=0.1)
