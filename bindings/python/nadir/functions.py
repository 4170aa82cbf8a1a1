"""The questions, each as one call."""

from __future__ import annotations

import contextlib
import functools
import os
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._context import Context, _callers_level, shared, watch_step
from ._fit_words import without_data
from ._frames import LOG_ROLES, Table, as_log, by_role, columns_of, is_frame, is_series, log_order, write_table
from ._keywords import keywords, plain, spoken_of
from ._library import NULL, encoded, ffi, filled, lib, place, result
from ._parameters import documented
from ._report import write_page
from ._types import Certify, Domain, Layout, Norm, Numbers, Path, PolicyLike, Progress, Sets, States, Unseen
from .errors import FormatError, NadirWarning, UnsupportedError, UsageError
from .model import (
    LAYOUTS,
    NOT_GIVEN,
    SETS,
    Model,
    Policy,
    brings_rewards,
    choice,
    doubles,
    norm_number,
    number,
    policy_of,
    same_process,
    strings,
    take_unseen,
)
from .results import (
    Check,
    ConeNorm,
    Difference,
    Evaluation,
    Fit,
    FitComparison,
    FitReturn,
    Gradient,
    MoreData,
    Optimization,
    Optimum,
    Radius,
    Report,
    Step,
    Sweep,
    Verification,
    _fields,
    fit_result,
)
from .solver import CERTIFY, GRADIENT_TOLERANCE, Ball, Solver, evaluate_horizon, evaluate_rewards

Form = tuple[Any, ...]
_evaluate = plain(Solver.evaluate)


def _model(P: Any, R: Any, who: str, discount: Any, initial: Any, *form: Any) -> Model:
    """The model that P and R are, or that P is already, or that is read from the file P.

    form: layout, state_rows, costs, frozen_rewards, unseen; goal, avoid, until, total.
    """
    form, ends = form[: len(_PLAIN)], dict(zip(_ENDS, form[len(_PLAIN) :]))
    if _is_number(R):
        raise _by_name(who, R, "R")
    asked = any(value is not None and value is not False for value in ends.values())
    if isinstance(P, Model):
        if R is None and discount is None and initial is None and form == _PLAIN and not asked:
            return P
        told = [name for name, value, plain in zip(_FORM, form, _PLAIN) if value is not plain]
        if told:
            raise UsageError(f"{who}: {' and '.join(told)} are of arrays; this is a model already")
        return P.replace(discount=discount, R=R, initial=initial, **ends)
    layout, state_rows, costs, frozen_rewards, unseen = form
    if isinstance(P, (str, os.PathLike)):
        if R is not None or state_rows is not None:
            raise UsageError(f"{who}: a model that is read from a file has its own rewards and rows")
        start = initial if initial is None or isinstance(initial, (int, str, os.PathLike)) else None
        model = read(
            P, discount=discount, initial=start, layout=layout, costs=costs, frozen_rewards=frozen_rewards, unseen=unseen,
            **ends
        )
        return model if initial is start else model.replace(initial=initial)
    if R is None and not brings_rewards(P) and ends.get("goal") is None:
        raise UsageError(f"{who} needs rewards: R, (S, A) or in the form of P")
    return Model(
        P, NOT_GIVEN if R is None and not brings_rewards(P) else R, discount, initial=initial, layout=layout,
        state_rows=state_rows, costs=costs, frozen_rewards=frozen_rewards, unseen=unseen, **ends
    )  # fmt: skip


_FORM = ("layout", "state_rows", "costs", "frozen_rewards", "unseen")
_PLAIN = (None, None, False, False, None)
_ENDS = ("goal", "avoid", "until", "total")


def _is_policy(R: Any) -> bool:
    return isinstance(R, (str, os.PathLike)) or isinstance(policy_of(R), Policy)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _by_name(who: str, value: Any, what: str, before: str = "") -> UsageError:
    """A number in the place of R or of a policy."""
    name = {"nadir.radius": "target", "nadir.solve": "discount"}.get(who, "radius")
    return UsageError(f"{who}: {value} is in the place of {what}; parameters are given by name: {before}{name}={value}")


def _policies(P: Any, R: Any, policy: Any, who: str) -> tuple[Any, Any]:
    """R and the policy; where P is a whole model the policy may come second, in the place of R."""
    if policy is None and R is not None and (_is_policy(R) or brings_rewards(P)):
        policy, R = R, None
    elif policy is not None and _is_policy(R):
        said = f"policy={R!r}" if isinstance(R, str) else "policy=..."
        if _is_number(policy):
            raise _by_name(who, policy, "a policy", f"{said}, ")
        raise UsageError(f"{who}: a policy is in the place of R, and another one is given; parameters are given by name: {said}, radius=...")
    if _is_number(policy):
        raise _by_name(who, policy, "a policy", "policy=..., " if brings_rewards(P) else "")
    if policy is None:
        raise UsageError(f"a policy is needed by {who}: (S, A), S action numbers, 'uniform', 'optimal', or a file")
    return R, policy


def _solver(P: Any, R: Any, policy: Any, who: str, of_model: Form, of_solver: Form) -> Solver:
    R, policy = _policies(P, R, policy, who)
    backend, threads, seed, progress = of_solver
    model = _model(P, R, who, *of_model)
    return Solver(model, policy, backend=backend, threads=threads, seed=seed, progress=progress)


