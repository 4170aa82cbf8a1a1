"""Types of arguments. Words are literals for completion in editors; any string is taken, and checked when called."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from .model import Policy

Array = NDArray[np.float64]
Path = Union[str, "os.PathLike[str]"]
Sets = Union[Literal["nonrect", "s", "sa"], str]
Domain = Union[Literal["simplex", "support", "free", "box"], str]
Certify = Union[Literal["off", "auto", "strict"], str]
Layout = Union[Literal["sas", "ass"], str]
Norm = Union[float, Literal["inf"], str]
Unseen = Union[Literal["additive", "row", "min"], float, str]
Progress = Callable[[str, float], Any]
#: (S, A), by row, action numbers or names, a frame or a series by label, a name or a file.
PolicyLike = Union["Policy", ArrayLike, Path, Mapping[Any, Any], Any]
#: A number, one for each state, one for each row or (S, A); also a frame or a series by label.
Numbers = Union[float, ArrayLike, Mapping[Any, Any], Any]
Names = Sequence[str]
#: A number or a name, a list of them, or S truth values.
States = Union[int, str, ArrayLike, Sequence[Any]]

CHI2 = -2.0  # NADIR_NORM_CHI2


def said_norm(norm: float) -> "Norm":
    """A norm as it is asked for."""
    return "chi2" if norm == CHI2 else norm
