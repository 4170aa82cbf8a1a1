"""Robust Markov decision processes: worst cases with bounds that can be rechecked.

*How badly can this policy do, and which policy does best in the worst case*, when the transition kernel is
only known up to an L_p ball of radius β around a nominal one?

>>> import numpy as np, nadir
>>> P = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0.1, 0.9]]])   # P[s, a, t]
>>> R = np.array([[0.0, 1.0], [2.0, 0.5]])                               # R[s, a]
>>> found = nadir.evaluate(P, R, "uniform", discount=0.9, radius=0.1, layout="sas")
>>> round(found.nominal_return, 6), round(found.robust_return, 6), found.certified
(9.403226, 9.093999, True)

`evaluate`, `sweep`, `radius`, `difference`, `gradient`, `solve`, `optimize` and `verify` ask one question
each; `Model` and `Solver` keep what can be used again; `read`, `write` and `generate` bring models in and out. Models are
arrays, frames of pandas or polars, dictionaries of Gymnasium, or files. From a log `fit` finds a policy and what it earns
at least, or (`guarantee="kernel"`) a ball that holds the truth; `fit_compare` tells which of several policies earns more. The C library does all the work, without the GIL; Ctrl-C stops it.
"""

from ._library import __version__
from .errors import (
    ConvergenceError,
    FileError,
    FormatError,
    IllPosedError,
    Interrupted,
    ModelError,
    NadirError,
    NadirWarning,
    OutOfMemoryError,
    PolicyError,
    UnsupportedError,
    UsageError,
    VerificationError,
)
from .functions import (
    difference,
    evaluate,
    fit,
    fit_compare,
    fit_return,
    generate,
    generators,
    gradient,
    norm,
    optimize,
    radius,
    read,
    report,
    solve,
    sweep,
    verify,
    write,
)
from .model import Model, Policy
from .results import (
    Changes,
    Check,
    Comparison,
    ConeNorm,
    Damage,
    Difference,
    Evaluation,
    Explanation,
    Facts,
    Fit,
    FitComparison,
    FitReturn,
    MoreData,
    Gradient,
    Guarantee,
    Nominal,
    Optimization,
    Optimum,
    Radius,
    Report,
    Step,
    Sweep,
    Verification,
)
from .solver import Solver
from .union import Union, UnionEvaluation

__all__ = [
    "Changes",
    "Check",
    "Comparison",
    "ConeNorm",
    "ConvergenceError",
    "Damage",
    "Difference",
    "Evaluation",
    "Explanation",
    "Facts",
    "FileError",
    "Fit",
    "FitComparison",
    "FitReturn",
    "MoreData",
    "FormatError",
    "Gradient",
    "Guarantee",
    "IllPosedError",
    "Interrupted",
    "Model",
    "ModelError",
    "NadirError",
    "NadirWarning",
    "Nominal",
    "Optimization",
    "Optimum",
    "OutOfMemoryError",
    "Policy",
    "PolicyError",
    "Radius",
    "Report",
    "Solver",
    "Step",
    "Sweep",
    "Union",
    "UnionEvaluation",
    "UnsupportedError",
    "UsageError",
    "Verification",
    "VerificationError",
    "__version__",
    "difference",
    "evaluate",
    "fit",
    "fit_compare",
    "fit_return",
    "generate",
    "generators",
    "gradient",
    "norm",
    "optimize",
    "radius",
    "read",
    "report",
    "solve",
    "sweep",
    "verify",
    "write",
]
