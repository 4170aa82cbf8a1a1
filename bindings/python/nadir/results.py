"""What comes back: small objects that print well, with the names that the command's JSON has."""

from __future__ import annotations

import html as _html
import os
import tempfile
from dataclasses import asdict, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Iterator

import numpy as np

from . import _plots
from ._library import NULL, encoded, ffi, lib, place, text
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
    members, names, readers, times, clocks = [], [], [], [], []
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


def _grid(title: str, head: list[str], rows: list[list[str]], html: bool = False) -> str:
    if html:
        top = "".join(f"<th>{_html.escape(cell)}</th>" for cell in head)
        body = "".join("<tr>" + "".join(f"<td>{_html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
        return (
            f"<table><caption>{_html.escape(title)}</caption>"
            f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
        )
    wide = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = ["  " + "  ".join(cell.rjust(wide[i]) for i, cell in enumerate(row)) for row in [head, *rows]]
    return "\n".join([title, *lines])


class Result:
    """Prints as a card, in a notebook as a table."""

    _shown: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Numbers and words by name, for JSON and tables; large arrays and handles are left out."""
        made = {}
        for member in fields(self):  # type: ignore[arg-type]
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
        return _card(self._title(), self._lines())

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self._shown)
        return f"{type(self).__name__}({inside})"

    def _repr_html_(self) -> str:
        return _card(self._title(), self._lines(), html=True)


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

    _shown = ("states", "rows", "nonzeros", "reward_min", "reward_max", "discount", "valid_radius", "sha256")


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


@dataclass(frozen=True)
class Damage:
    """One row's part of the penalty: γ d(s) π(a|s) (P̂_sa − P_sa)·v_P, d nominal, v_P of the kernel found."""

    state: int
    row: int
    action: int
    penalty: float  #: those of all rows add up to the penalty
    share: float
    mass: float  #: probability moved
    origin: int  #: the successor that loses most
    target: int  #: the one that gains most
    lost: float
    gained: float


@dataclass(repr=False, frozen=True)
class Evaluation(Result):
    """The worst return of a policy over a ball of kernels: lower_bound <= truth <= upper_bound.

    `robust_return` is attained by the kernel found, which lies in the ball. `certified`: both bounds were
    made anew by other code than the search, and they are close. `certificate` is "rigorous" (rounding and
    all), "numerical" (rests on converged iterations) or "none".
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
    norm: float
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
    seconds: dict[str, float]
    optimistic: bool = False
    _solver: Any = field(default=None, compare=False)
    _worst: Any = field(default=None, compare=False)
    _kernel_model: Any = field(default=None, compare=False)  # of a horizon

    _shown = (
        "nominal_return",
        "robust_return",
        "lower_bound",
        "upper_bound",
        "certified",
        "certificate",
        "set",
        "domain",
        "norm",
        "radius",
    )

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: without the kernel, which is the library's."""
        return {**self.__dict__, "_solver": None, "_worst": None}

    @property
    def gap(self) -> float:
        """upper_bound - lower_bound."""
        return self.upper_bound - self.lower_bound

    def to_dict(self) -> dict[str, Any]:
        return {**super().to_dict(), "gap": self.gap}

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

    def apply(self, x: Any) -> np.ndarray:
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

    def kernel(self) -> np.ndarray:
        """The kernel found as an array, (S, A, S) where all states have as many actions, else (rows, S)."""
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

    def explain(self, count: int = 10) -> list[Damage]:
        """The rows that carry most of the penalty, largest share first; all rows add up to it exactly."""
        solver, worst = self._kept()
        if count < 0:
            raise UsageError(f"count is {count}; expected 0 or more")
        count = min(count, solver.model.rows)
        made = ffi.new("nadir_damage[]", max(count, 1))
        for i in range(len(made)):
            made[i].size = ffi.sizeof("nadir_damage")
        found, changed, penalty = ffi.new("int64_t *"), ffi.new("int64_t *"), ffi.new("double *")
        solver._context.call(lib.nadir_worst_explain, worst, count, made, found, changed, penalty)
        return [
            Damage(
                *(one.state, one.row, one.action, one.penalty, one.share, one.mass),
                *(getattr(one, "from"), one.to, one.lost, one.gained),
            )
            for one in made[0 : found[0]]
        ]

    def gradient(self, formula: str = "kernel") -> np.ndarray:
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

    def plot(self, ax: Any = None, count: int = 10) -> Any:
        """Bars: the rows that carry most of the penalty (matplotlib)."""
        return _plots.damages(self, self.explain(count), ax)


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

    def _column(self, name: str) -> np.ndarray:
        return np.array([getattr(one, name) for one in self.evaluations])

    @property
    def radius(self) -> np.ndarray:
        return self._column("radius")

    @property
    def robust_return(self) -> np.ndarray:
        return self._column("robust_return")

    @property
    def lower_bound(self) -> np.ndarray:
        return self._column("lower_bound")

    @property
    def upper_bound(self) -> np.ndarray:
        return self._column("upper_bound")

    @property
    def certified(self) -> np.ndarray:
        return self._column("certified")

    @property
    def nominal_return(self) -> float:
        return self.evaluations[0].nominal_return

    def to_dict(self) -> dict[str, Any]:
        return {"optimistic": self.optimistic, "curve": [one.to_dict() for one in self.evaluations]}

    def _rows(self) -> list[list[str]]:
        names = ("radius", "robust_return", "lower_bound", "upper_bound", "certified")
        return [[_number(getattr(one, name)) for name in names] for one in self.evaluations]

    def _title(self) -> str:
        one = self.evaluations[0]
        return f"Risk curve: {one.set}, {one.domain}, norm {_number(one.norm)}"

    def _table(self, html: bool = False) -> str:
        head = ["radius", "best return" if self.optimistic else "worst return", "lower bound", "upper bound"]
        return _grid(self._title(), head + ["certified"], self._rows(), html)

    def __str__(self) -> str:
        return self._table()

    def __repr__(self) -> str:
        radii = self.radius
        return f"Sweep({len(self)} radii, {radii.min():g} to {radii.max():g}, {self._title().split(': ')[1]})"

    def _repr_html_(self) -> str:
        return self._table(html=True)

    def plot(self, ax: Any = None, **options: Any) -> Any:
        """The worst return over the radius, with its bounds (matplotlib)."""
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
    norm: float
    breakdown_radius: float
    valid_radius: float
    evaluations: int
    solves: int
    backend: str
    seconds: dict[str, float]

    _shown = ("target", "nominal_return", "radius", "radius_lower", "radius_upper", "certified")


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

    _shown = ("nominal", "worst", "lower_bound", "upper_bound", "certified", "certificate", "bound")


@dataclass(repr=False, frozen=True)
class Gradient(Result):
    """∂J_U/∂π(a|s) = d_P(s) Q_P(s, a) at the worst kernel P."""

    evaluation: Evaluation
    gradient: np.ndarray  #: one number for each row
    policy: "Policy"

    _shown = ("robust_return", "norm", "promise")

    @property
    def robust_return(self) -> float:
        return self.evaluation.robust_return

    @property
    def table(self) -> np.ndarray:
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

    def to_dict(self) -> dict[str, Any]:
        return {"gradient_norm": self.norm, "promise": self.promise, **self.evaluation.to_dict()}

    def plot(self, ax: Any = None) -> Any:
        """A map of states and actions (matplotlib)."""
        return _plots.table_map(self.table, "gradient of the worst return", ax)


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

    _shown = (
        "nominal_optimum",
        "initial_robust_return",
        "robust_return",
        "nominal_return",
        "lower_bound",
        "optimality_upper_bound",
        "certified",
        "stop_reason",
        "evaluations",
        "stochastic_states",
    )

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
    norm: float
    radius: float
    optimistic: bool
    scaled: bool
    nominal_return: float
    return_low: float
    return_high: float
    bound_proven: float
    certificate: str | None

    _shown = ("verified", "nominal_return", "return_low", "return_high", "bound_proven", "certificate")

    def _lines(self) -> list[tuple[str, str]]:
        return super()._lines() + [("holds" if one.holds else "FAILS", one.detail) for one in self.checks]


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
    seconds: dict[str, float]

    _shown = ("data_kind", "states", "rows_visited", "observations", "method", "confidence", "nominal_return")

    @property
    def radius(self) -> float:
        """Of the non-rectangular ball, with the scales that were chosen."""
        return self.candidates[self.chosen].radius

    @property
    def scales(self) -> str:
        """How the ball is shared by the rows."""
        return self.candidates[self.chosen].scales

    def to_dict(self) -> dict[str, Any]:
        lists = {name: [asdict(one) for one in getattr(self, name)] for name in ("guarantees", "candidates")}
        return {**super().to_dict(), "radius": self.radius, "scales": self.scales, **lists}

    def _lines(self) -> list[tuple[str, str]]:
        promised = [(f"set {one.set}", f"at least {_number(one.lower_bound)}") for one in self.guarantees]
        return super()._lines() + [("radius", _number(self.radius))] + promised


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

    _shown = ("guarantee", "confidence", "guaranteed", "posterior_bound", "nominal_return", "behaviour_return")


def fit_result(found: Any, model: "Model", nominal: "Model") -> Fit:
    """A Fit from the struct of C."""
    numbers = _fields(found, "nadir_fit_result")
    count = numbers.pop("candidates_count")
    lists = {
        name: [Guarantee(**_fields(one, "nadir_fit_guarantee")) for one in list(numbers.pop(name))]
        for name in ("candidates", "guarantees")
    }
    lists["candidates"] = lists["candidates"][:count]
    return Fit(model, nominal, **lists, **numbers)


@dataclass(repr=False, frozen=True)
class ConeNorm(Result):
    """max ‖Ax‖₂ over x ≥ 0, ‖x‖₂ ≤ 1: `value` is attained by `x`, the maximum is at most `upper_bound`."""

    x: np.ndarray
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
