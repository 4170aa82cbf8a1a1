"""Models and policies: what is computed with."""

from __future__ import annotations

import contextlib
import os
from typing import Any, Sequence

import numpy as np

from . import _forms
from ._context import Context, Progress, shared
from ._library import NULL, encoded, ffi, filled, lib, place, result, text
from .errors import PolicyError, UsageError
from .results import Facts, _card, _fields

SETS = {None: 0, "nonrect": 1, "s": 2, "sa": 3}
DOMAINS = {None: 0, "simplex": 1, "support": 2, "free": 3}
LAYOUTS = {None: 0, "sas": 1, "ass": 2}
UNSEEN = {"additive": 0, "row": 1, "min": 2}


def choice(what: str, value: Any, table: dict[Any, int]) -> int:
    """The number of a choice; says what there is where it is none."""
    try:
        return table[value]
    except (KeyError, TypeError):
        names = ", ".join(repr(name) for name in table if name is not None)
        raise UsageError(f"{what} is {value!r}; expected one of {names}") from None


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
    with contextlib.suppress(TypeError, ValueError):
        number = float(norm)
        if number == number:
            return number
    raise UsageError(f"norm is {norm!r}; expected a number from 1 on, or 'inf'")


DOUBLE, INT64, INT32 = ffi.typeof("double[]"), ffi.typeof("int64_t[]"), ffi.typeof("int32_t[]")


def doubles(array: np.ndarray) -> Any:
    """An array as a C pointer, without a copy; it has to be kept alive by the caller."""
    return ffi.from_buffer(DOUBLE, array)


def _strings(names: Sequence[str]) -> tuple[Any, list[Any]]:
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


def view(owner: Any, address: Any, count: int, kind: str) -> np.ndarray | None:
    """Numbers inside a C object as a read-only array; None for NULL."""
    return np.asarray(_Memory(owner, address, count, kind)) if address and count else None


