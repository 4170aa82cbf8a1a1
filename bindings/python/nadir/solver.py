"""A solver: one policy of one model, factored once for everything that is asked of it."""

from __future__ import annotations

import os
from typing import Any, Sequence

import numpy as np

from ._context import Progress, shared
from ._library import NULL, encoded, ffi, filled, lib, place, result
from .errors import ModelError, UsageError
from .model import DOMAINS, SETS, Model, Policy, _of_rows, choice, doubles, norm_number
from .results import Difference, Evaluation, Gradient, Nominal, Radius, Sweep, _fields

CERTIFY = {"off": 0, "auto": 1, "strict": 2}

#: The return is stationary at the worst kernel, the gradient is not: its error goes with the square root.
GRADIENT_TOLERANCE = 1e-14


class Ball:
    """The C struct of a ball, with the arrays that it points to."""

    def __init__(
        self, model: Model, radius: Any, norm: Any, set: str | None, domain: str | None, scales: Any
    ):
        ball = filled("ball")
        ball.set = choice("set", set, SETS)
        ball.domain = choice("domain", domain, DOMAINS)
        ball.norm = norm_number(norm)
        self.struct = ball
        self.kept: list[Any] = []
        if radius is not None:
            self.set_radius(_radii(model, radius, set))
        if scales is not None:
            self.kept.append(_of_rows(scales, model, "scales", model._row_actions))
            ball.scales = doubles(self.kept[-1])

    def set_radius(self, radii: np.ndarray) -> None:
        self.kept.append(radii)
        self.struct.radius = doubles(radii)
        self.struct.radius_count = radii.size


def _radii(model: Model, radius: Any, set: str | None) -> np.ndarray:
    if isinstance(radius, (float, int)):
        return np.array([radius], dtype=np.float64)
    radii = np.ascontiguousarray(radius, dtype=np.float64)
    if radii.ndim == 2 or (set == "sa" and radii.size not in (1, model.rows)):
        return _of_rows(radii, model, "radius", model._row_actions)
    if radii.ndim == 1 and set == "s" and radii.size == model.states_given < model.states:
        return np.concatenate([radii, np.zeros(model.states - radii.size)])
    return np.atleast_1d(radii)


