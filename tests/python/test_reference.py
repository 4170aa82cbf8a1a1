"""Properties of random instances, against references in plain NumPy. Seeds are in the tests' names."""

import numpy as np
import pytest
from conftest import average, random_mdp, reference_optimum, reference_return

import nadir

SEEDS = range(6)
GAMMA = 0.9


def distance(P, Q, norm=2):
    return np.linalg.norm((P - Q).ravel(), norm)


@pytest.mark.parametrize("seed", SEEDS)
def test_nominal_solution(seed):
    P, R, pi = random_mdp(seed, zeros=0.4 * (seed % 2))
    solver = nadir.Solver(nadir.Model(P, R, GAMMA), pi)
    inverse = np.linalg.inv(np.eye(len(P)) - GAMMA * average(pi, P))
    v = inverse @ average(pi, R)
    np.testing.assert_allclose(solver.value(), v, rtol=1e-11)
    np.testing.assert_allclose(solver.occupancy(), inverse.sum(axis=0) / len(P), rtol=1e-11)
    np.testing.assert_allclose(solver.q().reshape(R.shape), R + GAMMA * P @ v, rtol=1e-11)
    found = solver.nominal()
    assert found.lower_bound <= reference_return(P, R, pi, GAMMA) + 1e-12
    assert found.upper_bound >= reference_return(P, R, pi, GAMMA) - 1e-12
    assert found.certified


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("domain", ["simplex", "support", "free"])
def test_kernel_is_in_the_ball_and_attains_its_return(seed, domain):
    P, R, pi = random_mdp(seed, zeros=0.3)
    radius = 0.05
    found = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=radius, domain=domain)
    Q = found.kernel()
    np.testing.assert_allclose(Q.sum(axis=2), 1, atol=1e-13)
    assert distance(Q, P) <= radius * (1 + 1e-12)
    if domain != "free":
        assert Q.min() >= 0
    if domain == "support":
        assert not Q[P == 0].any()
    assert found.robust_return == pytest.approx(reference_return(Q, R, pi, GAMMA), rel=1e-10)
    assert found.lower_bound <= found.robust_return <= found.upper_bound
    x = np.arange(len(P), dtype=float)
    np.testing.assert_allclose(found.apply(x), (Q @ x).ravel(), atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_kernel_of_the_ball_is_below_the_bound(seed):
    P, R, pi = random_mdp(seed)
    radius = 0.2
    found = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=radius)
    rng = np.random.default_rng(100 + seed)
    for _ in range(200):
        step = rng.normal(size=P.shape)
        step -= step.mean(axis=2, keepdims=True)
        step *= radius / np.linalg.norm(step)
        inside = min(1.0, *(P[step < 0] / -step[step < 0]))
        assert reference_return(P + inside * step, R, pi, GAMMA) >= found.lower_bound - 1e-12


@pytest.mark.parametrize("seed", SEEDS)
def test_free_domain_against_singular_values(seed):
    """λ = β σ_max(γ Φ (v dᵀ − λ D) W), by bisection (theory of the p = 2 ball with free signs)."""
    P, R, pi = random_mdp(seed)
    states, radius = len(P), 0.1
    D = np.linalg.inv(np.eye(states) - GAMMA * average(pi, P))
    v, d = D @ average(pi, R), D.sum(axis=0) / states
    centre = np.eye(states) - 1 / states
    W = np.diag(np.linalg.norm(pi, axis=1))

    def penalty(wanted):
        return radius * np.linalg.norm(GAMMA * centre @ (np.outer(v, d) - wanted * D) @ W, 2)

    low, high = 0.0, 1e3
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if penalty(middle) > middle else (low, middle)
    found = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=radius, domain="free")
    assert found.certified
    assert found.penalty == pytest.approx(low, rel=1e-8)


def worst_row(row, v, radius):
    """min over the L1 ball and the simplex: take from the best successors, give to the worst."""
    row = row.copy()
    worst = v.argmin()
    given = min(radius / 2, 1 - row[worst])
    row[worst] += given
    for t in v.argsort()[::-1]:
        taken = min(row[t], given) if t != worst else 0
        row[t] -= taken
        given -= taken
    return row @ v