class Model:
    """A Markov decision process: S states, rows (pairs of a state and an action), kernel, rewards, discount.

    P̂(·|s, a) is the nominal kernel and R(s, a) the reward of each row; γ in [0, 1), or 1 with a horizon, discounts, μ is the
    initial distribution (uniform unless given). A model never changes, and can be used by any thread.

    `P` is one of

    * an array (S, A, S), `P[s, a, t]` the probability of going from s to t under a; or (A, S, S),
      `P[a, s, t]`. The shape tells which; where S = A it cannot, and `layout="sas"` or `layout="ass"` has to;
    * rows: an array or a SciPy sparse matrix (rows, S) with row `s * A + a`, or, where states have different
      numbers of actions, with the first row of each state (and then the number of rows) in `state_rows`;
    * a list of A matrices (S, S), one for each action, dense or sparse, as MDPtoolbox has them;
      with `layout="sas"` a list of S matrices (A_s, S), one for each state;
    * a dictionary `{s: {a: [(probability, successor, reward, done), ...]}}` as Gymnasium's toy-text
      environments have in `env.P`, or such an environment. It brings its own rewards. `done` ends the
      episode: states that only stay where they are, without reward, are ends, and their rows are pinned
      (scale 0); a transition that is done and leads anywhere else leads to one terminal state that is added
      as the last.

    `R` is (S, A), or has one number for each state or row, or has the form of P, one number for each
    transition. Rewards of transitions are paid where one lands: a kernel that moves probability moves what is
    paid. Rewards of successors of probability 0 count too (NaN: not given; a sparse R gives those it stores).
    `unseen` says what landing on a successor without a reward pays: "additive" (default: R(s, a) + g(s'),
    fitted to the others), "row" (the mean of the row), "min" (the smallest reward), or a number.
    `frozen_rewards=True` averages rewards of transitions under P̂, and pays these means whatever the kernel.

    `scales` (alpha) says how uncertain each row is, (S, A) or by row, 0 pins it. `radius`,
    `norm`, `set` and `domain` are defaults for later questions. `costs=True`: R are costs, to be negated.

    Rows that sum to one within 1e-5 are normalised, with a warning; anything else is a `ModelError` that
    names state and action. A kernel that needs no such repair, C-contiguous and of doubles (sparse: sorted,
    without zeros, 32-bit indices; see `is_borrowed`), is *not copied*: it must not be changed as long as the
    model is in use. `copy=True` makes a copy in any case.
    """

    def __init__(
        self,
        P: Any,
        R: Any = None,
        gamma: float | None = None,
        *,
        mu: Any = None,
        scales: Any = None,
        radius: Any = None,
        norm: float | str | None = None,
        set: str | None = None,
        domain: str | None = None,
        layout: str | None = None,
        state_rows: Any = None,
        row_actions: Any = None,
        state_names: Sequence[str] | None = None,
        action_names: Sequence[str] | None = None,
        costs: bool = False,
        frozen_rewards: bool = False,
        unseen: Any = None,
        copy: bool = False,
    ):
        if isinstance(P, (str, os.PathLike)):
            raise UsageError(f"P is {os.fspath(P)!r}; nadir.read reads models from files")
        kernel = _forms.kernel(P, layout, state_rows)
        if row_actions is not None:
            kernel.row_actions = np.ascontiguousarray(row_actions, dtype=np.int32)
            found, expected = kernel.row_actions.shape, (kernel.rows,)
            if found != expected:
                raise UsageError(f"row_actions has the shape {found}; expected {expected}")
        rewards, transition_rewards = _forms.rewards(R, kernel)
        if costs:
            unseen = unseen if unseen is None or isinstance(unseen, str) else -unseen
            rewards = None if rewards is None else -rewards
            transition_rewards = None if transition_rewards is None else -transition_rewards
        if mu is None and not isinstance(P, np.ndarray):  # an environment of Gymnasium may have one
            mu = getattr(getattr(P, "unwrapped", None), "initial_state_distrib", None)
        if mu is None and kernel.states_given < kernel.states:
            mu = np.full(kernel.states_given, 1 / kernel.states_given)
        pinned = kernel.scales
        if scales is not None:
            scales = _of_rows(scales, kernel, "scales")
            pinned = scales if pinned is None else scales * pinned
        if state_names is not None and kernel.names is not None:
            state_names = [*state_names, *kernel.names[len(state_names) :]]
        data = {
            "rewards": rewards,
            "transition_rewards": transition_rewards,
            "initial": _of_states(mu, kernel),
            "scales": pinned,
            "radius": None if radius is None else np.array(radius, dtype=np.float64, ndmin=1),
        }
        names = state_names or kernel.names
        paid = (unseen, frozen_rewards)
        self._make(kernel, data, gamma, norm, set, domain, names, action_names, paid, copy)
        self._lends = _forms.lends(P, kernel)

    def _make(
        self,
        kernel: _forms.Kernel,
        data: dict[str, np.ndarray | None],
        gamma: float | None,
        norm: Any,
        set: str | None,
        domain: str | None,
        state_names: Sequence[str] | None,
        action_names: Sequence[str] | None,
        paid: tuple[Any, bool],
        copy: bool,
    ) -> None:
        given = filled("model_data")
        kept: list[Any] = []

        def lend(name: str, kind: Any, array: np.ndarray | None) -> None:
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
        if gamma is not None:
            given.discount = gamma
        given.norm = norm_number(norm)
        given.set = choice("set", set, SETS)
        given.domain = choice("domain", domain, DOMAINS)
        if paid != (None, False):
            take_unseen(given, *paid)
        if state_names is not None:
            if len(state_names) != kernel.states:
                raise UsageError(f"{len(state_names)} state_names; expected {kernel.states}")
            kept.append(_strings(state_names))
            given.state_names = kept[-1][0]
        if action_names is not None:
            kept.append(_strings(action_names))
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

    @classmethod
    def _from_handle(cls, handle: Any) -> "Model":
        made = cls.__new__(cls)
        made._adopt(handle, ())
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
        self._each: int | None = None

    @property
    def state_rows(self) -> np.ndarray:
        """The first row of each state, and then the number of rows; read-only."""
        return self._array(self._view.state_rows, self.states + 1, "<i8")  # type: ignore[return-value]

    def _array(self, address: Any, count: int, kind: str = "<f8") -> np.ndarray | None:
        return view(self._owner, address, count, kind)

    # ---------------------------------------------------------------------------------------- numbers

    @property
    def gamma(self) -> float | None:
        """The discount; None where it is not known."""
        value = self._view.discount
        return None if value != value else value

    @property
    def rewards(self) -> np.ndarray | None:
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
    def mu(self) -> np.ndarray:
        """The initial distribution, one number for each state; read-only."""
        return self._array(self._view.initial, self.states)  # type: ignore[return-value]

    @property
    def scales(self) -> np.ndarray:
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
            return self._array(self._view.dense, self.rows * self.states).reshape(self.rows, self.states)
        from scipy import sparse

        made = sparse.csr_matrix((self.rows, self.states))
        made.data = self._array(self._view.probabilities, self.nonzeros)
        made.indices = self._array(self._view.columns, self.nonzeros, "<i4")
        starts = self._array(self._view.row_starts, self.rows + 1, "<i8")
        made.indptr = starts.astype(np.int32) if self.nonzeros < 2**31 else starts  # type: ignore[union-attr]
        made.has_sorted_indices = True
        made.has_canonical_format = True
        return made

    def dense(self) -> np.ndarray:
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
    def row_states(self) -> np.ndarray:
        """The state of each row."""
        return np.repeat(np.arange(self.states), np.diff(self.state_rows))

    @property
    def row_actions(self) -> np.ndarray:
        """The action number of each row."""
        if self._row_actions is not None:
            return self._row_actions
        return np.arange(self.rows) - np.repeat(self.state_rows[:-1], np.diff(self.state_rows))

    def table(self, numbers: Any, fill: float = float("nan")) -> np.ndarray:
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
        return text(lib.nadir_model_action_name(self._handle, row)) or str(self.row_actions[row])

    # --------------------------------------------------------------------------------------- questions

    def facts(self) -> Facts:
        """What is worth knowing before anything is solved: sizes, sparsity, rewards, valid radius, ..."""
        context = shared()
        found = filled("model_facts")
        context.call(lib.nadir_model_facts_compute, self._handle, found)
        return Facts(**_fields(found, "nadir_model_facts"), sha256=self.sha256)

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

    def replace(
        self,
        *,
        gamma: float | None = None,
        R: Any = None,
        mu: Any = None,
        scales: Any = None,
    ) -> "Model":
        """The same kernel, not copied, with another discount, rewards, initial distribution or scales.

        A model does not keep what it was given for successors of probability 0 of rows that it pins: where other
        `scales` let such rows change, give `R` again."""
        kernel, data, others = self._parts()
        if R is not None:
            data["rewards"], data["transition_rewards"] = _forms.rewards(R, kernel)
        if mu is not None:
            data["initial"] = _of_states(mu, kernel)
        if scales is not None:
            data["scales"] = _of_rows(scales, kernel, "scales")
        if gamma is not None:
            others["gamma"] = gamma
        return _made(kernel, data, others)

    def _parts(self) -> tuple[_forms.Kernel, dict[str, np.ndarray | None], dict[str, Any]]:
        """All that `_make` takes, without copies."""
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
        )
        data = {
            "rewards": self.rewards,
            "transition_rewards": self._array(numbers.transition_rewards, entries),
            "initial": self.mu,
            "scales": self._array(numbers.scales, self.rows),
            "radius": self._array(numbers.radius, numbers.radius_count),
        }
        named = lib.nadir_model_state_name(self._handle, 0)
        others = {
            "gamma": self.gamma,
            "norm": None if numbers.norm != numbers.norm else numbers.norm,
            "set": text(lib.nadir_set_name(numbers.set)) or None,
            "domain": text(lib.nadir_domain_name(numbers.domain)) or None,
            "state_names": [self.state_name(s) for s in range(self.states)] if named else None,
            "action_names": self._action_names(),
            "paid": (self._unseen(), False),
        }
        return kernel, data, others

    def _unseen(self) -> Any:
        kind = text(lib.nadir_unseen_name(self._view.unseen))
        return self._view.unseen_value if kind == "value" else kind

    def _action_names(self) -> list[str] | None:
        count = self._view.action_names_count
        names = [""] * count
        for row, action in enumerate(self.row_actions if count else ()):
            names[action] = self.action_name(row)
        return names or None

    def policy(
        self, policy: Any = "uniform", *, backend: str | None = None, threads: int | None = None
    ) -> "Policy":
        """A policy for this model; see `Policy`."""
        if isinstance(policy, Policy) and policy.model is self:
            return policy
        return Policy(self, policy, backend=backend, threads=threads)

    def solver(self, policy: Any = "uniform", **options: Any) -> Any:
        """A `Solver` of a policy: one factorisation for everything that is asked of it."""
        from .solver import Solver

        return Solver(self, policy, **options)

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

    def evaluate(self, policy: Any = "uniform", **options: Any) -> Any:
        """`nadir.evaluate` of this model."""
        from . import functions

        return functions.evaluate(self, policy=policy, **options)

    def sweep(self, policy: Any = "uniform", **options: Any) -> Any:
        """`nadir.sweep` of this model."""
        from . import functions

        return functions.sweep(self, policy=policy, **options)

    def gradient(self, policy: Any = "uniform", **options: Any) -> Any:
        """`nadir.gradient` of this model."""
        from . import functions

        return functions.gradient(self, policy=policy, **options)

    def optimize(self, **options: Any) -> Any:
        """`nadir.optimize` of this model."""
        from . import functions

        return functions.optimize(self, **options)

    def solve(self, **options: Any) -> Any:
        """`nadir.solve` of this model."""
        from . import functions

        return functions.solve(self, **options)

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
            ("discount", f"{self.gamma}"),
        ]
        return "Model", lines

    def __repr__(self) -> str:
        return f"Model(states={self.states}, rows={self.rows}, nonzeros={self.nonzeros}, gamma={self.gamma})"

    def __str__(self) -> str:
        return _card(*self._card())

    def _repr_html_(self) -> str:
        return _card(*self._card(), html=True)


