"""What comes back: small objects that print well, with the names that the command's JSON has."""

from __future__ import annotations

import html as _html
import math
import os
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _fit_words, _frames, _plots, _verdict
from ._library import NULL, encoded, ffi, lib, place, text
from ._types import Array, Norm, Path, said_norm
from ._verdict import Lines, between, short
from .errors import UsageError

if TYPE_CHECKING:
    from .model import Model, Policy
    from .solver import Solver

# ----------------------------------------------------------------------------------------- structs of C

_RENAMED = {
    "kernel_minimum": "kernel_min",
    "data": "data_kind",
    "total": "total_count",
    "sets": "guarantees",
    "backend_memory": "backend_bytes",
    "seconds_nominal": "nominal",
    "seconds_robust": "robust",
    "seconds_search": "robust",
    "seconds_certify": "certify",
}
_NAMES = {
    "enum nadir_set": lib.nadir_set_name,
    "enum nadir_domain": lib.nadir_domain_name,
    "enum nadir_unseen": lib.nadir_unseen_name,
    "enum nadir_reward_kind": lib.nadir_reward_kind_name,
}
_layouts: dict[str, tuple[Any, list[str], list[tuple[str, Any]], Any, list[str]]] = {}
_words: dict[Any, str | None] = {}


def _word(pointer: Any) -> str | None:
    """A string constant of the library; each is decoded once."""
    if pointer not in _words:
        _words[pointer] = text(pointer)
    return _words[pointer]


def _enum_reader(name: Any) -> Any:
    """Reads a value of an enum as its name; each name is asked for once."""
    known: dict[int, str | None] = {}

    def read(value: int) -> str | None:
        if value not in known:
            known[value] = _word(name(value))
        return known[value]

    return read


def _getter(members: list[str]) -> Any:
    """A function that gives these members of a struct as a tuple; one call for all of them is several times faster."""
    if len(members) == 1:
        return lambda struct: (getattr(struct, members[0]),)
    return attrgetter(*members) if members else lambda struct: ()


def _layout(struct: str) -> tuple[Any, list[str], list[tuple[str, Any]], Any, list[str]]:
    """Of a struct: getter and names of its members but the size and the times, readers of those that are words, and
    getter and names of its times."""
    members, names, times, clocks = [], [], [], []
    readers: list[tuple[str, Any]] = []
    for name, member in ffi.typeof(struct).fields:
        here = _RENAMED.get(name, name)
        if name.startswith("seconds_"):
            times.append(name)
            clocks.append(here.removeprefix("seconds_"))
        elif name != "size":
            members.append(name)
            names.append(here)
            if member.type.cname == "char *":
                readers.append((here, _word))
            elif member.type.cname in _NAMES:
                readers.append((here, _enum_reader(_NAMES[member.type.cname])))
            elif name == "norm":
                readers.append((here, said_norm))
    return _getter(members), names, readers, _getter(times), clocks


def _fields(struct: Any, kind: str) -> dict[str, Any]:
    """The members of a struct of results by name; times go into `seconds`."""
    layout = _layouts.get(kind)
    if layout is None:
        layout = _layouts[kind] = _layout(kind)
    members, names, readers, times, clocks = layout
    made = dict(zip(names, members(struct)))
    for name, read in readers:
        made[name] = read(made[name])
    if clocks:
        made["seconds"] = dict(zip(clocks, times(struct)))
    return made


# --------------------------------------------------------------------------------------------- printing


def _number(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "-"}[value]
    if isinstance(value, float):
        return f"{value:.12g}"
    return str(value)


def _card(title: str, lines: list[tuple[str, str]], html: bool = False) -> str:
    if not html:
        wide = max(len(name) for name, _ in lines)
        return "\n".join([title] + [f"  {name:<{wide}}  {value}" for name, value in lines])
    body = "".join(
        f"<tr><th style='text-align:left'>{_html.escape(name)}</th>"
        f"<td style='text-align:left'>{_html.escape(value)}</td></tr>"
        for name, value in lines
    )
    return f"<table><caption>{_html.escape(title)}</caption><tbody>{body}</tbody></table>"


def _indented(block: Lines) -> list[str]:
    wide = max([11, *(len(label) + 2 for label, _ in block)])
    return [f"  {label:<{wide}}{words}" for label, words in block]


def _grid(title: str, head: list[str], rows: list[list[str]], html: bool = False) -> str:
    if html:
        top = "".join(f"<th>{_html.escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{_html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        return (
            f"<table><caption>{_html.escape(title)}</caption>"
            f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
        )
    wide = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    place = [str.ljust if any(row[i][:1].isalpha() for row in rows) else str.rjust for i in range(len(head))]
    lines = ["  " + "  ".join(place[i](cell, wide[i]) for i, cell in enumerate(row)) for row in [head, *rows]]
    return "\n".join([title, *(line.rstrip() for line in lines)])


