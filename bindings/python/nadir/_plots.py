"""Pictures of results, through matplotlib where it is there; nothing else imports it."""

from __future__ import annotations

from typing import Any

import numpy as np


def _axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib (Debian: python3-matplotlib)") from None
    return pyplot.subplots()[1]


def curve(sweep: Any, ax: Any, **options: Any) -> Any:
    ax = _axes(ax)
    options.setdefault("label", f"{sweep[0].set}, {sweep[0].domain}")
    line = ax.plot(sweep.radius, sweep.robust_return, **options)[0]
    shade = {"color": line.get_color(), "alpha": 0.2, "lw": 0}
    ax.fill_between(sweep.radius, sweep.lower_bound, sweep.upper_bound, **shade)
    ax.set_xlabel("radius")
    ax.set_ylabel("best return" if sweep.optimistic else "worst return")
    ax.legend()
    return ax


def damages(evaluation: Any, rows: Any, ax: Any) -> Any:
    ax = _axes(ax)
    model = evaluation.model
    names = [f"{model.state_name(one.state)}, {model.action_name(one.row)}" for one in rows]
    ax.barh(range(len(rows)), [100 * one.share for one in rows])
    ax.set_yticks(range(len(rows)), names)
    ax.invert_yaxis()
    ax.set_xlabel("share of the penalty, %")
    ax.set_ylabel("state, action")
    return ax


def table_map(table: np.ndarray, label: str, ax: Any) -> Any:
    ax = _axes(ax)
    image = ax.imshow(table, aspect="auto", interpolation="nearest")
    ax.set_xticks(range(table.shape[1]))
    ax.set_xlabel("action")
    ax.set_ylabel("state")
    ax.figure.colorbar(image, ax=ax, label=label)
    return ax


def history(found: Any, ax: Any) -> Any:
    ax = _axes(ax)
    steps = [(step.evaluations, step.robust_return) for step in found.history]
    ax.plot(*np.array(steps).T, ".-", label="found")
    ax.axhline(found.optimality_upper_bound, ls="--", color="grey", label="no policy is above")
    ax.set_xlabel("evaluations")
    ax.set_ylabel("worst return")
    ax.legend()
    return ax
