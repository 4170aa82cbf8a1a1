"""The forms in which other tools keep a Markov decision process, turned into nadir's rows.

A row is a pair (state, action); rows are numbered state after state. Nothing is checked here that the library
checks, and an array that is in this form already (C-contiguous doubles, 32-bit columns) is passed on as it
is, without a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _frames
from .errors import ModelError, UsageError

LAYOUTS = ("sas", "ass")
_ZEROS_LIMIT = 2**26  # as in the library: rewards of successors of probability 0 are kept for so many numbers


@dataclass
class Kernel:
    """A kernel as rows: `dense` (rows, S), or CSR with `starts`, `columns`, `values`."""

    states: int
    state_rows: NDArray[Any]
    dense: NDArray[Any] | None = None
    starts: NDArray[Any] | None = None
    columns: NDArray[Any] | None = None
    values: NDArray[Any] | None = None
    row_actions: NDArray[Any] | None = None
    by_action: bool = False  # the form has one matrix per action
    rewards: NDArray[Any] | None = None  # of transitions, where the form has them
    scales: NDArray[Any] | None = None
    states_given: int = 0  # without a terminal state that was added
    names: list[str] | None = None
    each: int | None = None  # the actions of every state, where they are known to be as many
    action_names: Sequence[str] | None = None
    normalised: int = 0  # rows whose sums were off by the rounding of single precision

    def __post_init__(self) -> None:
        self.states_given = self.states_given or self.states

    @property
    def rows(self) -> int:
        return int(self.state_rows[-1])

    @property
    def actions(self) -> int | None:
        """A, where all states that were given have as many."""
        if self.each is not None:
            return self.each
        counts = np.diff(self.state_rows[: self.states_given + 1])
        return int(counts[0]) if len(counts) and (counts == counts[0]).all() else None


    def given_state_names(self) -> Sequence[str] | None:
        """Of the states that were given."""
        return None if self.names is None else self.names[: self.states_given]

    def known_action_names(self) -> Sequence[str] | None:
        return self.action_names


def sparse_matrix(value: Any) -> bool:
    """Whether this is one of SciPy's sparse matrices or arrays, without importing SciPy."""
    return hasattr(value, "tocsr") and hasattr(value, "nnz")


def _regular(states: int, actions: int) -> NDArray[Any]:
    if actions == 0:
        return np.zeros(states + 1, dtype=np.int64)
    return np.arange(0, states * actions + 1, actions, dtype=np.int64)


def _doubles(value: Any) -> NDArray[Any]:
    return np.ascontiguousarray(value, dtype=np.float64)


def kernel(P: Any, layout: str | None = None, state_rows: Any = None) -> Kernel:
    """The kernel of any of the forms of `nadir.Model`. Of single precision, sums are off by its rounding: that is mended."""
    made = _kernel(P, layout, state_rows)
    first = P[0] if isinstance(P, (list, tuple)) and len(P) else P
    if getattr(first, "dtype", None) == np.float32:
        _normalise(made)
    return made


def _normalise(made: Kernel) -> None:
    if made.dense is not None:
        sums, counts = made.dense.sum(axis=1), np.full(made.rows, made.states)
    else:
        assert made.starts is not None and made.values is not None
        counts = np.diff(made.starts)
        owner = np.repeat(np.arange(made.rows), counts)
        sums = np.bincount(owner, made.values, made.rows)
    off = np.abs(sums - 1)
    some = (off > 0) & (off <= 2.0**-24 * (counts + 2))
    factors = np.where(some, sums, 1.0)
    made.normalised = int(some.sum())
    if made.dense is not None:
        made.dense = made.dense / factors[:, None]
    else:
        made.values = made.values / factors[owner]


