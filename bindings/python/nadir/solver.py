"""A solver: one policy of one model, factored once for everything that is asked of it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _forms
from ._context import shared
from ._keywords import keywords
from ._library import NULL, encoded, ffi, filled, lib, place, result
from ._types import Array, Certify, Domain, Norm, Numbers, PolicyLike, Progress, Sets
from .errors import ModelError, UsageError
from .model import DOMAINS, SETS, Model, Policy, _of_rows, check_name, choice, doubles, norm_number
from .results import Difference, Evaluation, Gradient, Nominal, Radius, Sweep, _fields

CERTIFY = {"off": 0, "auto": 1, "strict": 2}

#: The return is stationary at the worst kernel, the gradient is not: its error goes with the square root.
GRADIENT_TOLERANCE = 1e-14


class Ball:
    """The C struct of a ball, with the arrays that it points to."""

    def __init__(
        self, model: Model, radius: Any, norm: Any, sets: str | None, domain: str | None, scales: Any
    ):
        ball = filled("ball")
        ball.set = choice("sets", sets, SETS)
        ball.domain = choice("domain", domain, DOMAINS)
        ball.norm = norm_number(norm)
        self.struct = ball
        self.scales_given = scales is not None
        self.kept: list[Any] = []
        if radius is not None:
            self.set_radius(_radii(model, radius, sets))
        if scales is not None:
            self.kept.append(_of_rows(scales, model, "scales", model._row_actions))
            ball.scales = doubles(self.kept[-1])

    def set_radius(self, radii: NDArray[Any]) -> None:
        self.kept.append(radii)
        self.struct.radius = doubles(radii)
        self.struct.radius_count = radii.size


def _radii(model: Model, radius: Any, sets: str | None) -> NDArray[Any]:
    if isinstance(radius, (float, int)):
        return np.array([radius], dtype=np.float64)
    radii = np.ascontiguousarray(_forms.unlabelled(radius, model, "radius", "radius"), dtype=np.float64)
    if radii.ndim == 2 or (sets == "sa" and radii.size not in (1, model.rows)):
        return _of_rows(radii, model, "radius", model._row_actions)
    if radii.ndim == 1 and sets == "s" and radii.size == model.states_given < model.states:
        return np.concatenate([radii, np.zeros(model.states - radii.size)])
    return np.atleast_1d(radii)


def robust_settings(
    method: str | None,
    certify: str,
    tolerance: float | None,
    width: float | None,
    iterations_limit: int | None,
    optimistic: bool,
    time_limit: float | None = None,
) -> tuple[Any, Any]:
    """The C struct, and what has to live as long."""
    settings = filled("robust_settings")
    word = None
    if method is not None:
        settings.method = word = encoded(method)
    settings.certify = choice("certify", certify, CERTIFY)
    settings.optimistic = optimistic
    if tolerance is not None:
        settings.tolerance = tolerance
    if width is not None:
        settings.width = width
    if iterations_limit is not None:
        settings.iterations_limit = iterations_limit
    if time_limit is not None:
        settings.time_limit = time_limit
    return settings, word


class Solver:
    """One policy of one model, factored once: (I − γ P̂^π) serves every radius, norm, set and domain.

    `backend`: "lapack" (dense LU), "klu" (sparse LU), "krylov" (iterative), "auto"; `tolerance` is that of
    iterative ones. `threads`: 0 or None for one for each processor. `progress(task, share)` is called a few
    times a second, and stops the work by returning something true.

    May be used by several threads, one after another: calls wait for each other, and release the GIL.
    """

    @keywords
    def __init__(
        self,
        model: Model,
        policy: PolicyLike = "uniform",
        *,
        backend: str | None = None,
        tolerance: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise UsageError("nadir.Solver needs a model: nadir.Model(P, R, discount), nadir.read(file)")
        if model.discount is None:
            raise ModelError("the model has no discount: give discount")
        self.model = model
        self.policy = model.policy(policy, backend=backend, threads=threads)
        self._context = shared(threads, seed, progress)
        self._settings = filled("solver_settings")
        self._backend = encoded(backend)
        self._settings.backend = self._backend
        if tolerance is not None:
            self._settings.tolerance = tolerance
        self._handle = self._create(self.policy)

    def _create(self, policy: Policy) -> Any:
        made = place("solver")
        self._context.call(lib.nadir_solver_create, self.model._handle, policy._handle, self._settings, made)
        return ffi.gc(made[0], lib.nadir_solver_free)

    @property
    def threads(self) -> int:
        """How many threads it uses."""
        return self._context.threads

    # ------------------------------------------------------------------------------------ nominal kernel

    def nominal(self) -> Nominal:
        """J = μ·v on the nominal kernel, between proven bounds."""
        found = result("nominal")
        self._context.call(lib.nadir_solver_nominal, self._handle, found)
        return Nominal(**_fields(found, "nadir_nominal"))

    def _numbers(self, function: Any, count: int) -> NDArray[Any]:
        made = np.empty(count)
        self._context.call(function, self._handle, doubles(made))
        return made

    def value(self) -> Array:
        """v = (I − γ P̂^π)⁻¹ R^π, one number for each state."""
        return self._numbers(lib.nadir_solver_value, self.model.states)

    def occupancy(self) -> Array:
        """d = (I − γ P̂^π)⁻ᵀ μ, one number for each state; it sums to 1/(1 − γ)."""
        return self._numbers(lib.nadir_solver_occupancy, self.model.states)

    def q(self) -> Array:
        """Q(s, a) = R(s, a) + γ P̂(·|s, a)·v, one number for each row."""
        return self._numbers(lib.nadir_solver_q, self.model.rows)

    # ----------------------------------------------------------------------------------- balls of kernels

    @keywords
    def evaluate(
        self,
        radius: Numbers | None = None,
        *,
        norm: Norm | None = None,
        sets: Sets | None = None,
        domain: Domain | None = None,
        scales: Numbers | None = None,
        optimistic: bool = False,
        certify: Certify = "auto",
        time_limit: float | None = None,
        tolerance: float | None = None,
        width: float | None = None,
        method: str | None = None,
        iterations_limit: int | None = None,
    ) -> Evaluation:
        """The worst return over a ball; see `nadir.evaluate`."""
        ball = Ball(self.model, radius, norm, sets, domain, scales)
        settings, _kept = robust_settings(
            method, certify, tolerance, width, iterations_limit, optimistic, time_limit
        )
        found = result("robust")
        worst = place("worst")

        def made() -> Evaluation | None:
            kernel = ffi.gc(worst[0], lib.nadir_worst_free) if worst[0] else None
            return _evaluation(found, optimistic, certify, _solver=self, _worst=kernel, _ball=ball)

        return self._context.answer(
            lib.nadir_solver_robust, (self._handle, ball.struct, settings, found, worst), made
        )

    @keywords
    def sweep(
        self,
        radius: ArrayLike,
        *,
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
    ) -> Sweep:
        """Worst returns at many radii at once; see `nadir.sweep`."""
        wanted = np.ascontiguousarray(radius, dtype=np.float64)
        if wanted.ndim != 1 or wanted.size == 0:
            raise UsageError(f"radius has the shape {wanted.shape}; expected a list of numbers")
        wrong = wanted[~((wanted >= 0) & np.isfinite(wanted))]
        if wrong.size:
            raise UsageError(f"radius must be >= 0 and finite; it has {wrong[0]:g}")
        largest = float(wanted.max())
        factors = wanted / largest if 0 < largest < np.inf else np.ones_like(wanted)
        ball = Ball(self.model, largest, norm, sets, domain, scales)
        settings, _kept = robust_settings(
            None, certify, tolerance, width, iterations_limit, optimistic, time_limit
        )
        found = ffi.new("nadir_robust[]", wanted.size)
        for i in range(wanted.size):
            found[i].size = ffi.sizeof("nadir_robust")
        context = self._context
        with context.lock:
            status = lib.nadir_solver_robust_many(
                context.handle,
                self._handle,
                ball.struct,
                settings,
                wanted.size,
                doubles(factors),
                found,
            )
            made = [_evaluation(found[i], optimistic, certify, _solver=self) for i in range(wanted.size)]
            for i, one in enumerate(made):
                if one is not None:  # as asked, not by way of a factor
                    object.__setattr__(one, "radius", float(wanted[i]))
            curve = Sweep([one for one in made if one is not None], optimistic)
            context.check(status, curve if curve.evaluations else None)
        return curve

    @keywords
    def radius(
        self,
        target: float,
        *,
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
    ) -> Radius:
        """The largest radius whose worst return is still `target` or more; see `nadir.radius`."""
        ball = Ball(self.model, radius, norm, sets, domain, scales)
        settings, _kept = robust_settings(None, certify, tolerance, width, None, optimistic, time_limit)
        found = result("radius")
        return self._context.answer(
            lib.nadir_solver_radius,
            (self._handle, ball.struct, settings, target, found),
            lambda: Radius(**_fields(found, "nadir_radius"), optimistic=optimistic, _solver=self) if found.stop_reason else None,
        )

    @keywords
    def difference(
        self,
        other: PolicyLike,
        radius: Numbers | None = None,
        *,
        norm: Norm | None = None,
        sets: Sets | None = None,
        domain: Domain | None = None,
        scales: Numbers | None = None,
        optimistic: bool = False,
        certify: Certify = "auto",
        time_limit: float | None = None,
        tolerance: float | None = None,
        width: float | None = None,
    ) -> Difference:
        """min over the ball of J^A_P − J^B_P, A this policy and B the `other`, under the same kernel P."""
        compared = self.model.policy(other)
        second = self._create(compared)
        ball = Ball(self.model, radius, norm, sets, domain, scales)
        settings, _kept = robust_settings(None, certify, tolerance, width, None, optimistic, time_limit)
        found = result("difference")
        worst = place("worst")
        names = (self.policy.name or "the policy", compared.name or "the other")

        def made() -> Difference | None:
            kernel = ffi.gc(worst[0], lib.nadir_worst_free) if worst[0] else None
            if not found.stop_reason:
                return None
            fields = _fields(found, "nadir_difference")
            return Difference(**fields, optimistic=optimistic, policies=names, _solver=self, _worst=kernel)

        return self._context.answer(
            lib.nadir_solver_difference, (self._handle, second, ball.struct, settings, found, worst), made
        )

    @keywords
    def gradient(
        self,
        radius: Numbers | None = None,
        *,
        formula: str = "kernel",
        norm: Norm | None = None,
        sets: Sets | None = None,
        domain: Domain | None = None,
        scales: Numbers | None = None,
        optimistic: bool = False,
        certify: Certify = "auto",
        time_limit: float | None = None,
        tolerance: float = GRADIENT_TOLERANCE,
        width: float | None = None,
        method: str | None = None,
        iterations_limit: int | None = None,
    ) -> Gradient:
        """∂J_U/∂π(a|s); see `nadir.gradient`."""
        evaluation = self.evaluate(
            radius, norm=norm, sets=sets, domain=domain, scales=scales, optimistic=optimistic, certify=certify,
            time_limit=time_limit, tolerance=tolerance, width=width, method=method,
            iterations_limit=iterations_limit
        )
        return Gradient(evaluation, evaluation.gradient(formula), self.policy)

    def __repr__(self) -> str:
        return f"Solver({self.model!r}, {self.policy!r}, threads={self.threads})"


def evaluate_rewards(
    solver: Solver,
    radius: Any,
    reward_radius: float,
    reward_norm: Norm | None,
    *,
    norm: Norm | None,
    sets: Sets | None,
    domain: Domain | None,
    scales: Numbers | None,
    optimistic: bool,
    certify: Certify,
    time_limit: float | None,
    tolerance: float | None,
    width: float | None,
    method: str | None,
    iterations_limit: int | None,
) -> Evaluation:
    """The worst return where rewards are uncertain, too; see `nadir.evaluate`."""
    ball = Ball(solver.model, radius, norm, sets, domain, scales)
    rewards = filled("reward_ball")
    rewards.radius = reward_radius
    rewards.norm = 2.0 if reward_norm is None else norm_number(reward_norm)
    settings, _kept = robust_settings(method, certify, tolerance, width, iterations_limit, optimistic, time_limit)
    found, worst, model = result("robust"), place("worst"), place("model")
    context = solver._context

    def made() -> Evaluation | None:
        if not worst[0]:
            return None
        kernel = ffi.gc(worst[0], lib.nadir_worst_free)
        context.call(lib.nadir_worst_model, kernel, model)
        return _evaluation(found, optimistic, certify, _kernel_model=Model._from_handle(model[0]))

    how = (solver.model._handle, solver.policy._handle, ball.struct, rewards, NULL, settings, found, NULL, worst)
    answer: Evaluation = context.answer(lib.nadir_rewards_robust, how, made)
    return answer


def _evaluation(found: Any, optimistic: bool, certify: str, **kept: Any) -> Evaluation | None:
    """None: there is no answer."""
    if not found.stop_reason:
        return None
    return Evaluation(**_fields(found, "nadir_robust"), optimistic=optimistic, _certify=certify, **kept)


def _policies_by_step(context: Any, model: Model, policy: Any, horizon: int) -> list[Policy]:
    """One policy, or one for each step."""
    if isinstance(policy, (str, os.PathLike)) and policy != "uniform":
        check_name(policy)
        made = ffi.new("nadir_policy *[]", horizon)
        if policy == "optimal":
            context.call(lib.nadir_horizon_optimum, model._handle, horizon, made, result("optimum_result"))
            count = horizon
        else:
            counted = ffi.new("int64_t *")
            name = encoded(os.fspath(policy))
            context.call(lib.nadir_policy_read_steps, model._handle, name, horizon, made, counted)
            count = counted[0]
        return [Policy._from_handle(model, made[step]) for step in range(count)]
    if not isinstance(policy, (str, Policy)) and np.ndim(policy) == 3:
        if len(policy) != horizon:
            raise UsageError(f"there are policies for {len(policy)} steps; expected {horizon}, or one for all")
        return [model.policy(one) for one in policy]
    return [model.policy(policy)]


def evaluate_horizon(
    model: Model,
    policy: Any,
    horizon: int,
    radius: Any = None,
    *,
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
    threads: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """The worst return of `horizon` steps; see `nadir.evaluate`."""
    if not 1 <= horizon <= 10_000_000:
        raise UsageError(f"the horizon is {horizon}; expected 1 to 10000000 steps")
    context = shared(threads, 0, progress)
    ball = Ball(model, radius, norm, sets, domain, scales)
    settings, _kept = robust_settings(
        None, certify, tolerance, width, iterations_limit, optimistic, time_limit
    )
    policies = _policies_by_step(context, model, policy, horizon)
    handles = ffi.new("nadir_policy *[]", [one._handle for one in policies])
    found, worst = result("robust"), place("model")

    def made() -> Evaluation | None:
        kernel = Model._from_handle(worst[0]) if worst[0] else None
        return _evaluation(found, optimistic, certify, _kernel_model=kernel)

    how = (len(policies), handles, ball.struct, settings, 1, ffi.new("double[]", [1.0]))
    return context.answer(lib.nadir_horizon_robust, (model._handle, horizon, *how, found, worst), made)