class Result:
    """Prints as a card, in a notebook as a table; what is guaranteed comes first."""

    _shown: tuple[str, ...] = ()

    def to_pandas(self) -> Any:
        """A frame of one line with what `to_dict` has, times left out: pandas.concat makes a table of several."""
        plain = {name: value for name, value in self.to_dict().items() if not isinstance(value, (dict, list))}
        return _frames.frame({name: [value] for name, value in plain.items()})

    def _heads(self) -> Lines:
        """The lines of the verdict; none: a card of numbers."""
        return []

    def _block(self) -> Lines:
        """What stands below the verdict."""
        return []

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words by name, for JSON and tables; large arrays and handles are left out."""
        made = {}
        for member in fields(self):
            value = getattr(self, member.name)
            plain = isinstance(value, (bool, int, float, str, dict, type(None)))
            if plain and not member.name.startswith("_"):
                made[member.name] = value
        return made

    def _title(self) -> str:
        return type(self).__name__

    def _lines(self) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), _number(getattr(self, name))) for name in self._shown]

    def __str__(self) -> str:
        heads = self._heads()
        if not heads:
            return _card(self._title(), self._lines())
        return "\n".join([f"{label:<13}{words}" for label, words in heads] + _indented(self._block()))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self) -> str:
        heads = self._heads()
        return _card(self._title(), heads + self._block() if heads else self._lines(), html=True)


@dataclass(repr=False, frozen=True)
class Facts(Result):
    """What is worth knowing about a model before anything is solved."""

    states: int
    rows: int
    nonzeros: int
    actions_min: int
    actions_max: int
    density: float
    reward_min: float
    reward_max: float
    discount: float
    valid_radius: float  #: at norm 2: the largest ball without a negative entry
    terminal_states: int
    absorbing_states: int
    unreachable_states: int
    pinned_rows: int
    bytes: int
    reward_kind: str  #: "none", "row", "separable" (paid on landing, as R(s, a) + g(s')), "landing"
    unseen: str  #: what landing on a successor without a reward pays: "additive", "row", "min", "value"
    unseen_value: float  #: that number, for "min" and "value"; else NaN
    sha256: str
    normalised_rows: int = 0  #: whose sums were off by the rounding of a P in single precision

    _shown = (
        *("states", "rows", "nonzeros", "reward_kind", "unseen", "reward_min", "reward_max", "discount"),
        *("valid_radius", "terminal_states", "pinned_rows", "sha256"),
    )

    def _lines(self) -> list[tuple[str, str]]:
        rounded = f"{self.normalised_rows} rows, of a P in single precision"
        return super()._lines() + ([("normalised", rounded)] if self.normalised_rows else [])


@dataclass(repr=False, frozen=True)
class Nominal(Result):
    """J = μ·v of a policy on the nominal kernel, between bounds that include all rounding."""

    nominal_return: float
    lower_bound: float
    upper_bound: float
    certified: bool
    residual: float
    return_difference: float
    kernel_min: float
    backend: str
    solves: int
    iterations: int
    memory: int
    duration: float  #: without a discount: expected number of steps to the end; otherwise NaN
    seconds: dict[str, float]

    _shown = ("nominal_return", "lower_bound", "upper_bound", "certified", "backend")


@dataclass(repr=False, frozen=True)
class Optimum(Result):
    """max over policies of J on the nominal kernel, and a policy that attains it."""

    policy: "Policy"
    nominal_optimum: float
    lower_bound: float
    upper_bound: float  #: no policy does better
    residual: float
    stop_reason: str
    backend: str | None
    iterations: int
    sweeps: int
    solves: int
    products: int
    seconds: float

    _shown = ("nominal_optimum", "lower_bound", "upper_bound", "stop_reason", "iterations")

    def _title(self) -> str:
        return "The optimum without uncertainty"

    def _heads(self) -> Lines:
        return [("Optimum", f"{short(self.nominal_optimum)}   without uncertainty")]

    def _block(self) -> Lines:
        made = [("bounds", between(self.lower_bound, self.upper_bound))]
        return made + [(f"{name}", words) for name, words in self.policy._lines()]

    def to_pandas(self) -> Any:
        """The policy, a line for each state and action, with the value of the state: state, action, probability, value."""
        return _with_values(self.policy, {"value": self.policy.model})


def _with_values(policy: "Policy", models: "dict[str, Model]") -> Any:
    """The frame of a policy with the values of its states in some models."""
    from .solver import Solver

    made = policy.to_pandas()
    states = policy.model.row_states
    inside = states < policy.model.states_given
    for name, model in models.items():
        made[name] = Solver(model, policy.probabilities).value()[states[inside]]
    return made


@dataclass(frozen=True)
class Damage:
    """One row's part of the penalty: γ d(s) π(a|s) (P̂_sa − P_sa)·v_P, d nominal, v_P of the kernel found.

    A row is a pair of a state and an action; `changes()` of the evaluation has all of its transitions.

    * `state`, `action`: whose row it is (numbers; the action is counted within the state), `row`: its number;
    * `penalty`: what the change of this row costs; those of all rows add up to the penalty;
    * `share`: of the penalty; those of all rows add up to 1;
    * `mass`: the probability that moves in this row, from all successors that lose to all that gain;
    * `origin`, `lost`: the successor that loses most, and what it loses in all (-1: none does);
    * `target`, `gained`: the successor that gains most, and what it gains in all; `is_new`: the nominal row does not have
      `target`;
    * `moved`: what goes from `origin` to `target`, the smaller of both: the row's largest move. Successors that lose hand
      it, in the order of how much, to those that gain; `moves`: how many moves that makes, but for tiny ones;
    * `assumed`: the probability that lands where the model gives no reward, though rewards are paid on landing;
      `assumed_target`: where most of it lands (-1: there is none); `assumed_reward`: what that is assumed to pay.
    """

    state: int
    row: int
    action: int
    penalty: float
    share: float
    mass: float
    origin: int
    target: int
    lost: float
    gained: float
    moved: float
    moves: int
    is_new: bool
    assumed: float
    assumed_target: int
    assumed_reward: float


class Explanation(list[Damage]):
    """The rows that carry most of the penalty, or of what moves a difference: a list that prints as a table."""

    def __init__(self, rows: list[Damage], model: "Model", optimistic: bool = False, difference: bool = False) -> None:
        super().__init__(rows)
        self._model, self._optimistic, self._difference = model, optimistic, difference

    def to_pandas(self) -> Any:
        """A frame with the fields of `Damage`; states and successors by name, where they have names."""
        columns = {name: [getattr(one, name) for one in self] for name in Damage.__dataclass_fields__}
        names = self._model._state_labels()
        for name in ("state", "origin", "target", "assumed_target"):
            columns[name] = [names[place] if place >= 0 else None for place in columns[name]]
        columns["action"] = [self._model._label(one.row) for one in self]
        return _frames.frame(columns)

    def _table(self, html: bool = False) -> str:
        model = self._model
        what = "change" if self._difference else "gain" if self._optimistic else "loss"
        head = ["state", "action", f"share of the {what}", "mass moved", "largest move"]
        rows = []
        for one in self:
            moved = _verdict.move(one, model, f" {one.moved:.3g}") if one.origin >= 0 else "-"
            rows.append([model.state_name(one.state), model.action_name(one.row), f"{100 * one.share:.1f} %",
                         f"{one.mass:.3g}", moved])  # fmt: skip
        title = "What moves the difference" if self._difference else f"What brings the {what}"
        return _grid(f"{title}, row by row", head, rows, html)

    def __str__(self) -> str:
        return self._table()

    def _repr_html_(self) -> str:
        return self._table(html=True)


def _explained(solver: "Solver", worst: Any, count: int, optimistic: bool, difference: bool = False) -> Explanation:
    """The rows of nadir_worst_explain."""
    if count < 0:
        raise UsageError(f"count is {count}; expected 0 or more")
    count = min(count, solver.model.rows)
    made = ffi.new("nadir_damage[]", max(count, 1))
    for i in range(len(made)):
        made[i].size = ffi.sizeof("nadir_damage")
    found, changed, penalty = ffi.new("int64_t *"), ffi.new("int64_t *"), ffi.new("double *")
    solver._context.call(lib.nadir_worst_explain, worst, count, made, found, changed, penalty)
    rows = [
        Damage(
            *(one.state, one.row, one.action, one.penalty, one.share, one.mass),
            *(getattr(one, "from"), one.to, one.lost, one.gained, one.moved, one.moves, bool(one.is_new)),
            *(one.assumed, one.assumed_to, one.assumed_reward),
        )
        for one in made[0 : found[0]]
    ]
    return Explanation(rows, solver.model, optimistic, difference)


@dataclass(repr=False, frozen=True)
class Changes(Result):
    """The transitions that the kernel found changes, largest change first; one number for each in every array."""

    state: NDArray[Any]  #: numbers; `to_pandas` has names, where there are some
    action: NDArray[Any]
    next: NDArray[Any]  #: the successor
    nominal: Array  #: its probability in the model
    worst: Array  #: its probability in the kernel found
    delta: Array  #: worst - nominal
    _labels: Any = field(default=None, compare=False)

    _shown = ()

    def __len__(self) -> int:
        return len(self.delta)

    def to_dict(self) -> dict[str, Any]:
        names = ("state", "action", "next", "nominal", "worst", "delta")
        return {name: getattr(self, name).tolist() for name in names}

    def to_pandas(self) -> Any:
        """A frame with the columns state, action, next, nominal, worst and delta."""
        states, actions = self._labels
        named = {"state": states[self.state], "action": actions, "next": states[self.next]}
        return _frames.frame({**named, "nominal": self.nominal, "worst": self.worst, "delta": self.delta})

    def _table(self, html: bool = False) -> str:
        states, actions = self._labels
        head = ["state", "action", "next", "nominal", "worst", "delta"]
        rows = [
            [str(states[self.state[i]]), str(actions[i]), str(states[self.next[i]]), f"{self.nominal[i]:.6g}",
             f"{self.worst[i]:.6g}", f"{self.delta[i]:+.6g}"]
            for i in range(min(len(self), 10))
        ]  # fmt: skip
        more = f", the {len(rows)} largest of {len(self)}" if len(rows) < len(self) else ""
        return _grid(f"Transitions that change{more}", head, rows, html)

    def __str__(self) -> str:
        return self._table()

    def __repr__(self) -> str:
        return f"Changes({len(self)} transitions)"

    def _repr_html_(self) -> str:
        return self._table(html=True)


@dataclass(repr=False, frozen=True)
class Comparison(Result):
    """Where two policies differ."""

    states: list[int]
    names: list[str]
    policies: tuple[str, str]  #: what they are called
    actions: list[tuple[dict[Any, float], dict[Any, float]]]  #: {action: probability} of both
    distance: list[float]  #: the probability that moves from action to action; 1: all of it
    of: int  #: how many states there are

    _shown = ("states", "policies", "of")

    def __len__(self) -> int:
        return len(self.states)

    def to_dict(self) -> dict[str, Any]:
        return {"states": self.states, "of": self.of, "distance": self.distance}

    def to_pandas(self) -> Any:
        """A frame: state, a column for each policy, distance."""
        both = {name: [one[i] for one in self.actions] for i, name in enumerate(self.policies)}
        return _frames.frame({"state": self.names, **both, "distance": self.distance})

    def _table(self, html: bool = False) -> str:
        words = [[_verdict.chances(one) for one in pair] for pair in self.actions]
        rows = [[name, *pair, f"{moved:.3g}"] for name, pair, moved in zip(self.names, words, self.distance)]
        return _grid(f"They differ in {len(self)} of {self.of} states", ["state", *self.policies, "distance"], rows, html)

    def __str__(self) -> str:
        return self._table()

    def _repr_html_(self) -> str:
        return self._table(html=True)


_NOISE = 1e-11  # A penalty below this share of the returns is rounding, as in cli/command_evaluate.c.


@dataclass(repr=False, frozen=True)
class Evaluation(Result):
    """The worst return of a policy over a ball of kernels: lower_bound <= truth <= upper_bound.

    `guaranteed` is what may be relied on: no kernel of the ball returns less than this (`optimistic`: more).
    `robust_return` is attained by the kernel found, which lies in the ball. `certified`: both bounds were
    made anew by other code than the search, and they are close: `robust_return` is then the worst return. `certificate`
    says what the bounds rest on, close or not: "rigorous" (rounding and all), "numerical" (converged iterations) or "none".
    """

    nominal_return: float
    robust_return: float
    penalty: float
    lower_bound: float
    upper_bound: float
    certified: bool
    kernel_valid: bool  #: the kernel found has no negative entry
    certificate: str
    bound: str  #: the proof that gave the better bound
    kappa: float
    stationarity_gap: float
    set: str
    domain: str
    norm: Norm
    radius: float
    method: str
    stop_reason: str
    iterations: int
    solves: int
    breakdown_radius: float
    valid_radius: float
    kernel_min: float
    residual: float
    return_difference: float
    backend: str
    backend_bytes: int
    duration: float  #: without a discount (otherwise NaN): steps to the end under the nominal kernel,
    duration_bound: float  #: and under any kernel of the ball at most
    trap_radius_low: float  #: every kernel of a smaller ball ends
    trap_radius_high: float  #: some kernel of a ball of this radius never ends
    time_ran_out: bool  #: strict proofs stopped at their limit of time, and might have come further
    seconds: dict[str, float]
    optimistic: bool = False
    _solver: Any = field(default=None, compare=False)
    _worst: Any = field(default=None, compare=False)
    _kernel_model: Any = field(default=None, compare=False)  # of a horizon
    _ball: Any = field(default=None, compare=False)
    _certify: str = field(default="auto", compare=False)

    _shown = (
        *("guaranteed", "robust_return", "certified", "nominal_return", "lower_bound", "upper_bound"),
        *("set", "domain", "norm", "radius"),
    )

    @property
    def guaranteed(self) -> float:
        """What is proven: no kernel of the ball returns less (the best case: more). -inf (inf): nothing is."""
        return self.upper_bound if self.optimistic else self.lower_bound

    def _heads(self) -> Lines:
        made = _verdict.robust(self, self._certify)
        if self._worst is None or abs(self.penalty) <= _NOISE * max(abs(self.nominal_return), abs(self.robust_return)):
            return made + self._note()
        rows = self.explain(100)
        most = [line for row in rows[:1] if row.target >= 0 for line in _verdict.most(self, row, self.model)]
        return [*made, *most, *_verdict.assumed(rows, self.model), *self._note()]

    def _note(self) -> Lines:
        """What the ball is for, where the data that it is made from say so."""
        return _verdict.promise(self._solver.model, self.radius) if self._solver is not None else []

    def _block(self) -> Lines:
        bounds = ("bounds", between(self.lower_bound, self.upper_bound))
        return [*_verdict.about(self._solver, self), bounds]

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: without the kernel, which is the library's."""
        return {**self.__dict__, "_solver": None, "_worst": None, "_ball": None}

    @property
    def gap(self) -> float:
        """upper_bound - lower_bound."""
        return self.upper_bound - self.lower_bound

    def to_dict(self) -> dict[str, Any]:
        return {"guaranteed": self.guaranteed, **super().to_dict(), "gap": self.gap}

    def _title(self) -> str:
        return f"The {'best' if self.optimistic else 'worst'} kernel of a ball"

    def _kept(self) -> tuple["Solver", Any]:
        if self._worst is None:
            raise UsageError(
                "this evaluation has not kept its kernel (no sweep does, and with a horizon there is kernel_model() and "
                "kernel() alone): evaluate one radius"
            )
        return self._solver, self._worst

    @property
    def model(self) -> "Model":
        """The model that was asked about."""
        return self._kept()[0].model

    def apply(self, x: Any) -> NDArray[Any]:
        """P x of the kernel found: one number for each row, from one for each state."""
        solver, worst = self._kept()
        x = np.ascontiguousarray(x, dtype=np.float64)
        if x.shape != (solver.model.states,):
            raise UsageError(f"x has the shape {x.shape}; expected ({solver.model.states},)")
        y = np.empty(solver.model.rows)
        with solver._context.lock:
            lib.nadir_worst_multiply(
                solver._context.handle, worst, ffi.from_buffer("double[]", x), ffi.from_buffer("double[]", y)
            )
        return y

    def kernel_model(self) -> "Model":
        """The model with this kernel in place of the nominal one; the kernel must have no negative entry."""
        from .model import Model

        if self._kernel_model is not None:
            return self._kernel_model
        solver, worst = self._kept()
        made = place("model")
        solver._context.call(lib.nadir_worst_model, worst, made)
        return Model._from_handle(made[0])

    def kernel(self) -> NDArray[Any]:
        """The kernel found as an array, (S, A, S) where all states have as many actions, else (rows, S): the form of
        `model.dense()`, the nominal one. Of large models `kernel_model().P` is sparse, as `model.P` is."""
        if self.kernel_valid:
            return self.kernel_model().dense()
        model = self.model
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "kernel.npz")
            self.write(path)
            with np.load(path) as saved:
                parts = {name: saved[name] for name in saved.files}
        full = model.dense()
        if "b" in parts:  # P = P̂ − b kᵀ
            return full - np.multiply.outer(parts["b"], parts["k"]).reshape(full.shape)
        made = np.zeros((model.rows, model.states))
        rows = np.repeat(np.arange(model.rows), np.diff(parts["P_indptr"]))
        made[rows, parts["P_indices"]] = parts["P_data"]
        return made.reshape(full.shape)

    def write(
        self, kernel: Any = None, witness: Any = None, *, model_file: Any = None, policy_file: Any = None
    ) -> None:
        """The kernel to `kernel` (.npz for `nadir.verify`, else a whole model), its proof to `witness`.

        `model_file` and `policy_file` are those that model and policy were read from, if they were: their
        digests are kept, and checked by `nadir.verify`.
        """
        solver, worst = self._kept()
        context, null = solver._context, NULL
        names = [encoded(name) for name in (model_file, policy_file, kernel, witness)]
        if model_file is not None or policy_file is not None:
            context.call(lib.nadir_worst_set_files, worst, names[0], names[1], null)
        if kernel is not None:
            context.call(lib.nadir_worst_write, worst, names[2])
            context.call(lib.nadir_worst_set_files, worst, null, null, names[2])
        if witness is not None:
            context.call(lib.nadir_worst_write_witness, worst, names[3])

    def verify(self) -> "Verification":
        """Both bounds checked again, without searching, from the kernel and its witness alone."""
        from . import functions

        solver, _ = self._kept()
        with tempfile.TemporaryDirectory() as folder:
            kernel, witness = os.path.join(folder, "kernel.npz"), os.path.join(folder, "witness.json")
            self.write(kernel, witness)
            return functions.verify(solver.model, policy=solver.policy, kernel=kernel, witness=witness)

    def changes(self, at_least: float = 1e-12) -> Changes:
        """The transitions whose probability changes by more than `at_least`, largest change first: state, action, next,
        nominal, worst, delta. `to_pandas()` of it is a frame."""
        model = self._kept()[0].model if self._kernel_model is None else None
        if model is None:
            raise UsageError("with a horizon there is kernel_model() and kernel() alone")
        nominal: Any = model.P
        worst: Any = self.kernel_model().P if self.kernel_valid else self.kernel().reshape(model.rows, -1)
        if isinstance(nominal, np.ndarray) or isinstance(worst, np.ndarray):
            nominal, worst = (one if isinstance(one, np.ndarray) else one.toarray() for one in (nominal, worst))
            rows, columns = np.nonzero(np.abs(worst - nominal) > at_least)
            before, after = nominal[rows, columns], worst[rows, columns]
        else:
            moved = abs(worst - nominal).tocoo()
            rows, columns = moved.row[moved.data > at_least], moved.col[moved.data > at_least]
            before, after = (np.asarray(one[rows, columns]).ravel() for one in (nominal, worst))
        order = np.lexsort((columns, rows, -np.abs(after - before)))
        rows, columns, before, after = rows[order], columns[order], before[order], after[order]
        labels = (model._state_labels(), model._action_labels()[rows])
        where = (model.row_states[rows], model.row_actions[rows], columns)
        return Changes(*where, before, after, after - before, labels)

    def explain(self, count: int = 10) -> Explanation:
        """The rows (pairs of a state and an action) that carry most of the penalty, largest share first; all rows add up
        to it exactly. A list of `Damage`; `to_pandas()` of it is a frame, `changes()` has the transitions."""
        return _explained(*self._kept(), count, self.optimistic)

    def gradient(self, formula: str = "kernel") -> NDArray[Any]:
        """∂J_U/∂π(a|s) = d_P(s) Q_P(s, a) at the kernel P found (Danskin), one number for each row.

        `formula="nominal"`: the same from nominal quantities alone (kernels P̂ − b kᵀ of the free domain).
        Its error goes with the square root of the evaluation's tolerance: `nadir.gradient` has a small one.
        """
        solver, worst = self._kept()
        functions = {"kernel": lib.nadir_worst_gradient, "nominal": lib.nadir_worst_gradient_nominal}
        if formula not in functions:
            raise UsageError(f"formula is {formula!r}; expected 'kernel' or 'nominal'")
        made = np.empty(solver.model.rows)
        solver._context.call(functions[formula], worst, ffi.from_buffer("double[]", made))
        return made

    @_plots.to_file
    def plot(self, ax: Any = None, count: int = 10) -> Any:
        """The rows that carry most of the penalty, as bars with arrows from successor to successor; a map of a
        gridworld, whose states are called "r3c4" (matplotlib)."""
        return _plots.damages(self, self.explain(count), ax)

    def report(
        self,
        path: Path,
        *,
        radii: tuple[float, float, int] | None = None,
        time_limit: float | None = None,
        title: str | None = None,
    ) -> "Report":
        """A page for people about this question, HTML in one file; see `nadir.report`."""
        from ._report import write_page

        solver, _ = self._kept()
        if self.optimistic:
            raise UsageError("a report is about the worst case; this evaluation is of the best one")
        return write_page(
            solver._context, solver.model, solver.policy, self._ball, path,
            radii=radii, time_limit=time_limit, title=title
        )  # fmt: skip


