"""The questions, each as one call."""

from __future__ import annotations

import contextlib
import os
import tempfile
from typing import Any, Callable, Iterator, Sequence

import numpy as np

from ._context import Context, Progress, shared, watch_step
from ._library import NULL, encoded, ffi, filled, lib, place, result
from .errors import UsageError
from .model import LAYOUTS, SETS, Model, Policy, choice, doubles, norm_number, take_unseen
from .results import (
    Check,
    ConeNorm,
    Difference,
    Evaluation,
    Fit,
    FitReturn,
    Gradient,
    Optimization,
    Optimum,
    Radius,
    Step,
    Sweep,
    Verification,
    _fields,
    fit_result,
)
from .solver import CERTIFY, Ball, Solver, evaluate_horizon

_MODEL_OPTIONS = ("mu", "layout", "state_rows", "costs", "frozen_rewards", "unseen")
_READ_OPTIONS = ("layout", "costs", "frozen_rewards", "unseen")


def _model(P: Any, R: Any, gamma: float | None, options: dict[str, Any]) -> Model:
    """The model that P and R are, or that P is already, or that is read from the file P."""
    own = {name: options.pop(name) for name in _MODEL_OPTIONS if name in options}
    if isinstance(P, Model):
        if R is None and gamma is None and not own:
            return P
        if set(own) - {"mu"}:
            raise UsageError(f"{sorted(set(own) - {'mu'})} are of arrays; this is a model already")
        return P.replace(gamma=gamma, R=R, mu=own.get("mu"))
    if isinstance(P, (str, os.PathLike)):
        if R is not None or "state_rows" in own:
            raise UsageError("a model that is read from a file has its own rewards and rows")
        if "mu" in own:
            raise UsageError("say initial= to nadir.read, or use Model.replace(mu=...)")
        return read(P, gamma=gamma, **{name: own[name] for name in _READ_OPTIONS if name in own})
    return Model(P, R, gamma, **own)


def _subject(P: Any, R: Any, policy: Any, gamma: float | None, options: dict[str, Any]) -> tuple[Model, Any]:
    """Model and policy; after a model or a file the policy may come second, in the place of R."""
    if policy is None and R is not None and isinstance(P, (Model, str, os.PathLike)):
        policy, R = R, None
    if policy is None:
        raise UsageError("a policy is needed: (S, A), S action numbers, 'uniform', 'optimal', or a file")
    return _model(P, R, gamma, options), policy


def _solver(P: Any, R: Any, policy: Any, gamma: float | None, options: dict[str, Any]) -> Solver:
    model, policy = _subject(P, R, policy, gamma, options)
    own = {name: options.pop(name) for name in ("backend", "threads", "seed", "progress") if name in options}
    return Solver(model, policy, **own)


def evaluate(
    P: Any,
    R: Any = None,
    policy: Any = None,
    *,
    gamma: float | None = None,
    radius: Any = None,
    norm: float | str | None = None,
    set: str | None = None,
    domain: str | None = None,
    horizon: int | None = None,
    **options: Any,
) -> Evaluation:
    """The worst return of a policy when the kernel may be any of a ball around the nominal one.

    min J_P = μ·(I − γ P^π)⁻¹ R^π over all kernels P whose rows sum to one, that lie in the domain, and with

    * set="nonrect" (default): Σ_sa (‖P_sa − P̂_sa‖_p / α_sa)^p ≤ β^p, one budget for the whole kernel;
    * set="s": the same for the rows of each state, with its own β_s;
    * set="sa": ‖P_sa − P̂_sa‖_p ≤ α_sa β_sa for each row.

    p = `norm` (default 2; 1 to infinity, "inf"); β = `radius`: a number, one for each state (set "s") or one
    for each row, or (S, A) (set "sa"). `domain`: "simplex" (default, P ≥ 0), "support" (moreover no successor
    that P̂ does not have), "free" (signs free: as the literature defines the ball).

    `P` and `R` are what `nadir.Model` takes; or P is a `Model`, or a file, and `R` is left out. `policy` is
    what `nadir.Policy` takes: (S, A), S action numbers, "uniform", "optimal", a file.

    Rewards of transitions are paid where one lands, under the kernel that moves; see `nadir.Model`.

    `horizon=H` asks for the return of H steps, Σ_{n<H} γⁿ r_n, with one kernel for all of them and γ from 0 to 1. `policy` may
    then be (H, S, A), one for each step; "optimal" is the best for H steps. Domains "simplex" and "support"; no `method`,
    no `backend`. The kernel found is `kernel_model()`.

    Further options: `scales` (α, 0 pins a row), `mu`, `layout`, `state_rows`, `costs`, `frozen_rewards`, `unseen`
    of the model;
    `method` (see docs/methods.md), `certify` ("off", "auto", "strict"), `tolerance` (of the value, relative
    to the penalty; 1e-9), `width` (1e-6: bounds closer than this share of the penalty are called certified),
    `iterations_limit`, `optimistic` (the best case instead); `backend`, `threads`, `seed`, `progress` of
    `nadir.Solver`.

    >>> import nadir
    >>> river = nadir.generate("riverswim")
    >>> found = nadir.evaluate(river, "uniform", radius=0.05, domain="support")
    >>> round(found.robust_return, 4), found.certified
    (461.3574, True)
    """
    if horizon is not None:
        model, policy = _subject(P, R, policy, gamma, options)
        return evaluate_horizon(model, policy, horizon, radius, norm=norm, set=set, domain=domain, **options)
    solver = _solver(P, R, policy, gamma, options)
    return solver.evaluate(radius, norm=norm, set=set, domain=domain, **options)