def _kernel(P: Any, layout: str | None, state_rows: Any) -> Kernel:
    if layout is not None and layout not in LAYOUTS:
        raise UsageError(f"layout is {layout!r}; expected 'sas' (P[s, a, s']) or 'ass' (P[a, s, s'])")
    if isinstance(P, np.ndarray) and P.ndim == 3:
        return _cube(P, layout)
    unwrapped = getattr(P, "unwrapped", P)
    if isinstance(getattr(unwrapped, "P", None), Mapping):
        P = unwrapped.P
    if sparse_matrix(P):  # first: those of the form DOK are dictionaries, too
        return _csr(P, state_rows)
    if isinstance(P, Mapping):
        return _gymnasium(P)
    if _frames.is_frame(P):
        raise UsageError("P is a frame: nadir.Model reads it by the names of its columns")
    if _matrices(P):
        return _per_action(list(P)) if layout != "sas" else _per_state(list(P))
    array = np.asarray(P)
    if array.dtype == object:
        raise UsageError("P is an array of objects that are no matrices; see nadir.Model for the forms of P")
    if array.ndim == 3:
        return _cube(array, layout)
    if array.ndim == 2:
        return _rows(_doubles(array), state_rows)
    raise UsageError(f"P has {array.ndim} dimensions; expected (S, A, S), (A, S, S) or rows (rows, S)")


def _full(of: Kernel) -> NDArray[Any]:
    if of.dense is not None:
        return of.dense
    assert of.starts is not None and of.columns is not None and of.values is not None
    made = np.zeros((of.rows, of.states))
    np.add.at(made, (np.repeat(np.arange(of.rows), np.diff(of.starts)), of.columns), of.values)
    return made


def like_kernel(of: Kernel, given: dict[str, Any], layout: str | None, state_rows: Any) -> list[NDArray[Any]]:
    """The kernel, and arrays in the form of P, as arrays (rows, S); sparse ones are written out."""
    made = [_full(of)]
    for name, bound in given.items():
        if bound is None:
            raise UsageError(f"{name} is missing: intervals have lower and upper bounds")
        full = _full(kernel(labelled(bound, of, name), layout, state_rows))
        if full.shape != made[0].shape:
            raise UsageError(f"{name} has {full.shape[0]} rows of {full.shape[1]} states; P has {made[0].shape[0]} of {made[0].shape[1]}")
        made.append(np.ascontiguousarray(full, dtype=np.float64))
    return made


def lends(P: Any, made: Kernel) -> bool:
    """Whether the numbers of the kernel lie where those of P do, not in a copy of another layout or type."""
    if made.dense is not None:
        return made.dense is P or (isinstance(P, np.ndarray) and np.may_share_memory(P, made.dense))
    numbers = getattr(P, "data", None)
    return isinstance(numbers, np.ndarray) and np.may_share_memory(numbers, made.values)


def _matrices(P: Any) -> bool:
    """Whether P is a list, tuple or object array of matrices."""
    objects = isinstance(P, np.ndarray) and P.dtype == object and P.ndim == 1
    if not isinstance(P, (list, tuple)) and not objects:
        return False
    return len(P) > 0 and all(sparse_matrix(m) or (isinstance(m, np.ndarray) and m.ndim == 2) for m in P)


def _cube(array: NDArray[Any], layout: str | None) -> Kernel:
    first, second, third = array.shape
    sas, ass = first == third, second == third
    if layout is None:
        if sas and ass and first > 1:
            raise UsageError(
                f"P has the shape {array.shape}, which may be (S, A, S) or (A, S, S): say layout='sas' or "
                "layout='ass'"
            )
        if not (sas or ass):
            raise UsageError(f"P has the shape {array.shape}; expected (S, A, S) or (A, S, S)")
        layout = "sas" if sas else "ass"
    if not {"sas": sas, "ass": ass}[layout]:
        raise UsageError(f"P has the shape {array.shape}, which is not that of layout={layout!r}")
    if layout == "ass":
        array = array.transpose(1, 0, 2)
    states, actions, _ = array.shape
    if states == 0 or actions == 0:
        raise ModelError(f"P has the shape {array.shape}; expected at least one state and one action")
    dense = _doubles(array).reshape(states * actions, states)
    return Kernel(states, _regular(states, actions), dense=dense, by_action=layout == "ass", each=actions)


