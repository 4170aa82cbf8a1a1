"""Threads, Ctrl-C, exceptions, warnings, printing, pictures, and what a call costs."""

import doctest
import json
import math
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from conftest import random_mdp
from scipy import sparse

import nadir
from nadir._library import ffi, lib, place, result
from nadir.solver import Ball, robust_settings

FOR_EVER = {"radius": 0.01, "domain": "free", "method": "random-kernel", "iterations_limit": 10**12}


@pytest.fixture
def model():
    P, R, _ = random_mdp(21, states=12, actions=3)
    return nadir.Model(P, R, 0.9)


# ------------------------------------------------------------------------------------------- while it runs


def test_the_gil_is_released(model):
    """While one thread is in the library, another one computes: by processor time, whatever else runs."""
    spent = {}
    started = threading.Event()

    def stop_in_time(task, share):
        started.set()
        return time.thread_time() - begun["worker"] > 0.15

    def work():
        begun["worker"] = time.thread_time()
        with pytest.raises(nadir.Interrupted):
            nadir.evaluate(model, "uniform", threads=1, progress=stop_in_time, **FOR_EVER)
        spent["worker"] = time.thread_time() - begun["worker"]

    begun = {"worker": 0.0}
    worker = threading.Thread(target=work)
    worker.start()
    assert started.wait(60)
    begun["here"] = time.thread_time()
    while worker.is_alive():
        pass
    spent["here"] = time.thread_time() - begun["here"]
    worker.join()
    assert spent["here"] > 0.2 * spent["worker"]


def test_ctrl_c(tmp_path):
    script = tmp_path / "endless.py"
    script.write_text(
        "import sys, nadir\n"
        "river = nadir.generate('garnet', states=6)\n"
        "try:\n"
        "    print('ready', flush=True)\n"
        "    nadir.evaluate(river, 'uniform', radius=0.01, domain='free', method='random-kernel',\n"
        "                   iterations_limit=10**12)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', nadir.evaluate(river, 'uniform', radius=0.05).certified)\n"
    )
    folders = os.pathsep.join(sys.path)
    running = subprocess.Popen(
        [sys.executable, script], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": folders}
    )
    assert running.stdout.readline() == "ready\n"
    time.sleep(0.3)
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=60)
    assert running.returncode == 0
    assert said.startswith("interrupted")


def test_progress_stops_and_is_told_what_is_done(model):
    told = []

    def stop(task, share):
        told.append((task, share))
        return len(told) == 2

    with pytest.raises(nadir.Interrupted):
        nadir.evaluate(model, "uniform", progress=stop, **FOR_EVER)
    assert len(told) == 2 and all(isinstance(task, str) for task, _ in told)


def test_strict_proofs_keep_their_bounds():
    """Interrupted, or at the end of their time."""
    garnet = nadir.generate("garnet", states=30, actions=3, branch=4, seed=2)

    def stop(task, share):
        return task.startswith("proof")

    ball = {"radius": 1, "certify": "strict"}
    with pytest.raises(nadir.Interrupted) as caught:
        nadir.evaluate(garnet, "optimal", progress=stop, time_limit=np.inf, **ball)
    late = nadir.evaluate(garnet, "optimal", time_limit=0.1, **ball)
    for found in (caught.value.result, late):
        assert found.time_ran_out and not found.certified
        assert np.isfinite(found.lower_bound) and found.lower_bound < found.robust_return < found.nominal_return


def test_errors_in_callbacks_are_raised(model):
    def fail(*_):
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        nadir.evaluate(model, "uniform", progress=fail, **FOR_EVER)
    with pytest.raises(ZeroDivisionError, match="in the callback"):
        nadir.optimize(model, radius=0.3, start="uniform", watch=fail)
    assert nadir.evaluate(model, "uniform", radius=0.01).certified


def test_watch_sees_every_step_and_stops(model):
    steps = []
    found = nadir.optimize(model, radius=0.3, start="uniform", watch=steps.append)
    assert found.history == steps and len(steps) > 1
    with pytest.raises(nadir.Interrupted) as stopped:
        nadir.optimize(model, radius=0.3, start="uniform", watch=lambda step: step.iteration >= 1)
    best = stopped.value.result
    assert best is None or best.lower_bound <= found.optimality_upper_bound