def sweep(
    P: Any,
    R: Any = None,
    policy: Any = None,
    *,
    gamma: float | None = None,
    radius: Sequence[float] | np.ndarray,
    norm: float | str | None = None,
    set: str | None = None,
    domain: str | None = None,
    **options: Any,
) -> Sweep:
    """The risk curve of a policy: its worst returns at many radii, from one factorisation.

    `radius` is a list of numbers; everything else is as for `nadir.evaluate` (but for `method`). On the free
    domain a radius at or past breakdown has a return of NaN and the stop_reason "breakdown"; where there is
    no other it is an `IllPosedError`.
    """
    solver = _solver(P, R, policy, gamma, options)
    return solver.sweep(radius, norm=norm, set=set, domain=domain, **options)


def radius(
    P: Any,
    R: Any = None,
    policy: Any = None,
    *,
    gamma: float | None = None,
    target: float,
    norm: float | str | None = None,
    set: str | None = None,
    domain: str | None = None,
    **options: Any,
) -> Radius:
    """The inverse question: the largest radius whose worst return is still `target` or more, with bounds."""
    solver = _solver(P, R, policy, gamma, options)
    return solver.radius(target, norm=norm, set=set, domain=domain, **options)


def difference(
    P: Any,
    R: Any = None,
    policy: Any = None,
    other: Any = None,
    *,
    gamma: float | None = None,
    radius: Any = None,
    norm: float | str | None = None,
    set: str | None = None,
    domain: str | None = None,
    **options: Any,
) -> Difference:
    """min over the ball of J^A_P − J^B_P: how far `policy` (A) can fall behind `other` (B) under one P."""
    if other is None:
        raise UsageError("difference compares two policies: give policy and other")
    solver = _solver(P, R, policy, gamma, options)
    return solver.difference(other, radius, norm=norm, set=set, domain=domain, **options)


def gradient(
    P: Any,
    R: Any = None,
    policy: Any = None,
    *,
    gamma: float | None = None,
    radius: Any = None,
    norm: float | str | None = None,
    set: str | None = None,
    domain: str | None = None,
    **options: Any,
) -> Gradient:
    """How the worst return changes with the policy: ∂J_U/∂π(a|s) = d_P(s) Q_P(s, a) at the worst kernel P.

    (Danskin's theorem; every set, norm and domain.) Where several kernels are equally bad it is one of
    several subgradients. Probabilities of a state sum to one: only differences between its actions matter.
    `tolerance` is 1e-14 here, since the error of the gradient goes with its square root.
    `formula="nominal"`: from nominal quantities alone, on the free domain.
    """
    solver = _solver(P, R, policy, gamma, options)
    return solver.gradient(radius, norm=norm, set=set, domain=domain, **options)