def _made(kernel: _forms.Kernel, data: dict[str, np.ndarray | None], others: dict[str, Any]) -> Model:
    """A model of `Model._parts`."""
    made = Model.__new__(Model)
    made._make(kernel, data, copy=False, **others)
    return made


class Policy:
    """The probability π(a|s) of each row of a model.

    `policy` is "uniform"; "optimal", the best one for the nominal kernel; a table (S, A) of probabilities, or
    one for each row; S whole numbers, the action of each state; another policy; or the name of a file
    (.csv, .npy). Probabilities of a state that sum to one within 1e-5 are normalised. `backend` and `threads`
    are those that find the optimal one.
    """

    def __init__(
        self,
        model: Model,
        policy: Any = "uniform",
        *,
        backend: str | None = None,
        threads: int | None = None,
    ):
        context = shared(threads)
        made = place("policy")
        if isinstance(policy, Policy):
            policy = policy.probabilities
        if isinstance(policy, (str, os.PathLike)):
            _named(context, model, policy, backend, made)
        else:
            _given(context, model, np.asarray(policy), made)
        self._adopt(model, made[0])

    @classmethod
    def _from_handle(cls, model: Model, handle: Any) -> "Policy":
        made = cls.__new__(cls)
        made._adopt(model, handle)
        return made

    def _adopt(self, model: Model, handle: Any) -> None:
        self.model = model
        self._handle = ffi.gc(handle, lib.nadir_policy_free)

    @property
    def probabilities(self) -> np.ndarray:
        """π(a|s), one number for each row; read-only."""
        found = view(self._handle, lib.nadir_policy_probabilities(self._handle), self.model.rows, "<f8")
        return found  # type: ignore[return-value]

    @property
    def table(self) -> np.ndarray:
        """π(a|s) as a table (S, A), zero where a state does not have an action."""
        return self.model.table(self.probabilities, fill=0.0)

    @property
    def actions(self) -> np.ndarray:
        """The likeliest action of each state; the only one where the policy is deterministic."""
        return self.table.argmax(axis=1)

    @property
    def is_deterministic(self) -> bool:
        """Whether every state has one action of probability one."""
        return bool(np.isin(self.probabilities, (0.0, 1.0)).all())

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
        return Policy, (self.model, self.probabilities)

    def __array__(self, dtype: Any = None) -> np.ndarray:
        return self.table if dtype is None else self.table.astype(dtype)

    def __repr__(self) -> str:
        kind = "deterministic" if self.is_deterministic else "stochastic"
        return f"Policy({kind}, states={self.model.states}, rows={self.model.rows})"