@pytest.mark.parametrize("seed", SEEDS)
def test_rectangular_l1_against_value_iteration(seed):
    P, R, pi = random_mdp(seed, states=5, actions=2)
    radius = 0.3
    v = np.zeros(5)
    for _ in range(400):
        v = average(pi, R + GAMMA * np.array([[worst_row(row, v, radius) for row in rows] for rows in P]))
    found = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=radius, set="sa", norm=1)
    assert found.certified
    assert found.robust_return == pytest.approx(v.mean(), rel=1e-9)
    best = nadir.optimize(P, R, gamma=GAMMA, radius=radius, set="sa", norm=1)
    w = np.zeros(5)
    for _ in range(400):
        w = (R + GAMMA * np.array([[worst_row(row, w, radius) for row in rows] for rows in P])).max(axis=1)
    assert best.robust_return == pytest.approx(w.mean(), rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_against_differences(seed):
    P, R, pi = random_mdp(seed, states=4, actions=2)
    found = nadir.gradient(P, R, pi, gamma=GAMMA, radius=0.1)
    step = 1e-5
    for s in range(4):
        change = np.zeros_like(pi)
        change[s] = [step, -step]
        up, down = (
            nadir.evaluate(P, R, pi + sign * change, gamma=GAMMA, radius=0.1, tolerance=1e-14).robust_return
            for sign in (1, -1)
        )
        slope = found.table[s, 0] - found.table[s, 1]
        assert (up - down) / (2 * step) == pytest.approx(slope, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_optima(seed):
    P, R, _ = random_mdp(seed)
    nominal = nadir.solve(P, R, gamma=GAMMA)
    assert nominal.nominal_optimum == pytest.approx(reference_optimum(P, R, GAMMA), rel=1e-9)
    attained = reference_return(P, R, nominal.policy.table, GAMMA)
    assert attained == pytest.approx(nominal.nominal_optimum, rel=1e-10)
    radius = 0.2
    found = nadir.optimize(P, R, gamma=GAMMA, radius=radius)
    loosely = 1e-6 * nominal.nominal_optimum  # how the first policy is looked at
    assert found.robust_return >= found.initial_robust_return - loosely
    again = nadir.evaluate(P, R, found.policy, gamma=GAMMA, radius=radius)
    assert again.robust_return == pytest.approx(found.robust_return, rel=1e-8)
    # One kernel of the ball bounds all policies.
    Q = found.evaluation.kernel()
    assert reference_optimum(Q, R, GAMMA) >= found.robust_return - 1e-9
    assert found.optimality_upper_bound >= found.robust_return - 1e-9


@pytest.mark.parametrize("seed", SEEDS)
def test_shares_of_the_penalty(seed):
    P, R, pi = random_mdp(seed)
    found = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=0.1)
    Q = found.kernel()
    d = np.linalg.inv(np.eye(len(P)) - GAMMA * average(pi, P)).sum(axis=0) / len(P)
    v = np.linalg.solve(np.eye(len(P)) - GAMMA * average(pi, Q), average(pi, R))
    parts = GAMMA * d[:, None] * pi * ((P - Q) @ v)
    rows = found.explain(parts.size)
    assert sum(one.penalty for one in rows) == pytest.approx(found.penalty, rel=1e-9)
    for one in rows:
        assert one.penalty == pytest.approx(parts[one.state, one.action], abs=1e-11)


def test_scales_and_radii_by_state_and_row():
    P, R, pi = random_mdp(3)
    scales = np.ones_like(pi)
    scales[0] = 0
    found = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=0.1, scales=scales)
    Q = found.kernel()
    np.testing.assert_array_equal(Q[0], P[0])
    assert distance(Q, P) == pytest.approx(0.1, rel=1e-9)
    radii = np.linspace(0, 0.1, R.size).reshape(R.shape)
    Q = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=radii, set="sa").kernel()
    np.testing.assert_array_less(np.linalg.norm(Q - P, axis=2), radii + 1e-12)
    Q = nadir.evaluate(P, R, pi, gamma=GAMMA, radius=radii[:, 1], set="s").kernel()
    np.testing.assert_array_less(np.linalg.norm(Q - P, axis=(1, 2)), radii[:, 1] + 1e-12)


def test_difference_of_two_policies():
    P, R, pi = random_mdp(4)
    other = np.roll(pi, 1, axis=1)
    found = nadir.difference(P, R, pi, other, gamma=GAMMA, radius=0.05)
    nominal = reference_return(P, R, pi, GAMMA) - reference_return(P, R, other, GAMMA)
    assert found.nominal == pytest.approx(nominal, rel=1e-10)
    assert found.lower_bound <= found.worst <= found.upper_bound < nominal


def horizon_return(P, R, pi, gamma, steps):
    """The return of so many steps; pi: (steps, S, A)."""
    d = np.full(len(P), 1 / len(P))
    total = 0.0
    for n in range(steps):
        total += gamma**n * np.einsum("s,sa,sat,sat->", d, pi[n], P, R)
        d = np.einsum("s,sa,sat->t", d, pi[n], P)
    return total


def test_horizon():
    P, _, _ = random_mdp(5)
    rng = np.random.default_rng(5)
    R = rng.normal(size=P.shape)
    pi = rng.random((4, *P.shape[:2]))
    pi /= pi.sum(axis=2, keepdims=True)
    found = nadir.evaluate(P, R, pi, gamma=1.0, radius=0.05, horizon=4)
    assert found.nominal_return == pytest.approx(horizon_return(P, R, pi, 1.0, 4), rel=1e-12)
    assert found.robust_return == pytest.approx(horizon_return(found.kernel(), R, pi, 1.0, 4), rel=1e-12)
    assert found.lower_bound <= found.robust_return <= found.upper_bound
    assert found.certified
    assert distance(found.kernel(), P) == pytest.approx(0.05, rel=1e-9)
    same = nadir.evaluate(P, R, pi[0], gamma=0.9, radius=0.05, horizon=4)
    assert same.nominal_return == pytest.approx(horizon_return(P, R, np.stack([pi[0]] * 4), 0.9, 4), rel=1e-12)
    best = nadir.evaluate(P, R, "optimal", gamma=1.0, radius=0.05, horizon=4)
    assert best.nominal_return > found.nominal_return
    with pytest.raises(nadir.UsageError):
        nadir.evaluate(P, R, pi, gamma=1.0, radius=0.05, horizon=5)
    with pytest.raises(nadir.UsageError):
        nadir.evaluate(P, R, pi[0], gamma=1.0, radius=0.05, horizon=0)