@dataclass(repr=False, frozen=True)
class Sweep(Result):
    """A risk curve: evaluations at many radii, in the order that was asked for. NaN: at or past breakdown."""

    evaluations: list[Evaluation]
    optimistic: bool = False

    def __len__(self) -> int:
        return len(self.evaluations)

    def __iter__(self) -> Iterator[Evaluation]:
        return iter(self.evaluations)

    def __getitem__(self, place: int) -> Evaluation:
        return self.evaluations[place]

    def _column(self, name: str) -> NDArray[Any]:
        return np.array([getattr(one, name) for one in self.evaluations])

    @property
    def guaranteed(self) -> Array:
        """What is proven at each radius; see `Evaluation.guaranteed`."""
        return self._column("guaranteed")

    @property
    def radius(self) -> NDArray[Any]:
        return self._column("radius")

    @property
    def robust_return(self) -> NDArray[Any]:
        return self._column("robust_return")

    @property
    def lower_bound(self) -> NDArray[Any]:
        return self._column("lower_bound")

    @property
    def upper_bound(self) -> NDArray[Any]:
        return self._column("upper_bound")

    @property
    def certified(self) -> NDArray[Any]:
        return self._column("certified")

    @property
    def nominal_return(self) -> float:
        return self.evaluations[0].nominal_return

    def to_dict(self) -> dict[str, Any]:
        return {"optimistic": self.optimistic, "curve": [one.to_dict() for one in self.evaluations]}

    def to_pandas(self) -> Any:
        """A frame with a line for each radius: radius, guaranteed, robust_return, lower_bound, upper_bound, certified,
        and what the evaluations say besides."""
        names = ["radius", "guaranteed", "robust_return", "lower_bound", "upper_bound", "certified", "nominal_return"]
        names += ["penalty", "certificate", "bound", "stop_reason", "kappa", "time_ran_out", "set", "domain", "norm"]
        return _frames.frame({name: [getattr(one, name) for one in self.evaluations] for name in names})

    def _rows(self) -> list[list[str]]:
        made = []
        for one in self.evaluations:
            sure = one.robust_return if one.certified else one.guaranteed
            side = 0 if one.certified else 1 if self.optimistic else -1
            lost = _verdict.change(one.nominal_return, sure)[6:] if math.isfinite(sure) else "?"
            words = _verdict.proven(one.certified, one.certificate)
            made.append([short(one.radius), short(sure, side), lost, short(one.robust_return), words])
        return made

    def _head(self) -> str:
        last = self.evaluations[-1]
        sure = last.robust_return if last.certified else last.guaranteed
        label = ("Best case" if self.optimistic else "Worst case") if last.certified else "Guaranteed"
        side = 0 if last.certified else 1 if self.optimistic else -1
        count = sum(one.certified for one in self.evaluations)
        return (
            f"{label:<13}{short(sure, side)} at radius {short(last.radius)}   nominal {short(last.nominal_return)}, "
            f"{_verdict.change(last.nominal_return, sure)}{'' if last.certified else ' at most'}   {count} of {len(self)} radii proven"
        )

    def _title(self) -> str:
        one = self.evaluations[0]
        return f"Risk curve: {one.set}, {one.domain}, norm {_verdict.norm(one.norm)}"

    def _table(self, html: bool = False) -> str:
        first = self.evaluations[0]
        what = "gains at most" if self.optimistic else "loses at most"
        block = _verdict.about(first._solver, first, radius=False)
        block += [line for one in self.evaluations for line in one._note()][:1]
        title = "\n".join([self._head(), *(f"  {label:<11}{words}" for label, words in block)])
        return _grid(title, ["radius", "guaranteed", what, "found", "proven"], self._rows(), html)

    def __str__(self) -> str:
        return self._table()

    def __repr__(self) -> str:
        radii = self.radius
        return f"Sweep({len(self)} radii, {radii.min():g} to {radii.max():g}, {self._title().split(': ')[1]})"

    def _repr_html_(self) -> str:
        return self._table(html=True)

    @_plots.to_file
    def plot(self, ax: Any = None, **options: Any) -> Any:
        """The worst return over the radius, with its bounds (matplotlib). `ax` of another curve: both in one."""
        return _plots.curve(self, ax, **options)