def test_the_robust_policy_beside_ones_own(model):
    found = nadir.optimize(model, radius=0.3, policy="uniform")
    alone = nadir.evaluate(model, "uniform", radius=0.3)
    assert found.compared.lower_bound == alone.lower_bound <= found.lower_bound
    assert found.differing == len(found.policy.compare("uniform"))
    assert "Compared     uniform: " in str(found) and f"differs in {found.differing} of" in str(found)
    assert found.to_dict()["compared"]["nominal_return"] == alone.nominal_return
    assert model.optimize(radius=0.3, policy=found.policy).differing == 0
    assert nadir.optimize(model, radius=0.3).compared is None


def test_threads_share_models_and_solvers(model):
    solver = nadir.Solver(model, "uniform")
    wanted = [nadir.evaluate(model, "uniform", radius=0.01 * i).robust_return for i in range(8)]
    answers = {}

    def ask(i):
        answers[i] = nadir.evaluate(model, "uniform", radius=0.01 * i).robust_return
        answers[i, "shared"] = solver.evaluate(0.01 * i).robust_return

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(8):
        assert answers[i] == wanted[i]
        assert answers[i, "shared"] == pytest.approx(wanted[i], rel=1e-12)


# ----------------------------------------------------------------------------------------------- failures


def test_exceptions_by_status(model, tmp_path):
    with pytest.raises(nadir.ModelError, match="state 1, action 0: probabilities sum to 0.9") as failed:
        nadir.Model([[[0.5, 0.5]], [[0.5, 0.4]]], [[1], [2]], 0.9)
    assert failed.value.status == "NADIR_ERROR_MODEL" and isinstance(failed.value, ValueError)
    with pytest.raises(nadir.IllPosedError, match="breakdown"):
        nadir.evaluate(model, "uniform", radius=100, domain="free")
    with pytest.raises(nadir.UsageError, match="radius"):
        nadir.evaluate(model, "uniform", radius=-1)
    for norm in (0.5, "two"):
        with pytest.raises(nadir.UsageError, match="norm"):
            nadir.evaluate(model, "uniform", radius=0.1, norm=norm)
    with pytest.raises(nadir.UsageError, match="nadir.read"):
        nadir.Model("model.npz")
    with pytest.raises(nadir.UsageError, match="method"):
        nadir.evaluate(model, "uniform", radius=0.1, method="magic")
    with pytest.raises(nadir.UsageError, match="certify is 'maybe'"):
        nadir.evaluate(model, "uniform", radius=0.1, certify="maybe")
    with pytest.raises(nadir.UsageError, match="a policy is needed"):
        nadir.evaluate(model, radius=0.1)
    with pytest.raises(TypeError, match="colour"):
        nadir.evaluate(model, "uniform", radius=0.1, colour="red")
    with pytest.raises(TypeError, match="colour"):
        nadir.optimize(model, radius=0.1, colour="red")
    with pytest.raises(nadir.ModelError, match="discount"):
        nadir.evaluate(np.full((2, 1, 2), 0.5), [1, 2], "uniform", radius=0.1)
    with pytest.raises(nadir.FileError) as missing:
        nadir.read(tmp_path / "nowhere.npz")
    assert isinstance(missing.value, OSError)
    (tmp_path / "bad.csv").write_text("idstatefrom,idaction,idstateto,probability,reward\n0,0,x,1,0\n")
    with pytest.raises(nadir.FormatError, match="bad.csv:2"):
        nadir.read(tmp_path / "bad.csv")
    with pytest.raises(nadir.UnsupportedError):
        model.write(tmp_path / "model.docx")
    with pytest.raises(nadir.UsageError, match="no setting|colour"):
        nadir.generate("riverswim", colour=1)
    for error in (nadir.ModelError, nadir.IllPosedError, nadir.UsageError, nadir.OutOfMemoryError):
        assert issubclass(error, nadir.NadirError)
    assert issubclass(nadir.OutOfMemoryError, MemoryError)


