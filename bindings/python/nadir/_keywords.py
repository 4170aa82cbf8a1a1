"""The words of calls: keywords with their older names, and messages of the library in the words of Python."""

from __future__ import annotations

import contextlib
import difflib
import functools
import inspect
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

Called = TypeVar("Called", bound=Callable[..., Any])

#: Older names of keywords, still taken.
OLDER = {"gamma": "discount", "mu": "initial", "set": "sets", "radii": "radius"}
#: What others call them.
_MEANT = {
    "p": "norm", "ord": "norm", "order": "norm", "beta": "radius", "epsilon": "radius", "eps": "radius",
    "budget": "radius", "alpha": "scales", "time": "time_limit", "timeout": "time_limit", "df": "discount",
    "max_iter": "iterations_limit", "n_jobs": "threads", "tol": "tolerance", "random_state": "seed",
    "out": "path", "output": "path", "file": "path", "filename": "path", "pi": "policy", "rewards": "R", "transitions": "P", "start": "initial",
}  # fmt: skip


def keywords(function: Called) -> Called:
    """Takes older names of keywords too; a wrong one names the function that was called and the nearest keyword."""
    parameters = inspect.signature(function).parameters.values()
    known = frozenset(one.name for one in parameters if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY))
    places = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    named = any(one.kind is one.KEYWORD_ONLY for one in parameters) and not any(one.kind is one.VAR_POSITIONAL for one in parameters)

    @functools.wraps(function)
    def call(*arguments: Any, **given: Any) -> Any:
        if not given.keys() <= known:
            given = _renamed(function, known, given)
        if named and len(arguments) > len(places):
            own = ", ".join(name for name in places if name != "self") or "nothing"
            hint = "; did you mean radius=?" if "radius" in known else ""
            raise TypeError(f"{_name(function)} takes {own} by place, and anything else by name{hint}")
        return function(*arguments, **given)

    return call  # type: ignore[return-value]


def plain(function: Called) -> Called:
    """A function for calls from within, whose keywords are right."""
    return getattr(function, "__wrapped__")


def _name(function: Callable[..., Any]) -> str:
    words = function.__qualname__.removesuffix(".__init__")
    return f"nadir.{words}()"


def _renamed(function: Callable[..., Any], known: frozenset[str], given: dict[str, Any]) -> dict[str, Any]:
    made = {}
    for word, value in given.items():
        name = OLDER.get(word, word) if word not in known else word
        if name not in known:
            raise TypeError(_unknown(function, word, known))
        if name in made or (name != word and name in given):
            raise TypeError(f"{_name(function)}: {word} is another name of {name}: give one of them")
        made[name] = value
    return made


def nearest(word: str, choices: Any) -> str | None:
    """The choice that was meant, if one is close."""
    found = difflib.get_close_matches(word, sorted(choices), n=1)
    return found[0] if found else None


#: Keywords of models, which questions do not have.
_OF_MODELS = ("columns", "state_names", "action_names", "row_actions", "copy")


def _unknown(function: Callable[..., Any], word: str, known: frozenset[str]) -> str:
    if word in _OF_MODELS and "P" in known:
        name = function.__name__
        return f"{_name(function)} has no keyword {word!r}: make the model first, nadir.{name}(nadir.Model(..., {word}=...), ...)"
    meant = _MEANT.get(word)
    if meant not in known:
        meant = nearest(word, known | {older for older, name in OLDER.items() if name in known})
    hint = f"; did you mean {meant!r}?" if meant is not None else f"; it has {', '.join(sorted(known - {'self'}))}"
    return f"{_name(function)} has no keyword {word!r}{hint}"


# --------------------------------------------------------------------------------------- messages of the library

_OPTIONS = {"time": "time_limit", "set": "sets", "max-evaluations": "evaluations_limit"}
_FLAGS = ("frozen-rewards", "compress", "costs", "total")
_PHRASES = [
    (re.compile(r"; PRISM and PETSc models take them from a file of their own, --rewards"),
     ": give R (models of PRISM and PETSc have them in a file of their own, rewards= of nadir.read)"),
    (re.compile(r" \(in C: [^)]*\)"), ""),
    (re.compile(r" \(--discount overrides it\)"), ""),
    (re.compile(r"\(--horizon of evaluate, sweep and solve\)"), "(horizon= of nadir.evaluate)"),
    (re.compile(r"say which are which as state=NAME,action=NAME,\.\.\."),
     'say which are which with columns={"state": NAME, "action": NAME, ...}'),
    (re.compile(r"\(`total` of the model\)"), "(total=True)"),
    (re.compile(r"--columns state=NAME,action=NAME,next=NAME,\.\.\."), 'columns={"state": NAME, "action": NAME, "next": NAME, ...}'),
    (re.compile(r"--columns state=NAME,action=NAME,\.\.\."), 'columns={"state": NAME, "action": NAME, ...}'),
    (re.compile(r"the backend (\S+) is part of (an engine[^(]*|the engine \S+) \(--engine \w+\)"),
     r"the backend \1 is part of an engine, which only the command loads"),
    (re.compile(r"--unseen row, min or a number"), 'unseen="row", "min" or a number'),
    (re.compile(r"`nadir fit`"), "`nadir.fit`"),
]  # fmt: skip
_OPTION = re.compile(r"--([a-z][a-z-]*)(?: (sas|ass|support|simplex|strict|auto|off|kernel|NAME|FILE)\b)?")


def _keyword(found: re.Match[str]) -> str:
    option, value = found.groups()
    name = _OPTIONS.get(option, option).replace("-", "_")
    if option in _FLAGS:
        return f"{name}=True"
    return f"{name}=" + (f'"{value}"' if value and value.islower() else value or "")


class _Spoken(threading.local):
    """The files that a thread has made of what its caller gave, and what to call them."""

    files: tuple[tuple[str, str, str], ...] = ()


_spoken = _Spoken()


@contextlib.contextmanager
def spoken_of(path: str, what: str, sort: str = "") -> Iterator[None]:
    """Messages of the library name what the caller gave, and its rows from 0 on, not a file that was made of it. sort: the
    call that sorts it."""
    before = _spoken.files
    _spoken.files = (*before, (path, what, sort))
    try:
        yield
    finally:
        _spoken.files = before


_UNSORTED = re.compile(r"expected step 0 or 1$|of episode .* follows step|but the step before says that the next state is")


def _named(message: str) -> str:
    for path, what, sort in _spoken.files:
        if path in message:
            message = message.replace("is ``;", "is missing;").replace("the header must name", "expected columns")
            message = re.sub(r"but line (\d+) has", lambda at: f"but row {int(at[1]) - 2} has", message)
        if path in message and sort:
            message = re.sub(r"sort the data by episode and (step|time)", f"sort it first: {sort}", message)
            if _UNSORTED.search(message):
                message += f"; if it is not sorted: {sort}"
        place = re.compile(re.escape(path) + r"(?::(\d+))?")

        def called(at: re.Match[str], what: str = what) -> str:
            return what + (f", row {int(at[1]) - 2}" if at[1] and int(at[1]) > 1 else "")

        message = place.sub(called, message)
    return message


def in_python(message: str) -> str:
    """A message of the library with keywords in the place of the command's options."""
    message = _named(message)
    if "--" not in message and "(in C:" not in message and "`" not in message:
        return message
    for phrase, words in _PHRASES:
        message = phrase.sub(words, message)
    return _OPTION.sub(_keyword, message)
