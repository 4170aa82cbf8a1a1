"""Models and policies: what is computed with."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _forms, _frames
from ._context import Context, shared
from ._keywords import keywords, nearest
from ._library import NULL, encoded, ffi, filled, lib, place, result, text
from ._types import CHI2, Array, Certify, Domain, Layout, Names, Norm, Numbers, Path, PolicyLike, Progress, Sets, States, Unseen, said_norm
from ._verdict import chances, percent, short
from .errors import PolicyError, UsageError
from .results import Comparison, Facts, _card, _fields

if TYPE_CHECKING:
    from .results import Difference, Evaluation, Gradient, Optimization, Optimum, Radius, Step, Sweep
    from .solver import Solver

class _NotGiven:
    """The rewards of a model that has none."""

    def __repr__(self) -> str:
        return "<not given>"


NOT_GIVEN: Any = _NotGiven()

SETS = {None: 0, "nonrect": 1, "s": 2, "sa": 3}
DOMAINS = {None: 0, "simplex": 1, "support": 2, "free": 3, "box": 4}
LAYOUTS = {None: 0, "sas": 1, "ass": 2}
UNSEEN = {"additive": 0, "row": 1, "min": 2}


#: What others call the sets.
_MEANT = {
    **dict.fromkeys(("s-rect", "s_rect", "s-rectangular", "s_rectangular", "srect"), "s"),
    **dict.fromkeys(("sa-rect", "sa_rect", "sa-rectangular", "sa_rectangular", "s,a", "(s,a)", "rect", "rectangular"), "sa"),
    **dict.fromkeys(("nonrectangular", "non-rectangular", "non-rect", "global", "ball"), "nonrect"),
}


def choice(what: str, value: Any, table: dict[Any, int]) -> int:
    """The number of a choice; says what there is where it is none."""
    try:
        return table[value]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in table if name is not None)
        words = [name for name in table if name]
        meant = (_MEANT.get(value) or nearest(value, words)) if isinstance(value, str) else None
        meant = meant if meant in words else None
        hint = f"; did you mean {meant!r}?" if meant else ""
        raise UsageError(f"{what} is {value!r}; expected one of {names}{hint}") from None


def take_unseen(into: Any, unseen: Any, frozen_rewards: bool) -> None:
    """Fills in how rewards are paid: in the data of a model, or in settings."""
    if unseen is None:
        if frozen_rewards:
            into.frozen_rewards = True
        return
    if frozen_rewards:
        raise UsageError("unseen is for rewards paid on landing; with frozen_rewards none are")
    if isinstance(unseen, (int, float, np.number)) and not isinstance(unseen, bool):
        into.unseen, into.unseen_value = 3, float(unseen)
    elif not isinstance(unseen, str) or unseen not in UNSEEN:
        raise UsageError(f"unseen is {unseen!r}; expected 'additive', 'row', 'min' or a number")
    else:
        into.unseen = UNSEEN[unseen]


def norm_number(norm: Any) -> float:
    """p of the norm; NaN: unsaid."""
    if norm is None:
        return float("nan")
    if isinstance(norm, str) and norm == "chi2":
        return CHI2
    with contextlib.suppress(TypeError, ValueError):
        number = float(norm)
        if number == number:
            return number
    raise UsageError(f"norm is {norm!r}; expected a number from 1 on, 'inf' or 'chi2'")


def number(what: str, value: Any) -> float | None:
    """A number that was given, or None; says so where it is none."""
    if value is None:
        return None
    with contextlib.suppress(TypeError, ValueError):
        made = float(value)
        if made == made and not isinstance(value, (str, bytes)):
            return made
    raise UsageError(f"{what} is {value!r}; expected a number")


DOUBLE, INT64, INT32 = ffi.typeof("double[]"), ffi.typeof("int64_t[]"), ffi.typeof("int32_t[]")


def doubles(array: NDArray[Any]) -> Any:
    """An array as a C pointer, without a copy; it has to be kept alive by the caller."""
    return ffi.from_buffer(DOUBLE, array)


def strings(names: Sequence[str]) -> tuple[Any, list[Any]]:
    """Names as a C array, and what it points to."""
    words = [encoded(str(word)) for word in names]
    return ffi.new("char *[]", words), words


class _Memory:
    """Numbers inside a C object, which they keep alive; never to be written to."""

    def __init__(self, owner: Any, address: Any, count: int, kind: str):
        self.owner = owner
        self.__array_interface__ = {
            "version": 3,
            "shape": (count,),
            "typestr": kind,
            "data": (int(ffi.cast("uintptr_t", address)), True),
        }


def view(owner: Any, address: Any, count: int, kind: str) -> NDArray[Any] | None:
    """Numbers inside a C object as a read-only array; None for NULL."""
    return np.asarray(_Memory(owner, address, count, kind)) if address and count else None


class Model:
    """A Markov decision process: S states, rows (pairs of a state and an action), kernel, rewards, discount.

    P̂(·|s, a) is the nominal kernel and R(s, a) the reward of each row; γ = `discount` in [0, 1), or 1 with a horizon;
    μ = `initial` is the initial distribution, or the number or name of a state (uniform unless given). A model never
    changes, and can be used by any thread. `gamma`, `mu` and `set` are older names of `discount`, `initial` and `sets`.

    `P` is one of

    * an array (S, A, S), `P[s, a, t]` the probability of going from s to t under a; or (A, S, S),
      `P[a, s, t]`. The shape tells which; where S = A it cannot, and `layout="sas"` or `layout="ass"` has to;
    * rows: an array or a SciPy sparse matrix (rows, S) with row `s * A + a`, or, where states have different
      numbers of actions, with the first row of each state (and then the number of rows) in `state_rows`;
    * a list of A matrices (S, S), one for each action, dense or sparse, as MDPtoolbox has them;
      with `layout="sas"` a list of S matrices (A_s, S), one for each state. A dictionary `{action: matrix}` names the
      actions. Of frames, labels of rows and columns are the states, in the order of `state_names` or of the first frame's rows;
    * a dictionary `{s: {a: [(probability, successor, reward, done), ...]}}` as Gymnasium's toy-text
      environments have in `env.P`, or such an environment. It brings its own rewards. `done` ends the
      episode: states that only stay where they are, without reward, are ends, and their rows are pinned
      (scale 0); a transition that is done and leads anywhere else leads to one terminal state that is added
      as the last;
    * a frame of pandas or polars with a line for each transition and the columns state, action, next, probability
      and reward, in any order; `columns={"state": "obs", ...}` says what they are called otherwise. States and actions
      are numbers from 0 on, or names, which are numbered in the order of `state_names` and `action_names`, of the
      categories of a categorical column, or else as they appear. `to_pandas` gives such a frame.

    `R` is (S, A), or has one number for each state or row, or has the form of P, one number for each
    transition. Frames and series count by their labels: a line for each state and a column for each action, or columns
    state, action (next) and reward. A model without R answers no question about returns. Rewards of transitions are paid where one lands: a kernel that moves probability moves what is
    paid. Rewards of successors of probability 0 count too (NaN: not given; a sparse R gives those it stores).
    `lower` and `upper`, in the form of P, are the intervals of its probabilities, for `domain="box"`, which is the default
    then; rows of NaN in P become the point of their intervals nearest to the middle. `weights`, in the form of P, say how
    uncertain each entry is, with norm 2 and domain "support": its change counts divided by its weight, 0 pins it.
    `unseen` says what landing on a successor without a reward pays: "additive" (default: R(s, a) + g(s'),
    fitted to the others), "row" (the mean of the row), "min" (the smallest reward), or a number.
    `frozen_rewards=True` averages rewards of transitions under P̂, and pays these means whatever the kernel.

    Without a discount: `goal` asks for the probability to reach one of these states, to `avoid` others before (R is then not
    needed); `until` for the total reward until one of these states is reached, `total=True` (with discount=1) until one that
    stays without reward. States are a number or a name, a list of them, or S truth values.

    `scales` (alpha) says how uncertain each row is, (S, A) or by row, 0 pins it. `radius`,
    `norm`, `sets` and `domain` are defaults for later questions. `costs=True`: R are costs, to be negated.

    Rows that sum to one within 1e-5 are normalised, with a warning; anything else is a `ModelError` that
    names state and action. A kernel that needs no such repair, C-contiguous and of doubles (sparse: sorted,
    without zeros, 32-bit indices; see `is_borrowed`), is *not copied*: it must not be changed as long as the
    model is in use. `copy=True` makes a copy in any case.
    """

    @keywords
    def __init__(
        self,
        P: Any,
        R: Any = NOT_GIVEN,
        discount: float | None = None,
        *,
        initial: Numbers | None = None,
        scales: Numbers | None = None,
        radius: Numbers | None = None,
        norm: Norm | None = None,
        sets: Sets | None = None,
        domain: Domain | None = None,
        layout: Layout | None = None,
        state_rows: ArrayLike | None = None,
        row_actions: ArrayLike | None = None,
        state_names: Names | None = None,
        action_names: Names | None = None,
        columns: Mapping[str, str] | None = None,
        costs: bool = False,
        frozen_rewards: bool = False,
        unseen: Unseen | None = None,
        lower: Any = None,
        upper: Any = None,
        weights: Any = None,
        goal: States | None = None,
        avoid: States | None = None,
        until: States | None = None,
        total: bool = False,
        copy: bool = False,
    ) -> None:
        """P, R and discount are the process; initial, scales, radius, norm, sets and domain say more of it; layout,
        state_rows, row_actions and columns how P is laid out; state_names and action_names what to call things; costs,
        frozen_rewards and unseen what R means; lower and upper intervals of P; weights how uncertain its entries are; goal, avoid, until and total what is asked
        without a discount; copy=True copies P. All of them: help(nadir.Model)."""
        if isinstance(P, (str, os.PathLike)):
            raise UsageError(f"P is {os.fspath(P)!r}; nadir.read reads models from files")
        if R is None and not brings_rewards(P):
            raise UsageError("R is None: give rewards, (S, A) or in the form of P; leave R out for a kernel alone")
        R = None if R is NOT_GIVEN else R
        framed = None
        if _frames.is_frame(P):
            kernel, framed, unseen = _framed(P, R, columns, costs, frozen_rewards, unseen, state_names, action_names)
        elif columns is not None:
            raise UsageError("columns says what the columns of a frame are called, and P is none")
        else:
            if _frames.squares(P):
                if layout == "sas":
                    raise UsageError("layout='sas' is for arrays; frames are one (S, S) matrix for each action")
                state_names, action_names = _frames.names_of(P, state_names, action_names)
                P = _frames.as_arrays(P, state_names, action_names, "P")
            kernel = _forms.kernel(P, layout, state_rows)
        if row_actions is not None:
            kernel.row_actions = np.ascontiguousarray(row_actions, dtype=np.int32)
            found, expected = kernel.row_actions.shape, (kernel.rows,)
            if found != expected:
                raise UsageError(f"row_actions has the shape {found}; expected {expected}")
        if state_names is not None:
            added = [] if kernel.names is None else kernel.names[len(state_names) :]
            kernel.names = [*state_names, *added]
        if action_names is not None:
            kernel.action_names = action_names
        rewards, transition_rewards = framed or _forms.rewards(R, kernel)
        if costs and framed is None:
            unseen = unseen if unseen is None or isinstance(unseen, str) else -unseen
            rewards = None if rewards is None else -rewards
            transition_rewards = None if transition_rewards is None else -transition_rewards
        if initial is None and not isinstance(P, np.ndarray):  # an environment of Gymnasium may have one
            initial = getattr(getattr(P, "unwrapped", None), "initial_state_distrib", None)
        if initial is None and kernel.states_given < kernel.states:
            initial = np.full(kernel.states_given, 1 / kernel.states_given)
        pinned = kernel.scales
        if scales is not None:
            scales = _of_rows(scales, kernel, "scales")
            pinned = scales if pinned is None else scales * pinned
        data = {
            "rewards": rewards,
            "transition_rewards": transition_rewards,
            "initial": _of_states(initial, kernel),
            "scales": pinned,
            "radius": None if radius is None else np.array(radius, dtype=np.float64, ndmin=1),
        }
        if lower is not None or upper is not None:
            lower_and_upper = {"lower": lower, "upper": upper}
            kernel.dense, data["lower"], data["upper"] = _forms.like_kernel(kernel, lower_and_upper, layout, state_rows)
            kernel.starts = kernel.columns = kernel.values = None
        if weights is not None:
            kernel.dense, data["weights"] = _forms.like_kernel(kernel, {"weights": weights}, layout, state_rows)
            kernel.starts = kernel.columns = kernel.values = None
        paid = (unseen, frozen_rewards and framed is None)
        ends = ended(kernel, goal, avoid, until, total)
        self._make(kernel, data, discount, norm, sets, domain, kernel.names, kernel.action_names, paid, copy, ends=ends)
        self._lends = _forms.lends(P, kernel)
        self._normalised = kernel.normalised

    def _make(
        self,
        kernel: _forms.Kernel,
        data: dict[str, NDArray[Any] | None],
        discount: float | None,
        norm: Any,
        sets: str | None,
        domain: str | None,
        state_names: Sequence[str] | None,
        action_names: Sequence[str] | None,
        paid: tuple[Any, bool],
        copy: bool,
        promise: tuple[int, float] = (0, float("nan")),
        ends: dict[str, Any] | None = None,
    ) -> None:
        if ends:
            others = {"discount": discount, "norm": norm, "sets": sets, "domain": domain, "state_names": state_names}
            others |= {"action_names": action_names, "paid": paid, "promise": promise, "ends": ends}
            self._before = (kernel, data, others)
        given = filled("model_data")
        given.promise, given.confidence = promise
        kept: list[Any] = []
        for name, which in (ends or {}).items():
            kept.append(which if name == "total" else ffi.from_buffer("bool[]", which))
            setattr(given, name, kept[-1])

        def lend(name: str, kind: Any, array: NDArray[Any] | None) -> None:
            if array is not None:
                kept.append(ffi.from_buffer(kind, array))
                setattr(given, name, kept[-1])

        lend("state_rows", INT64, kernel.state_rows)
        lend("row_actions", INT32, kernel.row_actions)
        lend("dense", DOUBLE, kernel.dense)
        lend("row_starts", INT64, kernel.starts)
        lend("columns", INT32, kernel.columns)
        lend("probabilities", DOUBLE, kernel.values)
        for name, array in data.items():
            lend(name, DOUBLE, array)
        given.states, given.rows = kernel.states, kernel.rows
        radius = data["radius"]
        given.radius_count = 0 if radius is None else radius.size
        if discount is not None:
            given.discount = number("discount", discount)
        given.norm = norm_number(norm)
        given.set = choice("sets", sets, SETS)
        given.domain = choice("domain", domain, DOMAINS)
        if paid != (None, False):
            take_unseen(given, *paid)
        if state_names is not None:
            if len(state_names) != kernel.states:
                raise UsageError(f"{len(state_names)} state_names; expected {kernel.states}")
            kept.append(strings(state_names))
            given.state_names = kept[-1][0]
        if action_names is not None:
            kept.append(strings(action_names))
            given.action_names = kept[-1][0]
            given.action_names_count = len(action_names)
        made = place("model")
        context = shared()
        if copy:
            context.call(lib.nadir_model_create, given, made)
        else:
            context.call(lib.nadir_model_borrow, given, NULL, NULL, made)
        self._adopt(made[0], (kernel.dense, kernel.columns, kernel.values), kernel.states_given)
        self._each = kernel.each

    _each: int | None
    _normalised = 0
    _before: tuple[_forms.Kernel, dict[str, Any], dict[str, Any]] | None = None

    @classmethod
    def _from_handle(cls, handle: Any, added: int = 0) -> "Model":
        """added: how many of the last states are not the caller's."""
        made = cls.__new__(cls)
        made._adopt(handle, ())
        made.states_given -= added
        return made

    def _adopt(self, handle: Any, lent: tuple[Any, ...], states_given: int | None = None) -> None:
        self._handle = ffi.gc(handle, lib.nadir_model_free)
        self._lent = lent
        self._lends = True  # what was lent is the caller's, not a copy made for the library
        self._owner = (self._handle, lent)  # whoever uses the numbers holds both
        self._view = numbers = filled("model_data")
        lib.nadir_model_view(handle, numbers)
        self.states: int = numbers.states
        self.rows: int = numbers.rows
        self.nonzeros: int = numbers.nonzeros
        self.states_given = states_given or self.states
        self._row_actions = self._array(numbers.row_actions, self.rows, "<i4")
        self._each = None
        self._numbers: dict[str, int] | None = None
        self._over: NDArray[Any] | None = None
        self.name = ""  #: as pictures call it; the file it was read from, or the kind that was generated

    @property
    def state_rows(self) -> NDArray[Any]:
        """The first row of each state, and then the number of rows; read-only."""
        return self._array(self._view.state_rows, self.states + 1, "<i8")  # type: ignore[return-value]

    def _array(self, address: Any, count: int, kind: str = "<f8") -> NDArray[Any] | None:
        return view(self._owner, address, count, kind)

    # ---------------------------------------------------------------------------------------- numbers

    @property
    def discount(self) -> float | None:
        """γ; None where it is not known."""
        value: float = self._view.discount
        return None if value != value else value

    @property
    def gamma(self) -> float | None:
        """The older name of `discount`."""
        return self.discount

    @property
    def rewards(self) -> NDArray[Any] | None:
        """R(s, a), one number for each row; read-only. Of rewards paid on landing: their means under P̂."""
        return self._array(self._view.rewards, self.rows)

    @property
    def transition_rewards(self) -> Any:
        """r(s, a, s'), in the form of `P`, where rewards are paid on landing; else None. NaN: not given."""
        entries = self.rows * self.states if self.is_dense else self.nonzeros
        found = self._array(self._view.transition_rewards, entries)
        if found is None or self.is_dense:
            return found if found is None else found.reshape(self.rows, self.states)
        made = self.P
        made.data = found
        return made

    @property
    def initial(self) -> Array:
        """μ, the initial distribution, one number for each state; read-only."""
        return self._array(self._view.initial, self.states)  # type: ignore[return-value]

    @property
    def mu(self) -> Array:
        """The older name of `initial`."""
        return self.initial

    @property
    def scales(self) -> NDArray[Any]:
        """alpha, one number for each row: how uncertain it is; 0: it is pinned."""
        found = self._array(self._view.scales, self.rows)
        return np.ones(self.rows) if found is None else found

    @property
    def is_dense(self) -> bool:
        """How the library stores the kernel: all entries, or those that are not zero. Its density decides."""
        return bool(self._view.dense)

    @property
    def is_borrowed(self) -> bool:
        """Whether the kernel lies in the caller's arrays, not in a copy."""
        inside = self._view.dense if self.is_dense else self._view.probabilities
        return self._lends and any(
            lent is not None and lent.size and doubles(lent) == inside
            for lent in self._lent
            if lent is not None and lent.dtype == np.float64
        )

    @property
    def P(self) -> Any:
        """The kernel by rows, (rows, S), without a copy: an array, or a SciPy CSR matrix; read-only."""
        if self.is_dense:
            numbers = self._array(self._view.dense, self.rows * self.states)
            return numbers.reshape(self.rows, self.states)  # type: ignore[union-attr]
        from scipy import sparse

        made = sparse.csr_matrix((self.rows, self.states))
        made.data = self._array(self._view.probabilities, self.nonzeros)
        made.indices = self._array(self._view.columns, self.nonzeros, "<i4")
        starts = self._array(self._view.row_starts, self.rows + 1, "<i8")
        made.indptr = starts.astype(np.int32) if self.nonzeros < 2**31 else starts  # type: ignore[union-attr]
        made.has_sorted_indices = True
        made.has_canonical_format = True
        return made

    def dense(self) -> NDArray[Any]:
        """The kernel as an array of its own: (S, A, S) if all states have as many actions, else (rows, S)."""
        full = np.array(self.P) if self.is_dense else self.P.toarray()
        actions = self.actions
        return full if actions is None else full.reshape(self.states, actions, self.states)

    @property
    def actions(self) -> int | None:
        """A, where every state has the actions 0 to A - 1; else None."""
        if self._each is None and self._row_actions is None:
            counts = np.diff(self.state_rows)
            self._each = int(counts[0]) if (counts == counts[0]).all() else None
        return self._each

    @property
    def row_states(self) -> NDArray[Any]:
        """The state of each row."""
        return np.repeat(np.arange(self.states), np.diff(self.state_rows))

    @property
    def row_actions(self) -> NDArray[Any]:
        """The action number of each row."""
        if self._row_actions is not None:
            return self._row_actions
        return np.arange(self.rows) - np.repeat(self.state_rows[:-1], np.diff(self.state_rows))

    def table(self, numbers: Any, fill: float = float("nan")) -> NDArray[Any]:
        """One number for each row as a table (S, A), `fill` where a state does not have an action.

        A terminal state that was added to a Gymnasium model is left out.
        """
        numbers = np.asarray(numbers)
        if self.actions is not None and self.states_given == self.states:
            return numbers.reshape(self.states, self.actions)
        states, actions = self.row_states, self.row_actions
        inside = states < self.states_given
        made = np.full((self.states_given, int(actions[inside].max()) + 1), fill)
        made[states[inside], actions[inside]] = numbers[inside]
        return made

    def state_name(self, state: int) -> str:
        """The name of a state, or its number."""
        return text(lib.nadir_model_state_name(self._handle, state)) or str(state)

    def action_name(self, row: int) -> str:
        """The name of the action of a row, or its number."""
        return str(self._label(row))

    def state_number(self, state: Any) -> int:
        """The number of a state, given by its number or its name."""
        if isinstance(state, (int, np.integer)) and not isinstance(state, bool):
            if 0 <= state < self.states:
                return int(state)
            raise IndexError(f"there is no state {state}; states are 0 to {self.states - 1}")
        if self._numbers is None:
            self._numbers = {name: s for s, name in reversed(list(enumerate(self._all_state_names() or ())))}
        if isinstance(state, str) and state in self._numbers:
            return self._numbers[state]
        if not isinstance(state, str):
            raise TypeError(f"a state is a number or a name, not {state!r}")
        meant = nearest(state, self._numbers)
        raise KeyError(f"there is no state {state!r}" + (f"; did you mean {meant!r}?" if meant else ""))

    def given_state_names(self) -> list[str] | None:
        """The names of the states that were given; None: they have numbers alone."""
        if not lib.nadir_model_state_name(self._handle, 0):
            return None
        return [self.state_name(s) for s in range(self.states_given)]

    def known_action_names(self) -> list[str] | None:
        """The names of actions, by their numbers; None: they have numbers alone."""
        return self._action_names()

    def _label(self, row: int) -> int | str:
        """The name of the action of a row, or its number, as a number."""
        name = text(lib.nadir_model_action_name(self._handle, row))
        if name:
            return name
        if self._row_actions is not None:
            return int(self._row_actions[row])
        starts = self.state_rows
        return int(row - starts[np.searchsorted(starts, row, side="right") - 1])

    def _action_labels(self) -> NDArray[Any]:
        """Of all rows."""
        names = self._action_names()
        return self.row_actions if names is None else np.array(names)[self.row_actions]

    def reward_words(self) -> str:
        """What is assumed of rewards, in the words of the command."""
        if not self._view.transition_rewards:
            return "none" if self.rewards is None else "of states and actions: paid whatever the successor"
        unseen = self._unseen()
        error = self.unseen_error
        return (
            "paid on landing; successors without a reward: "
            + (unseen if isinstance(unseen, str) else f"{unseen:g}")
            + (f", up to {short(error, 1)} off rewards that are given" if error > 0 else "")
        )

    @property
    def unseen_error(self) -> float:
        """How far the fit that says what new transitions pay (`unseen="additive"`) is from a reward that is given, at
        most; 0: it is exact, or not used."""
        return float(lib.nadir_model_unseen_error(self._handle))

    def to_pandas(self) -> Any:
        """A frame with a line for each transition, which `nadir.Model` reads again: state, action, next, probability,
        reward (of the transition, or of its row). States and actions by name, where they have names: categories in their
        order."""
        entries = self.P.tocoo() if not self.is_dense else None
        rows, columns = np.nonzero(self.P) if entries is None else (entries.row, entries.col)
        values = self.P[rows, columns] if entries is None else entries.data
        paid = self.transition_rewards
        if paid is not None:
            rewards = paid[rows, columns] if entries is None else paid.data
        else:
            rewards = np.full(len(rows), np.nan) if self.rewards is None else self.rewards[rows]
        actions = self.row_actions[rows]
        return _frames.frame({
            "state": _frames.labels(self.row_states[rows], self._all_state_names()),
            "action": _frames.labels(actions, self._action_names()),
            "next": _frames.labels(columns, self._all_state_names()),
            "probability": values,
            "reward": rewards,
        })

    def _all_state_names(self) -> list[str] | None:
        named = lib.nadir_model_state_name(self._handle, 0)
        return [self.state_name(s) for s in range(self.states)] if named else None

    def _state_labels(self) -> NDArray[Any]:
        names = self._all_state_names()
        return np.arange(self.states) if names is None else np.array(names)

    # --------------------------------------------------------------------------------------- questions

    def facts(self) -> Facts:
        """What is worth knowing before anything is solved: sizes, sparsity, rewards, valid radius, ..."""
        context = shared()
        found = filled("model_facts")
        context.call(lib.nadir_model_facts_compute, self._handle, found)
        facts = _fields(found, "nadir_model_facts")
        return Facts(**facts, sha256=self.sha256, normalised_rows=self._normalised)

    def valid_radius(self, norm: float | str = 2) -> float:
        """The largest radius whose non-rectangular L_p ball holds no kernel with a negative entry."""
        found = ffi.new("double *")
        shared().call(lib.nadir_model_valid_radius, self._handle, norm_number(norm), found)
        return found[0]

    @property
    def sha256(self) -> str:
        """A digest of the numbers: the same whichever way the model was made or stored."""
        digest = ffi.new("char[65]")
        shared().call(lib.nadir_model_digest, self._handle, digest)
        return ffi.string(digest).decode()

    @keywords
    def replace(
        self,
        *,
        discount: float | None = None,
        R: Any = None,
        initial: Numbers | None = None,
        scales: Numbers | None = None,
        goal: States | None = None,
        avoid: States | None = None,
        until: States | None = None,
        total: bool = False,
    ) -> Model:
        """The same kernel, not copied, with another discount, rewards, initial distribution, scales or question without a
        discount.

        A model does not keep what it was given for successors of probability 0 of rows that it pins: where other
        `scales` let such rows change, give `R` again."""
        kernel, data, others = self._parts()
        if scales is not None or self.promise == "return":  # the promise is of this ball, or of this return
            others["promise"] = (0, float("nan"))
        if R is not None:
            data["rewards"], data["transition_rewards"] = _forms.rewards(R, kernel)
        if initial is not None:
            data["initial"] = _of_states(initial, kernel)
        if scales is not None:
            data["scales"] = _of_rows(scales, kernel, "scales")
        asked = ended(kernel, goal, avoid, until, total)
        if asked:
            others["ends"] = asked
        if discount is not None or asked:
            others["discount"] = discount
        return _made(kernel, data, others)

    def _parts(self) -> tuple[_forms.Kernel, dict[str, NDArray[Any] | None], dict[str, Any]]:
        """All that `_make` takes, without copies."""
        if self._before is not None:  # ends have lost their rows
            kernel, data, others = self._before
            return replace(kernel), dict(data), dict(others)
        numbers = self._view
        entries = self.rows * self.states if self.is_dense else self.nonzeros
        dense = self._array(numbers.dense, entries)
        kernel = _forms.Kernel(
            self.states,
            self.state_rows,
            dense=None if dense is None else dense.reshape(self.rows, self.states),
            starts=self._array(numbers.row_starts, self.rows + 1, "<i8"),
            columns=self._array(numbers.columns, self.nonzeros, "<i4"),
            values=self._array(numbers.probabilities, self.nonzeros),
            row_actions=self._row_actions,
            states_given=self.states_given,
            names=self._all_state_names(),
            action_names=self._action_names(),
        )
        data = {
            "rewards": self.rewards,
            "transition_rewards": self._array(numbers.transition_rewards, entries),
            "initial": self.initial,
            "scales": self._array(numbers.scales, self.rows),
            "radius": self._array(numbers.radius, numbers.radius_count),
            "unobserved": self._array(numbers.unobserved, self.rows),
            "weights": self._array(numbers.weights, self.nonzeros),
        }
        others = {
            "discount": self.discount,
            "norm": None if numbers.norm != numbers.norm else said_norm(numbers.norm),
            "sets": text(lib.nadir_set_name(numbers.set)) or None,
            "domain": text(lib.nadir_domain_name(numbers.domain)) or None,
            "state_names": kernel.names,
            "action_names": kernel.action_names,
            "paid": (self._unseen(), False),
            "promise": (int(numbers.promise), numbers.confidence),
        }
        return kernel, data, others

    def _kernel_numbers(self) -> list[NDArray[Any] | None]:
        """The arrays of kernel and rewards."""
        kernel, data, _ = self._parts()
        return [kernel.dense, kernel.starts, kernel.columns, kernel.values, data["rewards"]]

    def _unseen(self) -> Any:
        kind = text(lib.nadir_unseen_name(self._view.unseen))
        return self._view.unseen_value if kind == "value" else kind

    def _action_names(self) -> list[str] | None:
        count = self._view.action_names_count
        names = [""] * count
        for row, action in enumerate(self.row_actions.tolist() if count else []):
            names[action] = self.action_name(row)
        return names or None

    def policy(
        self, policy: PolicyLike = "uniform", *, backend: str | None = None, threads: int | None = None
    ) -> Policy:
        """A policy for this model; see `Policy`."""
        policy = policy_of(policy)
        if isinstance(policy, Policy) and policy.model is self:
            return policy
        return Policy(self, policy, backend=backend, threads=threads)

    @keywords
    def solver(
        self,
        policy: PolicyLike = "uniform",
        *,
        backend: str | None = None,
        tolerance: float | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Solver:
        """A `Solver` of a policy: one factorisation for everything that is asked of it."""
        from .solver import Solver

        return Solver(
            self, policy, backend=backend, tolerance=tolerance, threads=threads, seed=seed, progress=progress
        )

    @keywords
    def returns(
        self,
        policies: Any,
        *,
        errors: bool = False,
        backend: str | None = None,
        tolerance: float | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Any:
        """J = μ·v of many policies at once, on the nominal kernel: an array with a number for each.

        `policies` is an array (count, S, A) or (count, rows) of probabilities, or (count, S) of whole
        numbers, the action of each state; or a list of what `Policy` takes. `errors=True`: also how far each
        return may be off, residual and rounding included, as a second array. Threads share the policies of
        small models. Other options as for `Solver`.
        """
        rows = _many(self, policies)
        found = np.empty((2, rows.shape[0]))
        settings = filled("solver_settings")
        word = encoded(backend)
        settings.backend = word
        if tolerance is not None:
            settings.tolerance = tolerance
        asked, made, bounds = doubles(rows), doubles(found[0]), doubles(found[1])
        context = shared(threads, 0, progress)
        context.call(lib.nadir_returns, self._handle, rows.shape[0], asked, settings, made, bounds)
        return (found[0], found[1]) if errors else found[0]

    @keywords
    def evaluate(
        self,
        policy: PolicyLike = "uniform",
        *,
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
        backend: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Evaluation:
        """The worst return of a policy; see `nadir.evaluate`."""
        from . import functions

        return functions.evaluate(
            self, policy=policy, radius=radius, norm=norm, sets=sets, domain=domain, scales=scales,
            horizon=horizon, reward_radius=reward_radius, reward_norm=reward_norm, optimistic=optimistic, certify=certify, time_limit=time_limit, tolerance=tolerance,
            width=width, method=method, iterations_limit=iterations_limit, backend=backend, threads=threads,
            seed=seed, progress=progress
        )

    @keywords
    def sweep(
        self,
        policy: PolicyLike = "uniform",
        *,
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
        backend: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Sweep:
        """The risk curve of a policy; see `nadir.sweep`."""
        from . import functions

        return functions.sweep(
            self, policy=policy, radius=radius, norm=norm, sets=sets, domain=domain, scales=scales,
            optimistic=optimistic, certify=certify, time_limit=time_limit, tolerance=tolerance, width=width,
            iterations_limit=iterations_limit, backend=backend, threads=threads, seed=seed, progress=progress
        )

    @keywords
    def radius(
        self,
        policy: PolicyLike = "uniform",
        *,
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
        backend: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Radius:
        """The largest radius that still meets a target; see `nadir.radius`."""
        from . import functions

        return functions.radius(
            self, policy=policy, target=target, norm=norm, sets=sets, domain=domain, scales=scales,
            optimistic=optimistic, certify=certify, time_limit=time_limit, tolerance=tolerance, width=width,
            backend=backend, threads=threads, seed=seed, progress=progress
        )

    @keywords
    def difference(
        self,
        policy: PolicyLike = "uniform",
        *,
        other: PolicyLike,
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
        backend: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Difference:
        """How far a policy can fall behind another; see `nadir.difference`."""
        from . import functions

        return functions.difference(
            self, policy=policy, other=other, radius=radius, norm=norm, sets=sets, domain=domain, scales=scales,
            optimistic=optimistic, certify=certify, time_limit=time_limit, tolerance=tolerance, width=width,
            backend=backend, threads=threads, seed=seed, progress=progress
        )

    @keywords
    def gradient(
        self,
        policy: PolicyLike = "uniform",
        *,
        radius: Numbers | None = None,
        norm: Norm | None = None,
        sets: Sets | None = None,
        domain: Domain | None = None,
        scales: Numbers | None = None,
        formula: str = "kernel",
        optimistic: bool = False,
        certify: Certify = "auto",
        time_limit: float | None = None,
        tolerance: float = 1e-14,
        width: float | None = None,
        iterations_limit: int | None = None,
        backend: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
    ) -> Gradient:
        """How the worst return changes with the policy; see `nadir.gradient`."""
        from . import functions

        return functions.gradient(
            self, policy=policy, radius=radius, norm=norm, sets=sets, domain=domain, scales=scales,
            formula=formula, optimistic=optimistic, certify=certify, time_limit=time_limit, tolerance=tolerance,
            width=width, iterations_limit=iterations_limit, backend=backend, threads=threads, seed=seed,
            progress=progress
        )

    @keywords
    def optimize(
        self,
        *,
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
        backend: str | None = None,
        threads: int | None = None,
        seed: int = 0,
        progress: Progress | None = None,
        watch: Callable[[Step], Any] | None = None,
    ) -> Optimization:
        """The policy that does best in the worst case; see `nadir.optimize`."""
        from . import functions

        return functions.optimize(
            self, radius=radius, norm=norm, sets=sets, domain=domain, scales=scales, method=method, gap=gap,
            evaluations_limit=evaluations_limit, time_limit=time_limit, step=step, certify=certify,
            proof_time_limit=proof_time_limit, start=start, policy=policy,
            checkpoint=checkpoint, checkpoint_seconds=checkpoint_seconds, resume=resume, backend=backend,
            threads=threads, seed=seed, progress=progress, watch=watch
        )

    @keywords
    def solve(
        self,
        *,
        tolerance: float | None = None,
        iterations_limit: int | None = None,
        backend: str | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Optimum:
        """The ordinary optimum; see `nadir.solve`."""
        from . import functions

        return functions.solve(
            self, tolerance=tolerance, iterations_limit=iterations_limit, backend=backend, threads=threads,
            progress=progress
        )

    def write(self, path: Any, *, compress: bool = False) -> None:
        """To a file; the ending of its name tells the format: .npz, .csv, .tra, .drn, .MDP, .bin."""
        settings = filled("write_settings")
        settings.compress = compress
        shared().call(lib.nadir_model_write, self._handle, encoded(os.fspath(path)), settings)

    def __reduce__(self) -> Any:
        """For pickle, and so for other processes."""
        return _made, self._parts()

    def _card(self) -> tuple[str, list[tuple[str, str]]]:
        actions = self.actions
        counts = np.diff(self.state_rows)
        lines = [
            ("states", f"{self.states}"),
            ("rows", f"{self.rows} ({actions or f'{counts.min()} to {counts.max()}'} actions in each state)"),
            ("transitions", f"{self.nonzeros}, stored {'dense' if self.is_dense else 'sparse'}"),
            ("discount", f"{self.discount}"),
            ("initial", self.start_words()),
            ("rewards", self.reward_words()),
        ]
        pinned = int((self.scales == 0).sum())
        if pinned:
            ends = np.flatnonzero(np.add.reduceat(self.scales != 0, self.state_rows[:-1], dtype=np.int64) == 0)
            shown = ", ".join(self.state_name(int(s)) for s in ends[:5]) + (", ..." if len(ends) > 5 else "")
            whole = f"; all of states {shown}" if len(ends) else ""
            lines.append(("pinned", f"{pinned} rows, known exactly{whole}"))
        opened: list[int] = self.open_ends().tolist() if self.discount is None or self.discount < 1 else []
        if opened:
            shown = ", ".join(self.state_name(s) for s in opened[:5]) + (", ..." if len(opened) > 5 else "")
            lines.append(("open ends", f"states {shown} stay for ever without reward, but a ball may let them go on: scale 0 pins"))
        return "Model", lines

    def _ends(self) -> NDArray[Any]:
        """Which states are never left, whatever is done: all rows are pinned, and stay without pay or have no successor."""
        if self._over is None:
            rows = np.flatnonzero(self.scales == 0)
            states, unpaid = self.row_states[rows], self.rewards is None or self.rewards[rows] == 0
            if self.is_dense:
                empty, stays = ~self.P[rows].any(axis=1), self.P[rows, states] == 1
            else:
                starts = self._array(self._view.row_starts, self.rows + 1, "<i8")
                columns = self._array(self._view.columns, self.nonzeros, "<i4")
                assert starts is not None and columns is not None
                counts = starts[rows + 1] - starts[rows]
                empty, stays = counts == 0, (counts == 1) & (columns[np.minimum(starts[rows], len(columns) - 1)] == states)
            over = np.zeros(self.rows, bool)
            over[rows[empty | (stays & unpaid)]] = True
            self._over = np.logical_and.reduceat(over, self.state_rows[:-1])
        return self._over

    @property
    def promise(self) -> str | None:
        """What the ball of a fitted model is for: "kernel", it holds the true one; "return", it explains the guarantee of one
        policy and does not hold the true kernel; None: no more is said."""
        return text(lib.nadir_ball_promise_name(self._view.promise)) or None

    @property
    def confidence(self) -> float | None:
        """Of the `promise`."""
        value: float = self._view.confidence
        return value if value == value and self.promise else None

    def untried_rows(self) -> NDArray[Any]:
        """The rows of a fitted model that the data have never visited."""
        unobserved = self._array(self._view.unobserved, self.rows)
        return np.flatnonzero(unobserved >= 1) if unobserved is not None else np.empty(0, dtype=np.int64)

    def start_words(self) -> str:
        """The initial distribution in words."""
        states = np.flatnonzero(self.initial)
        if self.states > 1 and (abs(self.initial * self.states - 1) < 1e-9).all():
            return f"each of the {self.states} states alike (initial= says otherwise)"
        shown = [self.state_name(int(s)) for s in states[:3]]
        if len(states) > 1:
            shown = [f"{name} {percent(float(self.initial[s]))}" for name, s in zip(shown, states)]
        more = f" and {len(states) - 3} other states" if len(states) > 3 else ""
        return ", ".join(shown) + more

    def open_ends(self) -> NDArray[Any]:
        """The states that stay for ever without reward, and whose rows are not pinned: a ball may let them go on. Ends of
        episodes have scale 0."""
        rows = np.arange(self.rows)
        stays = np.asarray(self.P[rows, self.row_states]).ravel() == 1
        unpaid = np.ones(self.rows, bool) if self.rewards is None else self.rewards == 0
        open_rows = stays & unpaid & (self.scales != 0)
        return np.flatnonzero(np.logical_and.reduceat(open_rows, self.state_rows[:-1]))

    def __repr__(self) -> str:
        return f"Model(states={self.states}, rows={self.rows}, nonzeros={self.nonzeros}, discount={self.discount})"

    def __str__(self) -> str:
        return _card(*self._card())

    def _repr_html_(self) -> str:
        return _card(*self._card(), html=True)


def _made(kernel: _forms.Kernel, data: dict[str, NDArray[Any] | None], others: dict[str, Any]) -> Model:
    """A model of `Model._parts`."""
    made = Model.__new__(Model)
    made._make(kernel, data, copy=False, **others)
    return made


def ended(kernel: _forms.Kernel, goal: Any, avoid: Any, until: Any, total: bool) -> dict[str, Any]:
    """What is asked without a discount, for the C struct: truth values by state."""
    made: dict[str, Any] = {"total": True} if total else {}
    for what, given in (("goal", goal), ("avoid", avoid), ("until", until)):
        if given is not None:
            made[what] = _marked(kernel, what, given)
    return made


def _marked(kernel: _forms.Kernel, what: str, given: Any) -> NDArray[Any]:
    states = kernel.states
    marked = np.zeros(states, bool)
    if isinstance(given, (np.ndarray, list, tuple)) or _frames.is_series(given):
        array = np.asarray(given)
        if array.dtype.kind == "b" and array.shape in ((states,), (kernel.states_given,)):
            marked[: len(array)] = array
            return marked
    each = given.split(",") if isinstance(given, str) and given not in (kernel.names or ()) else given
    labels: list[Any] = [each] if isinstance(each, (str, int, np.integer)) else list(each)
    for label in labels:
        label = label.item() if isinstance(label, np.generic) else label
        named = kernel.names is not None and label in kernel.names
        place = list(kernel.names or ()).index(label) if named else _frames.whole(label)
        if not 0 <= place < states:
            meant = nearest(label, kernel.names) if isinstance(label, str) and kernel.names else None
            hint = f"; did you mean {meant!r}?" if meant else f"; expected 0 to {states - 1}" + (" or a name" if kernel.names else "")
            raise UsageError(f"{what} has {label!r}, which is no state{hint}")
        marked[place] = True
    return marked


class Policy:
    """The probability π(a|s) of each row of a model.

    `policy` is "uniform"; "optimal", the best one for the nominal kernel; a table (S, A) of probabilities, or
    one for each row; S whole numbers or names, the action of each state; another policy, or an answer with one, which may be of another model:
    states and actions that have names in both count by name; the name of a file
    (.csv, .npy); a dictionary or series {state: action}; or a frame, with columns state, action and probability, or with
    a line for each state and a column for each action. `policy[state]` gives its actions with their probabilities,
    `policy[state, action]` one probability; states and actions by number or name. Probabilities of a state that sum to one within 1e-5 are normalised. `backend` and `threads`
    are those that find the optimal one.
    """

    def __init__(
        self,
        model: Model,
        policy: PolicyLike = "uniform",
        *,
        backend: str | None = None,
        threads: int | None = None,
    ) -> None:
        context = shared(threads)
        made = place("policy")
        self._adopt(model, NULL)
        policy = policy_of(policy)
        if isinstance(policy, Policy):
            self.name, self._made_on = policy.name, policy._made_on
            policy = _of_other(model, policy)
        if isinstance(policy, (list, tuple)) and policy and all(isinstance(one, Mapping) for one in policy):
            policy = dict(enumerate(policy))
        if isinstance(policy, (str, os.PathLike)):
            _named(context, model, policy, backend, made)
            self.name = os.path.basename(os.fspath(policy))
            self._made_on = model if policy == "optimal" else None
        elif isinstance(policy, np.ndarray) or not _frames.is_labelled(policy):
            _given(context, model, np.asarray(policy), made)
        else:
            _labelled(context, model, policy, made)
        self._handle = ffi.gc(made[0], lib.nadir_policy_free)

    @classmethod
    def _from_handle(cls, model: Model, handle: Any, name: str = "") -> "Policy":
        made = cls.__new__(cls)
        made._adopt(model, ffi.gc(handle, lib.nadir_policy_free))
        made.name = name
        made._made_on = model
        return made

    model: Model
    name: str  #: as pictures call it; "uniform", "optimal", "robust" or the file it was read from
    _made_on: Model | None  # whose numbers it was chosen by, if it was

    def _adopt(self, model: Model, handle: Any) -> None:
        self.model, self.name, self._made_on, self._handle = model, "", None, handle

    @property
    def probabilities(self) -> NDArray[Any]:
        """π(a|s), one number for each row; read-only."""
        found = view(self._handle, lib.nadir_policy_probabilities(self._handle), self.model.rows, "<f8")
        return found  # type: ignore[return-value]

    @property
    def table(self) -> NDArray[Any]:
        """π(a|s) as a table (S, A), zero where a state does not have an action."""
        return self.model.table(self.probabilities, fill=0.0)

    @property
    def actions(self) -> NDArray[Any]:
        """The action of each state. A policy that is randomised in some state has none: it is refused."""
        found = self.randomised_states()
        if len(found):
            raise PolicyError(
                f"the policy is randomised in {len(found)} of {self.model.states_given} states, first in state "
                f"{self.model.state_name(int(found[0]))}: {self[int(found[0])]}; table has the probabilities, "
                "likeliest() the likeliest actions, which are another policy"
            )
        return self.table.argmax(axis=1)

    def likeliest(self) -> NDArray[Any]:
        """The likeliest action of each state. Where the policy is randomised this is another policy, with another
        worst return."""
        return self.table.argmax(axis=1)

    def randomised_states(self) -> NDArray[Any]:
        """The states with more than one action of positive probability; ends, which are never left, do not count."""
        model = self.model
        taken = np.add.reduceat(self.probabilities > 0, model.state_rows[:-1], dtype=np.int64)
        return np.flatnonzero(((taken > 1) & ~model._ends())[: model.states_given])

    def __len__(self) -> int:
        return self.model.states_given

    def __iter__(self) -> Iterator[dict[Any, float]]:
        return (self[state] for state in range(len(self)))

    def __getitem__(self, state: Any) -> Any:
        """{action: probability} of a state, given by number or name, those of probability 0 left out;
        policy[state, action]: one probability."""
        model = self.model
        action = None
        if isinstance(state, tuple) and len(state) == 2:
            state, action = state
        number = model.state_number(state)
        rows = range(model.state_rows[number], model.state_rows[number + 1])
        if action is None:
            return {model._label(row): float(self.probabilities[row]) for row in rows if self.probabilities[row] > 0}
        for row in rows:
            if action in (model._label(row), int(model.row_actions[row])):
                return float(self.probabilities[row])
        raise KeyError(f"state {model.state_name(number)} has no action {action!r}")

    def to_pandas(self) -> Any:
        """A frame with a line for each state and action: state, action, probability, by name where there are names.
        `nadir.Policy` reads it again."""
        model = self.model
        inside = model.row_states < model.states_given
        return _frames.frame({
            "state": model._state_labels()[model.row_states][inside],
            "action": model._action_labels()[inside],
            "probability": self.probabilities[inside],
        })

    def compare(self, other: PolicyLike) -> Comparison:
        """Where two policies differ, state by state."""
        second = self.model.policy(other)
        moved = 0.5 * np.add.reduceat(np.abs(self.probabilities - second.probabilities), self.model.state_rows[:-1])
        states = [int(s) for s in np.flatnonzero(moved[: len(self)] > 0)]
        names = [self.model.state_name(s) for s in states]
        called = (self.name or "first", second.name or "second")
        called = called if called[0] != called[1] else ("first", "second")
        pairs = [(self[s], second[s]) for s in states]
        return Comparison(states, names, called, pairs, [float(moved[s]) for s in states], len(self))

    @property
    def is_deterministic(self) -> bool:
        """Whether every state has one action of probability one; what is done at ends does not count."""
        return len(self.randomised_states()) == 0

    @property
    def sha256(self) -> str:
        """A digest of the probabilities."""
        digest = ffi.new("char[65]")
        shared().call(lib.nadir_policy_digest, self._handle, digest)
        return ffi.string(digest).decode()

    def write(self, path: Any) -> None:
        """As CSV `idstate,idaction,probability`, or .npy if the name ends so."""
        shared().call(lib.nadir_policy_write, self.model._handle, self._handle, encoded(os.fspath(path)))

    def __reduce__(self) -> Any:
        """For pickle, and so for other processes."""
        return Policy, (self.model, self.probabilities), {"name": self.name, "_made_on": self._made_on}

    def __array__(self, dtype: Any = None) -> NDArray[Any]:
        return self.table if dtype is None else self.table.astype(dtype)

    def __repr__(self) -> str:
        kind = "deterministic" if self.is_deterministic else "randomised"
        most = 12 if kind == "deterministic" else 4
        shown = [_acts(self[state]) for state in range(min(len(self), most))]
        more = ", ..." if len(self) > most else ""
        named = f"{self.name!r}, " if self.name else ""
        return f"Policy({named}{kind}, {len(self)} states: [{', '.join(shown)}{more}])"

    def _lines(self) -> list[tuple[str, str]]:
        shown = len(self) if len(self) <= 12 else 10
        lines = [(self.model.state_name(s), chances(self[s])) for s in range(shown)]
        return lines + ([("...", f"{len(self) - shown} more states; to_pandas() has all")] if shown < len(self) else [])

    def __str__(self) -> str:
        return _card(f"Policy {self.name}".rstrip(), self._lines())

    def _repr_html_(self) -> str:
        return _card(f"Policy {self.name}".rstrip(), self._lines(), html=True)


def _acts(chances: dict[Any, float]) -> str:
    """One action, or all with their probabilities."""
    if len(chances) == 1:
        return str(next(iter(chances)))
    return "{" + ", ".join(f"{action}: {chance:.4g}" for action, chance in chances.items()) + "}"


def check_name(policy: Any) -> None:
    """Says so where a word is neither a policy nor a file."""
    word = os.fspath(policy)
    plain = isinstance(policy, str) and os.sep not in word and not os.path.splitext(word)[1]
    if word in ("uniform", "optimal") or not plain or os.path.exists(word):
        return
    meant = nearest(word, ("uniform", "optimal"))
    hint = f"; did you mean {meant!r}?" if meant else ""
    if word == "robust":
        hint = "; nadir.optimize finds the robust one, in its result's policy"
    raise UsageError(f"there is no policy {policy!r}: expected 'uniform', 'optimal' or a file (.csv, .npy){hint}")


def brings_rewards(P: Any) -> bool:
    """Whether P is a whole model, with its own rewards: a model, a file, a dictionary, an environment or a frame."""
    if isinstance(P, (np.ndarray, list, tuple)) or _forms.sparse_matrix(P):
        return False
    if _frames.squares(P):
        return False
    if isinstance(P, (Model, str, os.PathLike, Mapping)) or _frames.is_frame(P):
        return True
    return isinstance(getattr(getattr(P, "unwrapped", P), "P", None), Mapping)


def _framed(
    frame: Any,
    R: Any,
    columns: Any,
    costs: bool,
    frozen_rewards: bool,
    unseen: Any,
    state_names: Any,
    action_names: Any,
) -> tuple[_forms.Kernel, tuple[Any, Any] | None, Any]:
    """The kernel of a frame, its rewards unless R gives others, and what unseen successors pay."""
    roles = _frames.roles_of(frame, columns)
    if R is not None and "reward" in roles:
        raise UsageError("R is given, and the frame has rewards: take the column out, or leave R out")
    if R is not None:
        roles["reward"] = np.zeros(len(roles.get("state", ())))
    orders = [_frames.order_of(frame, roles, columns, ("state", "next"), state_names)]
    orders.append(_frames.order_of(frame, roles, columns, ("action",), action_names))
    needed = ("state", "action", "next", "probability", "reward")
    _frames.check(frame, roles, needed, "P", columns)
    settings = filled("read_settings")
    if R is None:
        settings.costs = costs
        take_unseen(settings, unseen, frozen_rewards)
    made = place("model")
    with _frames.as_file(roles, needed) as path:
        shared().call(lib.nadir_model_read, encoded(path), settings, made)
    kernel, data, others = Model._from_handle(made[0])._parts()
    kernel.scales = data["scales"]
    kernel.names, kernel.action_names = orders[0] or kernel.names, orders[1] or kernel.action_names
    if R is not None:
        return kernel, None, unseen
    return kernel, (data["rewards"], data["transition_rewards"]), others["paid"][0]


def _named(context: Context, model: Model, policy: Any, backend: str | None, made: Any) -> None:
    check_name(policy)
    if policy == "uniform":
        context.call(lib.nadir_policy_create_uniform, model._handle, made)
    elif policy == "optimal":
        settings = filled("optimum_settings")
        kept = encoded(backend)
        settings.backend = kept
        found = result("optimum_result")
        context.call(lib.nadir_optimum, model._handle, settings, made, found)
    else:
        context.call(lib.nadir_policy_read, model._handle, encoded(policy), made)


def _of_other(model: Model, policy: Policy) -> Any:
    """The probabilities of a policy, or, where its model calls states or actions otherwise, by their names: numbers follow
    the order in which a log has the names."""
    other = policy.model
    theirs, ours = ((one.given_state_names(), one.known_action_names()) for one in (other, model))
    states, actions = (bool(mine and yours) for mine, yours in zip(ours, theirs))
    alike = theirs == ours and np.array_equal(other.state_rows, model.state_rows)
    if other is model or not (states or actions) or (alike and np.array_equal(other.row_actions, model.row_actions)):
        return policy.probabilities
    known = set(model._all_state_names() or ())
    ends = other._ends() | (np.arange(other.states) >= other.states_given)
    made: dict[Any, dict[Any, float]] = {}
    for state, chances in enumerate(np.split(policy.probabilities, other.state_rows[1:-1])):
        label = other.state_name(state) if states else state
        rows = range(other.state_rows[state], other.state_rows[state + 1])
        if ends[state] and states and label not in known:
            continue  # an end that the other log does not have: nothing is decided there
        taken = {other._label(row) if actions else int(other.row_actions[row]): chance for row, chance in zip(rows, chances)}
        made[label] = {action: float(chance) for action, chance in taken.items() if chance > 0}
    return made


def _labelled(context: Context, model: Model, policy: Any, made: Any) -> None:
    """Of a frame, a series or a dictionary."""
    policy = _frames.flat(policy, "probability")
    if _frames.is_frame(policy) and _frames.is_long(policy):
        roles = _frames.roles_of(policy)
        with _frames.as_file(roles, ("state", "action", "probability")) as path:
            context.call(lib.nadir_policy_read, model._handle, encoded(path), made)
        return
    context.call(lib.nadir_policy_create, model._handle, doubles(_by_state(model, policy)), made)


def _by_state(model: Model, policy: Any) -> NDArray[Any]:
    """The probability of each row from {state: action}, {state: {action: probability}}, or a frame with a line for each
    state and a column for each action. Where nothing is decided a state may be left out."""
    if _frames.is_frame(policy):
        names = model.known_action_names()
        actions = _frames.numbers_of(policy.columns, _forms.widest(model), names, "the columns of the policy", some=True)
        labels = policy.index if hasattr(policy, "index") and not callable(policy.index) else range(len(policy))
        table = np.asarray(policy, dtype=np.float64).tolist()
        said = [(state, dict(zip(actions.tolist(), chances))) for state, chances in zip(labels, table)]
    else:
        said = list(policy.items())
    rows, given, starts = np.zeros(model.rows), np.zeros(model.states, bool), model.state_rows
    ends = model._ends() | (np.arange(model.states) >= model.states_given)
    for label, chosen in said:
        state = _state_of(model, label)
        if given[state]:
            raise PolicyError(f"the policy has state {model.state_name(state)} twice")
        given[state] = True
        chances = dict(chosen.items()) if isinstance(chosen, Mapping) or _frames.is_series(chosen) else {chosen: 1.0}
        for action, chance in () if ends[state] else chances.items():
            if chance != 0:
                rows[_row_of(model, range(starts[state], starts[state + 1]), state, action)] += chance
    alone = np.diff(starts) == 1
    missing = np.flatnonzero(~(given | ends | alone))
    if len(missing):
        names = [model.state_name(int(state)) for state in missing[:9]]
        raise PolicyError(
            f"the policy does not say what to do in {len(missing)} of {model.states_given} states: {_few(names)}; only states "
            "with one action, and ends, which are never left, may be left out"
        )
    rows[starts[:-1][ends | (alone & ~given)]] = 1
    return rows


def _state_of(model: Model, label: Any) -> int:
    """The number of a state, as policies call it."""
    label = label.item() if isinstance(label, np.generic) else label
    try:
        return model.state_number(label)
    except (KeyError, IndexError, TypeError):
        number = _frames.whole(label)
    if 0 <= number < model.states:
        return number
    names = model._all_state_names()
    meant = nearest(label, names) if names and isinstance(label, str) else None
    hint = f"did you mean {meant!r}?" if meant else f"it has {_few(names) if names else f'0 to {model.states - 1}'}"
    raise PolicyError(f"the policy has a state {label!r}, which the model does not have; {hint}")


def _row_of(model: Model, rows: range, state: int, action: Any) -> int:
    """The one of the rows of a state that has an action, given by name or number."""
    action = action.item() if isinstance(action, np.generic) else action
    labels = {model._label(row): row for row in rows}
    if isinstance(action, (str, int)) and not isinstance(action, bool):
        if action in labels:
            return labels[action]
        number = _frames.whole(action)
        for place, row in enumerate(rows):
            if number == (place if model._row_actions is None else int(model._row_actions[row])):
                return row
    has = ", ".join(map(str, labels))
    raise PolicyError(f"state {model.state_name(state)}: there is no action {action!r}; it has {has}")


def _few(names: Sequence[Any]) -> str:
    return ", ".join(map(str, names[:8])) + (", ..." if len(names) > 8 else "")


def _given(context: Context, model: Model, array: NDArray[Any], made: Any) -> None:
    if model.states_given < model.states == len(array) and array.shape != (model.rows,):
        array = array[: model.states_given]  # nothing is decided in a state that was added
    if array.dtype.kind in "OU" and array.ndim == 1:
        if len(array) != model.states_given:
            raise UsageError(f"the policy has {len(array)} names of actions; expected {model.states_given}, one for each state")
        rows = _by_state(model, dict(enumerate(array.tolist())))
        context.call(lib.nadir_policy_create, model._handle, doubles(rows), made)
        return
    if array.dtype.kind in "iu" and array.shape == (model.states_given,):
        added = np.zeros(model.states - model.states_given, dtype=np.int64)
        actions = np.concatenate([array.astype(np.int64), added])
        handle = ffi.from_buffer(INT64, actions)
        context.call(lib.nadir_policy_create_deterministic, model._handle, handle, made)
        return
    if array.dtype.kind not in "iufb":
        raise UsageError(f"the policy has entries of type {array.dtype}; expected numbers")
    if array.ndim == 1 and array.shape[0] != model.rows:
        raise UsageError(
            f"the policy has {array.shape[0]} numbers, of type {array.dtype}; expected {model.states_given} action "
            f"numbers (integers), or {model.rows} probabilities, one for each row"
        )
    rows = _forms.to_rows(array, model, "the policy", 1.0, model._row_actions)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    context.call(lib.nadir_policy_create, model._handle, doubles(rows), made)


def policy_of(given: Any) -> Any:
    """The policy of an answer that has one; anything else as it is."""
    found = None if isinstance(given, (np.ndarray, Mapping)) or _frames.is_frame(given) else getattr(given, "policy", None)
    return found if isinstance(found, Policy) else given


def _alike(policies: Any) -> bool:
    """Whether a list, not empty, is of tables of one form, which make one array."""
    if any(isinstance(policy_of(one), (Policy, str, os.PathLike)) for one in policies):
        return False
    arrays = [np.asarray(one) for one in policies]
    return len({(array.shape, array.dtype.kind) for array in arrays}) == 1


def same_process(one: Model, other: Model) -> bool:
    """Whether two models have the same kernel and rewards, to the bit."""
    if one is other:
        return True
    if (one.states, one.rows, one.nonzeros, one.is_dense) != (other.states, other.rows, other.nonzeros, other.is_dense):
        return False
    mine, theirs = (one._kernel_numbers(), other._kernel_numbers())
    return all(a is b or (a is not None and b is not None and np.array_equal(a, b)) for a, b in zip(mine, theirs))


def _many(model: Model, policies: Any) -> NDArray[Any]:
    """Many policies as an array (count, rows)."""
    if isinstance(policies, (list, tuple)) and not _alike(policies):
        each = [model.policy(one).probabilities for one in policies]
        policies = np.stack(each) if each else np.empty((0, model.rows))
    array = np.asarray(policies)
    if array.dtype.kind not in "iufb" or array.ndim < 2:
        raise UsageError(
            f"the policies have the shape {array.shape} and entries of type {array.dtype}; expected numbers, "
            f"(count, {model.rows}) or one table for each policy"
        )
    if array.dtype.kind in "iu" and array.shape[1:] == (model.states_given,):
        array = _chosen(model, array)
    if array.shape[1:] != (model.rows,):
        if array.ndim == 2:
            raise UsageError(
                f"the policies have {array.shape[1]} numbers each; expected {model.states_given} action "
                f"numbers (integers), or {model.rows} probabilities, one for each row"
            )
        size = int(np.prod(array.shape[1:]))
        places = np.arange(size).reshape(array.shape[1:])
        places = _forms.to_rows(places, model, "a policy", size, model._row_actions)
        flat = array.reshape(array.shape[0], size)
        added = np.ones((array.shape[0], 1))  # a terminal state that was added has one action
        array = np.concatenate([flat, added], axis=1)[:, places] if size in places else flat[:, places]
    return np.ascontiguousarray(array, dtype=np.float64)


def _chosen(model: Model, actions: NDArray[Any]) -> NDArray[Any]:
    """The same from the action of each state, (count, S)."""
    added = np.zeros((actions.shape[0], model.states - model.states_given), dtype=actions.dtype)
    actions = np.concatenate([actions, added], axis=1)
    made = (actions[:, model.row_states] == model.row_actions).astype(np.float64)
    there = np.add.reduceat(made, model.state_rows[:-1], axis=1) if made.size else made
    if not there.all():
        policy, state = np.argwhere(there == 0)[0]
        raise PolicyError(
            f"policy {policy}: state {model.state_name(state)}: there is no action {actions[policy, state]}"
        )
    return made


def _of_states(numbers: Any, kernel: _forms.Kernel) -> NDArray[Any] | None:
    """The initial distribution; a number or a name is a state to start from."""
    if numbers is None:
        return None
    if isinstance(numbers, str):
        names = list(kernel.given_state_names() or ())
        if numbers not in names:
            meant = nearest(numbers, names)
            hint = f"; did you mean {meant!r}?" if meant else "" if names else "; the states have no names"
            raise UsageError(f"initial is {numbers!r}, which is no state{hint}")
        numbers = names.index(numbers)
    if isinstance(numbers, Mapping):
        numbers = _frames.by_state(numbers, kernel.states_given, kernel.given_state_names(), "initial", some=True)
    array = np.asarray(_forms.unlabelled(numbers, kernel, "initial", "probability"), dtype=np.float64)
    if array.ndim == 0:
        made = np.zeros(kernel.states)
        if array not in range(kernel.states_given):
            last = kernel.states_given - 1
            raise UsageError(f"initial is {numbers}; expected a state, 0 to {last}, or a distribution")
        made[int(array)] = 1
        return made
    if array.shape == (kernel.states_given,):
        return np.concatenate([array, np.zeros(kernel.states - kernel.states_given)])
    if array.shape != (kernel.states,):
        raise UsageError(f"initial has the shape {array.shape}; expected ({kernel.states_given},)")
    return np.ascontiguousarray(array)


def _of_rows(numbers: Any, kernel: Any, what: str, row_actions: NDArray[Any] | None = None) -> NDArray[Any]:
    array = np.asarray(_forms.unlabelled(numbers, kernel, what, what), dtype=np.float64)
    actions = row_actions if row_actions is not None else getattr(kernel, "row_actions", None)
    return np.ascontiguousarray(_forms.to_rows(array, kernel, what, 0.0, actions))