def test_arguments_that_are_refused(model):
    found = model.evaluate(radius=0.1)
    for call, words in (
        (lambda: found.gradient("x"), "formula is 'x'"),
        (lambda: found.explain(-1), "count is -1"),
        (lambda: model.sweep(radius=[0.1])[0].kernel(), "not kept its kernel"),
        (lambda: model.sweep(radius=[0.1, np.inf]), "radius must be >= 0 and finite; it has inf"),
        (lambda: nadir.Solver(model, threads=-1), "threads is -1"),
    ):
        with pytest.raises(nadir.UsageError, match=words):
            call()
    assert found.explain(0) == [] and len(found.explain(10**9)) == model.rows
    with pytest.raises(nadir.ModelError, match="give discount"):
        nadir.evaluate(np.ones((1, 1, 1)), [[1.0]], "uniform", radius=0.1)
    with pytest.raises(ValueError, match="null byte"):
        nadir.read("a\0b")
    with pytest.raises(TypeError):
        nadir.read(None)


def test_the_best_so_far_comes_with_the_exception(model):
    with pytest.raises(nadir.ConvergenceError) as failed:
        nadir.evaluate(model, "uniform", radius=0.3, iterations_limit=1, tolerance=1e-15)
    best = failed.value.result
    assert best.lower_bound <= best.robust_return <= best.upper_bound
    assert best.kernel().min() >= 0
    with pytest.raises(nadir.ConvergenceError) as failed:
        nadir.optimize(model, radius=0.3, start="uniform", evaluations_limit=2, gap=1e-12)
    best = failed.value.result
    assert best.stop_reason == "evaluations"
    assert best.lower_bound <= best.optimality_upper_bound
    assert best.policy.table.shape == (12, 3)


def test_warnings_and_notices(recwarn):
    P, R, _ = random_mdp(1)
    nadir.Model(P * (1 + 1e-7), R, 0.9)
    told = recwarn.pop(nadir.NadirWarning)
    assert "rows were normalised" in str(told.message) and told.filename == __file__
    nadir.evaluate(P * (1 + 1e-7), R, "uniform", gamma=0.9, radius=0.1)
    assert recwarn.pop(nadir.NadirWarning).filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(nadir.NadirWarning):
            nadir.Model(P * (1 + 1e-7), R, 0.9)
        nadir.Model(P, R, 0.9)


def test_errors_in_messages_are_raised(monkeypatch):
    """Whatever is raised while the library speaks comes out of the call."""

    def fail(*_):
        raise KeyboardInterrupt

    P, R, _ = random_mdp(1)
    monkeypatch.setattr("nadir._context.text", fail)
    with pytest.raises(KeyboardInterrupt):
        nadir.Model(P * (1 + 1e-7), R, 0.9)
    monkeypatch.undo()
    nadir.Model(P, R, 0.9)


def test_breakdown_in_a_sweep(model):
    limit = nadir.evaluate(model, "uniform", radius=0.1, domain="free", certify="strict").breakdown_radius
    found = nadir.sweep(model, "uniform", radius=[0.1, 2 * limit], domain="free")
    assert np.isnan(found.robust_return).tolist() == [False, True]
    assert found[1].stop_reason == "breakdown"
    with pytest.raises(nadir.IllPosedError):
        nadir.sweep(model, "uniform", radius=[2 * limit], domain="free")


# ------------------------------------------------------------------------------------------- files, printing


def test_files(tmp_path):
    river = nadir.generate("riverswim", states=9, gamma=0.8)
    for ending in ("npz", "csv", "tra", "drn", "MDP", "bin"):
        path = tmp_path / f"river.{ending}"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", nadir.NadirWarning)
            river.write(path)
            companions = {"tra": "river.trew", "bin": "river.g.bin"}
            rewards = tmp_path / companions[ending] if ending in companions else None
            again = nadir.read(path, gamma=0.8, initial="uniform", rewards=rewards)
        # Storm and PETSc files have rewards of rows alone
        kept = nadir.read(tmp_path / "river.npz", frozen_rewards=True) if ending in ("drn", "bin") else river
        assert again.sha256 == kept.sha256, ending
    assert nadir.read(tmp_path / "river.npz", initial=3).mu[3] == 1
    river.write(tmp_path / "small.npz", compress=True)
    assert (tmp_path / "small.npz").stat().st_size < (tmp_path / "river.npz").stat().st_size