def _named(context: Context, model: Model, policy: Any, backend: str | None, made: Any) -> None:
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


def _given(context: Context, model: Model, array: np.ndarray, made: Any) -> None:
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
            f"the policy has {array.shape[0]} numbers; expected {model.states_given} action numbers "
            f"(integers), or {model.rows} probabilities, one for each row"
        )
    rows = _forms.to_rows(array, model, "the policy", 1.0, model._row_actions)
    rows = np.ascontiguousarray(rows, dtype=np.float64)
    context.call(lib.nadir_policy_create, model._handle, doubles(rows), made)


def _alike(policies: Any) -> bool:
    """Whether a list, not empty, is of tables of one form, which make one array."""
    if any(isinstance(one, (Policy, str, os.PathLike)) for one in policies):
        return False
    arrays = [np.asarray(one) for one in policies]
    return len({(array.shape, array.dtype.kind) for array in arrays}) == 1


def _many(model: Model, policies: Any) -> np.ndarray:
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
        each = int(np.prod(array.shape[1:]))
        places = np.arange(each).reshape(array.shape[1:])
        places = _forms.to_rows(places, model, "a policy", each, model._row_actions)
        flat = array.reshape(array.shape[0], each)
        added = np.ones((array.shape[0], 1))  # a terminal state that was added has one action
        array = np.concatenate([flat, added], axis=1)[:, places] if each in places else flat[:, places]
    return np.ascontiguousarray(array, dtype=np.float64)


def _chosen(model: Model, actions: np.ndarray) -> np.ndarray:
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


def _of_states(numbers: Any, kernel: _forms.Kernel) -> np.ndarray | None:
    """mu; a number is a state to start from."""
    if numbers is None:
        return None
    array = np.asarray(numbers, dtype=np.float64)
    if array.ndim == 0:
        made = np.zeros(kernel.states)
        if array not in range(kernel.states_given):
            last = kernel.states_given - 1
            raise UsageError(f"mu is {numbers}; expected a state, 0 to {last}, or a distribution")
        made[int(array)] = 1
        return made
    if array.shape == (kernel.states_given,):
        return np.concatenate([array, np.zeros(kernel.states - kernel.states_given)])
    if array.shape != (kernel.states,):
        raise UsageError(f"mu has the shape {array.shape}; expected ({kernel.states_given},)")
    return np.ascontiguousarray(array)


def _of_rows(numbers: Any, kernel: Any, what: str, row_actions: np.ndarray | None = None) -> np.ndarray:
    array = np.asarray(numbers, dtype=np.float64)
    actions = row_actions if row_actions is not None else getattr(kernel, "row_actions", None)
    return np.ascontiguousarray(_forms.to_rows(array, kernel, what, 0.0, actions))