@dataclass(repr=False, frozen=True)
class Radius(Result):
    """How large a ball may be before the worst return falls below a target."""

    target: float
    nominal_return: float
    radius: float
    radius_lower: float  #: proven: every kernel of this ball meets the target
    radius_upper: float  #: proven: some kernel of this ball does not
    certified: bool
    certificate: str
    stop_reason: str
    set: str
    domain: str
    norm: Norm
    breakdown_radius: float
    valid_radius: float
    evaluations: int
    solves: int
    backend: str
    seconds: dict[str, float]
    optimistic: bool = False
    _solver: Any = field(default=None, compare=False)

    _shown = ("guaranteed", "radius", "certified", "target", "nominal_return", "radius_lower", "radius_upper")

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_solver": None}

    @property
    def guaranteed(self) -> float:
        """The radius up to which the target is proven to be met."""
        return self.radius_lower

    def to_dict(self) -> dict[str, Any]:
        return {"guaranteed": self.guaranteed, **super().to_dict()}

    def _heads(self) -> Lines:
        case, side = ("best", "at most") if self.optimistic else ("worst", "at least")
        words = _verdict.proven(self.certified, self.certificate)
        if not math.isfinite(self.radius):
            return [("Radius", f"any: the {case} case is {side} {short(self.target)} at every radius   {words}")]
        if self.certified:
            there = f"up to there the {case} case is {side} {short(self.target)}"
            return [("Radius", f"{short(self.radius, -1)}   {there}   {words}")]
        return [
            ("Guaranteed", f"up to radius {short(self.radius_lower, -1)} the {case} case is {side} {short(self.target)}"),
            ("Found", f"radius {short(self.radius)}: just beyond, a kernel misses it   {words} that none does before"),
            ("Try", 'certify="strict" or domain="support"'),
        ]

    def _block(self) -> Lines:
        nominal = f"nominal {short(self.nominal_return)}"
        name = self._solver.policy.name if self._solver is not None else ""
        about = _verdict.about(self._solver, self, radius=False)
        return [("policy", f"{name}, {nominal}" if name else nominal), *(line for line in about if line[0] != "policy")]