def test_rewards_are_paid_on_landing(tmp_path):
    g = np.array([0.0, 1.0, -2.0])
    P = np.array([[[0.5, 0.5, 0.0]], [[0.0, 0.5, 0.5]], [[1.0, 0.0, 0.0]]])
    R = np.where(P > 0, g, np.nan)
    model = nadir.Model(P, R, gamma=0.9)
    facts = model.facts()
    assert (facts.reward_kind, facts.unseen) == ("separable", "additive") and math.isnan(facts.unseen_value)
    assert np.array_equal(model.transition_rewards, R.reshape(3, 3), equal_nan=True)
    assert np.allclose(model.rewards, [0.5, -0.5, 0.0])
    assert model.replace(gamma=0.8).facts().reward_kind == "separable"
    # zeros that R + g gives back say nothing more, and R may be sparse
    assert nadir.Model(P, np.broadcast_to(g, P.shape), gamma=0.9).sha256 == model.sha256
    rows = sparse.csr_matrix(P.reshape(3, 3))
    assert nadir.Model(rows, sparse.csr_matrix(np.nan_to_num(R.reshape(3, 3))), gamma=0.9).sha256 == model.sha256
    assert nadir.Model(rows, np.broadcast_to(g, (3, 3)), gamma=0.9).sha256 == model.sha256
    # others are given
    far = np.array(R)
    far[0, 0, 2] = -9
    given = nadir.Model(P, far, gamma=0.9)
    assert given.transition_rewards[0, 2] == -9 and given.facts().reward_kind == "landing"
    stored = np.nan_to_num(far.reshape(3, 3))
    assert nadir.Model(rows, sparse.csr_matrix(stored), gamma=0.9).sha256 == given.sha256
    frozen = nadir.Model(P, R, gamma=0.9, frozen_rewards=True)
    assert frozen.transition_rewards is None and frozen.facts().reward_kind == "row"
    assert frozen.sha256 == nadir.Model(P, [0.5, -0.5, 0.0], gamma=0.9).sha256
    worst = [nadir.evaluate(m, "uniform", radius=0.2).robust_return for m in (model, frozen, given)]
    assert worst[2] < worst[0] < worst[1]
    path = tmp_path / "model.npz"
    model.write(path)
    for unseen, name, value in (("row", "row", None), ("min", "min", -2), (3.5, "value", 3.5)):
        made = nadir.Model(P, R, gamma=0.9, unseen=unseen)
        assert made.facts().unseen == name and value in (None, made.facts().unseen_value)
        assert made.sha256 == nadir.read(path, unseen=unseen).sha256 != model.sha256
        assert made.replace(mu=0).facts().unseen == name
    assert nadir.read(path, frozen_rewards=True).sha256 == frozen.sha256
    found = nadir.evaluate(str(path), "uniform", radius=0.2, frozen_rewards=True)
    assert found.robust_return == worst[1]
    costs = nadir.Model(P, -R, gamma=0.9, costs=True, unseen=-3.5)
    assert costs.facts().unseen_value == 3.5
    for wrong in ({"unseen": "mean"}, {"unseen": "min", "frozen_rewards": True}, {"unseen": True}):
        with pytest.raises(nadir.UsageError, match="unseen"):
            nadir.Model(P, R, gamma=0.9, **wrong)


def test_generate():
    assert set(nadir.generators()) >= {"random", "garnet", "riverswim", "machine", "forest", "gridworld"}
    one = nadir.generate("garnet", states=20, actions=2, branch=3, seed=4)
    assert one.sha256 == nadir.generate("garnet", states=20, actions=2, branch=3, seed=4).sha256
    assert one.sha256 != nadir.generate("garnet", states=20, actions=2, branch=3, seed=5).sha256
    assert (one.states, one.actions, one.nonzeros) == (20, 2, 120)


def test_results_print_and_are_plain(model):
    solver = nadir.Solver(model, "optimal")
    found = solver.evaluate(0.1)
    results = [
        model.facts(),
        solver.nominal(),
        nadir.solve(model),
        found,
        solver.sweep([0, 0.1]),
        solver.radius(found.robust_return),
        solver.difference("uniform", 0.01),
        solver.gradient(0.1),
        nadir.optimize(model, radius=0.1),
        found.verify(),
        nadir.norm(np.eye(3)),
    ]
    for one in results:
        assert str(one).count("\n") >= 2
        assert repr(one).startswith(type(one).__name__ + "(") and "\n" not in repr(one)
        page = one._repr_html_()
        assert page.startswith("<table>") and page.endswith("</table>") and "<td" in page
        assert json.loads(json.dumps(one.to_dict()))
    assert "Model(states=12" in repr(model) and "<table>" in model._repr_html_() and "rows" in str(model)
    assert "deterministic" in repr(solver.policy) and "threads=" in repr(solver)


