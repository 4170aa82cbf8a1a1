"""Pictures of results, through matplotlib where it is there; nothing else imports it.

They are those of the command (cli/*_plot.c, cli/explain_map.c): the same words, colours and dashes.
"""

from __future__ import annotations

import functools
import os
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ._verdict import DOMAINS, SETS

# Those of cli/sweep_plot.c: one curve alone is solid, the second look; several begin with the first, dashed.
COLOURS = ("#d55e00", "#0072b2", "#009e73", "#000000", "#8b4789", "#5a3a00", "#444444", "#c03060", "#2f4f8f")
_DASHED = ((14, 6), (), (3, 4), (16, 5, 3, 5), (28, 6), (8, 3, 2, 3, 2, 3), (2, 2), (20, 4, 8, 4), (12, 3, 2, 3))
DASHES = tuple((0, tuple(length / 4 for length in dash)) if dash else "-" for dash in _DASHED)
WAYS = {"up": (0, -1), "north": (0, -1), "right": (1, 0), "east": (1, 0), "down": (0, 1), "south": (0, 1)}
WAYS |= {"left": (-1, 0), "west": (-1, 0)}
ATTACK = "#0072b2"
NEW = "#d55e00"  # a transition that the nominal kernel does not have
NUMBERS, ARROWS = 144, 900  # cells of a map that has numbers, arrows of the policy


Method = TypeVar("Method", bound=Callable[..., Any])


def to_file(plot: Method) -> Method:
    """A method `plot(ax=None)` that also takes the name of a file in place of axes: the picture is saved there."""

    @functools.wraps(plot)
    def call(self: Any, ax: Any = None, *arguments: Any, **options: Any) -> Any:
        if not isinstance(ax, (str, os.PathLike)):
            return plot(self, ax, *arguments, **options)
        made = plot(self, None, *arguments, **options)
        from matplotlib import pyplot

        made.figure.savefig(ax)
        pyplot.close(made.figure)
        return made

    return call  # type: ignore[return-value]


