"""Arrays are used where they lie, stay as they are, and live as long as they are needed."""

import gc
import tracemalloc
import weakref

import numpy as np
import pytest
from conftest import random_mdp
from scipy import sparse

import nadir
from nadir._context import Context
from nadir._library import lib

STATES, ACTIONS = 1000, 2


@pytest.fixture(scope="module")
def large():
    rng = np.random.default_rng(1)
    P = rng.random((STATES, ACTIONS, STATES))
    P /= P.sum(axis=2, keepdims=True)
    return P, rng.normal(size=(STATES, ACTIONS))


def address(array):
    return array.__array_interface__["data"][0]


def test_a_dense_kernel_is_not_copied(large):
    P, R = large
    P.setflags(write=False)
    tracemalloc.start()
    model = nadir.Model(P, R, 0.9)
    used, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert model.is_borrowed
    assert address(model.P) == address(P)
    assert peak < P.nbytes / 50
    facts = model.facts()
    assert (facts.states, facts.rows) == (STATES, STATES * ACTIONS)


def test_nor_is_it_while_something_is_solved(large, monkeypatch):
    """The most that the library has in use: the policy's average and its factors, not the kernel besides."""
    P, R = large
    context = Context(threads=1)
    monkeypatch.setattr("nadir.model.shared", lambda *_: context)
    monkeypatch.setattr("nadir.solver.shared", lambda *_: context)
    model = nadir.Model(P, R, 0.9)
    assert context.memory_peak < P.nbytes / 50
    nadir.Solver(model, "uniform").nominal()
    assert context.memory_peak < 2.2 * 8 * STATES**2
    nadir.Model(P, R, 0.9, copy=True)
    assert context.memory_peak >= P.nbytes


def test_a_sparse_kernel_is_not_copied():
    P = sparse.random(3000, 1000, density=0.01, random_state=3, format="csr")
    P = P + sparse.csr_matrix((np.ones(3000), (np.arange(3000), np.arange(3000) % 1000)), shape=P.shape)
    P.sort_indices()
    P.data /= np.repeat(np.asarray(P.sum(axis=1)).ravel(), np.diff(P.indptr))
    model = nadir.Model(P, gamma=0.9)
    assert model.is_borrowed and not model.is_dense
    assert address(model.P.data) == address(P.data)
    assert address(model.P.indices) == address(P.indices)
    np.testing.assert_array_equal(model.P.toarray(), P.toarray())


def test_repairs_and_other_layouts_are_made_in_a_copy():
    P, R, _ = random_mdp(6)
    assert nadir.Model(P, R).is_borrowed
    assert not nadir.Model(P, R, copy=True).is_borrowed
    assert address(nadir.Model(np.asfortranarray(P), R).P) != address(P)
    rows = P.reshape(-1, P.shape[2])
    for other in (np.asfortranarray(P), P.tolist(), list(P.transpose(1, 0, 2)), sparse.csc_matrix(rows)):
        assert not nadir.Model(other, R).is_borrowed
    # A transposed view of an array in the right order is in the right order.
    assert address(nadir.Model(P.transpose(1, 0, 2), R).P) == address(P)
    off = P * (1 + 1e-9)
    before = off.copy()
    with pytest.warns(nadir.NadirWarning, match="normalised"):
        model = nadir.Model(off, R)
    assert not model.is_borrowed
    np.testing.assert_array_equal(off, before)
    single = P.astype(np.float32)
    model = nadir.Model(single, R)
    assert not model.is_borrowed and model.facts().normalised_rows > 0


def test_arrays_live_as_long_as_they_are_needed():
    class Owner:
        """Memory that can be watched."""

        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    P, R, pi = random_mdp(7)
    owner = Owner(P)
    alive = weakref.ref(owner)
    wanted = nadir.evaluate(P.copy(), R, pi, gamma=0.9, radius=0.1).robust_return
    found = nadir.evaluate(np.asarray(owner), R, pi, gamma=0.9, radius=0.1)
    del P, owner
    gc.collect()
    assert alive() is not None  # the evaluation can still be looked into
    assert found.robust_return == wanted
    inside = found.model.replace(gamma=0.5).P
    del found
    gc.collect()
    assert alive() is not None  # so can a view of a model that was made of it
    assert inside.sum() == pytest.approx(18)
    del inside
    gc.collect()
    assert alive() is None


def test_views_are_read_only(large):
    P, R = large
    model = nadir.Model(P, R, 0.9)
    for array in (model.P, model.rewards, model.mu, model.state_rows, model.policy().probabilities):
        assert not array.flags.writeable


def test_nothing_is_left_behind():
    """Handles are freed with what holds them: the library's own count returns to where it was."""
    P, R, pi = random_mdp(9)
    context = Context(threads=1)

    def work():
        solver = nadir.Solver(nadir.Model(P, R, 0.9), pi)
        solver._context = context
        solver._handle = solver._create(solver.policy)
        solver.evaluate(0.1).explain()
        solver.sweep([0.1, 0.2])

    work()
    gc.collect()
    before = lib.nadir_context_memory(context.handle)
    for _ in range(5):
        work()
    gc.collect()
    assert lib.nadir_context_memory(context.handle) == before