def _state_rows(state_rows: Any, rows: int, states: int) -> NDArray[Any]:
    if state_rows is not None:
        given = np.ascontiguousarray(state_rows, dtype=np.int64)
        if given.shape != (states + 1,) or given[-1] != rows:
            raise UsageError(
                f"state_rows has the shape {given.shape}; expected {states + 1} numbers, the first row of "
                f"each state and then {rows}, the number of rows"
            )
        return given
    if states == 0 or rows == 0 or rows % states != 0:
        raise UsageError(
            f"P has {rows} rows and {states} columns; expected a multiple of the columns, row s * A + a for "
            "action a of state s, or state_rows where states have different numbers of actions"
        )
    return _regular(states, rows // states)


def _rows(dense: NDArray[Any], state_rows: Any) -> Kernel:
    rows, states = dense.shape
    return Kernel(states, _state_rows(state_rows, rows, states), dense=dense)


def _csr(matrix: Any, state_rows: Any = None) -> Kernel:
    rows, states = matrix.shape
    csr = matrix.tocsr()
    if states >= 2**31:
        raise ModelError(f"{states} states; expected fewer than 2^31")
    entries = min(len(csr.indices), len(csr.data))
    if len(csr.indptr) != rows + 1 or csr.indptr[-1] > entries:  # the library reads as many as indptr says
        raise ModelError(f"P is no CSR matrix: indptr ends at {csr.indptr[-1]}, of {entries} entries")
    if csr.indices.itemsize > 4 and entries and not 0 <= csr.indices.min() <= csr.indices.max() < states:
        raise ModelError(f"P has columns that are no states; states are 0 to {states - 1}")
    return Kernel(
        states,
        _state_rows(state_rows, rows, states),
        starts=np.ascontiguousarray(csr.indptr, dtype=np.int64),
        columns=np.ascontiguousarray(csr.indices, dtype=np.int32),
        values=_doubles(csr.data),
    )


def _per_action(matrices: Sequence[Any]) -> Kernel:
    """One (S, S) matrix for each action, as MDPtoolbox has them."""
    states = matrices[0].shape[0]
    for action, matrix in enumerate(matrices):
        if matrix.shape != (states, states):
            raise UsageError(
                f"the matrix of action {action} has the shape {matrix.shape}; expected {(states, states)}, "
                "one (S, S) matrix for each action (one (A, S) matrix for each state: layout='sas')"
            )
    if not any(sparse_matrix(matrix) for matrix in matrices):
        return _cube(np.stack(matrices), "ass")
    made = _csr(_interleave(matrices))
    made.by_action = True
    return made


def _interleave(matrices: Sequence[Any]) -> Any:
    """Rows (s, a), state after state, of one (S, S) matrix for each action, as CSR."""
    from scipy import sparse

    states, actions = matrices[0].shape[0], len(matrices)
    order = np.arange(actions * states).reshape(actions, states).T.ravel()
    return sparse.vstack([sparse.csr_matrix(matrix) for matrix in matrices], format="csr")[order]


def _per_state(matrices: Sequence[Any]) -> Kernel:
    """One (A_s, S) matrix for each state: states may have different numbers of actions."""
    counts = [matrix.shape[0] for matrix in matrices]
    state_rows = np.concatenate([[0], np.cumsum(counts)])
    if any(matrix.shape[1] != len(matrices) for matrix in matrices):
        raise UsageError(f"{len(matrices)} states, but matrices with other numbers of columns")
    if any(sparse_matrix(matrix) for matrix in matrices):
        from scipy import sparse

        parts = [sparse.csr_matrix(matrix) for matrix in matrices]
        return _csr(sparse.vstack(parts, format="csr"), state_rows)
    return _rows(_doubles(np.vstack(matrices)), state_rows)


# ------------------------------------------------------------------------------------------- Gymnasium


def _gymnasium(table: Mapping[Any, Any]) -> Kernel:
    """{s: {a: [(probability, successor, reward, done), ...]}}, as toy-text environments have in env.P.

    `done` ends the episode. A successor that only ever stays where it is, without reward, is such an end
    already, and its rows are pinned: the adversary cannot wake the dead. Any other successor of a transition
    that is done (Taxi's) is replaced by one terminal state that is added as the last one.
    """
    states = len(table)
    if states == 0 or set(table) != set(range(states)):
        raise UsageError(f"the dictionary has {states} states; expected keys 0, 1, ..., one for each state")
    for state, choices in table.items():
        if not isinstance(choices, Mapping) or not all(isinstance(a, (int, np.integer)) for a in choices):
            raise UsageError(f"state {state}: expected a dictionary with an action's number for each key")
    ends = {s for s in range(states) if _is_end(s, table[s])}
    terminal = states
    counts, actions, starts = [], [], [0]
    columns: list[int] = []
    values: list[float] = []
    rewards: list[float] = []
    for state in range(states):
        counts.append(len(table[state]))
        for action in sorted(table[state]):
            actions.append(action)
            for probability, successor, reward, done in _transitions(table[state][action], state, action):
                if not 0 <= successor < states:
                    raise ModelError(
                        f"state {state}, action {action}: successor {successor} is not a state; states are "
                        f"0 to {states - 1}"
                    )
                columns.append(terminal if done and successor not in ends else successor)
                values.append(probability)
                rewards.append(reward)
            starts.append(len(columns))
    names = None
    if terminal in columns:
        counts.append(1)
        actions.append(0)
        columns.append(terminal)
        values.append(1.0)
        rewards.append(0.0)
        starts.append(len(columns))
        ends.add(terminal)
        names = [str(s) for s in range(states)] + ["terminal"]
    state_rows = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    scales = None
    if ends:
        scales = np.repeat([0.0 if s in ends else 1.0 for s in range(len(counts))], counts)
    return Kernel(
        len(counts),
        state_rows,
        starts=np.array(starts, dtype=np.int64),
        columns=np.array(columns, dtype=np.int32),
        values=np.array(values, dtype=np.float64),
        row_actions=np.array(actions, dtype=np.int32),
        rewards=np.array(rewards, dtype=np.float64),
        scales=scales,
        states_given=states,
        names=names,
    )


def _transitions(entries: Iterable[Any], state: Any, action: Any) -> Iterable[tuple[float, int, float, bool]]:
    for entry in entries:
        try:
            probability, successor, reward, done = entry
            if int(successor) != successor:
                raise ValueError
        except (TypeError, ValueError):
            raise UsageError(
                f"state {state}, action {action}: {entry!r}; expected (probability, successor, reward, done)"
            ) from None
        yield float(probability), int(successor), float(reward), bool(done)


def _is_end(state: int, actions: Mapping[Any, Any]) -> bool:
    return all(
        successor == state and reward == 0
        for action in actions
        for probability, successor, reward, _ in _transitions(actions[action], state, action)
        if probability > 0
    )


# --------------------------------------------------------------------------------------------- rewards


def rewards(R: Any, of: Kernel) -> tuple[NDArray[Any] | None, NDArray[Any] | None]:
    """Rewards of rows, or of transitions where R has them: one of the two is None."""
    if R is None:
        return None, of.rewards
    if isinstance(R, np.ndarray) and R.shape == (of.states, of.each):
        return _doubles(R).reshape(-1), None
    R = unlabelled(labelled(R, of, "R"), of, "R", "reward")
    if sparse_matrix(R):
        if R.shape != (of.rows, of.states):
            expected = (of.rows, of.states)
            raise UsageError(f"R has the shape {R.shape}; expected {expected}, that of the rows of P")
        return None, _at_transitions(R.tocsr(), of)
    if _matrices(R):
        if len(R) * of.states != of.rows or any(m.shape != (of.states, of.states) for m in R):
            raise UsageError("R is a list of matrices; expected one (S, S) matrix for each action, as P is")
        if any(sparse_matrix(matrix) for matrix in R):
            return None, _at_transitions(_interleave(list(R)), of)
        return None, _at_transitions(np.stack(R).transpose(1, 0, 2).reshape(of.rows, of.states), of)
    array = np.asarray(R, dtype=np.float64)
    if array.ndim == 3:
        return None, _at_transitions(_reward_cube(array, of), of)
    if array.ndim == 2 and array.shape == (of.rows, of.states) and array.shape != (of.states, of.actions):
        return None, _at_transitions(array, of)
    return to_rows(array, of, "R", 0.0, of.row_actions), None


def _reward_cube(array: NDArray[Any], of: Kernel) -> NDArray[Any]:
    actions = of.actions
    if actions is None or of.states_given != of.states:
        raise UsageError("R has three dimensions, but states have different numbers of actions")
    sas, ass = (of.states, actions, of.states), (actions, of.states, of.states)
    if array.shape == (ass if of.by_action else sas):
        by_action = of.by_action
    elif array.shape in (sas, ass):
        by_action = not of.by_action
    else:
        raise UsageError(f"R has the shape {array.shape}; expected {ass if of.by_action else sas}, that of P")
    return (array.transpose(1, 0, 2) if by_action else array).reshape(of.rows, of.states)


def _at_transitions(matrix: Any, of: Kernel) -> NDArray[Any]:
    """The numbers of a (rows, S) matrix, dense or CSR, at the transitions of a kernel, stored as it is."""
    if of.dense is not None and not sparse_matrix(matrix):
        return _doubles(matrix)
    if of.dense is not None:
        return _doubles(np.where((of.dense > 0) | _stored(matrix), matrix.toarray(), np.nan))
    assert of.starts is not None and of.columns is not None and of.values is not None
    rows = np.repeat(np.arange(of.rows), np.diff(of.starts))
    if not sparse_matrix(matrix) and matrix.size <= _ZEROS_LIMIT:
        of.dense = np.zeros(matrix.shape)
        np.add.at(of.dense, (rows, of.columns), of.values)
        of.starts = of.columns = of.values = None
        return _doubles(matrix)
    numbers = _doubles(np.asarray(matrix[rows, of.columns]).ravel())
    if not sparse_matrix(matrix):
        return numbers
    return _with_zeros(matrix.tocoo(), rows, numbers, of)


def _stored(matrix: Any) -> NDArray[Any]:
    made = np.zeros(matrix.shape, dtype=bool)
    entries = matrix.tocoo()
    made[entries.row, entries.col] = True
    return made


def _with_zeros(given: Any, rows: NDArray[Any], numbers: NDArray[Any], of: Kernel) -> NDArray[Any]:
    """Adds transitions of probability 0 to a CSR kernel where only R has them; gives all rewards."""
    assert of.columns is not None and of.values is not None
    places = given.row.astype(np.int64) * of.states + given.col
    more = ~np.isin(places, rows * of.states + of.columns)
    if more.any():
        of_rows = np.concatenate([rows, given.row[more]])
        order = np.argsort(of_rows, kind="stable")
        of.columns = np.concatenate([of.columns, given.col[more]]).astype(np.int32)[order]
        of.values = np.concatenate([of.values, np.zeros(more.sum())])[order]
        numbers = np.concatenate([numbers, given.data[more]])[order]
        of.starts = np.concatenate([[0], np.cumsum(np.bincount(of_rows, minlength=of.rows))]).astype(np.int64)
    return numbers


# ------------------------------------------------------------------------------- numbers of states and rows


def widest(of: Any) -> int:
    """One more than the largest action number of the states that were given."""
    if of.row_actions is not None:
        return int(of.row_actions.max()) + 1
    return int(np.diff(of.state_rows[: of.states_given + 1]).max())


def labelled(value: Any, of: Any, what: str) -> Any:
    """Frames (S, S), one for each action, as arrays, by their labels; anything else as it is."""
    if not _frames.squares(value):
        return value
    return _frames.as_arrays(value, of.given_state_names(), of.known_action_names(), what)


def unlabelled(value: Any, of: Any, what: str, role: str) -> Any:
    """Frames, series and dictionaries as arrays, by their labels; anything else as it is.

    `of` is a kernel or a model, `role` the column with the numbers of a long frame.
    """
    if isinstance(value, np.ndarray) or not _frames.is_labelled(value) or sparse_matrix(value):
        return value
    value = _frames.flat(value, role)
    if not _frames.is_frame(value):
        return _frames.by_state(value, of.states_given, of.given_state_names(), what)
    if not _frames.is_long(value):
        return _frames.wide(value, of.states_given, widest(of), of, what)
    return _long(value, of, what, role)


def _long(table: Any, of: Any, what: str, role: str) -> NDArray[Any]:
    """A long frame as a table (S, A), or (rows, S) where it has successors; NaN where it has no line."""
    roles = _frames.roles_of(table)
    if role not in roles:
        names = ", ".join(repr(str(name)) for name in table.columns)
        raise UsageError(f"{what} is a frame without a column {role!r}; it has {names}")
    states = _frames.places(roles["state"], of.states_given, of.given_state_names(), f"{what}: state")
    actions = _frames.places(roles["action"], widest(of), of.known_action_names(), f"{what}: action")
    counts = np.diff(of.state_rows)
    numbers = of.row_actions if of.row_actions is not None else np.arange(of.rows) - np.repeat(of.state_rows[:-1], counts)
    rows = {pair: row for row, pair in enumerate(zip(np.repeat(np.arange(of.states), counts).tolist(), numbers.tolist()))}
    pairs = list(zip(states.tolist(), actions.tolist()))
    strange = [pair for pair in pairs if pair not in rows]
    if strange:
        raise UsageError(f"{what} has a line for state {strange[0][0]}, action {strange[0][1]}, which P has not")
    at = np.array([rows[pair] for pair in pairs], dtype=np.int64)
    if "next" in roles:
        successors = _frames.places(roles["next"], of.states_given, of.given_state_names(), f"{what}: next")
        made = np.full((of.rows, of.states), np.nan)
        at = at * of.states + successors
    else:
        made = np.full(of.rows, np.nan)
    if len(np.unique(at)) < len(at):
        raise UsageError(f"{what} has two lines for the same state and action" + (" and successor" if made.ndim == 2 else ""))
    made.reshape(-1)[at] = np.asarray(roles[role], dtype=np.float64)
    missing = np.flatnonzero(np.isnan(made)).tolist() if made.ndim == 1 else []
    if missing and missing[0] < of.state_rows[of.states_given]:
        state = int(np.searchsorted(of.state_rows, missing[0], side="right")) - 1
        raise UsageError(f"{what} has no line for state {state}, action {numbers[missing[0]]}")
    return np.nan_to_num(made) if made.ndim == 1 else made


def to_rows(
    table: NDArray[Any], of: Any, what: str, added: float, row_actions: NDArray[Any] | None
) -> NDArray[Any]:
    """One number for each row, from as many, from one for each state, or from a table (S, A).

    `of` is a kernel or a model; a terminal state that was added gets `added`.
    """
    given = of.states_given
    if table.shape == (of.states, of.each if isinstance(of, Kernel) else of.actions):
        return np.ascontiguousarray(table).reshape(-1)
    counts = np.diff(of.state_rows)
    if table.ndim == 1 and table.shape[0] == of.rows:
        return np.ascontiguousarray(table)
    if table.ndim == 1 and table.shape[0] == given:
        extended = np.concatenate([table, np.full(of.states - given, added)])
        return np.repeat(extended, counts)
    wide = int(counts[:given].max()) if row_actions is None else int(row_actions.max()) + 1
    if table.shape == (given, wide):
        row_states = np.repeat(np.arange(of.states), counts)
        actions = row_actions
        if actions is None:
            actions = np.arange(of.rows) - np.repeat(of.state_rows[:-1], counts)
        made = np.full(of.rows, added)
        inside = row_states < given
        made[inside] = table[row_states[inside], actions[inside]]
        return made
    raise UsageError(
        f"{what} has the shape {table.shape}; expected {(given, wide)}, one number for each state and "
        f"action, ({given},), one for each state, or ({of.rows},), one for each row"
    )
