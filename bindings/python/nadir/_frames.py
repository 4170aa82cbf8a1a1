"""Frames and series of pandas (frames of polars): columns and labels count by their names, never by their places.

A long frame has a line for each transition, pair or state, and columns with the names below. A wide one has a line
for each state and a column for each action, told by their labels: numbers from 0 on, or names. What fits neither is
refused. Nothing here imports pandas but `frame`.
"""

from __future__ import annotations

import contextlib
import csv
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._keywords import nearest, spoken_of
from .errors import UsageError

#: The names that columns of files have, too (docs/formats.md).
ROLES = {
    "state": ("state", "idstatefrom", "idstate", "from", "s"),
    "action": ("action", "idaction", "a"),
    "next": ("next", "next_state", "idstateto", "to", "s_next"),
    "probability": ("probability", "prob", "p"),
    "reward": ("reward", "r"),
    "scales": ("scales", "scale", "alpha"),
    "radius": ("radius", "beta"),
}
_IN_FILES = {"next": "next_state"}

#: Of logs, as in src/io/log_file.c; what `columns` may call a role, in any case.
LOG_ROLES = {
    "state": ("state", "idstatefrom", "idstate", "s", "obs", "observation"),
    "action": ("action", "idaction", "a", "act"),
    "next": ("next", "next_state", "idstateto", "s_next", "next_s", "next_obs", "next_observation"),
    "reward": ("reward", "r", "rew"),
    "done": ("done", "terminated", "terminal"),
    "truncated": ("truncated", "timeout"),
    "episode": ("episode", "episode_id", "trajectory", "trajectory_id"),
    "step": ("step", "t", "timestep"),
    "time": ("time", "timestamp"),
    "count": ("count",),
}


class Table(dict[str, Any]):
    """Columns by name, as a frame."""

    columns = property(list)


def is_frame(value: Any) -> bool:
    """A frame of pandas or polars, or what looks like one."""
    return hasattr(value, "columns") and hasattr(value, "__getitem__") and not isinstance(value, np.ndarray)


def is_series(value: Any) -> bool:
    """A series with labels, of pandas."""
    return hasattr(value, "to_numpy") and hasattr(value, "index") and not is_frame(value) and not callable(value.index)


def is_labelled(value: Any) -> bool:
    return is_frame(value) or is_series(value) or isinstance(value, Mapping)


def as_log(data: Any, columns: Any) -> Any:
    """A log as a frame, where it is a table of another kind: columns or lines as dictionaries, a table of pyarrow, records with
    text, what has the protocol of data frames. Levels of an index that are named as columns, become columns."""
    if isinstance(data, (list, tuple)) and data and all(isinstance(line, Mapping) for line in data):
        names = {name: None for line in data for name in line}
        data = {name: [line.get(name) for line in data] for name in names}
    elif isinstance(getattr(data, "column_names", None), list) and hasattr(data, "to_pydict"):
        data = data.to_pydict()
    elif isinstance(data, np.ndarray) and data.dtype.names and any(data.dtype[name].kind == "O" for name in data.dtype.names):
        data = {name: data[name] for name in data.dtype.names}
    elif hasattr(data, "__dataframe__") and not is_frame(data):
        from pandas.api.interchange import from_dataframe

        data = from_dataframe(data)
    if isinstance(data, Mapping) and not is_frame(data):
        made = {str(name): _column(values) for name, values in data.items()}
        lengths = {name: len(column) for name, column in made.items()}
        if len(set(lengths.values())) > 1:
            raise UsageError(f"the columns of the data differ in length: {', '.join(f'{n!r} {k}' for n, k in lengths.items())}")
        return Table(made)
    levels = [name for name in getattr(getattr(data, "index", None), "names", ()) if name is not None]
    words = re.split("[=,]", columns) if isinstance(columns, str) else [word for pair in dict(columns or {}).items() for word in pair]
    asked = {str(word) for word in words}
    levels = [name for name in levels if str(name) in asked or _role(name, LOG_ROLES)]
    return data.reset_index(level=levels) if levels and is_frame(data) else data


def _column(values: Any) -> NDArray[Any]:
    """Numbers and truth values as such; anything else as it is."""
    made = np.asarray(values if hasattr(values, "__array__") else list(values))
    return made if made.dtype.kind in "iufbM" else np.array(list(values) + [None], dtype=object)[:-1]


def frame(columns: Mapping[str, Any]) -> Any:
    """A pandas.DataFrame."""
    try:
        import pandas
    except ImportError:
        raise ImportError("to_pandas() needs pandas (Debian: python3-pandas)") from None
    return pandas.DataFrame(dict(columns))