@dataclass(repr=False, frozen=True)
class Difference(Result):
    """min over the ball of J^A_P − J^B_P: two policies under the same kernel."""

    nominal: float
    worst: float
    lower_bound: float
    upper_bound: float
    certified: bool
    certificate: str
    bound: str
    decoupled_bound: float
    kappa: float
    stationarity_gap: float
    method: str
    stop_reason: str
    iterations: int
    kernel_min: float
    seconds: dict[str, float]
    optimistic: bool = False
    policies: tuple[str, str] = ("the policy", "the other")
    _solver: Any = field(default=None, compare=False)
    _worst: Any = field(default=None, compare=False)

    _shown = ("guaranteed", "worst", "certified", "nominal", "lower_bound", "upper_bound", "bound")

    @property
    def guaranteed(self) -> float:
        """What is proven: the policy is ahead of the other by at least this under every kernel of the ball."""
        return self.upper_bound if self.optimistic else self.lower_bound

    def explain(self, count: int = 10) -> Explanation:
        """The rows that move the difference, largest share first; all rows add up to `nominal` less `worst`."""
        if self._worst is None:
            raise UsageError("this difference has not kept its kernel: ask for it anew")
        return _explained(self._solver, self._worst, count, self.optimistic, difference=True)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: without the kernel, which is the library's."""
        return {**self.__dict__, "_solver": None, "_worst": None}

    def to_dict(self) -> dict[str, Any]:
        return {"guaranteed": self.guaranteed, **super().to_dict()}

    def _heads(self) -> Lines:
        first, second = self.policies
        bound, words = self.guaranteed, _verdict.proven(self.certified, self.certificate)
        if not math.isfinite(bound):
            said = f"{first} less {second}: {short(self.worst)} found, nothing proven"
        elif self.optimistic:
            said = (
                f"{first} less {second} under the same kernel: at most {short(bound, 1)}, found {short(self.worst)}"
                f"   {words}"
            )
        elif bound > 0:
            sure = _verdict.proven(True, self.certificate)
            said = f"{first} earns at least {short(bound, -1)} more than {second} under every kernel   {sure}"
        elif self.certified and self.worst < 0:
            said = f"{first} can earn {short(-self.worst)} less than {second} under the same kernel, and no more than that   {words}"
        elif self.certified:
            said = f"{first} earns as much as {second} under every kernel, or more, within {short(max(-bound, 0.0), 1)}   {words}"
        else:
            side = "less" if self.worst < 0 else "more"
            return [
                ("Difference", f"{first} earns at most {short(-bound, 1)} less than {second} under the same kernel"),
                ("Found", f"a kernel under which it earns {short(abs(self.worst))} {side}   {words}: a worse one is not ruled out"),
            ]
        return [("Difference", said)]

    def _block(self) -> Lines:
        return [("nominal", short(self.nominal)), ("bounds", between(self.lower_bound, self.upper_bound))]


@dataclass(repr=False, frozen=True)
class Gradient(Result):
    """∂J_U/∂π(a|s) = d_P(s) Q_P(s, a) at the worst kernel P."""

    evaluation: Evaluation
    gradient: NDArray[Any]  #: one number for each row
    policy: "Policy"

    _shown = ("robust_return", "norm", "promise")

    @property
    def robust_return(self) -> float:
        return self.evaluation.robust_return

    @property
    def table(self) -> NDArray[Any]:
        """(S, A)."""
        return self.policy.model.table(self.gradient)

    @property
    def norm(self) -> float:
        return float(np.linalg.norm(self.gradient))

    @property
    def promise(self) -> float:
        """What the best action of every state would add to first order; 0: no small change helps."""
        starts = self.policy.model.state_rows[:-1]
        most = np.maximum.reduceat(self.gradient, starts)
        average = np.add.reduceat(self.policy.probabilities * self.gradient, starts)
        return float(np.maximum(most - average, 0).sum())

    def to_pandas(self) -> Any:
        """A frame with a line for each state and action: state, action, probability, gradient."""
        made = self.policy.to_pandas()
        model = self.policy.model
        made["gradient"] = self.gradient[model.row_states < model.states_given]
        return made

    def _heads(self) -> Lines:
        case = "best" if self.evaluation.optimistic else "worst"
        return [("Gradient", f"of the {case} case, {short(self.robust_return)}: changing the policy promises up to "
                 f"{short(self.promise)}")]  # fmt: skip

    def _block(self) -> Lines:
        return [("ball", _verdict.ball(self.evaluation)), ("norm", short(self.norm))]

    def to_dict(self) -> dict[str, Any]:
        return {"gradient_norm": self.norm, "promise": self.promise, **self.evaluation.to_dict()}

    @_plots.to_file
    def plot(self, ax: Any = None) -> Any:
        """A map of states and actions (matplotlib)."""
        return _plots.table_map(self, ax)