def _axes(ax: Any, width: float = 8.0, height: float = 5.0) -> Any:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ImportError("plot() needs matplotlib (Debian: python3-matplotlib)") from None
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def _frame(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def _names(solver: Any) -> str:
    """'river.npz, policy uniform'"""
    if solver is None:
        return ""
    model, policy = solver.model.name, solver.policy.name
    return ", ".join(word for word in (model, policy and f"policy {policy}") if word)


def _title(ax: Any, names: str, shows: str, *details: str) -> None:
    """Above the axes, in lines that are no wider."""
    size = ax.figure.get_size_inches()[0] * ax.get_position(original=True).width * 72 / 10
    lines = [f"{names}: {shows}" if names else shows, *details]
    wrapped = [part for line in lines for part in textwrap.wrap(line, max(20, int(1.9 * size)))]
    ax.set_title("\n".join(wrapped), fontsize="medium")


def _number(value: float) -> str:
    return f"{value:.5g}"


def _ball(one: Any, radius: bool = True) -> str:
    size = f"radius {_number(one.radius)}, " if radius else ""
    return f"{size}norm {one.norm if isinstance(one.norm, str) else _number(one.norm)}; {SETS.get(one.set, one.set)}; {DOMAINS.get(one.domain, one.domain)}"


def curve(sweep: Any, ax: Any, **options: Any) -> Any:
    """The risk curve. With the axes of another one: one more curve beside it."""
    first = sweep[0]
    before = getattr(ax, "_nadir_curves", [])
    ax = _axes(ax)
    policy = first._solver.policy.name if first._solver is not None else ""
    mine = _Curve(SETS.get(first.set, first.set), DOMAINS.get(first.domain, first.domain), policy, _names(first._solver))
    mine.own_colour = bool({"color", "c"} & options.keys())
    mine.own_dash = bool({"linestyle", "ls"} & options.keys())
    mine.own_label = "label" in options
    mine.nominal = sweep.nominal_return
    options.setdefault("lw", 2.5)
    mine.line = ax.plot(sweep.radius, sweep.robust_return, **options)[0]
    mine.points = ax.plot(sweep.radius, sweep.robust_return, "o", ms=4 if len(sweep) <= 60 else 2.5)[0]
    radii, low, high = _steps(sweep)
    mine.band = ax.fill_between(radii, low, high, lw=0)
    mine.edge = ax.plot(radii, high if sweep.optimistic else low, lw=0.8)[0]
    ax._nadir_curves = curves = [*before, mine]
    _looks(ax, curves)
    case = "best" if sweep.optimistic else "worst"
    ax.set_xlabel("radius: how far the kernel may be from the nominal one")
    ax.set_ylabel(f"{case} return")
    ax.grid(axis="y", color="#cccccc")
    _frame(ax)
    names = {one.names for one in curves}
    models = {name.split(", policy ")[0] for name in names}
    name = names.pop() if len(names) == 1 else models.pop() if len(models) == 1 else ""
    _title(ax, name, f"{case} case within each radius", _ball(first, radius=False))
    _curve_legend(ax, case)
    return ax


def _steps(sweep: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Radii, and the bounds between each two of them: the worst case falls as the ball grows (the best case rises)."""
    order = np.argsort(sweep.radius, kind="stable")
    order = order[np.isfinite(sweep.lower_bound[order]) & np.isfinite(sweep.upper_bound[order])]
    low, high = sweep.lower_bound[order], sweep.upper_bound[order]
    low, high = (low[:-1], high[1:]) if sweep.optimistic else (low[1:], high[:-1])
    return np.repeat(sweep.radius[order], 2)[1:-1], np.repeat(low, 2), np.repeat(high, 2)


@dataclass
class _Curve:
    """A curve that was drawn."""

    set: str
    domain: str
    policy: str
    names: str
    own_colour: bool = False  # said by the caller
    own_dash: bool = False
    own_label: bool = False
    nominal: float = 0.0
    line: Any = None
    points: Any = None
    band: Any = None
    edge: Any = None


def _shade(curves: list[_Curve]) -> float:
    """Of bands: several have edges that tell them apart."""
    return 0.25 if len(curves) == 1 else 0.12


def _looks(ax: Any, curves: list[_Curve]) -> None:
    """Colours, dashes and names as the command has them, which depend on all curves; its nominal return is a line where
    one policy is drawn."""
    begin = 1 if len(curves) == 1 else 0
    for place, one in enumerate(curves):
        if not one.own_colour:
            one.line.set_color(COLOURS[(place + begin) % len(COLOURS)])
        if not one.own_dash:
            one.line.set_linestyle(DASHES[(place + begin + place // len(COLOURS)) % len(DASHES)])
        one.band.set_color(one.line.get_color())
        one.band.set_alpha(_shade(curves))
        one.points.set_color(one.line.get_color())
        one.edge.set_color(one.line.get_color())
        one.edge.set_visible(len(curves) > 1)
        if not one.own_label:
            words = [f"policy {one.policy}" if one.policy else ""]
            words += [getattr(one, kind) for kind in ("set", "domain") if len({getattr(c, kind) for c in curves}) > 1]
            other = f"policy {place + 1}" if len(curves) > 1 else one.set
            one.line.set_label(", ".join(word for word in words if word) or other)
    line = getattr(ax, "_nadir_nominal", None)
    if line is not None:
        line.remove()
    ax._nadir_nominal = None
    if len({(one.names, one.nominal) for one in curves}) == 1:
        nominal = curves[0].nominal
        ax._nadir_nominal = ax.axhline(nominal, color="#999999", lw=1.5, zorder=1, label=f"nominal {_number(nominal)}")


def _curve_legend(ax: Any, case: str) -> None:
    from matplotlib.legend_handler import HandlerTuple
    from matplotlib.patches import Patch

    handles, _ = ax.get_legend_handles_labels()
    handles.sort(key=lambda line: line is not ax._nadir_nominal)
    colours = [one.line.get_color() for one in ax._nadir_curves]
    band = tuple(Patch(color=colour, alpha=_shade(ax._nadir_curves), lw=0) for colour in colours)
    labels = [line.get_label() for line in handles] + [f"band: where the {case} case is proven to lie"]
    ax.legend([*handles, band], labels, frameon=False, fontsize="small", handler_map={tuple: HandlerTuple(None, pad=0)})


def damages(evaluation: Any, rows: Any, ax: Any) -> Any:
    """Bars with an arrow from successor to successor; a map where the states are the cells of a grid."""
    cells = _grid(evaluation.model)
    ax = _map_within(evaluation, cells, ax) if cells is not None else _within(evaluation, rows, ax)
    case = "best" if evaluation.optimistic else "worst"
    _title(
        ax,
        _names(evaluation._solver),
        "what brings the gain" if evaluation.optimistic else "what does the damage",
        f"{case} case {_number(evaluation.robust_return)}{'' if evaluation.certified else ' found, not proven'}, "
        f"nominal {_number(evaluation.nominal_return)}",
        _ball(evaluation),
    )
    return ax


def _within(evaluation: Any, rows: Any, ax: Any) -> Any:
    """Bars with their names and arrows: inside axes that are given, whose title they keep; else in a figure of their own."""
    if ax is None:
        own = _axes(None, 10, 2.2 + 0.36 * len(rows))
        own.figure.get_layout_engine().set(rect=(0, 0, 0.88, 1))  # room for the arrows
        return _bars(evaluation, rows, own)
    ax.set_axis_off()
    inner = ax.inset_axes((0.23, 0.1, 0.33, 0.8))
    _bars(evaluation, rows, inner, 0.4)
    for text in [*inner.texts, *inner.get_xticklabels(), *inner.get_yticklabels(), inner.xaxis.label, inner.yaxis.label]:
        text.set_fontsize("x-small")
    return ax


def _bars(evaluation: Any, rows: Any, ax: Any, further: float = 0) -> Any:
    """further: how much farther from the bars the arrows stand, in widths of the axes."""
    model = evaluation.model
    shares = [100 * one.share for one in rows]
    ax.barh(range(len(rows)), shares, color="#e69f00", height=0.72)
    ax.set_yticks(range(len(rows)), [f"{model.state_name(one.state)}, {model.action_name(one.row)}" for one in rows])
    ax.invert_yaxis()
    ax.set_xlabel(f"share of the {'gain' if evaluation.optimistic else 'loss'}, %")
    ax.set_ylabel("state, action")
    ax.set_axisbelow(True)
    _frame(ax)
    across = ax.get_yaxis_transform()
    any_new = any(one.is_new for one in rows)
    for i, one in enumerate(rows):
        ax.annotate(f" {shares[i]:.1f} %", (max(shares[i], 0), i), va="center")
        if one.origin < 0 or one.target < 0:
            continue
        ends = [model.state_name(one.origin), model.state_name(one.target)]
        ax.text(1.22 + further, i, ends[0], transform=across, ha="right", va="center")
        ax.text(1.36 + further, i, ends[1], transform=across, ha="left", va="center")
        way = {"xytext": (1.23 + further, i), "xycoords": across, "textcoords": across, "annotation_clip": False}
        ax.annotate("", (1.35 + further, i), arrowprops={"arrowstyle": "-|>", "color": NEW if one.is_new else ATTACK, "lw": 2}, **way)
        ax.text(1.29 + further, i - 0.1, f"{one.moved:.2g}", transform=across, ha="center", va="bottom", fontsize="x-small")
    head = "largest moves (orange: not in the model)" if any_new else "largest move of each row"
    ax.text(1.29 + further, 1.01, head, transform=ax.transAxes, ha="center", va="bottom")
    ax.set_xlim(min([0, *shares]), 1.25 * max([1, *shares]))
    return ax


def _grid(model: Any) -> Any:
    """The (row, column) of each state, where all are the cells of a grid: "r3c4"."""
    found = [re.fullmatch(r"r(\d{1,5})c(\d{1,5})", model.state_name(s)) for s in range(min(model.states, 1 << 16))]
    if model.states > 1 << 16 or not all(found):
        return None
    cells = np.array([[int(word) for word in one.groups()] for one in found if one])
    size = np.prod(cells.max(axis=0) + 1)
    return cells if len(np.unique(cells, axis=0)) == len(cells) and size <= 4 * len(cells) else None


def _ends(model: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Which states are never left, and the largest reward for landing in each from another one."""
    owner, paid, stays = model.row_states, model.transition_rewards, np.ones(model.states, bool)
    if model.is_dense:
        rows, columns = np.nonzero(model.P)
        rewards = None if paid is None else paid[rows, columns]
    else:
        entries = model.P.tocoo()
        rows, columns = entries.row, entries.col
        rewards = None if paid is None else paid.data
    moves = owner[rows] != columns
    stays[owner[rows][moves]] = False
    most = np.full(model.states, -np.inf)
    if rewards is not None:
        np.maximum.at(most, columns[moves], rewards[moves])
    ended = np.bincount(rows, minlength=model.rows) == 0  # without a discount: the value there, 1 of a goal
    if model.rewards is not None:
        most[owner[ended & (model.rewards > 0)]] = np.inf
    return stays, most


def _map_within(evaluation: Any, cells: NDArray[Any], ax: Any) -> Any:
    """The map with its bar and legend: inside axes that are given."""
    if ax is None:
        return _map(evaluation, cells, ax)
    ax.set_axis_off()
    inner = ax.inset_axes((0.05, 0.3, 0.8, 0.7))
    _map(evaluation, cells, inner)
    legend = inner.get_legend()
    for text in [] if legend is None else legend.get_texts():
        text.set_fontsize("x-small")
    return ax


def _map(evaluation: Any, cells: NDArray[Any], ax: Any) -> Any:
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    model, policy = evaluation.model, evaluation._solver.policy
    height, width = cells.max(axis=0) + 1
    ax = _axes(ax, 7.5, min(14, max(4, 2.4 + 6 * height / width)))
    rows = evaluation.explain(model.rows)
    shares = np.full((height, width), np.nan)
    shares[tuple(cells.T)] = 0
    for one in rows:
        shares[tuple(cells[one.state])] += 100 * one.share
    colours = LinearSegmentedColormap.from_list("damage", ["#ffffff", "#f39c3c"])
    colours.set_bad("#666666")
    shown = ax.imshow(shares, cmap=colours, vmin=0, vmax=max(np.nanmax(shares), 1e-9))
    what = "gain" if evaluation.optimistic else "loss"
    beside = ax.inset_axes((1.04, 0, 0.05, 1))
    ax.figure.colorbar(shown, cax=beside, label=f"share of the {what}, by cell, %")
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_major_locator().set_params(integer=True)
    legend: list[Any] = [Patch(color="#666666", label="wall")] if np.isnan(shares).any() else []
    ends, paid = _ends(model)
    if shares.size <= NUMBERS:
        _words(ax, model, cells, shares, ends, paid)
    if shares.size <= ARROWS and _policy_arrows(ax, model, policy, cells, ends):
        legend.append(Line2D([], [], color="black", marker=">", label="policy (short arrow: less likely action)"))
    legend += _attack(ax, evaluation.optimistic, rows[:5], cells)
    ax.set_xlabel("column")
    ax.set_ylabel("row")
    if legend:
        ax.legend(handles=legend, loc="upper center", bbox_to_anchor=(0.5, -0.12), frameon=False)
    return ax


def _words(
    ax: Any, model: Any, cells: NDArray[Any], shares: NDArray[Any], ends: NDArray[Any], paid: NDArray[Any]
) -> None:
    for state, (row, column) in enumerate(cells):
        share = shares[row, column]
        if abs(share) >= 0.05:
            ax.text(column + 0.47, row + 0.38, f"{share:.1f} %", ha="right", va="center", fontsize="x-small")
        word = ("goal" if paid[state] > 0 else "end") if ends[state] else "start" if model.initial[state] >= 1 else ""
        ax.text(column, row - 0.3, word, ha="center", va="center", fontsize="small")


def _policy_arrows(ax: Any, model: Any, policy: Any, cells: NDArray[Any], ends: NDArray[Any]) -> bool:
    drawn = False
    for state, (row, column) in enumerate(cells):
        for place in range(model.state_rows[state], model.state_rows[state + 1]):
            chance, way = policy.probabilities[place], WAYS.get(model.action_name(place).lower())
            if chance < 0.05 or way is None or ends[state]:
                continue
            length = 0.1 + 0.2 * chance
            x, y = np.array([column, row]) - (0.5 * length if chance > 0.9 else 0) * np.array(way)
            ax.arrow(x, y, length * way[0], length * way[1], color="black", width=0.012, head_width=0.09, zorder=3)
            drawn = True
    return drawn


def _attack(ax: Any, optimistic: bool, rows: Any, cells: NDArray[Any]) -> list[Any]:
    from matplotlib.lines import Line2D

    who, legend = ("best case", "gain") if optimistic else ("attack", "damage"), {}
    for one in rows:
        if one.share < 0.03 or one.target < 0:
            continue
        begin, end = cells[one.state][::-1], cells[one.target][::-1]
        length = np.hypot(*(end - begin))
        if length == 0:
            ax.plot(*begin, "o", ms=14, mfc="none", mec=ATTACK, mew=3, zorder=4)
            marks = {"marker": "o", "mfc": "none", "ls": "", "mew": 3}
            legend["stays"] = Line2D([], [], color=ATTACK, label=f"{who[0]}: it makes staying more likely", **marks)
            continue
        way = (end - begin) / length
        props = {"arrowstyle": "-|>", "color": ATTACK, "lw": 3, "shrinkA": 0, "shrinkB": 0}
        ax.annotate("", end - 0.42 * way, xytext=begin + 0.12 * way, arrowprops=props, zorder=4)
        words = f"{who[0]}: where it moves probability (rows with most {who[1]})"
        legend["moves"] = Line2D([], [], color=ATTACK, marker=">", lw=3, label=words)
    return list(legend.values())


def returns(names: Any, draws: Any, guaranteed: Any, words: str, ax: Any) -> Any:
    """How likely each return is after the data; dashed: what is guaranteed."""
    ax = _axes(ax, 8, 4.5)
    edges = np.histogram_bin_edges(np.concatenate(draws), bins=40)
    for place, (name, mine, sure) in enumerate(zip(names, draws, guaranteed)):
        colour = COLOURS[(place + 1) % len(COLOURS)]
        ax.hist(mine, edges, density=True, color=colour, alpha=0.3)
        ax.hist(mine, edges, density=True, color=colour, histtype="step", lw=1.5)
        ax.axvline(sure, color=colour, ls="--", lw=2, label=f"{name}: guaranteed {_number(sure)}")
    ax.set_xlabel("return")
    ax.set_yticks([])
    _frame(ax)
    ax.spines["left"].set_visible(False)
    _title(ax, "", "which policy earns more" if len(names) > 1 else "what the policy earns", words)
    ax.set_ylim(top=1.3 * ax.get_ylim()[1])  # room for the legend
    ax.legend(frameon=False, fontsize="small", loc="upper right")
    return ax


def table_map(found: Any, ax: Any) -> Any:
    """The gradient by state and action: blue where more of an action helps, orange where it hurts."""
    from matplotlib.colors import LinearSegmentedColormap

    model, table = found.policy.model, found.table
    ax = _axes(ax, 7, min(12, 2.5 + 0.35 * len(table)))
    most = max(np.nanmax(np.abs(table)), 1e-300)
    colours = LinearSegmentedColormap.from_list("sign", ["#d55e00", "#ffffff", "#0072b2"])
    colours.set_bad("#dddddd")
    image = ax.imshow(table, aspect="auto", interpolation="nearest", cmap=colours, vmin=-most, vmax=most)
    ax.set_xticks(range(table.shape[1]))
    if len(table) <= 40:
        ax.set_yticks(range(len(table)), [model.state_name(s) for s in range(len(table))])
    ax.set_xlabel("action")
    ax.set_ylabel("state")
    ax.figure.colorbar(image, ax=ax, label="change of the worst return with the probability of the action")
    _title(ax, _names(found.evaluation._solver), "gradient of the worst return", _ball(found.evaluation))
    return ax


def history(found: Any, ax: Any) -> Any:
    ax = _axes(ax)
    steps = [(step.evaluations, step.robust_return) for step in found.history]
    ax.plot(*np.array(steps).T, "o-", color="#000000", lw=2.5, ms=5, label="robust policy, as the search went on")
    ax.axhline(found.optimality_upper_bound, ls="--", color="#0072b2", label="no policy has a better worst case")
    ax.set_xlabel("evaluations of the search")
    ax.set_ylabel("worst return")
    _frame(ax)
    details = [_ball(found.evaluation)] if found.evaluation is not None else []
    _title(ax, found.policy.model.name, "search for the robust policy", *details)
    ax.legend(frameon=False, fontsize="small")
    return ax