def test_replace_keeps_the_kernel(model):
    other = model.replace(gamma=0.5, mu=3, R=np.ones((12, 3)))
    assert other.gamma == 0.5 and other.mu[3] == 1 and set(other.rewards) == {1.0}
    assert other.P.__array_interface__["data"] == model.P.__array_interface__["data"]
    np.testing.assert_allclose(nadir.Solver(other, "uniform").value(), 2)
    assert nadir.evaluate(model, policy="uniform", gamma=0.5, radius=0).nominal_return == pytest.approx(
        nadir.evaluate(model.replace(gamma=0.5), "uniform", radius=0).robust_return
    )


def test_methods_of_a_model(model):
    wanted = nadir.evaluate(model, "uniform", radius=0.1).robust_return
    assert model.evaluate(radius=0.1).robust_return == wanted
    assert len(model.sweep(radius=[0, 0.1])) == 2
    assert model.gradient(radius=0.1).table.shape == (12, 3)
    assert model.solve().nominal_optimum <= model.optimize(radius=0).nominal_optimum + 1e-9
    assert model.solver("optimal").policy.is_deterministic
    assert model.valid_radius() > 0


def test_returns_of_many_policies(model, recwarn):
    rng = np.random.default_rng(5)
    policies = rng.dirichlet(np.ones(3), size=(40, 12))
    expected = [model.solver(one).nominal().nominal_return for one in policies]
    for form in (policies, policies.reshape(40, 36), list(policies), [model.policy(one) for one in policies]):
        for threads in (1, 3):
            found, errors = model.returns(form, errors=True, threads=threads)
            assert np.allclose(found, expected, rtol=1e-12, atol=0)
            assert errors.shape == (40,) and (0 < errors).all() and errors.max() < 1e-11
    assert (model.returns(policies, backend="krylov", tolerance=1e-13) - expected).max() < 1e-10
    actions = rng.integers(0, 3, size=(9, 12))
    alone = [model.solver(one).nominal().nominal_return for one in actions]
    assert np.allclose(model.returns(actions), alone, rtol=1e-12, atol=0)
    assert model.returns(np.empty((0, 36))).shape == (0,)
    assert model.returns(["uniform"])[0] == model.returns(np.full((1, 12, 3), 1 / 3))[0]
    assert model.returns([]).shape == (0,)
    mixed = model.returns([actions[0], policies[0], "uniform"])
    assert np.allclose(mixed, [alone[0], expected[0], model.returns(["uniform"])[0]], rtol=1e-12, atol=0)
    assert not recwarn.list
    with pytest.warns(nadir.NadirWarning, match="policies: 480 states were normalised; the farthest"):
        single = model.returns(policies * (1 + 1e-6))
    assert np.allclose(single, expected, rtol=1e-12, atol=0)


def test_returns_of_ragged_and_ended_models():
    table = {0: {0: [(1.0, 1, -1, False)], 1: [(1.0, 0, -10, False)]}, 1: {0: [(1.0, 0, 20, True)]}}
    ride = nadir.Model(table, gamma=0.5, mu=0)
    assert np.allclose(ride.returns([[0, 0], [1, 0]]), [9, -20])
    assert np.allclose(ride.returns([[[1, 0], [1, 0]], [[0.5, 0.5], [1, 0]]]), [9, -2 / 3])
    assert np.allclose(ride.returns([[1.0, 0, 1, 1], [0, 1.0, 1, 1]]), [9, -20])
    with pytest.raises(nadir.PolicyError, match="policy 1: state 1: there is no action 1"):
        ride.returns([[0, 0], [1, 1]])


def test_returns_that_are_refused(model):
    policies = np.full((5, 12, 3), 1 / 3)
    policies[3, 7, 1] = -1
    with pytest.raises(nadir.PolicyError, match="policy 3: state 7, action 1: the probability is -1"):
        model.returns(policies)
    for wrong in (np.ones((5, 7)), np.ones((5, 12, 4)), np.ones(36), [["a", "b"]], np.ones((2, 2, 12, 3))):
        with pytest.raises((nadir.UsageError, nadir.FileError)):
            model.returns(wrong)
    with pytest.raises(nadir.Interrupted):
        model.returns(np.full((100, 12, 3), 1 / 3), progress=lambda task, share: True)
    P, R, _ = random_mdp(21, states=12, actions=3)
    with pytest.raises(nadir.ModelError, match="no discount"):
        nadir.Model(P, R).returns(policies[:1])