@dataclass(frozen=True)
class Step:
    """One step of the search for a robust policy."""

    iteration: int
    evaluations: int
    robust_return: float
    gap: float  #: at least: what policies promise to first order, relative
    seconds: float


@dataclass(repr=False, frozen=True)
class Optimization(Result):
    """max over policies of the worst return, between proven bounds.

    `lower_bound` holds for the worst return of the policy found; no policy's worst return is above
    `optimality_upper_bound`.
    """

    policy: "Policy"
    evaluation: Evaluation | None
    history: list[Step]
    nominal_optimum: float
    initial_robust_return: float
    robust_return: float
    nominal_return: float
    lower_bound: float
    optimality_upper_bound: float
    optimality_gap: float
    certified: bool
    certificate: str
    method: str
    stop_reason: str
    iterations: int
    evaluations: int
    stochastic_states: int
    mixed_kernels: int
    seconds: dict[str, float]
    compared: Evaluation | None = None  #: of the policy that was set beside it, in the same ball
    differing: int | None = None  #: states where the two differ

    _shown = (
        *("guaranteed", "robust_return", "certified", "optimality_upper_bound", "nominal_optimum", "nominal_return"),
        *("initial_robust_return", "stop_reason", "evaluations", "stochastic_states"),
    )

    @property
    def guaranteed(self) -> float:
        """What is proven: the policy earns at least this with every kernel of the ball."""
        return self.lower_bound

    def to_dict(self) -> dict[str, Any]:
        made: dict[str, Any] = {"guaranteed": self.guaranteed, **super().to_dict()}
        if self.compared is not None:
            made["compared"] = self.compared.to_dict()
        return made

    def to_pandas(self) -> Any:
        """The policy, a line for each state and action: state, action, probability, the value of the state in the model
        (value) and, where that is known, with the worst kernel (worst_value)."""
        models = {"value": self.policy.model}
        if self.evaluation is not None and self.evaluation.kernel_valid and self.evaluation._worst is not None:
            models["worst_value"] = self.evaluation.kernel_model()
        return _with_values(self.policy, models)

    def _heads(self) -> Lines:
        words = _verdict.proven(self.certified, self.certificate)
        note = self.evaluation._note() if self.evaluation is not None else []
        note = self._beside() + note
        if self.certified:
            return [("Worst case", f"{short(self.robust_return)}   no policy guarantees more   {words}"), *note]
        sure = f"at least {short(self.lower_bound, -1)}" if math.isfinite(self.lower_bound) else "nothing"
        above = self.optimality_upper_bound - self.robust_return
        scale = max(abs(self.nominal_optimum), abs(self.robust_return))
        why = "the bounds are apart" if math.isfinite(self.optimality_gap) else "nothing is known on one side"
        if above <= 1e-6 * scale:
            why = "a kernel worse than the worst one found is not ruled out"
        return [
            ("Guaranteed", f"{sure}   no policy guarantees more than {short(self.optimality_upper_bound, 1)}"),
            ("Found", f"{short(self.robust_return)} in the worst case   best policy {words}: {why}"),
            *note,
        ]

    def _beside(self) -> Lines:
        one = self.compared
        if one is None:
            return []
        words = _verdict.proven(one.certified, one.certificate)
        sure = f"at least {short(one.lower_bound, -1)}" if math.isfinite(one.lower_bound) else "guarantees nothing"
        head = short(one.robust_return) if one.certified else f"{sure}, found {short(one.robust_return)}"
        states = f"; differs in {self.differing} of {len(self.policy)} states"
        name = (one._solver.policy.name if one._solver is not None else "") or "your policy"
        return [("Compared", f"{name}: {head}, nominal {short(one.nominal_return)}{states}   {words}")]

    def _block(self) -> Lines:
        made = [("nominal", f"{short(self.nominal_return)}; the nominal optimum has {short(self.nominal_optimum)}")]
        if self.evaluation is not None:
            about = _verdict.about(self.evaluation._solver, self.evaluation)
            made += [line for line in about if line[0] != "policy"]
        if self.stochastic_states:
            made.append(("randomised", f"in {self.stochastic_states} of {len(self.policy)} states"))
        return made + [(name, words) for name, words in self.policy._lines()]

    def verify(self) -> "Verification":
        """The bounds of the policy found checked again, without searching; see `Evaluation.verify`."""
        if self.evaluation is None:
            raise UsageError("the search has ended before the policy was evaluated")
        return self.evaluation.verify()

    def report(
        self,
        path: Path,
        *,
        radii: tuple[float, float, int] | None = None,
        time_limit: float | None = None,
        title: str | None = None,
    ) -> "Report":
        """A page for people, HTML in one file: the nominal optimum beside this policy; see `nadir.report`."""
        from ._report import write_page

        if self.evaluation is None:
            raise UsageError("the search has ended before the policy was evaluated")
        solver, _ = self.evaluation._kept()
        return write_page(
            solver._context, solver.model, None, self.evaluation._ball, path,
            radii=radii, time_limit=time_limit, title=title
        )  # fmt: skip

    @_plots.to_file
    def plot(self, ax: Any = None) -> Any:
        """The worst return over the evaluations of the search, below its upper bound (matplotlib)."""
        return _plots.history(self, ax)


@dataclass(frozen=True)
class Check:
    """One thing that should hold."""

    name: str
    holds: bool
    detail: str


@dataclass(repr=False, frozen=True)
class Verification(Result):
    """What the files of an evaluation promise, checked again without searching; numbers are made anew."""

    verified: bool
    checks: list[Check]
    checks_count: int
    set: str
    domain: str
    norm: Norm
    radius: float
    optimistic: bool
    scaled: bool
    nominal_return: float
    return_low: float
    return_high: float
    bound_proven: float
    certificate: str | None

    _shown = ("verified", "nominal_return", "return_low", "return_high", "bound_proven", "certificate")

    def _heads(self) -> Lines:
        label, words = ("Verified", "all holds") if self.verified else ("NOT VERIFIED", "see what fails")
        made = [(label, f"{words}   the kernel returns {short(self.return_low)}")]
        if self.verified and math.isfinite(self.bound_proven):
            more, side = ("more", 1) if self.optimistic else ("less", -1)
            made.append(("Proven", f"no kernel of the ball returns {more} than {short(self.bound_proven, side)}"))
        return made

    def _block(self) -> Lines:
        checks = [("holds" if one.holds else "FAILS", one.detail) for one in self.checks]
        return [("ball", _verdict.ball(self))] + checks if self.radius == self.radius else checks


@dataclass(frozen=True)
class Guarantee:
    """What a ball that holds the true kernel promises of a policy."""

    set: str
    scales: str
    radius: float
    robust_return: float  #: worst return found over the ball; NaN: no rewards or discount
    lower_bound: float  #: proven: no kernel of the ball returns less
    certified: bool


