"""One context of the C library: threads, seed, messages, progress, Ctrl-C, and statuses as exceptions.

cffi releases the GIL during every call. A few times a second the library asks, through `progress`, whether to
go on; Python then runs what signals have left to do, so that Ctrl-C arrives there as a KeyboardInterrupt,
wherever in the callback that is. It cannot cross C: `_keep` puts it aside, the library is told to stop, and
`Context.check` raises it again.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
import weakref
from typing import Any, Callable, NoReturn

from . import errors
from ._keywords import in_python
from ._library import ffi, filled, lib, place, text

Progress = Callable[[str, float], Any]

_log = logging.getLogger("nadir")


class _Voice:
    """What callbacks hear and say; apart from the context, so that the two are no cycle."""

    def __init__(self, progress: Progress | None):
        self.progress = progress
        self.watch: Callable[[Any], Any] | None = None
        self.raised: BaseException | None = None
        self.warnings: list[str] = []
        self.speaks = False  # something is in one of the two


def _keep(kind: Any, error: BaseException, trace: Any) -> None:
    voice = ffi.from_handle(trace.tb_frame.f_locals["user"])
    if voice.raised is None:
        voice.raised = error
        voice.speaks = True


@ffi.callback("int(void *, const char *, double)", error=1, onerror=_keep)
def _progress(user: Any, task: Any, share: float) -> int:
    voice = ffi.from_handle(user)
    if voice.progress is not None and voice.progress(text(task), share):
        return 1
    return 0


@ffi.callback("void(void *, nadir_log_level, const char *)", onerror=_keep)
def _message(user: Any, level: int, message: Any) -> None:
    said = in_python(text(message) or "")
    if level == lib.NADIR_LOG_WARNING:
        voice = ffi.from_handle(user)
        voice.warnings.append(said)
        voice.speaks = True
    else:
        _log.log(logging.INFO if level == lib.NADIR_LOG_NOTICE else logging.DEBUG, "%s", said)


@ffi.callback("int(void *, const nadir_robust_optimum_step *)", error=1, onerror=_keep)
def watch_step(user: Any, step: Any) -> int:
    """For nadir_robust_optimum_settings.watch, with `Context.user` as watch_user."""
    voice = ffi.from_handle(user)
    return 1 if voice.watch is not None and voice.watch(step) else 0


def _callers_level() -> int:
    """Which `stacklevel` of a warning, for who calls this, is the first line outside the package."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


# OpenMP's threads do not survive a fork, and a child that waits for them waits for ever: it uses one thread.
_forked = False
_alive: weakref.WeakSet[Context] = weakref.WeakSet()


class _LeftBehind:
    """The lock of a context of several threads in a forked child."""

    def __enter__(self) -> NoReturn:
        raise errors.UsageError(
            "this solver has several threads, which a fork does not take along: make it in this process, or "
            "with threads=1"
        )

    def __exit__(self, *_: Any) -> None:
        pass


def _after_fork() -> None:
    global _forked
    _forked = True
    _own.__dict__.clear()
    for context in _alive:
        context.lock = threading.RLock() if context.threads == 1 else _LeftBehind()


os.register_at_fork(after_in_child=_after_fork)


class Context:
    """A C context, for one thread at a time: `lock` is held during calls."""

    def __init__(self, threads: int | None = None, seed: int = 0, progress: Progress | None = None):
        if threads is not None and threads < 0:
            raise errors.UsageError(f"threads is {threads}; expected 0 (one for each processor) or more")
        settings = filled("context_settings")
        self.voice = _Voice(progress)
        self.user = user = ffi.new_handle(self.voice)
        self.lock: Any = threading.RLock()
        settings.log = _message
        settings.progress = _progress
        settings.log_user = settings.progress_user = user
        settings.threads = 1 if _forked else threads or 0
        settings.seed = seed
        made = place("context")
        status = lib.nadir_context_create(settings, made)
        if status != 0:
            error = errors.BY_STATUS[text(lib.nadir_status_name(status)) or ""]
            raise error(text(lib.nadir_status_sentence(status)))
        # The handle of the voice has to outlive the C context.
        self.handle = ffi.gc(made[0], lambda context, kept=user: lib.nadir_context_free(context))
        _alive.add(self)

    @property
    def threads(self) -> int:
        return lib.nadir_context_threads(self.handle)

    @property
    def memory_peak(self) -> int:
        """The most bytes that this context, and what was made with it, had in use at once."""
        return lib.nadir_context_memory_peak(self.handle)

    def call(self, function: Callable[..., int], *arguments: Any) -> None:
        """Runs a C function; raises what its status says."""
        with self.lock:
            self.check(function(self.handle, *arguments))

    def answer(self, function: Callable[..., int], arguments: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """As `call`, and what `make` makes of the answer, which an exception carries too; None: there is none."""
        with self.lock:
            status = function(self.handle, *arguments)
            made = make()
            self.check(status, made)
        return made

    def check(self, status: int, result: Any = None) -> None:
        """Tells warnings, then raises what a status says; `result` is the best answer so far."""
        voice = self.voice
        error = None
        if voice.speaks:
            said, voice.warnings = voice.warnings, []
            error, voice.raised = voice.raised, None
            voice.speaks = False
            for message in said:
                warnings.warn(message, errors.NadirWarning, stacklevel=_callers_level())
        if status != 0 or error is not None:
            self._raise(status, error, result)

    def _raise(self, status: int, error: BaseException | None, result: Any) -> NoReturn:
        if error is None:
            name = text(lib.nadir_status_name(status))
            said = text(lib.nadir_context_error(self.handle)) or text(lib.nadir_status_sentence(status))
            words = in_python(said or "")
            kind = errors.BY_STATUS.get(name or "", errors.NadirError)
            if result is not None and kind is errors.ConvergenceError:
                words += " (the best so far, with bounds that hold, is in the exception's `result`)"
            error = kind(words)
            error.status = name or ""
        error.result = result  # type: ignore[attr-defined]
        raise error


_own = threading.local()


def shared(threads: int | None = None, seed: int = 0, progress: Progress | None = None) -> Context:
    """The context that the running thread keeps for so many threads; a new one for a seed or a `progress`.

    But for those that draw kernels (`fit`), calls leave nothing behind in a context: the same question has
    the same answer, to the bit, in any with the same settings.
    """
    if progress is not None or seed != 0:
        return Context(threads, seed, progress)
    try:
        return _own.contexts[threads]
    except AttributeError:
        _own.contexts = {}
    except KeyError:
        pass
    made = _own.contexts[threads] = Context(threads)
    return made