def columns_of(table: Any) -> dict[str, NDArray[Any]]:
    """The columns of a frame by name."""
    names = [str(name) for name in table.columns]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UsageError(f"two columns of the frame have the same name: {twice[0]!r}")
    return {str(name): np.asarray(table[name]) for name in table.columns}


def _role(word: Any, roles: Mapping[str, Sequence[str]]) -> str | None:
    """The role that a word stands for."""
    return next((role for role, names in roles.items() if str(word).lower() in (role, *names)), None)


def by_role(columns: Mapping[Any, Any], roles: Mapping[str, Sequence[str]], has: Sequence[str] | None) -> dict[str, str]:
    """{role: name of the column} from that, or from {name: role} as pandas' rename takes it. has: the columns that there
    are; None: not known."""
    ways = [dict(columns), {role: name for name, role in columns.items()}]
    fits = [all(_role(role, roles) for role in way) and len(way) == len(columns) for way in ways]
    there = [has is None or all(str(name) in has for name in way.values()) for way in ways]
    way = ways[1] if fits[1] and (not fits[0] or (there[1] and not there[0])) else ways[0]
    made: dict[str, str] = {}
    for word, name in way.items():
        role = _role(word, roles)
        if role is None:
            meant = nearest(str(word), roles)
            hint = f"; did you mean {meant!r}?" if meant else ""
            raise UsageError(f"columns has {word!r}; expected {{role: name}} with roles {', '.join(map(repr, roles))}{hint}")
        if role in made:
            raise UsageError(f"columns says twice what {role!r} is: {made[role]!r} and {name!r}")
        if has is not None and str(name) not in has:
            meant = nearest(str(name), has)
            hint = f"did you mean {meant!r}? It" if meant else "it"
            raise UsageError(f"columns says that {role!r} is {name!r}, which the frame does not have; {hint} has "
                             f"{', '.join(map(repr, has))}")  # fmt: skip
        made[role] = str(name)
    return made


def roles_of(table: Any, columns: Mapping[str, str] | None = None) -> dict[str, NDArray[Any]]:
    """The columns of a long frame by their roles; `columns` says what they are called otherwise."""
    given = columns_of(table)
    said = by_role(columns or {}, ROLES, list(given))
    made = {role: given[name] for role, name in said.items()}
    called: dict[str, str] = {}
    for name, column in given.items():
        for role, names in ROLES.items():
            if name.lower() in names and role not in said and name not in said.values():
                if role in made:
                    raise UsageError(
                        f"the frame has two columns for {role!r}: {called[role]!r} and {name!r}; take one out, or say "
                        f"columns={{{role!r}: {name!r}, ...}}"
                    )
                made[role], called[role] = column, name
    return made


# ------------------------------------------------------------------------------------------------ as files