@dataclass(repr=False, frozen=True)
class Fit(Result):
    """A model from data, with a ball that holds the true kernel with a given confidence."""

    model: "Model"  #: with the ball in it
    nominal: "Model"  #: without
    candidates: list[Guarantee]  #: choices of scales that were looked at; `chosen` is the place of one
    guarantees: list[Guarantee]  #: of the sets nonrect, s and sa at the same confidence
    data_kind: str
    states: int
    rows: int
    rows_visited: int
    rows_known: int
    observations: int
    total_count: float
    episodes: int
    visits_min: float
    visits_median: float
    method: str
    confidence: float
    prior: float
    samples: int
    domain: str
    norm: float
    nominal_return: float
    chosen: int
    dropped: int  #: lines of the data whose next state is not known
    terminal: bool  #: the last state is that of all lines that are done
    seconds: dict[str, float]
    _struct: Any = field(default=None, compare=False)
    _policy: Any = field(default=None, compare=False)

    _shown = ("data_kind", "states", "rows_visited", "observations", "method", "confidence", "nominal_return")

    @property
    def radius(self) -> float:
        """Of the non-rectangular ball, with the scales that were chosen."""
        return self.candidates[self.chosen].radius

    @property
    def scales(self) -> str:
        """How the ball is shared by the rows."""
        return self.candidates[self.chosen].scales

    def to_pandas(self) -> Any:
        """The guarantees of the three sets: set, scales, radius, robust_return, lower_bound, certified."""
        return _frames.frame({name: [getattr(one, name) for one in self.guarantees] for name in Guarantee.__annotations__})

    def to_dict(self) -> dict[str, Any]:
        lists = {name: [asdict(one) for one in getattr(self, name)] for name in ("guarantees", "candidates")}
        first = {"guaranteed": self.guaranteed}
        return {**first, **super().to_dict(), "radius": self.radius, "scales": self.scales, **lists}

    @property
    def grounds(self) -> str:
        """What the confidence rests on."""
        return _fit_words.ball_grounds(self.data_kind, self.method)

    @property
    def guaranteed(self) -> float:
        """What the ball promises of the policy with this confidence, proven; NaN: no rewards or no discount."""
        return self.guarantees[0].lower_bound

    def _heads(self) -> Lines:
        if not math.isfinite(self.guaranteed):
            words = f"of radius {short(self.radius)} holds the true kernel with confidence {self.confidence:g}"
            return [("Ball", words), ("Grounds", self.grounds)]
        words = f"{short(self.guaranteed, -1)} with confidence {self.confidence:g}   estimated {short(self.nominal_return)}"
        return [("Guaranteed", words), ("Grounds", self.grounds)]

    def _block(self) -> Lines:
        facts = {**self.to_dict(), "starts_seen": self.episodes > 0, "unvisited": "uniform"}
        kind = {"nonrect": "one ball", "s": "a ball for each state", "sa": "a ball for each row"}
        made = [("radius", f"{short(self.radius)}, norm {short(self.norm)}, scales {self.scales}, by {self.method}")]
        for one in self.guarantees:
            if math.isfinite(one.lower_bound):
                made.append((kind.get(one.set, one.set), f"at least {short(one.lower_bound, -1)}"))
        made += _fit_words.data(facts, self.nominal, []) if self.data_kind != "samples" else []
        return [*made, ("one policy", 'of its return alone more is known: guarantee="return"')]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_struct": None, "_policy": None}

    def report(
        self,
        path: Path,
        *,
        promise: "FitReturn | None" = None,
        radii: tuple[float, float, int] | None = None,
        time_limit: float | None = None,
        title: str | None = None,
    ) -> "Report":
        """A page for people, HTML in one file, with the radius that the data support; see `nadir.report`.

        `promise` is what `fit_return` said of the same policy: its guarantee stands first on the page."""
        from ._context import shared
        from ._report import write_page
        from .solver import Ball

        policy = None if self._policy is None else self.model.policy(self._policy.probabilities)
        if promise is not None and self._policy is None:
            raise UsageError("fit(..., guarantee=\"kernel\", policy=promise.policy) is needed, so that both are about the same policy")
        if policy is not None:
            policy.name = self._policy.name or "the policy chosen on the data"
        given = None if promise is None else promise._struct
        return write_page(
            shared(), self.model, policy, Ball(self.model, None, None, None, None, None), path, data=self._struct,
            promise=given, radii=radii, time_limit=time_limit, title=title or "data"
        )  # fmt: skip


@dataclass(repr=False, frozen=True)
class MoreData(Result):
    """Where more data help a policy most, and what they are predicted to do for the penalty."""

    rows: NDArray[Any]  #: [rows] visits that each row should get
    share: NDArray[Any]  #: [rows] of the variance of the return, now
    visits: float  #: that were asked for, or that the target needs
    penalty: float  #: now
    penalty_told: float  #: predicted, with the visits where they help most
    penalty_even: float  #: with as many visits of every row with data
    penalty_as_before: float  #: with more of what the data have
    _policy: Any = field(default=None, compare=False)

    _shown = ("visits", "penalty", "penalty_told", "penalty_even", "penalty_as_before")

    def _table(self, html: bool = False) -> str:
        rows = _fit_words.more_rows(self)
        words = f"{_fit_words.more_words(self)} (penalty: estimated return less guarantee)"
        return _grid(words, ["more", "of the variance", "state", "action"], rows, html) if rows else words

    def __str__(self) -> str:
        return self._table()

    def _repr_html_(self) -> str:
        return self._table(html=True)

    def to_pandas(self) -> Any:
        """A frame with a line for each state and action, most visits first: state, action, visits, share."""
        model, order = self._policy.model, np.argsort(-self.rows, kind="stable")
        places = {"state": model._state_labels()[model.row_states][order], "action": model._action_labels()[order]}
        return _frames.frame({**places, "visits": self.rows[order], "share": self.share[order]})


