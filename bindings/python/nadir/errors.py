"""Exceptions, one for each way in which the library can fail."""

from __future__ import annotations

from typing import Any


class NadirError(Exception):
    """Something that nadir could not do; the text tells what was found, where, and what was expected.

    `status` is the name that the C library has for it, such as "NADIR_ERROR_MODEL". Where the best answer so
    far is known, `result` holds it, with bounds that are true; otherwise it is None.
    """

    status: str = ""
    result: Any = None


class UsageError(NadirError, ValueError):
    """An argument is outside its documented range, or of a wrong shape."""


class UnsupportedError(UsageError):
    """This combination of settings is not supported."""


class FileError(NadirError, OSError):
    """A file cannot be opened, read or written."""


class FormatError(NadirError, ValueError):
    """A file does not follow its format."""


class ModelError(NadirError, ValueError):
    """The numbers are no Markov decision process."""


class PolicyError(NadirError, ValueError):
    """The policy does not fit the model."""


class IllPosedError(NadirError, ArithmeticError):
    """The request has no finite answer: on the free domain, say, a radius at or past breakdown."""


class ConvergenceError(NadirError):
    """The limits were reached before the answer; `result` is the best so far."""


class OutOfMemoryError(NadirError, MemoryError):
    """There is not enough memory."""


class Interrupted(NadirError):
    """The caller's `progress` or `watch` asked to stop; `result` is the best so far, or None."""


class VerificationError(NadirError):
    """The files of an evaluation do not hold what they promise; `result` tells which checks failed."""


class NadirWarning(UserWarning):
    """The user should know: something was repaired, ignored or doubtful."""


BY_STATUS: dict[str, type[NadirError]] = {
    "NADIR_ERROR_ARGUMENT": UsageError,
    "NADIR_ERROR_UNSUPPORTED": UnsupportedError,
    "NADIR_ERROR_FILE": FileError,
    "NADIR_ERROR_FORMAT": FormatError,
    "NADIR_ERROR_MODEL": ModelError,
    "NADIR_ERROR_POLICY": PolicyError,
    "NADIR_ERROR_ILL_POSED": IllPosedError,
    "NADIR_ERROR_NOT_CONVERGED": ConvergenceError,
    "NADIR_ERROR_MEMORY": OutOfMemoryError,
    "NADIR_ERROR_IO": FileError,
    "NADIR_ERROR_INTERRUPTED": Interrupted,
    "NADIR_ERROR_VERIFICATION": VerificationError,
}