def robust_settings(
    method: str | None,
    certify: str,
    tolerance: float | None,
    width: float | None,
    iterations_limit: int | None,
    optimistic: bool,
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
    return settings, word


class Solver:
    """One policy of one model, factored once: (I − γ P̂^π) serves every radius, norm, set and domain.

    `backend`: "lapack" (dense LU), "klu" (sparse LU), "krylov" (iterative), "auto"; `tolerance` is that of
    iterative ones. `threads`: 0 or None for one for each processor. `progress(task, share)` is called a few
    times a second, and stops the work by returning something true.

    May be used by several threads, one after another: calls wait for each other, and release the GIL.
    """

    def __init__(
        self,
        model: Model,
        policy: Any = "uniform",
        *,
        backend: str | None = None,
        tolerance: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ):
        if model.gamma is None:
            raise ModelError("the model has no discount: give gamma")
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

    def _numbers(self, function: Any, count: int) -> np.ndarray:
        made = np.empty(count)
        self._context.call(function, self._handle, doubles(made))
        return made

    def value(self) -> np.ndarray:
        """v = (I − γ P̂^π)⁻¹ R^π, one number for each state."""
        return self._numbers(lib.nadir_solver_value, self.model.states)

    def occupancy(self) -> np.ndarray:
        """d = (I − γ P̂^π)⁻ᵀ μ, one number for each state; it sums to 1/(1 − γ)."""
        return self._numbers(lib.nadir_solver_occupancy, self.model.states)

    def q(self) -> np.ndarray:
        """Q(s, a) = R(s, a) + γ P̂(·|s, a)·v, one number for each row."""
        return self._numbers(lib.nadir_solver_q, self.model.rows)

    # ----------------------------------------------------------------------------------- balls of kernels

    def evaluate(
        self,
        radius: Any = None,
        *,
        norm: float | str | None = None,
        set: str | None = None,
        domain: str | None = None,
        scales: Any = None,
        method: str | None = None,
        certify: str = "auto",
        tolerance: float | None = None,
        width: float | None = None,
        iterations_limit: int | None = None,
        optimistic: bool = False,
    ) -> Evaluation:
        """The worst return over a ball; see `nadir.evaluate`."""
        ball = Ball(self.model, radius, norm, set, domain, scales)
        settings, _kept = robust_settings(method, certify, tolerance, width, iterations_limit, optimistic)
        found = result("robust")
        worst = place("worst")
        context = self._context
        with context.lock:
            status = lib.nadir_solver_robust(
                context.handle, self._handle, ball.struct, settings, found, worst
            )
            kernel = ffi.gc(worst[0], lib.nadir_worst_free) if worst[0] else None
            made = self._evaluation(found, optimistic, kernel)
            context.check(status, made)
        return made  # type: ignore[return-value]

    def _evaluation(self, found: Any, optimistic: bool, worst: Any) -> Evaluation | None:
        if not found.stop_reason:
            return None
        return Evaluation(**_fields(found, "nadir_robust"), optimistic=optimistic, _solver=self, _worst=worst)

    def sweep(
        self,
        radii: Sequence[float] | np.ndarray,
        *,
        norm: float | str | None = None,
        set: str | None = None,
        domain: str | None = None,
        scales: Any = None,
        certify: str = "auto",
        tolerance: float | None = None,
        width: float | None = None,
        iterations_limit: int | None = None,
        optimistic: bool = False,
    ) -> Sweep:
        """Worst returns at many radii at once; see `nadir.sweep`."""
        wanted = np.ascontiguousarray(radii, dtype=np.float64)
        if wanted.ndim != 1 or wanted.size == 0:
            raise UsageError(f"radii have the shape {wanted.shape}; expected a list of numbers")
        largest = float(wanted.max())
        factors = wanted / largest if 0 < largest < np.inf else np.ones_like(wanted)
        ball = Ball(self.model, largest, norm, set, domain, scales)
        settings, _kept = robust_settings(None, certify, tolerance, width, iterations_limit, optimistic)
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
            made = [self._evaluation(found[i], optimistic, None) for i in range(wanted.size)]
            for i, one in enumerate(made):
                if one is not None:  # as asked, not by way of a factor
                    object.__setattr__(one, "radius", float(wanted[i]))
            curve = Sweep([one for one in made if one is not None], optimistic)
            context.check(status, curve if curve.evaluations else None)
        return curve

    def radius(
        self,
        target: float,
        *,
        radius: Any = None,
        norm: float | str | None = None,
        set: str | None = None,
        domain: str | None = None,
        scales: Any = None,
        certify: str = "auto",
        tolerance: float | None = None,
        width: float | None = None,
        optimistic: bool = False,
    ) -> Radius:
        """The largest radius whose worst return is still `target` or more; see `nadir.radius`."""
        ball = Ball(self.model, radius, norm, set, domain, scales)
        settings, _kept = robust_settings(None, certify, tolerance, width, None, optimistic)
        found = result("radius")
        context = self._context
        with context.lock:
            status = lib.nadir_solver_radius(
                context.handle, self._handle, ball.struct, settings, target, found
            )
            made = Radius(**_fields(found, "nadir_radius")) if found.stop_reason else None
            context.check(status, made)
        return made  # type: ignore[return-value]

    def difference(
        self,
        other: Any,
        radius: Any = None,
        *,
        norm: float | str | None = None,
        set: str | None = None,
        domain: str | None = None,
        scales: Any = None,
        certify: str = "auto",
        tolerance: float | None = None,
        width: float | None = None,
        optimistic: bool = False,
    ) -> Difference:
        """min over the ball of J^A_P − J^B_P, A this policy and B the `other`, under the same kernel P."""
        second = self._create(self.model.policy(other))
        ball = Ball(self.model, radius, norm, set, domain, scales)
        settings, _kept = robust_settings(None, certify, tolerance, width, None, optimistic)
        found = result("difference")
        context = self._context
        with context.lock:
            status = lib.nadir_solver_difference(
                context.handle, self._handle, second, ball.struct, settings, found, NULL
            )
            made = Difference(**_fields(found, "nadir_difference")) if found.stop_reason else None
            context.check(status, made)
        return made  # type: ignore[return-value]

    def gradient(
        self,
        radius: Any = None,
        *,
        formula: str = "kernel",
        tolerance: float = GRADIENT_TOLERANCE,
        **options: Any,
    ) -> Gradient:
        """∂J_U/∂π(a|s); see `nadir.gradient`."""
        evaluation = self.evaluate(radius, tolerance=tolerance, **options)
        return Gradient(evaluation, evaluation.gradient(formula), self.policy)

    def __repr__(self) -> str:
        return f"Solver({self.model!r}, {self.policy!r}, threads={self.threads})"


def _policies_by_step(context: Any, model: Model, policy: Any, horizon: int) -> list[Policy]:
    """One policy, or one for each step."""
    if isinstance(policy, (str, os.PathLike)) and policy != "uniform":
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
    norm: float | str | None = None,
    set: str | None = None,
    domain: str | None = None,
    scales: Any = None,
    certify: str = "auto",
    tolerance: float | None = None,
    width: float | None = None,
    iterations_limit: int | None = None,
    optimistic: bool = False,
    threads: int | None = None,
    progress: Any = None,
) -> Evaluation:
    """The worst return of `horizon` steps; see `nadir.evaluate`."""
    if not 1 <= horizon <= 10_000_000:
        raise UsageError(f"the horizon is {horizon}; expected 1 to 10000000 steps")
    context = shared(threads, 0, progress)
    ball = Ball(model, radius, norm, set, domain, scales)
    settings, _kept = robust_settings(None, certify, tolerance, width, iterations_limit, optimistic)
    policies = _policies_by_step(context, model, policy, horizon)
    handles = ffi.new("nadir_policy *[]", [one._handle for one in policies])
    found = result("robust")
    worst = place("model")
    with context.lock:
        status = lib.nadir_horizon_robust(
            context.handle, model._handle, horizon, len(policies), handles, ball.struct, settings,
            1, ffi.new("double[]", [1.0]), found, worst,
        )  # fmt: skip
        made = None
        if found.stop_reason:
            kernel = Model._from_handle(worst[0]) if worst[0] else None
            made = Evaluation(**_fields(found, "nadir_robust"), optimistic=optimistic, _kernel_model=kernel)
        context.check(status, made)
    return made  # type: ignore[return-value]