@dataclass(repr=False, frozen=True)
class FitReturn(Result):
    """What data promise of the return of one policy; `grounds` of the command stand in docs/fit.md."""

    policy: "Policy"  #: that the promise speaks of
    model: "Model"  #: with the ball whose worst return is the guarantee: it explains it, no more
    guarantee: str
    confidence: float
    nominal_return: float
    guaranteed: float
    posterior_bound: float
    level_used: float
    deviation: float
    weight: float
    ties: int
    draws: int
    monte_carlo_confidence: float
    behaviour_return: float
    rows_barred: int
    reward_deviation: float
    radius: float
    radius_lower_bound: float
    radius_certified: bool
    seconds: dict[str, float]
    tied_rows: NDArray[Any]  #: [rows] whether a row is not told apart from the one that the policy takes
    dropped: int  #: lines of the data whose next state is not known
    terminal: bool  #: the last state is that of all lines that are done
    data: dict[str, Any]  #: what the data have: kind, episodes, visits, ...
    more: "MoreData | None"  #: where more data help, if that was asked for
    _read: Any = field(default=None, compare=False)
    _struct: Any = field(default=None, compare=False)
    _again: Any = field(default=None, compare=False)  #: from a policy to the Fit of the same data

    _shown = ("guaranteed", "confidence", "guarantee", "posterior_bound", "nominal_return", "behaviour_return")

    @property
    def grounds(self) -> str:
        """What the guarantee rests on, in the words of the command."""
        return _fit_words.grounds(self.guarantee, not math.isnan(self.weight))

    def to_dict(self) -> dict[str, Any]:
        return {"guaranteed": self.guaranteed, **super().to_dict(), "grounds": self.grounds}

    def _heads(self) -> Lines:
        return _fit_words.returned(self)[0]

    def _block(self) -> Lines:
        return _fit_words.returned(self)[1]

    @_plots.to_file
    def plot(self, ax: Any = None) -> Any:
        """How likely each return of the policy is after the data, with the guarantee (matplotlib)."""
        if self._read is None:
            raise UsageError("this answer has been pickled, without the data that the picture needs")
        draws = self._read.returns([self.policy])[0]
        name = self.policy.name or ("the policy chosen" if not math.isnan(self.weight) else "the policy given")
        return _plots.returns([name], [draws], [self.guaranteed], _fit_words.picture(len(draws), self.confidence), ax)

    def report(
        self,
        path: Path,
        *,
        radii: tuple[float, float, int] | None = None,
        time_limit: float | None = None,
        title: str | None = None,
    ) -> "Report":
        """A page for people, HTML in one file: what `nadir report` writes of a log. The guarantee stands first; the radius is
        that of a ball which holds the true kernel (`nadir.fit(..., guarantee="kernel", policy=...)`)."""
        if self._again is None:
            raise UsageError("this answer has been pickled, without the data that the page needs")
        ball: Fit = self._again(self.policy)
        return ball.report(path, promise=self, radii=radii, time_limit=time_limit, title=title)

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: without the data."""
        return {**self.__dict__, "_read": None, "_struct": None, "_again": None}


@dataclass(repr=False, frozen=True)
class FitComparison(Result):
    """What data promise of several policies made elsewhere, and of their differences; see docs/fit.md."""

    policies: "list[Policy]"
    names: list[str]  #: what they are called
    nominal: NDArray[Any]  #: [policies] returns on the posterior mean
    guaranteed: NDArray[Any]  #: [policies] lower bounds, each with the confidence
    together: NDArray[Any]  #: [policies] lower bounds that all hold at once
    lead: NDArray[Any]  #: [policies] lower bounds on the return of `best` less theirs, for `decided`
    lower: NDArray[Any]  #: [policies, policies] lower bounds on the return of row i less that of column j
    returns: NDArray[Any]  #: [policies, draws] under the same kernels
    confidence: float
    best: int  #: the policy with the highest nominal return
    decided: bool  #: with the confidence, no other policy earns more than `best`
    draws: int
    monte_carlo_confidence: float
    behaviour_return: float
    reward_deviation: float
    seconds: dict[str, float]
    data: dict[str, Any]  #: what the data have: kind, episodes, visits, ...

    def _columns(self) -> dict[str, list[Any]]:
        """A line for each policy, by the names that the command's JSON has."""
        return {
            "policy": list(self.names),
            "nominal_return": self.nominal.tolist(),
            "guaranteed": self.guaranteed.tolist(),
            "guaranteed_together": self.together.tolist(),
            "difference": (self.nominal - self.nominal[0]).tolist(),
            "difference_lower": self.lower[:, 0].tolist(),
            "difference_upper": (0 - self.lower[0]).tolist(),
            "best_lead": self.lead.tolist(),
        }

    def to_pandas(self) -> Any:
        """A frame with a line for each policy: policy, nominal_return, guaranteed, guaranteed_together, its difference to
        the first (difference, between difference_lower and difference_upper), and best_lead."""
        return _frames.frame(self._columns())

    def to_dict(self) -> dict[str, Any]:
        columns = self._columns()
        lines = [dict(zip(columns, values)) for values in zip(*columns.values())]
        first = {"guaranteed": columns["guaranteed"], "best": self.names[self.best]}
        return {**super().to_dict(), **first, "policies": lines}

    @_plots.to_file
    def plot(self, ax: Any = None) -> Any:
        """How likely each return is after the data, of every policy, with the guarantees (matplotlib)."""
        return _plots.returns(self.names, self.returns, self.guaranteed, _fit_words.picture(self.draws, self.confidence), ax)

    def _table(self, html: bool = False) -> str:
        head = ["policy", "estimated", "guaranteed", "difference", "at least", "at most"]
        heads, block = _fit_words.decision(self), _fit_words.comparison_block(self)
        rows = _fit_words.comparison_rows(self)
        if len(rows) == 1:
            head, rows = head[:3], [rows[0][:3]]
        if html:
            return _card("", heads, html=True) + _grid("", head, rows, html=True) + _card("", block, html=True)
        title = "\n".join(f"{label:<13}{words}" for label, words in heads)
        return "\n".join([_grid(title, head, rows), *_indented(block)])

    def __str__(self) -> str:
        return self._table()

    def __repr__(self) -> str:
        sure = ", ".join(f"{name}: {short(bound, -1)}" for name, bound in zip(self.names, self.guaranteed))
        return f"FitComparison(best={self.names[self.best]!r}, decided={self.decided}, guaranteed={{{sure}}})"

    def _repr_html_(self) -> str:
        return self._table(html=True)


@dataclass(repr=False, frozen=True)
class Report(Result):
    """A page that was written: where, and the numbers of its verdict."""

    path: str
    radius: float  #: that is marked
    nominal_return: float
    robust_return: float  #: the worst return of the policy that was found; NaN: left out
    lower_bound: float
    certified: bool
    optimum_nominal_return: float  #: of the policy that does best in the worst case, as all below; NaN: left out
    optimum_robust_return: float
    optimum_lower_bound: float
    optimality_upper_bound: float
    optimum_certified: bool
    radii: int  #: of the curve
    proven: int  #: of them, for the policy
    left_out: int  #: things that were not found within the time, or have no answer
    time_ran_out: bool
    bytes: int
    seconds: float
    _of: Any = field(default=None, compare=False)  #: words: policy, start
    _promise: Any = field(default=None, compare=False)  #: of data: guaranteed, confidence, estimated

    _shown = ("path", "lower_bound", "robust_return", "optimum_robust_return", "left_out")

    def _heads(self) -> Lines:
        made = [("Report", self.path)]
        if self._promise is not None:
            sure, confidence, estimated = self._promise
            made.append(("Guaranteed", f"{short(sure, -1)} with confidence {confidence:g}   estimated {short(estimated)}"))
        if not math.isnan(self.robust_return):
            worst = _floor(self.certified, self.robust_return, self.lower_bound)
            made.append(("Worst case", f"{worst} at radius {short(self.radius)}   nominal {short(self.nominal_return)}"))
        if not math.isnan(self.optimum_robust_return):
            worst = _floor(self.optimum_certified, self.optimum_robust_return, self.optimum_lower_bound)
            made.append(("Robust", f"{worst}   nominal {short(self.optimum_nominal_return)}"))
        return made

    def _block(self) -> Lines:
        made = [] if self._of is None else list(zip(("policy", "start"), self._of))
        made.append(("radii", f"{self.radii}, proven at {self.proven}"))
        more = "; a larger time_limit gives more" if self.time_ran_out else ""
        return [*made, ("left out", f"{self.left_out} things, which the page names{more}")] if self.left_out else made


def _floor(certified: bool, found: float, bound: float) -> str:
    """What is guaranteed of a worst return."""
    return short(found) if certified else f"at least {short(bound, -1)}"


def fit_result(found: Any, model: "Model", nominal: "Model", policy: "Policy | None" = None) -> Fit:
    """A Fit from the struct of C."""
    numbers = _fields(found, "nadir_fit_result")
    count = numbers.pop("candidates_count")
    lists: dict[str, Any] = {
        name: [Guarantee(**_fields(one, "nadir_fit_guarantee")) for one in list(numbers.pop(name))]
        for name in ("candidates", "guarantees")
    }
    lists["candidates"] = lists["candidates"][:count]
    return Fit(model, nominal, **lists, **numbers, _struct=found, _policy=policy)


@dataclass(repr=False, frozen=True)
class ConeNorm(Result):
    """max ‖Ax‖₂ over x ≥ 0, ‖x‖₂ ≤ 1: `value` is attained by `x`, the maximum is at most `upper_bound`."""

    x: NDArray[Any]
    value: float
    upper_bound: float
    zero_bound: float
    first_bound: float
    dual_bound: float
    order: str
    support: int
    iterations: int
    samples: int
    seconds: dict[str, float]

    _shown = ("value", "upper_bound", "order", "support")