def test_pickles(model):
    """For other processes: models and policies whole, evaluations without their kernel."""
    rich = nadir.generate("riverswim").replace(mu=2, scales=np.arange(12.0))
    for one in (model, rich, nadir.Model({0: {0: [(1.0, 0, 1.0, True)]}}, gamma=0.5)):
        again = pickle.loads(pickle.dumps(one))
        assert again.sha256 == one.sha256 and again.states_given == one.states_given
        assert again.action_name(0) == one.action_name(0)
        policy = pickle.loads(pickle.dumps(again.policy("uniform")))
        assert policy.sha256 == one.policy("uniform").sha256
    found = nadir.evaluate(model, "uniform", radius=0.1)
    again = pickle.loads(pickle.dumps(found))
    assert repr(again.to_dict()) == repr(found.to_dict())
    with pytest.raises(ValueError, match="has not kept its kernel"):
        again.kernel()
    assert pickle.loads(pickle.dumps(nadir.optimize(model, radius=0.1))).evaluation is not None


def test_forked_children():
    """Threads of OpenMP do not survive a fork: children use one, and do not wait for others for ever."""
    P, R, pi = random_mdp(3, states=300, actions=2)
    model = nadir.Model(P, R, 0.9)
    several, one = nadir.Solver(model, pi, threads=2), nadir.Solver(model, pi, threads=1)
    wanted = [solver.evaluate(0.1).robust_return for solver in (several, one)]

    def child():
        signal.alarm(100)
        assert nadir.evaluate(model, pi, radius=0.1).robust_return == pytest.approx(wanted[0], rel=1e-9)
        assert nadir.Solver(pickle.loads(pickle.dumps(model)), pi, threads=2).threads == 1
        assert one.evaluate(0.1).robust_return == pytest.approx(wanted[1], rel=1e-9)
        with pytest.raises(nadir.UsageError, match="fork"):
            several.evaluate(0.1)

    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert several.evaluate(0.1).robust_return == pytest.approx(wanted[0], rel=1e-9)


def test_checkpoints(model, tmp_path):
    path = tmp_path / "search.json"
    kept = {"checkpoint": path, "checkpoint_seconds": 0}
    with pytest.raises(nadir.ConvergenceError):
        nadir.optimize(model, radius=0.3, start="uniform", evaluations_limit=3, **kept)
    found = nadir.optimize(model, radius=0.3, resume=path)
    assert found.robust_return == pytest.approx(nadir.optimize(model, radius=0.3).robust_return, rel=1e-5)


def test_pictures(model):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    found = nadir.evaluate(model, "uniform", radius=0.1)
    for axes in (
        found.plot(),
        nadir.sweep(model, "uniform", radius=np.linspace(0, 0.2, 5)).plot(),
        nadir.gradient(model, "uniform", radius=0.1).plot(),
        nadir.optimize(model, radius=0.2, start="uniform").plot(),
    ):
        assert axes.get_xlabel() and axes.get_title()
        axes.figure.canvas.draw()
        matplotlib.pyplot.close(axes.figure)


def test_picture_of_a_gridworld():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    grid = nadir.generate("gridworld")
    axes = grid.evaluate("optimal", radius=0.3).plot()
    axes.figure.canvas.draw()
    words = [one.get_text() for one in axes.texts]
    assert words.count("goal") == 1
    assert axes.get_title().startswith("gridworld, policy optimal: what does the damage")
    legend = [one.get_text() for one in axes.get_legend().get_texts()]
    assert any(one.startswith("policy") for one in legend) and any(one.startswith("attack") for one in legend)
    matplotlib.pyplot.close(axes.figure)