@keywords
def evaluate(
    P: Any,
    R: Any = None,
    policy: PolicyLike | None = None,
    *,
    discount: float | None = None,
    initial: Numbers | None = None,
    radius: Numbers | None = None,
    norm: Norm | None = None,
    sets: Sets | None = None,
    domain: Domain | None = None,
    scales: Numbers | None = None,
    horizon: int | None = None,
    reward_radius: float | None = None,
    reward_norm: Norm | None = None,
    optimistic: bool = False,
    certify: Certify = "auto",
    time_limit: float | None = None,
    tolerance: float | None = None,
    width: float | None = None,
    method: str | None = None,
    iterations_limit: int | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Evaluation:
    """The worst return of a policy when the kernel may be any of a ball around the nominal one.

    min J_P = μ·(I − γ P^π)⁻¹ R^π over all kernels P whose rows sum to one, that lie in the domain, and with

    * sets="nonrect" (default): Σ_sa (‖P_sa − P̂_sa‖_p / α_sa)^p ≤ β^p, one budget for the whole kernel;
    * sets="s": the same for the rows of each state, with its own β_s;
    * sets="sa": ‖P_sa − P̂_sa‖_p ≤ α_sa β_sa for each row.

    p = `norm` (default 2; 1 to infinity, "inf"); β = `radius`: a number, one for each state (sets "s") or one
    for each row, or (S, A) (sets "sa"). `domain`: "simplex" (default, P ≥ 0), "support" (moreover no successor
    that P̂ does not have), "free" (signs free: as the literature defines the ball).

    `P` and `R` are what `nadir.Model` takes. Or P is a whole model, and the policy comes second: a `Model`, a file, a
    dictionary or environment of Gymnasium, a frame. `policy` is what `nadir.Policy` takes: (S, A), S action numbers or
    names, "uniform", "optimal", a file, a frame or a dictionary.

    Rewards of transitions are paid where one lands, under the kernel that moves; see `nadir.Model`.

    `horizon=H` asks for the return of H steps, Σ_{n<H} γⁿ r_n, with one kernel for all of them and γ from 0 to 1. `policy` may
    then be (H, S, A), one for each step; "optimal" is the best for H steps. Domains "simplex" and "support"; no `method`,
    no `backend`. The kernel found is `kernel_model()`.

    `reward_radius`: how far rewards of pairs may be off as well, in the L_p norm with p = `reward_norm` (2), see docs/robust.md. The
    kernel found, with its rewards, is `kernel_model()`. Not with `horizon` and `optimistic`.

    `discount`, `initial`, `layout`, `state_rows`, `costs`, `frozen_rewards` and `unseen` are those of `nadir.Model`, and so are
    `goal`, `avoid`, `until` and `total`, for questions without a discount.
    `scales` (α): how uncertain each row is, 0 pins it. `optimistic`: the best case instead. `certify`: how much work the
    proof may cost, "off", "auto" or "strict", all there is until `time_limit` seconds (10) have passed. `method`: see
    docs/methods.md. `tolerance`: of the value, relative to the penalty (1e-9). `width`: bounds closer than this share of
    the penalty are called certified (1e-6). `iterations_limit`: of the search. Where a method stops at its limit a
    `ConvergenceError` is raised, with the best so far in its `result`. `backend`, `threads`, `seed` and `progress` are
    those of `nadir.Solver`.

    >>> import nadir
    >>> river = nadir.generate("riverswim")
    >>> found = nadir.evaluate(river, "uniform", radius=0.05, domain="support")
    >>> round(found.robust_return, 4), found.certified
    (461.3574, True)
    """
    of_model = (discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total)
    if reward_radius is None and reward_norm is not None:
        raise UsageError("nadir.evaluate: reward_norm is for reward_radius")
    if horizon is not None and reward_radius is not None:
        raise UsageError("nadir.evaluate: reward_radius is not for a horizon")
    if horizon is not None:
        if method is not None or backend is not None:
            raise UsageError("nadir.evaluate: a horizon has its own search: leave method and backend out")
        R, policy = _policies(P, R, policy, "nadir.evaluate")
        return evaluate_horizon(
            _model(P, R, "nadir.evaluate", *of_model), policy, horizon, radius,
            norm=norm, sets=sets, domain=domain, scales=scales, optimistic=optimistic, certify=certify,
            time_limit=time_limit, tolerance=tolerance, width=width, iterations_limit=iterations_limit,
            threads=threads, progress=progress,
        )
    solver = _solver(P, R, policy, "nadir.evaluate", of_model, (backend, threads, seed, progress))
    if reward_radius is not None:
        return evaluate_rewards(
            solver, radius, reward_radius, reward_norm, norm=norm, sets=sets, domain=domain, scales=scales,
            optimistic=optimistic, certify=certify, time_limit=time_limit, tolerance=tolerance, width=width,
            method=method, iterations_limit=iterations_limit
        )
    return _evaluate(
        solver, radius, norm=norm, sets=sets, domain=domain, scales=scales, optimistic=optimistic, certify=certify,
        time_limit=time_limit, tolerance=tolerance, width=width, method=method,
        iterations_limit=iterations_limit
    )


@keywords
def sweep(
    P: Any,
    R: Any = None,
    policy: PolicyLike | None = None,
    *,
    discount: float | None = None,
    initial: Numbers | None = None,
    radius: ArrayLike,
    norm: Norm | None = None,
    sets: Sets | None = None,
    domain: Domain | None = None,
    scales: Numbers | None = None,
    optimistic: bool = False,
    certify: Certify = "auto",
    time_limit: float | None = None,
    tolerance: float | None = None,
    width: float | None = None,
    iterations_limit: int | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Sweep:
    """The risk curve of a policy: its worst returns at many radii, from one factorisation.

    `radius` is a list of numbers; everything else is as for `nadir.evaluate` (but for `method` and `horizon`). On the free
    domain a radius at or past breakdown has a return of NaN and the stop_reason "breakdown"; where there is
    no other it is an `IllPosedError`.
    """
    solver = _solver(P, R, policy, "nadir.sweep", (discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total), (backend, threads, seed, progress))
    return solver.sweep(
        radius, norm=norm, sets=sets, domain=domain, scales=scales, optimistic=optimistic, certify=certify,
        time_limit=time_limit, tolerance=tolerance, width=width, iterations_limit=iterations_limit
    )


@keywords
def radius(
    P: Any,
    R: Any = None,
    policy: PolicyLike | None = None,
    *,
    discount: float | None = None,
    initial: Numbers | None = None,
    target: float,
    norm: Norm | None = None,
    sets: Sets | None = None,
    domain: Domain | None = None,
    scales: Numbers | None = None,
    optimistic: bool = False,
    certify: Certify = "auto",
    time_limit: float | None = None,
    tolerance: float | None = None,
    width: float | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Radius:
    """The inverse question: the largest radius whose worst return is still `target` or more, with bounds."""
    solver = _solver(P, R, policy, "nadir.radius", (discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total), (backend, threads, seed, progress))
    return solver.radius(
        target, norm=norm, sets=sets, domain=domain, scales=scales, optimistic=optimistic, certify=certify,
        time_limit=time_limit, tolerance=tolerance, width=width
    )


@keywords
def difference(
    P: Any,
    R: Any = None,
    policy: PolicyLike | None = None,
    other: PolicyLike | None = None,
    *,
    discount: float | None = None,
    initial: Numbers | None = None,
    radius: Numbers | None = None,
    norm: Norm | None = None,
    sets: Sets | None = None,
    domain: Domain | None = None,
    scales: Numbers | None = None,
    optimistic: bool = False,
    certify: Certify = "auto",
    time_limit: float | None = None,
    tolerance: float | None = None,
    width: float | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Difference:
    """min over the ball of J^A_P − J^B_P: how far `policy` (A) can fall behind `other` (B) under one P.

    `difference(P, R, a, b)`, or `difference(model, a, b)`; everything else is as for `nadir.evaluate`.
    """
    if other is None and policy is not None and (_is_policy(R) or (R is not None and brings_rewards(P))):
        R, policy, other = None, R, policy
    if other is None:
        raise UsageError("nadir.difference compares two policies: difference(model, a, b) or difference(P, R, a, b)")
    solver = _solver(P, R, policy, "nadir.difference", (discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total), (backend, threads, seed, progress))
    return solver.difference(
        other, radius, norm=norm, sets=sets, domain=domain, scales=scales, optimistic=optimistic,
        certify=certify, time_limit=time_limit, tolerance=tolerance, width=width
    )


@keywords
def gradient(
    P: Any,
    R: Any = None,
    policy: PolicyLike | None = None,
    *,
    discount: float | None = None,
    initial: Numbers | None = None,
    radius: Numbers | None = None,
    norm: Norm | None = None,
    sets: Sets | None = None,
    domain: Domain | None = None,
    scales: Numbers | None = None,
    formula: str = "kernel",
    optimistic: bool = False,
    certify: Certify = "auto",
    time_limit: float | None = None,
    tolerance: float = GRADIENT_TOLERANCE,
    width: float | None = None,
    method: str | None = None,
    iterations_limit: int | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Gradient:
    """How the worst return changes with the policy: ∂J_U/∂π(a|s) = d_P(s) Q_P(s, a) at the worst kernel P.

    (Danskin's theorem; every set, norm and domain.) Where several kernels are equally bad it is one of
    several subgradients. Probabilities of a state sum to one: only differences between its actions matter.
    `tolerance` is 1e-14 here, since the error of the gradient goes with its square root.
    `formula="nominal"`: from nominal quantities alone, on the free domain.
    """
    solver = _solver(P, R, policy, "nadir.gradient", (discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total), (backend, threads, seed, progress))
    return solver.gradient(
        radius, formula=formula, norm=norm, sets=sets, domain=domain, scales=scales, optimistic=optimistic,
        certify=certify, time_limit=time_limit, tolerance=tolerance, width=width, method=method,
        iterations_limit=iterations_limit
    )


@keywords
def solve(
    P: Any,
    R: Any = None,
    *,
    discount: float | None = None,
    initial: Numbers | None = None,
    tolerance: float | None = None,
    iterations_limit: int | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Optimum:
    """The ordinary optimum: the best return on the nominal kernel, and a policy that attains it."""
    model = _model(P, R, "nadir.solve", discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total)
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
            made = Optimum(Policy._from_handle(model, policy[0], "optimal"), **_fields(found, "nadir_optimum_result"))
        context.check(status, made)
    return made  # type: ignore[return-value]


@keywords
def optimize(
    P: Any,
    R: Any = None,
    *,
    discount: float | None = None,
    initial: Numbers | None = None,
    radius: Numbers | None = None,
    norm: Norm | None = None,
    sets: Sets | None = None,
    domain: Domain | None = None,
    scales: Numbers | None = None,
    method: str | None = None,
    gap: float | None = None,
    evaluations_limit: int | None = None,
    time_limit: float | None = None,
    step: float | None = None,
    certify: Certify = "auto",
    proof_time_limit: float | None = None,
    start: PolicyLike | None = None,
    policy: PolicyLike | None = None,
    checkpoint: Path | None = None,
    checkpoint_seconds: float | None = None,
    resume: Path | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    watch: Callable[[Step], Any] | None = None,
) -> Optimization:
    """The policy that does best in the worst case: max over π of min over P in the ball of J^π_P.

    The ball is that of `nadir.evaluate`. `gap` (1e-6) is wanted between the bounds, relative to the larger of
    nominal optimum and robust return. `evaluations_limit` (1000) and `time_limit` (seconds) end the search
    with a `ConvergenceError` whose `result` is the best so far, with bounds that hold. `start` is the policy
    to begin with (default: the nominal optimum). `proof_time_limit` (10 seconds) is for the proof of its worst return
    with certify="strict". `method`: "auto", "quasi-newton", "spectral", "paper" (with
    `step`), "bellman" (rectangular sets). `checkpoint` is a file that is kept up to date, `resume` one to go
    on from. `watch(step)` is called after every step, and stops the search by returning something true;
    Ctrl-C raises a KeyboardInterrupt, with the best policy so far in its attribute `result`.

    `policy` is one of yours, to be set beside the robust one: `compared` of the result is its evaluation in the same
    ball, and `differing` counts the states where the two differ.

    Model, ball and solver have the keywords of `nadir.evaluate`.
    """
    model = _model(P, R, "nadir.optimize", discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total)
    context = Context(threads, seed, progress)
    ball = Ball(model, radius, norm, sets, domain, scales)
    settings = filled("robust_optimum_settings")
    first = None if start is None else model.policy(start, backend=backend, threads=threads)
    mine = None if policy is None else model.policy(policy, backend=backend, threads=threads)
    words = [encoded(word) for word in (method, backend, checkpoint, resume)]
    settings.method, settings.backend, settings.checkpoint, settings.resume = words
    settings.certify = choice("certify", certify, CERTIFY)
    settings.start = NULL if first is None else first._handle
    numbers = {"gap": gap, "evaluations_limit": evaluations_limit, "time_limit": time_limit, "step": step}
    seconds = {"checkpoint_seconds": checkpoint_seconds, "proof_time_limit": proof_time_limit}
    for name, value in {**numbers, **seconds}.items():
        if value is not None:
            setattr(settings, name, value)
    history: list[Step] = []

    def note(at: Any) -> Any:
        history.append(Step(at.iteration, at.evaluations, at.robust_return, at.gap, at.seconds))
        return watch(history[-1]) if watch is not None else None

    context.voice.watch = note
    settings.watch, settings.watch_user = watch_step, context.user
    found = _optimize(context, model, ball, settings, history, certify)
    if mine is None:
        return found
    solver = Solver(model, mine, backend=backend, threads=threads, seed=seed, progress=progress)
    compared = solver.evaluate(
        radius, norm=norm, sets=sets, domain=domain, scales=scales, certify=certify, time_limit=proof_time_limit
    )
    moved = found.policy.compare(mine).distance
    return replace(found, compared=compared, differing=sum(one > 1e-3 for one in moved))  # as nadir optimize counts


def _optimize(
    context: Context, model: Model, ball: Ball, settings: Any, history: list[Step], certify: str
) -> Optimization:
    policy, worst = place("policy"), place("worst")
    found, robust = result("robust_optimum_result"), result("robust")
    status = lib.nadir_robust_optimum(
        context.handle, model._handle, ball.struct, settings, policy, found, robust, worst
    )
    context.voice.watch = None
    kernel = ffi.gc(worst[0], lib.nadir_worst_free) if worst[0] else None
    made = None
    if policy[0]:
        best = Policy._from_handle(model, policy[0], "robust")
        evaluation = None
        if robust.stop_reason:
            holder = _Holder(model, best, context)
            evaluation = Evaluation(
                **_fields(robust, "nadir_robust"), _solver=holder, _worst=kernel, _certify=certify, _ball=ball
            )
        made = Optimization(best, evaluation, history, **_fields(found, "nadir_robust_optimum_result"))
    context.check(status, made)
    return made  # type: ignore[return-value]


class _Holder:
    """What an evaluation needs of a solver to look at its kernel."""

    def __init__(self, model: Model, policy: Policy, context: Context):
        self.model, self.policy, self._context = model, policy, context


@keywords
def verify(
    P: Any,
    R: Any = None,
    policy: PolicyLike | None = None,
    *,
    kernel: Path,
    witness: Path | None = None,
    model_file: Path | None = None,
    policy_file: Path | None = None,
    discount: float | None = None,
    initial: Numbers | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    backend: str | None = None,
    threads: int | None = None,
) -> Verification:
    """Checks the files of an evaluation again, without searching.

    That no byte of `kernel` (.npz) and `witness` (JSON) changed, that they are about this model and policy,
    that the kernel lies in its ball, what its return is, and that no kernel of the ball does worse, by the
    proof that the witness names. Raises a `VerificationError`, with the checks in its `result`, if anything
    fails.
    `model_file` and `policy_file` are compared, byte by byte, with those of the evaluation.
    """
    R, policy = _policies(P, R, policy, "nadir.verify")
    model = _model(P, R, "nadir.verify", discount, initial, layout, state_rows, costs, frozen_rewards, unseen, goal, avoid, until, total)
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


@keywords
def report(
    P: Any,
    R: Any = None,
    policy: PolicyLike | None = None,
    *,
    path: Path,
    discount: float | None = None,
    initial: Numbers | None = None,
    radius: Numbers | None = None,
    radii: tuple[float, float, int] | None = None,
    norm: Norm | None = None,
    sets: Sets | None = None,
    domain: Domain | None = None,
    scales: Numbers | None = None,
    time_limit: float | None = None,
    title: str | None = None,
    layout: Layout | None = None,
    state_rows: ArrayLike | None = None,
    costs: bool = False,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Report:
    """One page for people about a model, as HTML in one file that fetches nothing: what `nadir report` writes.

    The worst return of `policy` (default: the nominal optimum) as the model gets worse, beside that of the policy that does
    best in the worst case; who does the damage, where the two differ, rectangular sets, what is assumed and what is proven.
    `radius` is the one in question (default: the model's own, else 0.1 as an example), `radii=(first, last, count)` those
    of the curve (default: 11 from 0 to twice the radius). What is not found within `time_limit` seconds (60) is left out, with a
    warning, and named on the page. The other keywords are those of `nadir.evaluate`. `Evaluation.report` and
    `Optimization.report` write the page of their question, `FitReturn.report` and `Fit.report` that of logged data.

    >>> import nadir, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = nadir.report(nadir.generate("machine"), radius=0.1, path=os.path.join(folder, "report.html"))
    >>> round(page.robust_return, 3), round(page.optimum_robust_return, 3)
    (-18.179, -17.844)
    """
    if policy is None and R is not None and (_is_policy(R) or brings_rewards(P)):
        policy, R = R, None
    try:
        model = _model(P, R, "nadir.report", discount, initial, layout, state_rows, costs, frozen_rewards, unseen)
    except (UsageError, FormatError) as error:
        if "column 'probability'" in str(error) or "missing column `probability`" in str(error):
            words = "P has no column of probabilities, as models have; of a log: nadir.fit(log, discount=...).report(path)"
            raise UsageError(f"nadir.report: {words}") from None
        raise
    chosen = None if policy is None else model.policy(policy, threads=threads)
    ball = Ball(model, radius, norm, sets, domain, scales)
    context = shared(threads, seed, progress)
    return write_page(context, model, chosen, ball, path, radii=radii, time_limit=time_limit, title=title)


@keywords
def read(
    path: Path,
    *,
    discount: float | None = None,
    rewards: Path | None = None,
    labels: Path | None = None,
    reward_model: str | None = None,
    initial: int | Path | None = None,
    costs: bool = False,
    layout: Layout | None = None,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    goal: States | None = None,
    avoid: States | None = None,
    until: States | None = None,
    total: bool = False,
    successors: Path | None = None,
    outcome: int | str | None = None,
) -> Model:
    """A model from a file of any format that nadir knows, told by content (docs/formats.md).

    `discount` gives or overrides that of the file; `rewards` and `labels` are companion files (PRISM, PETSc),
    `reward_model` names one of a Storm file; `initial` is "uniform", a state's number or name, or a file;
    `costs=True` negates rewards (and a number `unseen`); `layout` is that of a dense NumPy kernel;
    `frozen_rewards` and `unseen` say how rewards of transitions are paid, see `nadir.Model`; `successors` is a list of
    transitions that says what rows may reach (domain "support"). `outcome` is one of those of a table with a column `idoutcome`, or
    "mean".

    Without a discount: with `discount=1` and `total=True` rewards until a state that stays without reward; rewards `until` some states; or the probability to reach a
    `goal`, and to `avoid` others before. Each is a label of the file, or numbers and names with commas.
    """
    settings = filled("read_settings")
    ends = [encoded(_listed(word)) for word in (goal, avoid, until)]
    settings.goal, settings.avoid, settings.until = ends
    settings.total = total
    start: Path | None = None
    if initial is not None:
        start = initial if isinstance(initial, os.PathLike) else str(initial)
    chosen = None if outcome is None else str(outcome)
    given: list[Path | None] = [rewards, labels, reward_model, start, successors, chosen]
    words = [encoded(word) for word in given]
    settings.rewards, settings.labels, settings.reward_model, settings.initial, settings.successors, settings.outcome = words
    settings.discount = float("nan") if discount is None else discount
    settings.costs = costs
    settings.layout = choice("layout", layout, LAYOUTS)
    take_unseen(settings, unseen, frozen_rewards)
    made = place("model")
    shared().call(lib.nadir_model_read, encoded(os.fspath(path)), settings, made)
    model = Model._from_handle(made[0])
    model.name = os.path.basename(os.fspath(path))
    return model


def _listed(states: Any) -> str | None:
    """States of a file as the library takes them: numbers and names with commas."""
    if states is None or isinstance(states, (str, int, np.integer)):
        return None if states is None else str(states)
    array = np.asarray(states)
    return ",".join(map(str, np.flatnonzero(array) if array.dtype.kind == "b" else array.tolist()))


def write(model: Model, path: Path, *, compress: bool = False) -> None:
    """A model to a file; the ending of its name tells the format. Written whole or not at all."""
    model.write(path, compress=compress)


def generate(kind: str, *, discount: float | None = None, seed: int = 0, **settings: float) -> Model:
    """A standard instance: "random", "garnet", "riverswim", "machine", "inventory", "forest", "gridworld".

    Settings by name, such as `states=100`, `actions=4`, `branch=5`; which ones a kind has, `nadir.generators`
    tells (docs/generators.md). The same seed gives the same bits on every platform.
    """
    if "gamma" in settings:
        older = settings.pop("gamma")
        discount = older if discount is None else discount
    context = shared()
    given = filled("generate_settings")
    given.seed = seed
    for name, value in settings.items():
        context.call(lib.nadir_generate_settings_set, given, encoded(name.replace("_", "-")), value)
    if discount is not None:
        given.discount = discount
    made = place("model")
    context.call(lib.nadir_model_generate, encoded(kind), given, made)
    model = Model._from_handle(made[0])
    model.name = kind
    return model


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


@keywords
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


@keywords
def fit(
    data: Any,
    *,
    confidence: float | None = None,
    discount: float | None = None,
    guarantee: str | None = None,
    method: str | None = None,
    prior: float | None = None,
    concentration: float | None = None,
    successors: Path | None = None,
    unvisited: str | None = None,
    scales: str | None = None,
    norm: Norm | None = None,
    sets: Sets | None = None,
    initial: Numbers | Path | None = None,
    costs: bool = False,
    states: int | None = None,
    actions: int | None = None,
    ragged: bool = False,
    samples: int | None = None,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    policy: PolicyLike | None = None,
    columns: Mapping[str, str] | str | None = None,
    more: float | None = None,
    target_penalty: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Fit | FitReturn:
    """From logged data to a policy and what it earns at least, or to a ball that holds the true kernel, with a given confidence (0.95).

    What `nadir fit` does. `guarantee`: "return" (default) and "posterior" make a `FitReturn`, as `nadir.fit_return` does;
    "kernel" makes a `Fit`: a model whose ball holds the true kernel. It is the default without a discount, for posterior samples, and
    where `method`, `scales` or `sets` is given.

    `data` is a CSV or .npy file of transitions, counts, trajectories or posterior samples, told by its
    columns; or an array: records whose fields have the names of such columns, or plain numbers (N, 3) or
    (N, 4) with state, action, next state and reward; or a frame of pandas or polars, a table of pyarrow, a dictionary of
    columns or a list of dictionaries, whose columns count by their names: states and actions may be names there and in CSV, and `columns` ({"state": "obs", ...}) says what
    columns are called otherwise. Every row (s, a) gets the posterior Dirichlet(a + n_t)
    over its allowed successors t, n_t of them seen; the nominal kernel P̂ is its mean, and the radius β such
    that the ball holds that share of the posterior (method="posterior"), of estimates from bootstrap data
    ("bootstrap"), or any kernel with that confidence ("distribution-free").

    `prior` (2) is the weight of the prior of a row, in observations, or `concentration` that of each
    successor; `successors` ("all", "seen", a file) says which are possible; `unvisited` ("uniform", "pin",
    "absorb") what rows without data are; `scales` ("auto", "ones", "deviation", "occupancy", "sensitivity")
    how the ball is shaped; `samples` (10000) how many kernels are drawn. A transition pays the mean of the
    rewards seen with it; `unseen` ("additive", "row", "min" or a number) what the others pay, and
    `frozen_rewards=True` makes it the mean of the row (see `nadir.Model`).

    `policy` (of the nominal model; of the kernel by default the nominal optimum) decides scales and guarantees. The model
    that comes back has the ball in it: `nadir.evaluate(found.model, policy)` needs no radius. `more` and `target_penalty` are
    those of `nadir.fit_return`.
    """
    words: dict[str, Any] = {"method": method, "successors": successors, "unvisited": unvisited, "scales": scales}
    words |= {"initial": initial, "columns": columns, "guarantee": guarantee}
    numbers: dict[str, Any] = {"confidence": confidence, "discount": discount, "prior": prior, "concentration": concentration}
    numbers |= {"states": states, "actions": actions, "samples": samples, "costs": costs, "ragged": ragged}
    numbers["norm"] = None if norm is None else norm_number(norm)
    numbers["set"] = None if sets is None else choice("sets", sets, SETS)
    if more is not None and target_penalty is not None:
        raise UsageError("more and target_penalty cannot both be given")
    how = (unseen, frozen_rewards, threads, seed, progress)
    again = functools.partial(_ball, data, words=dict(words), numbers=dict(numbers), how=how)
    read = _Fit(data, policy, words, numbers, *how)
    promised = ffi.string(lib.nadir_fit_promised(read.handle)).decode()
    if promised != "kernel":
        return _promise(read, policy, promised, more, target_penalty, again)
    if more is not None or target_penalty is not None:
        raise UsageError('more and target_penalty are about the return of one policy: guarantee="return"')
    return _kernel(read)


def _kernel(read: "_Fit") -> Fit:
    """The ball that holds the true kernel."""
    found, made = result("fit_result"), place("model")
    read.call(lib.nadir_fit_model, read.given, found, made)
    return fit_result(found, Model._from_handle(made[0], read.added), read.nominal, read._policy)


def _ball(data: Any, policy: Policy, words: dict[str, Any], numbers: dict[str, Any], how: tuple[Any, ...]) -> Fit:
    """The same of data that were read for a promise of the return, made for its policy."""
    return _kernel(_Fit(data, policy, {**words, "guarantee": "kernel"}, dict(numbers), *how))


@keywords
def fit_return(
    data: Any,
    *,
    discount: float,
    confidence: float | None = None,
    guarantee: str = "return",
    policy: PolicyLike | None = None,
    prior: float | None = None,
    successors: Path | None = None,
    unvisited: str | None = None,
    initial: Numbers | Path | None = None,
    costs: bool = False,
    states: int | None = None,
    actions: int | None = None,
    ragged: bool = False,
    samples: int | None = None,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    columns: Mapping[str, str] | str | None = None,
    more: float | None = None,
    target_penalty: float | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitReturn:
    """What logged data promise of the return of one policy, with a given confidence (0.95).

    A policy is chosen on the data (`policy`: one made elsewhere) whose return is high and well known, and
    `guaranteed` is a lower bound on its true return: first order, measured, no theorem. guarantee="posterior"
    is the bound if the prior is right. `data` and the other arguments are those of `nadir.fit`. `more=N` or
    `target_penalty=X` adds where N more visits, or those that lower the penalty to X, help most. The model that
    comes back has the ball whose worst return is the guarantee: it explains it and does not hold the true kernel.
    """
    if guarantee == "kernel":
        raise UsageError('guarantee is \'kernel\'; expected "return" or "posterior": nadir.fit takes "kernel"')
    return fit(  # type: ignore[return-value]
        data, confidence=confidence, discount=discount, guarantee=guarantee, prior=prior, successors=successors,
        unvisited=unvisited, initial=initial, costs=costs, states=states, actions=actions, ragged=ragged, samples=samples,
        frozen_rewards=frozen_rewards, unseen=unseen, policy=policy, columns=columns, more=more,
        target_penalty=target_penalty, threads=threads, seed=seed, progress=progress,
    )  # fmt: skip


def _promise(read: "_Fit", policy: Any, guarantee: str, more: float | None, target_penalty: float | None, again: Any) -> FitReturn:
    """What the data promise of the return of a policy, given or chosen. again: see FitReturn."""
    if read.given != NULL and guarantee == "return":
        read.check_elsewhere(policy, 'leave policy out, and one is chosen and its choice paid for, or take guarantee="posterior"')
    found, chosen, made = result("fit_return_result"), place("policy"), place("model")
    read.call(lib.nadir_fit_return, read.given, found, chosen, made)
    read.warn_without_data()
    own = Policy._from_handle(read.nominal, chosen[0], "" if read._policy is None else read._policy.name)
    own._made_on = read.nominal if read._policy is None else read._policy._made_on
    where = None
    if more is not None or target_penalty is not None:
        where = _more(read, own, found, more, target_penalty)
    fields = _fields(found, "nadir_fit_return_result")
    ends = {"dropped": read.described.dropped, "terminal": bool(read.described.terminal)}
    tied = np.zeros(read.nominal.rows, np.uint8)
    if fields["ties"]:
        read.call(lib.nadir_fit_ties, own._handle, fields["weight"], ffi.from_buffer("unsigned char[]", tied))
    return FitReturn(
        own, Model._from_handle(made[0], read.added), **fields, **ends, tied_rows=tied.astype(bool), data=read.facts(),
        more=where, _read=read, _struct=found, _again=again
    )  # fmt: skip


@keywords
def fit_compare(
    data: Any,
    policies: Iterable[PolicyLike] | Mapping[str, PolicyLike],
    *,
    discount: float,
    confidence: float | None = None,
    prior: float | None = None,
    successors: Path | None = None,
    unvisited: str | None = None,
    initial: Numbers | Path | None = None,
    costs: bool = False,
    states: int | None = None,
    actions: int | None = None,
    ragged: bool = False,
    samples: int | None = None,
    frozen_rewards: bool = False,
    unseen: Unseen | None = None,
    columns: Mapping[str, str] | str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> FitComparison:
    """What logged data promise of several policies made elsewhere, and of their differences.

    `policies` is {name: policy} or a list, each as for `nadir.evaluate`. All are evaluated under the same kernels of the posterior. `guaranteed`
    are lower bounds on their true returns, each with the given confidence (0.95); `together` hold all at once; `lower[i, j]`
    is a lower bound on the return of policy i less that of policy j. `decided` says whether, with the confidence, no other
    policy earns more than `best`. The bounds hold if the prior is right. The other arguments are those of `nadir.fit`.
    """
    words: dict[str, Any] = {"successors": successors, "unvisited": unvisited, "initial": initial, "columns": columns}
    words["guarantee"] = "return"
    numbers: dict[str, Any] = {"confidence": confidence, "discount": discount, "prior": prior, "costs": costs, "ragged": ragged}
    numbers |= {"states": states, "actions": actions, "samples": samples}
    read = _Fit(data, None, words, numbers, unseen, frozen_rewards, threads, seed, progress)
    own = []
    read.warn_without_data()
    named = policies if isinstance(policies, Mapping) else None
    for policy in policies if named is None else named.values():
        own.append(read.policy(policy))
        read.check_elsewhere(policy, "nadir.fit_return chooses a policy and pays for its choice; to compare one that was "
                             "chosen, choose it on some of the episodes and compare on the others")  # fmt: skip
    count = len(own)
    if count == 0:
        raise UsageError("no policies are given to compare")
    vectors: dict[str, Any] = {name: np.empty(count) for name in ("nominal", "guaranteed", "together", "lead")}
    lower = np.empty((count, count))
    returns = np.empty((count, lib.nadir_fit_draws(read.handle, count)))
    found = result("fit_comparison")
    handles = ffi.new("const nadir_policy *[]", [policy._handle for policy in own])
    arrays = [doubles(vector) for vector in (*vectors.values(), lower, returns)]
    read.call(lib.nadir_fit_compare, count, handles, found, *arrays)
    names = [policy.name or f"policy {i}" for i, policy in enumerate(own)] if named is None else [str(name) for name in named]
    fields = _fields(found, "nadir_fit_comparison")
    return FitComparison(own, names, **vectors, lower=lower, returns=returns, **fields, data=read.facts())


class _Fit:
    """A fit of data, its nominal model and the handle of the policy, if one is given."""

    nominal: Model
    added: int  #: its last states that the data do not have
    described: Any
    _policy: Policy | None
    handle: Any
    given: Any

    def __init__(
        self,
        data: Any,
        policy: Any,
        words: dict[str, Any],
        numbers: dict[str, Any],
        unseen: Any,
        frozen_rewards: bool,
        threads: int | None,
        seed: int,
        progress: Progress | None,
    ) -> None:
        """Words and numbers that are None keep their defaults."""
        self.context = Context(threads, seed, progress)  # of its own: draws use up its random stream
        settings = filled("fit_settings")
        self._kept: list[Any] = []
        if not isinstance(data, (str, os.PathLike)):
            data = as_log(data, words["columns"])
        columns, initial = log_columns(words["columns"], data), words["initial"]
        words["columns"] = None if columns is None else ",".join(f"{role}={name}" for role, name in columns.items())
        numbers["discount"] = number("discount", numbers["discount"])
        take_unseen(settings, unseen, frozen_rewards)
        handle = place("fit")
        with _as_file(data, columns) as path, _start(words["initial"]) as words["initial"]:
            kept = {name: encoded(word) for name, word in words.items()} | self._orders(data, columns, settings)
            for name, value in (kept | numbers).items():
                if value is not None:
                    setattr(settings, name, value)
            self.context.call(lib.nadir_fit_read, encoded(path), settings, handle)
        self.handle = ffi.gc(handle[0], lib.nadir_fit_free)
        self.described = result("fit_result")
        self.call(lib.nadir_fit_describe, self.described)
        self.added = 1 if self.described.terminal else 0
        self.nominal = Model._from_handle(lib.nadir_model_retain(lib.nadir_fit_nominal(self.handle)), self.added)
        self._threads, self._columns, self._told = threads, columns, words
        self._check_length(initial)
        self._policy = None if policy is None else self.policy(policy)
        self.given = NULL if self._policy is None else self._policy._handle

    def _check_length(self, initial: Any) -> None:
        lengths = (self.nominal.states_given, self.nominal.states)
        if isinstance(initial, (list, tuple, np.ndarray)) and len(initial) not in lengths:
            raise UsageError(f"initial has {len(initial)} numbers; expected {lengths[0]}, one for each state")

    def warn_without_data(self) -> None:
        """Warns of states of which the data say nothing."""
        for words in without_data(self.facts(), self.nominal):
            warnings.warn(words, NadirWarning, stacklevel=_callers_level())

    def _orders(self, data: Any, columns: dict[str, str] | None, settings: Any) -> dict[str, Any]:
        """Names in the order of the categories of a frame, for the settings."""
        made: dict[str, Any] = {}
        for role in ("state", "action") if is_frame(data) else ():
            names = log_order(data, columns, role)
            if names:
                self._kept.append(strings(names))
                made[f"{role}_names"], made[f"{role}_names_count"] = self._kept[-1][0], len(names)
        return made

    def policy(self, policy: Any) -> Policy:
        """A policy of the nominal model; the columns of a frame may be called as those of the data."""
        if is_frame(policy) and self._columns is not None:
            called = {str(name): role for role, name in self._columns.items() if role in ("state", "action")}
            columns = columns_of(policy)
            if called.keys() <= columns.keys():
                policy = Table({called.get(name, name): column for name, column in columns.items()})
        return self.nominal.policy(policy, threads=self._threads)

    def returns(self, policies: list[Policy]) -> NDArray[Any]:
        """[policies, draws] under the same kernels of the posterior."""
        made = np.empty((len(policies), lib.nadir_fit_draws(self.handle, len(policies))))
        handles = ffi.new("const nadir_policy *[]", [policy._handle for policy in policies])
        self.call(lib.nadir_fit_compare, len(policies), handles, result("fit_comparison"), *[NULL] * 5, doubles(made))
        return made

    def facts(self) -> dict[str, Any]:
        """What the data have."""
        facts = _fields(self.described, "nadir_fit_result")
        names = ("data_kind", "observations", "total_count", "episodes", "states", "rows", "rows_visited", "visits_median")
        made = {name: facts[name] for name in (*names, "visits_min", "dropped", "terminal")}
        return {**made, "starts_seen": bool(facts["episodes"]) and self._told["initial"] is None, "unvisited": self._told["unvisited"]}

    def check_elsewhere(self, policy: Any, instead: str) -> None:
        """Refuses a policy that was certainly made from these data: a bound for it would not pay for the choice."""
        named = isinstance(policy, str) and policy == "optimal"
        made_on = self.nominal if named else policy._made_on if isinstance(policy, Policy) else None
        if made_on is not None and same_process(made_on, self.nominal):
            which = "the policy 'optimal'" if named else "a policy that is given"
            raise UnsupportedError(f"{which} is made from the same data: {instead}")

    def call(self, function: Any, *arguments: Any) -> None:
        self.context.call(function, self.handle, *arguments)


def _more(read: _Fit, policy: Policy, found: Any, more: Any, target: Any) -> MoreData:
    """Where more data help."""
    visits, share = np.zeros(read.nominal.rows), np.zeros(read.nominal.rows)
    asked = (np.nan if more is None else float(more), np.nan if target is None else float(target))
    told = result("fit_more_result")
    read.call(lib.nadir_fit_more, policy._handle, found, *asked, told, doubles(visits), doubles(share))
    return MoreData(visits, share, **_fields(told, "nadir_fit_more_result"), _policy=policy)


def log_columns(columns: Any, data: Any) -> dict[str, str] | None:
    """What the columns of a log are called, by their roles."""
    if columns is None:
        return None
    if isinstance(columns, str):
        pairs = [pair.partition("=") for pair in columns.split(",")]
        if not all(equal and name for _, equal, name in pairs):
            raise UsageError(f'columns is {columns!r}; expected {{"state": NAME, "action": NAME, ...}}')
        columns = {role: name for role, _, name in pairs}
    has = [str(name) for name in data.columns] if is_frame(data) else None
    return by_role(columns, LOG_ROLES, has)


@contextlib.contextmanager
def _start(initial: Any) -> Iterator[Any]:
    """The initial distribution as a word or a file: one that is given by numbers is written into one."""
    if initial is None or isinstance(initial, (str, os.PathLike, int, np.integer)):
        yield initial if initial is None or isinstance(initial, os.PathLike) else str(initial)
        return
    states = initial.keys() if isinstance(initial, Mapping) else initial.index if is_series(initial) else None
    chances = np.asarray(list(initial.values()) if isinstance(initial, Mapping) else initial, dtype=np.float64)
    if chances.ndim != 1:
        raise UsageError(f"initial has the shape {chances.shape}; expected one probability for each state")
    names = np.arange(len(chances)) if states is None else np.array(list(states), dtype=object)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "initial.csv")
        write_table(path, {"state": names, "probability": chances})
        with spoken_of(path, "initial"):
            yield path


@contextlib.contextmanager
def _as_file(data: Any, called: dict[str, str] | None = None) -> Iterator[Any]:
    """called: columns by their roles."""
    if isinstance(data, (str, os.PathLike)):
        yield data
        return
    if not is_frame(data) and _is_object(data):
        raise UsageError("the data are objects, not numbers; expected (N, 3) or (N, 4) numbers, records, a frame, or a dictionary of columns")
    with tempfile.TemporaryDirectory() as folder:
        columns = columns_of(data) if is_frame(data) else None
        plain = columns is None or all(_is_plain(column) for column in columns.values())
        path = os.path.join(folder, "data.npy" if plain else "data.csv")
        if columns is None:
            np.save(path, np.asarray(data))
        elif plain:
            np.save(path, _records(columns))
        else:
            write_table(path, columns)
        order = [called[role] for role in ("episode", "step", "time") if called and role in called]
        sort = f"frame.sort_values({order})" if "episode" in (called or ()) else ""
        with spoken_of(path, "the data" if columns is None else "the frame", sort):
            yield path


def _is_object(data: Any) -> bool:
    try:
        return np.asarray(data).dtype == object
    except ValueError:  # lists of unlike lengths, for one
        return True


def _is_plain(column: NDArray[Any]) -> bool:
    """Whether an array of records can hold the column: no text, and nothing missing."""
    return column.dtype.kind in "iub" or (column.dtype.kind == "f" and not np.isnan(column).any())


def _records(columns: dict[str, NDArray[Any]]) -> NDArray[Any]:
    length = len(next(iter(columns.values()))) if columns else 0
    records = np.empty(length, dtype=[(name, column.dtype) for name, column in columns.items()])
    for name, column in columns.items():
        records[name] = column
    return records


_documented: list[Callable[..., Any]] = [evaluate, sweep, radius, difference, gradient, solve, optimize, verify, read, write]
_documented += [report, generate, norm, fit, fit_return, fit_compare]
for _function in _documented:
    documented(_function)