def solve(
    P: Any,
    R: Any = None,
    *,
    gamma: float | None = None,
    backend: str | None = None,
    tolerance: float | None = None,
    iterations_limit: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Optimum:
    """The ordinary optimum: the best return on the nominal kernel, and a policy that attains it."""
    model = _model(P, R, gamma, options)
    _nothing_left(options)
    context = shared(threads, 0, progress)
    settings = filled("optimum_settings")
    word = encoded(backend)
    settings.backend = word
    if tolerance is not None:
        settings.tolerance = tolerance
    if iterations_limit is not None:
        settings.iterations_limit = iterations_limit
    policy = place("policy")
    found = result("optimum_result")
    with context.lock:
        status = lib.nadir_optimum(context.handle, model._handle, settings, policy, found)
        made = None
        if policy[0]:
            made = Optimum(Policy._from_handle(model, policy[0]), **_fields(found, "nadir_optimum_result"))
        context.check(status, made)
    return made  # type: ignore[return-value]


def optimize(
    P: Any,
    R: Any = None,
    *,
    gamma: float | None = None,
    radius: Any = None,
    norm: float | str | None = None,
    set: str | None = None,
    domain: str | None = None,
    scales: Any = None,
    method: str | None = None,
    gap: float | None = None,
    evaluations_limit: int | None = None,
    time_limit: float | None = None,
    step: float | None = None,
    certify: str = "auto",
    start: Any = None,
    checkpoint: Any = None,
    checkpoint_seconds: float | None = None,
    resume: Any = None,
    backend: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    watch: Callable[[Step], Any] | None = None,
    **options: Any,
) -> Optimization:
    """The policy that does best in the worst case: max over π of min over P in the ball of J^π_P.

    The ball is that of `nadir.evaluate`. `gap` (1e-6) is wanted between the bounds, relative to the larger of
    nominal optimum and robust return. `evaluations_limit` (1000) and `time_limit` (seconds) end the search
    with a `ConvergenceError` whose `result` is the best so far, with bounds that hold. `start` is the policy
    to begin with (default: the nominal optimum). `method`: "auto", "quasi-newton", "spectral", "paper" (with
    `step`), "bellman" (rectangular sets). `checkpoint` is a file that is kept up to date, `resume` one to go
    on from. `watch(step)` is called after every step, and stops the search by returning something true;
    Ctrl-C raises a KeyboardInterrupt, with the best policy so far in its attribute `result`.
    """
    model = _model(P, R, gamma, options)
    _nothing_left(options)
    context = Context(threads, seed, progress)
    ball = Ball(model, radius, norm, set, domain, scales)
    settings = filled("robust_optimum_settings")
    first = None if start is None else model.policy(start, backend=backend, threads=threads)
    words = [encoded(word) for word in (method, backend, checkpoint, resume)]
    settings.method, settings.backend, settings.checkpoint, settings.resume = words
    settings.certify = choice("certify", certify, CERTIFY)
    settings.start = NULL if first is None else first._handle
    numbers = {"gap": gap, "evaluations_limit": evaluations_limit, "time_limit": time_limit, "step": step}
    for name, value in {**numbers, "checkpoint_seconds": checkpoint_seconds}.items():
        if value is not None:
            setattr(settings, name, value)
    history: list[Step] = []

    def note(at: Any) -> Any:
        history.append(Step(at.iteration, at.evaluations, at.robust_return, at.gap, at.seconds))
        return watch(history[-1]) if watch is not None else None

    context.voice.watch = note
    settings.watch, settings.watch_user = watch_step, context.user
    return _optimize(context, model, ball, settings, history)


def _optimize(context: Context, model: Model, ball: Ball, settings: Any, history: list[Step]) -> Optimization:
    policy, worst = place("policy"), place("worst")
    found, robust = result("robust_optimum_result"), result("robust")
    status = lib.nadir_robust_optimum(
        context.handle, model._handle, ball.struct, settings, policy, found, robust, worst
    )
    context.voice.watch = None
    kernel = ffi.gc(worst[0], lib.nadir_worst_free) if worst[0] else None
    made = None
    if policy[0]:
        best = Policy._from_handle(model, policy[0])
        evaluation = None
        if robust.stop_reason:
            holder = _Holder(model, best, context)
            evaluation = Evaluation(**_fields(robust, "nadir_robust"), _solver=holder, _worst=kernel)
        made = Optimization(best, evaluation, history, **_fields(found, "nadir_robust_optimum_result"))
    context.check(status, made)
    return made  # type: ignore[return-value]


class _Holder:
    """What an evaluation needs of a solver to look at its kernel."""

    def __init__(self, model: Model, policy: Policy, context: Context):
        self.model, self.policy, self._context = model, policy, context


def verify(
    P: Any,
    R: Any = None,
    policy: Any = None,
    *,
    kernel: Any,
    witness: Any = None,
    model_file: Any = None,
    policy_file: Any = None,
    gamma: float | None = None,
    backend: str | None = None,
    threads: int | None = None,
    **options: Any,
) -> Verification:
    """Checks the files of an evaluation again, without searching.

    That no byte of `kernel` (.npz) and `witness` (JSON) changed, that they are about this model and policy,
    that the kernel lies in its ball, what its return is, and that no kernel of the ball does worse, by the
    proof that the witness names. Raises a `VerificationError`, with the checks in its `result`, if anything
    fails.
    `model_file` and `policy_file` are compared, byte by byte, with those of the evaluation.
    """
    model, policy = _subject(P, R, policy, gamma, options)
    _nothing_left(options)
    context = shared(threads)
    settings = filled("verify_settings")
    words = [encoded(word) for word in (kernel, witness, model_file, policy_file, backend)]
    settings.kernel, settings.witness, settings.model_file, settings.policy_file, settings.backend = words
    found = result("verify_result")
    handle = place("verification")
    chosen = model.policy(policy, backend=backend, threads=threads)
    with context.lock:
        status = lib.nadir_verify(context.handle, model._handle, chosen._handle, settings, found, handle)
        made = None
        if handle[0]:
            owned = ffi.gc(handle[0], lib.nadir_verification_free)
            checks: list[Check] = []
            while check := lib.nadir_verification_check(owned, len(checks)):
                name, detail = ffi.string(check.name).decode(), ffi.string(check.detail).decode()
                checks.append(Check(name, bool(check.holds), detail))
            made = Verification(checks=checks, **_fields(found, "nadir_verify_result"))
        context.check(status, made)
    return made  # type: ignore[return-value]


def read(
    path: Any,
    *,
    gamma: float | None = None,
    rewards: Any = None,
    labels: Any = None,
    reward_model: str | None = None,
    initial: Any = None,
    costs: bool = False,
    layout: str | None = None,
    frozen_rewards: bool = False,
    unseen: Any = None,
    goal: Any = None,
    avoid: Any = None,
    until: Any = None,
    total: bool = False,
) -> Model:
    """A model from a file of any format that nadir knows, told by content (docs/formats.md).

    `gamma` gives or overrides the discount; `rewards` and `labels` are companion files (PRISM, PETSc),
    `reward_model` names one of a Storm file; `initial` is "uniform", a state's number or name, or a file;
    `costs=True` negates rewards (and a number `unseen`); `layout` is that of a dense NumPy kernel;
    `frozen_rewards` and `unseen` say how rewards of transitions are paid, see `nadir.Model`.

    Without a discount: with `gamma=1` and `total=True` rewards until a state that stays without reward; rewards `until` some states; or the probability to reach a
    `goal`, and to `avoid` others before. Each is a label of the file, or numbers and names with commas.
    """
    settings = filled("read_settings")
    ends = [encoded(None if word is None else str(word)) for word in (goal, avoid, until)]
    settings.goal, settings.avoid, settings.until = ends
    settings.total = total
    start = None if initial is None else (initial if isinstance(initial, os.PathLike) else str(initial))
    words = [encoded(word) for word in (rewards, labels, reward_model, start)]
    settings.rewards, settings.labels, settings.reward_model, settings.initial = words
    settings.discount = float("nan") if gamma is None else gamma
    settings.costs = costs
    settings.layout = choice("layout", layout, LAYOUTS)
    take_unseen(settings, unseen, frozen_rewards)
    made = place("model")
    shared().call(lib.nadir_model_read, encoded(os.fspath(path)), settings, made)
    return Model._from_handle(made[0])


def write(model: Model, path: Any, *, compress: bool = False) -> None:
    """A model to a file; the ending of its name tells the format. Written whole or not at all."""
    model.write(path, compress=compress)


def generate(kind: str, *, gamma: float | None = None, seed: int = 0, **settings: float) -> Model:
    """A standard instance: "random", "garnet", "riverswim", "machine", "inventory", "forest", "gridworld".

    Settings by name, such as `states=100`, `actions=4`, `branch=5`; which ones a kind has, `nadir.generators`
    tells (docs/generators.md). The same seed gives the same bits on every platform.
    """
    context = shared()
    given = filled("generate_settings")
    given.seed = seed
    for name, value in settings.items():
        context.call(lib.nadir_generate_settings_set, given, encoded(name.replace("_", "-")), value)
    if gamma is not None:
        given.discount = gamma
    made = place("model")
    context.call(lib.nadir_model_generate, encoded(kind), given, made)
    return Model._from_handle(made[0])


def generators() -> dict[str, dict[str, str]]:
    """The kinds that `nadir.generate` knows, each with its settings and what they mean."""
    made = {}
    index = 0
    while facts := lib.nadir_generator(index):
        settings = facts.settings[0 : facts.settings_count]
        words = [(ffi.string(one.name).decode(), ffi.string(one.meaning).decode()) for one in settings]
        made[ffi.string(facts.name).decode()] = {name.replace("-", "_"): meaning for name, meaning in words}
        index += 1
    return made


def norm(
    A: Any,
    *,
    order: str | int | None = None,
    bounds: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> ConeNorm:
    """max ‖Ax‖₂ over x ≥ 0, ‖x‖₂ ≤ 1, the problem inside the paper's own method (docs/norm.md).

    `order`: 0 to 3, "paper", "power" (default), "random", "slsqp"; `bounds=True`: also the dual bound.
    """
    matrix = np.ascontiguousarray(A, dtype=np.float64)
    if matrix.ndim != 2:
        raise UsageError(f"A has {matrix.ndim} dimensions; expected a matrix")
    context = Context(threads, seed, progress)
    settings = filled("cone_norm_settings")
    word = encoded(None if order is None else str(order))
    settings.order = word
    settings.bounds = bounds
    x = np.empty(matrix.shape[1])
    found = result("cone_norm_result")
    data, vector = doubles(matrix), doubles(x)
    context.call(lib.nadir_cone_norm, *matrix.shape, data, settings, vector, found)
    numbers = _fields(found, "nadir_cone_norm_result")
    numbers = {name: value for name, value in numbers.items() if not name.startswith("points")}
    return ConeNorm(x, **numbers)


def fit(
    data: Any,
    *,
    confidence: float | None = None,
    gamma: float | None = None,
    method: str | None = None,
    prior: float | None = None,
    concentration: float | None = None,
    successors: Any = None,
    unvisited: str | None = None,
    scales: str | None = None,
    norm: float | str | None = None,
    set: str | None = None,
    initial: Any = None,
    costs: bool = False,
    states: int | None = None,
    actions: int | None = None,
    ragged: bool = False,
    samples: int | None = None,
    frozen_rewards: bool = False,
    unseen: Any = None,
    policy: Any = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fit:
    """From logged data to a model whose ball holds the true kernel with a given confidence (0.95).

    `data` is a CSV or .npy file of transitions, counts, trajectories or posterior samples, told by its
    columns; or an array: records whose fields have the names of such columns, or plain numbers (N, 3) or
    (N, 4) with state, action, next state and reward. Every row (s, a) gets the posterior Dirichlet(a + n_t)
    over its allowed successors t, n_t of them seen; the nominal kernel P̂ is its mean, and the radius β such
    that the ball holds that share of the posterior (method="posterior"), of estimates from bootstrap data
    ("bootstrap"), or any kernel with that confidence ("distribution-free").

    `prior` (2) is the weight of the prior of a row, in observations, or `concentration` that of each
    successor; `successors` ("all", "seen", a file) says which are possible; `unvisited` ("uniform", "pin",
    "absorb") what rows without data are; `scales` ("auto", "ones", "deviation", "occupancy", "sensitivity")
    how the ball is shaped; `samples` (10000) how many kernels are drawn. A transition pays the mean of the
    rewards seen with it; `unseen` ("additive", "row", "min" or a number) what the others pay, and
    `frozen_rewards=True` makes it the mean of the row (see `nadir.Model`).

    `policy` (of the nominal model; default: the nominal optimum) decides scales and guarantees. The model
    that comes back has the ball in it: `nadir.evaluate(found.model, policy)` needs no radius.
    """
    context = Context(threads, seed, progress)  # of its own: draws use up its random stream
    settings = filled("fit_settings")
    start = None if initial is None else (initial if isinstance(initial, os.PathLike) else str(initial))
    words = [encoded(word) for word in (method, successors, unvisited, scales, start, "kernel")]
    settings.method, settings.successors, settings.unvisited, settings.scales, settings.initial = words[:5]
    settings.guarantee = words[5]
    numbers = {"confidence": confidence, "discount": gamma, "prior": prior, "concentration": concentration}
    numbers |= {"states": states, "actions": actions, "samples": samples}
    for name, value in numbers.items():
        if value is not None:
            setattr(settings, name, value)
    if norm is not None:
        settings.norm = norm_number(norm)
    if set is not None:
        settings.set = choice("set", set, SETS)
    settings.costs, settings.ragged = costs, ragged
    take_unseen(settings, unseen, frozen_rewards)
    handle = place("fit")
    with _as_file(data) as path:
        context.call(lib.nadir_fit_read, encoded(path), settings, handle)
    owned = ffi.gc(handle[0], lib.nadir_fit_free)
    nominal = Model._from_handle(lib.nadir_model_retain(lib.nadir_fit_nominal(owned)))
    chosen = None if policy is None else nominal.policy(policy, threads=threads)
    found, made = result("fit_result"), place("model")
    context.call(lib.nadir_fit_model, owned, NULL if chosen is None else chosen._handle, found, made)
    return fit_result(found, Model._from_handle(made[0]), nominal)


def fit_return(
    data: Any,
    *,
    gamma: float,
    confidence: float | None = None,
    guarantee: str = "return",
    policy: Any = None,
    prior: float | None = None,
    successors: Any = None,
    unvisited: str | None = None,
    initial: Any = None,
    costs: bool = False,
    states: int | None = None,
    actions: int | None = None,
    ragged: bool = False,
    samples: int | None = None,
    frozen_rewards: bool = False,
    unseen: Any = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitReturn:
    """What logged data promise of the return of one policy, with a given confidence (0.95).

    A policy is chosen on the data (`policy`: one made elsewhere) whose return is high and well known, and
    `guaranteed` is a lower bound on its true return: first order, measured, no theorem. guarantee="posterior"
    is the bound if the prior is right. `data` and the other arguments are those of `nadir.fit`; frames of
    pandas and polars count by the names of their columns. The model that comes back has the ball whose worst
    return is the guarantee: it explains the guarantee and does not hold the true kernel.
    """
    context = Context(threads, seed, progress)  # of its own: draws use up its random stream
    settings = filled("fit_settings")
    start = None if initial is None else (initial if isinstance(initial, os.PathLike) else str(initial))
    words = [encoded(word) for word in (successors, unvisited, start, guarantee)]
    settings.successors, settings.unvisited, settings.initial, settings.guarantee = words
    numbers = {"confidence": confidence, "discount": gamma, "prior": prior}
    numbers |= {"states": states, "actions": actions, "samples": samples}
    for name, value in numbers.items():
        if value is not None:
            setattr(settings, name, value)
    settings.costs, settings.ragged = costs, ragged
    take_unseen(settings, unseen, frozen_rewards)
    handle = place("fit")
    with _as_file(data) as path:
        context.call(lib.nadir_fit_read, encoded(path), settings, handle)
    owned = ffi.gc(handle[0], lib.nadir_fit_free)
    nominal = Model._from_handle(lib.nadir_model_retain(lib.nadir_fit_nominal(owned)))
    given = None if policy is None else nominal.policy(policy, threads=threads)
    found, chosen, made = result("fit_return_result"), place("policy"), place("model")
    context.call(lib.nadir_fit_return, owned, NULL if given is None else given._handle, found, chosen, made)
    own = Policy._from_handle(nominal, chosen[0])
    return FitReturn(own, Model._from_handle(made[0]), **_fields(found, "nadir_fit_return_result"))


@contextlib.contextmanager
def _as_file(data: Any) -> Iterator[Any]:
    if isinstance(data, (str, os.PathLike)):
        yield data
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.npy")
        np.save(path, _records(data) if hasattr(data, "columns") else np.asarray(data))
        yield path


def _records(frame: Any) -> np.ndarray:
    """A frame of pandas or polars: columns count by their names, never by their places."""
    columns = {str(name): np.asarray(frame[name]) for name in frame.columns}
    for name, column in columns.items():
        if column.dtype.kind not in "iufb":
            raise UsageError(f"column {name!r} of the frame does not hold numbers")
    records = np.empty(len(frame), dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        records[name] = column
    return records


def _nothing_left(options: dict[str, Any]) -> None:
    if options:
        raise TypeError(f"unexpected arguments: {', '.join(sorted(options))}")