def test_bands_hold_between_radii():
    """The band between two radii has the worst case of any radius between them."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    machine = nadir.generate("machine")
    for optimistic in (False, True):
        axes = machine.sweep("uniform", radius=[0.3, 0, 0.1], optimistic=optimistic).plot()
        band = axes.collections[0].get_paths()[0]
        for radius in (0.01, 0.05, 0.09, 0.2, 0.29):
            inside = machine.evaluate("uniform", radius=radius, optimistic=optimistic)
            assert band.contains_point((radius, inside.robust_return))
        assert not band.contains_point((0.2, machine.evaluate("uniform", radius=1, optimistic=optimistic).robust_return))
        matplotlib.pyplot.close(axes.figure)


def test_two_curves_in_one_picture(model):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    axes = model.sweep("uniform", radius=[0, 0.1]).plot()
    model.sweep("optimal", radius=[0, 0.1]).plot(axes)
    words = [one.get_text() for one in axes.get_legend().get_texts()]
    assert "policy uniform" in words and "policy optimal" in words
    matplotlib.pyplot.close(axes.figure)


def test_plots_go_to_files(model, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    found = model.evaluate("uniform", radius=0.1)
    best = nadir.optimize(model, radius=0.1, start="uniform")
    for one in (found, model.sweep("uniform", radius=[0, 0.1]), nadir.gradient(model, "uniform", radius=0.1), best):
        path = tmp_path / f"{type(one).__name__}.png"
        one.plot(path)
        assert path.read_bytes()[:4] == b"\x89PNG", path
    found.plot(str(tmp_path / "few.svg"), 2)
    assert "<svg" in (tmp_path / "few.svg").read_text()
    assert not matplotlib.pyplot.get_fignums()


def test_examples_in_docstrings():
    from nadir import functions

    for module in (nadir, functions):
        assert doctest.testmod(module).failed == 0


# ---------------------------------------------------------------------------------------------------- cost


def fast(call, times=1500):
    """Microseconds of this thread's own time in a call that nothing disturbed: the quickest tenth of `times`."""
    spent = []
    for _ in range(times):
        begun = time.thread_time_ns()
        call()
        spent.append(time.thread_time_ns() - begun)
    return 1e-3 * float(np.percentile(spent, 10))


def slowness():
    """How much slower than the machine of the 50 µs this one is just now, 1 or more: work of the same kind, structs of the
    library filled with addresses of arrays, that took 13 µs there."""
    def work():
        for _ in range(8):
            struct = ffi.new("nadir_model_data *")
            array = np.ascontiguousarray(np.zeros((5, 3)), dtype=np.float64).reshape(15)
            kept = {name: ffi.from_buffer("double[]", array) for name in ("rewards", "initial", "scales")}
            for name, address in kept.items():
                setattr(struct, name, address)

    return max(1.0, fast(work) / 13)


def test_overhead_of_a_call(capsys):
    """What Python adds to the calls of C that it makes, on a small model: below 50 µs where Python is not slow itself."""
    P, R, pi = random_mdp(0, states=5, actions=3)
    model = nadir.Model(P, R, 0.9)
    solver = nadir.Solver(model, pi, threads=1)
    context = solver._context
    ball = Ball(model, 0.01, None, None, None, None)
    settings, _ = robust_settings(None, "off", None, None, None, False)
    found, worst, made = result("robust"), place("worst"), place("solver")
    models, policies = place("model"), place("policy")
    numbers, plain = model._view, solver._settings
    probabilities = ffi.from_buffer("double[]", pi)

    def bare():
        lib.nadir_solver_robust(context.handle, solver._handle, ball.struct, settings, found, worst)
        lib.nadir_worst_free(worst[0])

    def bare_from_arrays():
        lib.nadir_model_borrow(context.handle, numbers, ffi.NULL, ffi.NULL, models)
        lib.nadir_policy_create(context.handle, models[0], probabilities, policies)
        lib.nadir_solver_create(context.handle, models[0], policies[0], plain, made)
        lib.nadir_solver_robust(context.handle, made[0], ball.struct, settings, found, worst)
        lib.nadir_worst_free(worst[0])
        lib.nadir_solver_free(made[0])
        lib.nadir_policy_free(policies[0])
        lib.nadir_model_free(models[0])

    def from_arrays():
        nadir.evaluate(P, R, pi, gamma=0.9, radius=0.01, certify="off", threads=1)

    for _ in range(5):  # a machine may be busy with something else
        limit = 50 * slowness()
        kept = fast(lambda: solver.evaluate(0.01, certify="off")) - fast(bare)
        whole = fast(from_arrays) - fast(bare_from_arrays)
        if max(kept, whole) < limit:
            break
    with capsys.disabled():
        print(f"\noverhead of a call: {kept:.1f} µs with a solver at hand, {whole:.1f} µs from arrays, "
              f"where {limit:.1f} µs are allowed")
    assert kept < limit
    assert whole < limit
