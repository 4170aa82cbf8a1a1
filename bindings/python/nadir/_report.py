"""A page about one problem, written by the library."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._context import Context, _callers_level
from ._library import NULL, encoded, filled, lib, result
from .errors import NadirWarning, UsageError
from .results import Report, _fields

if TYPE_CHECKING:
    from .model import Model, Policy
    from .solver import Ball


def _words(policy: "Policy | None", ball: "Ball", fitted: bool) -> tuple[str, str, str]:
    """What the commands on the page call model and policy, and what makes those files."""
    chosen = "optimal" if policy is None else policy.name if policy.name in ("optimal", "uniform") else "policy.csv"
    lines = [f'python: {"fit.model" if fitted else "model"}.write("model.npz")']
    if chosen == "policy.csv":
        lines.append('python: policy.write("policy.csv")')
    if ball.scales_given or ball.struct.radius_count > 1:
        lines.append("python: numpy.save the arrays of radius and scales, for --radius FILE and --scales FILE")
    return "model.npz", chosen, "\n".join(lines)


def write_page(
    context: Context,
    model: "Model",
    policy: "Policy | None",
    ball: "Ball",
    path: str | os.PathLike[str],
    *,
    radii: Sequence[float] | None = None,
    time_limit: float | None = None,
    title: str | None = None,
    data: Any = None,
    promise: Any = None,
) -> Report:
    """policy: None: the nominal optimum. radii: first, last, how many. data, promise: structs of fits."""
    settings = filled("report_settings")
    named = None if policy is None or policy.name == "optimal" else policy.name or "the policy"
    named = {"uniform": "the uniform policy", "robust": "the policy"}.get(named or "", named)
    kept = [encoded(word) for word in (named, title or model.name or None, *_words(policy, ball, data is not None))]
    settings.policy_name, settings.title, settings.model_words, settings.policy_words, settings.preparation = kept
    settings.policy = NULL if policy is None else policy._handle
    settings.data = NULL if data is None else data
    settings.promise = NULL if promise is None else promise
    if radii is not None:
        try:
            settings.radii_first, settings.radii_last, settings.radii_count = radii
        except (TypeError, ValueError):
            raise UsageError(f"radii is {radii!r}; expected (first, last, how many)") from None
    if time_limit is not None:
        settings.time_limit = time_limit
    found = result("report_result")
    context.call(lib.nadir_report_write, model._handle, ball.struct, settings, encoded(path), found)
    told = None if promise is None else (promise.guaranteed, promise.confidence, promise.nominal_return)
    of = ("optimal" if policy is None else policy.name or "given", model.start_words())
    made = Report(os.fspath(path), **{**_fields(found, "nadir_report_result"), "seconds": found.seconds}, _of=of, _promise=told)
    if made.time_ran_out:
        text = f"the time was up: {made.left_out} things are left out of {made.path}, which names them; time_limit gives more"
        warnings.warn(text, NadirWarning, stacklevel=_callers_level())
    return made
