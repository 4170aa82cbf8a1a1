"""Unions of balls around several kernels, and finite sets of kernels."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ._context import Context, shared
from ._keywords import keywords
from ._library import NULL, encoded, ffi, filled, lib, place, result, text
from ._types import Certify, Domain, Norm, Path, PolicyLike, Progress, Sets
from .errors import UsageError
from .model import Model, Policy, choice
from .results import Evaluation, Optimization, _fields
from .solver import CERTIFY, Ball, _evaluation, robust_settings


@dataclass
class UnionEvaluation:
    """The worst return of a policy over a union: that of the worst member, with the smallest proven bound of all."""

    evaluation: Evaluation  #: of the union; nominal_return is that of the first member
    members: list[Evaluation]
    member: int  #: the worst one, from 0

    @property
    def guaranteed(self) -> float:
        """What is proven: no kernel of the union returns less (the best case: more)."""
        return self.evaluation.guaranteed

    @property
    def robust_return(self) -> float:
        return self.evaluation.robust_return

    @property
    def certified(self) -> bool:
        return self.evaluation.certified

    def to_dict(self) -> dict[str, Any]:
        """The evaluation, with the members as a list."""
        members = [one.to_dict() for one in self.members]
        return {**self.evaluation.to_dict(), "member": self.member, "members": members}

    def __str__(self) -> str:
        return f"{self.evaluation}\nworst: member {self.member + 1} of {len(self.members)}"


class Union:
    """The kernel is in one of several balls, one around the kernel of each model.

    `models` are of the same states, actions and discount: a `Model` each, or files; a file may be a list of models with radii, or a
    table with a column `idoutcome`, see docs/robust.md. A kernel pays the rewards of its model. `radius` is
    a number for all, or one for each; 0 leaves the kernels alone. `norm`, `sets` and `domain` are those of `nadir.evaluate`.

    >>> import nadir
    >>> both = nadir.Union([nadir.generate("garnet", states=6, seed=1), nadir.generate("garnet", states=6, seed=2)], radius=0)
    >>> found = both.evaluate("uniform")
    >>> found.member, found.certified
    (0, True)
    """

    @keywords
    def __init__(
        self,
        models: Iterable[Model | Path],
        *,
        discount: float | None = None,
        radius: float | Sequence[float] | None = None,
        norm: Norm | None = None,
        sets: Sets | None = None,
        domain: Domain | None = None,
    ):
        found: list[tuple[Model, float | None]] = []
        for one in models:
            if isinstance(one, Model):
                found.append((one if discount is None else one.replace(discount=discount), None))
            else:
                found += _read(one, discount)
        if not found:
            raise UsageError("nadir.Union: expected one model or more")
        radii: list[Any] = [radius] * len(found) if radius is None or isinstance(radius, (int, float)) else list(radius)
        if len(radii) != len(found):
            raise UsageError(f"nadir.Union: {len(radii)} radii for {len(found)} models; expected one for each, or a number")
        self.models = [model for model, _ in found]
        own = [radii[i] if listed is None else listed for i, (_, listed) in enumerate(found)]
        self._balls = [Ball(model, own[i], norm, sets, domain, None) for i, model in enumerate(self.models)]
        self._structs = ffi.new("nadir_ball[]", [ball.struct[0] for ball in self._balls])
        self._handles = ffi.new("nadir_model *[]", [model._handle for model in self.models])

    def __len__(self) -> int:
        return len(self.models)

    def _places(self) -> Any:
        made = ffi.new("nadir_robust[]", len(self))
        for one in made:
            one.size = ffi.sizeof("nadir_robust")
        return made

    def _answer(self, found: Any, members: Any, which: Any, worst: Any, certify: str, optimistic: bool, holder: Any) -> UnionEvaluation:
        kernel = ffi.gc(worst[0], lib.nadir_worst_free) if worst[0] else None
        place_of = int(which[0])
        whole = _evaluation(
            found, optimistic, certify, _worst=kernel, _ball=self._balls[place_of], _solver=holder(self.models[place_of])
        )
        each = [_evaluation(one, optimistic, certify) for one in members]
        assert whole is not None and all(one is not None for one in each)
        return UnionEvaluation(whole, [one for one in each if one is not None], place_of)

    @keywords
    def evaluate(
        self,
        policy: PolicyLike = "uniform",
        *,
        optimistic: bool = False,
        certify: Certify = "auto",
        time_limit: float | None = None,
        tolerance: float | None = None,
        width: float | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> UnionEvaluation:
        """The worst return of a policy over the union; keywords are those of `nadir.evaluate`. "optimal" is best for the first model."""
        context = shared(threads, 0, progress)
        asked = self.models[0].policy(policy)
        settings, _kept = robust_settings(None, certify, tolerance, width, None, optimistic, time_limit)
        found, members, which, worst = result("robust"), self._places(), ffi.new("int64_t *"), place("worst")

        def made() -> UnionEvaluation | None:
            if not found.stop_reason:
                return None
            return self._answer(found, members, which, worst, certify, optimistic, _holders(asked, context))

        how = (len(self), self._handles, self._structs, asked._handle, NULL, settings)
        answer: UnionEvaluation = context.answer(lib.nadir_union_robust, (*how, members, found, which, worst), made)
        return answer

    @keywords
    def optimize(
        self,
        *,
        gap: float | None = None,
        evaluations_limit: int | None = None,
        time_limit: float | None = None,
        certify: Certify = "auto",
        start: PolicyLike | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Optimization:
        """The best stationary policy against the union; keywords are those of `nadir.optimize`.

        The gap need not close: `optimality_upper_bound` is proven, see docs/policy.md.
        """
        context = Context(threads, 0, progress)
        first = None if start is None else self.models[0].policy(start)
        settings = filled("robust_optimum_settings")
        settings.certify = choice("certify", certify, CERTIFY)
        settings.start = NULL if first is None else first._handle
        numbers = {"gap": gap, "evaluations_limit": evaluations_limit, "time_limit": time_limit}
        for name, value in numbers.items():
            if value is not None:
                setattr(settings, name, value)
        policy, worst, which = place("policy"), place("worst"), ffi.new("int64_t *")
        best, found, members = result("robust_optimum_result"), result("robust"), self._places()

        def made() -> Optimization | None:
            if not policy[0]:
                return None
            own = Policy._from_handle(self.models[0], policy[0], "robust")
            whole = self._answer(found, members, which, worst, certify, False, _holders(own, context))
            return Optimization(own, whole.evaluation, [], **_fields(best, "nadir_robust_optimum_result"))

        how = (len(self), self._handles, self._structs, settings, policy, best, members, found, which, worst)
        answer: Optimization = context.answer(lib.nadir_union_optimum, how, made)
        return answer


class _Holder:
    """What an evaluation needs of a solver to look at its kernel."""

    def __init__(self, model: Model, policy: Policy, context: Context):
        self.model, self.policy, self._context = model, policy, context


def _holders(policy: Policy, context: Context) -> Any:
    return lambda model: _Holder(model, policy, context)


def _read(path: Path, discount: float | None) -> list[tuple[Model, float | None]]:
    """The models of a file, with the radii of a list."""
    settings = filled("read_settings")
    settings.discount = float("nan") if discount is None else discount
    name = encoded(os.fspath(path))
    made = place("union")
    shared().call(lib.nadir_union_read, 1, ffi.new("char *[]", [name]), settings, made)
    union = ffi.gc(made[0], lib.nadir_union_free)
    models = []
    for i in range(lib.nadir_union_count(union)):
        model = Model._from_handle(lib.nadir_model_retain(lib.nadir_union_model(union, i)))
        model.name = os.path.basename(text(lib.nadir_union_member(union, i)) or "")
        radius = lib.nadir_union_radius(union, i)
        models.append((model, None if radius != radius else float(radius)))
    return models