def write_table(path: str, columns: Mapping[str, NDArray[Any]]) -> None:
    """As CSV: names stay names, and what is missing (None, NaN) is an empty cell."""
    with open(path, "w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(columns)
        cells = [[_cell(value) for value in column.tolist()] for column in columns.values()]
        writer.writerows(zip(*cells))


def _cell(value: Any) -> Any:
    missing = value is None or type(value).__name__ in ("NAType", "NaTType") or value != value  # NA has no truth
    return "" if missing else value


def _numbered(column: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers that are stored as floats, as pandas does beside missing ones, as integers."""
    if column.dtype.kind == "f" and np.isfinite(column).all() and (column == np.round(column)).all():
        return column.astype(np.int64)
    return column.astype(np.int64) if column.dtype.kind == "b" else column


def check(
    table: Any, roles: Mapping[str, Any], needed: Sequence[str], what: str, columns: Mapping[str, str] | None
) -> None:
    """Refuses a long frame without the columns that are needed."""
    missing = [role for role in needed if role not in roles]
    if missing:
        names = ", ".join(repr(str(name)) for name in table.columns)
        hint = '; columns={"state": NAME, ...} says what they are called' if columns is None else ""
        if missing[0] == "probability":
            hint += "; of a log of transitions nadir.fit makes a policy"
        raise UsageError(f"{what} is a frame without a column {missing[0]!r}; it has {names}, expected {', '.join(needed)}{hint}")


def order_of(
    table: Any, roles: dict[str, Any], columns: Mapping[str, str] | None, parts: Sequence[str], names: Any
) -> list[str] | None:
    """The order of names, as it was said or as the categories of the first part have it; the columns become numbers."""
    if names is None:
        said = by_role(columns or {}, ROLES, None)
        called = {role: name for name in table.columns for role in parts if str(name).lower() in ROLES[role]} | said
        names = getattr(getattr(table[called[parts[0]]], "dtype", None), "categories", None) if parts[0] in called else None
        if names is None or not all(isinstance(name, str) for name in names):
            return None
        used = {label for part in parts for label in roles.get(part, np.empty(0)).tolist()}
        names = [name for name in names if name in used]
        if used - set(names):
            return None
    names = [str(name) for name in names]
    for part in parts:
        if part in roles:
            roles[part] = places(roles[part], len(names), names, f"the frame: {part}")
    return names


def log_order(table: Any, columns: Mapping[str, str] | None, role: str) -> list[str] | None:
    """The categories of a categorical column of a log, in their order, as far as it has them."""
    called = columns or {part: str(name) for name in table.columns if (part := _role(name, LOG_ROLES))}
    column = table[called[role]] if role in called else None
    names = getattr(getattr(column, "dtype", None), "categories", None)
    if names is None or not all(isinstance(name, str) for name in names):
        return None
    used = set(np.asarray(column).tolist())
    return [name for name in names if name in used]


def labels(numbers: NDArray[Any], names: list[str] | None) -> Any:
    """A column of numbers, or of names as categories in their order."""
    if names is None or len(set(names)) < len(names):
        return numbers if names is None else np.array(names)[numbers]
    import pandas

    return pandas.Categorical.from_codes(numbers, names)


@contextlib.contextmanager
def as_file(roles: Mapping[str, NDArray[Any]], taken: Sequence[str]) -> Iterator[str]:
    """Columns by their roles as a CSV file for a reader of the library; errors speak of the frame."""
    made = {_IN_FILES.get(role, role): roles[role] for role in taken if role in roles}
    for role in ("state", "action", "next_state"):
        if role in made:
            made[role] = _numbered(made[role])
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "frame.csv")
        write_table(path, made)
        with spoken_of(path, "the frame"):
            yield path


# ------------------------------------------------------------------------------------------------ by label


def numbers_of(labels: Any, count: int, names: Sequence[str] | None, what: str, some: bool = False) -> NDArray[Any]:
    """The states or actions that labels stand for: a permutation of 0, ..., count - 1, or some of them; anything else is
    refused."""
    given = [label.item() if isinstance(label, np.generic) else label for label in labels]
    places = None if not names else {name: place for place, name in enumerate(names)}
    if places is not None and all(isinstance(label, str) and label in places for label in given):
        found = [places[label] for label in given]
    else:
        found = [whole(label) for label in given]
    known = [number for number in set(found) if 0 <= number < count]
    if len(known) < len(found) or (len(known) < count and not some):
        shown = ", ".join(map(repr, given[:8])) + (", ..." if len(given) > 8 else "")
        called = f", or {', '.join(map(repr, list(names)[:8]))}" if names else ""
        raise UsageError(f"{what} are {shown}; expected 0 to {count - 1}, each once{called}")
    return np.array(found, dtype=np.int64)


def places(labels: Any, count: int, names: Sequence[str] | None, what: str) -> NDArray[Any]:
    """The number of each label, which may come several times."""
    known = {} if not names else {name: place for place, name in enumerate(names)}
    found = [known[label] if isinstance(label, str) and label in known else whole(label) for label in labels.tolist()]
    for label, place in zip(labels.tolist(), found):
        if not 0 <= place < count:
            raise UsageError(f"{what} is {label!r}; expected 0 to {count - 1}" + (" or a name" if names else ""))
    return np.array(found, dtype=np.int64)


def squares(value: Any) -> bool:
    """Whether this is a list or a dictionary of matrices, one for each action, with a frame among them (a dictionary: any)."""
    if not isinstance(value, (list, tuple, Mapping)) or not len(value) or hasattr(value, "tocsr") or is_frame(value):
        return False
    each = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(value, Mapping):
        return any(is_frame(one) for one in each)
    return all(is_frame(one) or getattr(one, "ndim", 0) == 2 for one in each)


def _names(labels: Sequence[Any]) -> list[str] | None:
    """Labels as names, where they are no numbers from 0 on."""
    numbers = sorted(whole(label) for label in labels) == list(range(len(labels)))
    return None if numbers or not all(isinstance(label, str) for label in labels) else [str(label) for label in labels]


def names_of(value: Any, states: Sequence[str] | None, actions: Sequence[str] | None) -> tuple[Any, Any]:
    """The names of states and actions: as they are said, or else the rows of the first frame, and the keys of a dictionary."""
    if isinstance(value, Mapping) and actions is None:
        actions = _names(list(value))
    each: list[Any] = list(value.values() if isinstance(value, Mapping) else value)
    index: Any = getattr(next(filter(is_frame, each), None), "index", None)
    if states is None and index is not None and not callable(index):
        categories = getattr(index, "categories", None)
        states = _names([one for one in (index if categories is None else categories) if one in index])
    return states, actions


def as_arrays(value: Any, states: Sequence[str] | None, actions: Sequence[str] | None, what: str) -> list[Any]:
    """A list or dictionary of frames (S, S), one for each action, as arrays with rows and columns in the order of the states."""
    keys = list(value) if isinstance(value, Mapping) else range(len(value))
    each = list(value.values()) if isinstance(value, Mapping) else list(value)
    named = isinstance(value, Mapping)
    order = np.argsort(_numbers(keys, len(keys), actions, f"the keys of {what}")).tolist() if named else list(keys)
    made = []
    for place in order:
        one, of = each[place], f"{what} of action {keys[place]!r}"
        if not is_frame(one):
            if any(map(is_frame, each)):
                raise UsageError(f"{of} is no frame, and others are: labels count only where all matrices have them")
            made.append(one)
            continue
        if callable(getattr(one, "index", callable)):  # a frame of polars
            raise UsageError(f"{of} is a frame whose rows have no labels: give arrays (to_numpy()), or frames of pandas")
        numbers, count = np.asarray(one), len(states) if states else len(one)
        rows = _numbers(one.index, count, states, f"the rows of {of}")
        columns = _numbers(one.columns, count, states, f"the columns of {of}")
        made.append(numbers[np.ix_(np.argsort(rows), np.argsort(columns))])
    return made


def _numbers(labels: Any, count: int, names: Sequence[str] | None, what: str) -> NDArray[Any]:
    """`numbers_of`; what it refuses is said by the difference."""
    try:
        return numbers_of(labels, count, names, what)
    except UsageError:
        given, known = [str(label) for label in labels], list(names) if names else [str(number) for number in range(count)]
        twice = [label for label in given if given.count(label) > 1][:1]
        found = {"have twice": twice, "have": sorted(set(given) - set(known)), "lack": sorted(set(known) - set(given))}
        words = " and ".join(f"{verb} {', '.join(map(repr, some[:8]))}" for verb, some in found.items() if some)
        if not words:
            raise
        among = ", ".join(map(repr, known[:8])) + (", ..." if len(known) > 8 else "")
        hint = "names, or numbers from 0 on" if not names else f"{among}, the same in all rows and columns, each once"
        raise UsageError(f"{what} {words}; expected {hint}") from None


def whole(label: Any) -> int:
    if isinstance(label, bool):
        return -1
    if isinstance(label, str) and re.fullmatch(r"\d{1,18}", label):
        return int(label)
    return int(label) if isinstance(label, (int, float)) and label == label and label == int(label) else -1


def by_state(value: Any, states: int, names: Sequence[str] | None, what: str, some: bool = False) -> NDArray[Any]:
    """Values of a series or a dictionary in the order of the states; some: those left out are 0."""
    labels, values = (value.index, np.asarray(value)) if is_series(value) else (value.keys(), _plain(value.values()))
    order = numbers_of(labels, states, names, f"the states of {what}", some)
    made = np.zeros(states, dtype=values.dtype)
    made[order] = values
    return made


def _plain(values: Any) -> NDArray[Any]:
    return np.asarray(list(values))


def wide(table: Any, states: int, actions: int, of: Any, what: str) -> NDArray[Any]:
    """A frame with a line for each state and a column for each action as an array (S, A)."""
    index = table.index if hasattr(table, "index") and not callable(table.index) else range(len(table))
    rows = numbers_of(index, states, of.given_state_names(), f"the lines of {what}, by their labels,")
    columns = numbers_of(table.columns, actions, of.known_action_names(), f"the columns of {what}")
    made = np.empty((states, actions))
    made[np.ix_(rows, columns)] = np.asarray(table, dtype=np.float64)
    return made


def is_long(table: Any) -> bool:
    """Whether a frame has columns for states and actions."""
    names = {str(name).lower() for name in table.columns}
    return bool(names & set(ROLES["state"])) and bool(names & set(ROLES["action"]))


def flat(value: Any, role: str) -> Any:
    """A series by state and action (an index of two levels) as a frame with these columns and one for its numbers."""
    if is_series(value) and getattr(value.index, "nlevels", 1) > 1:
        return value.reset_index(name=role)
    return value
