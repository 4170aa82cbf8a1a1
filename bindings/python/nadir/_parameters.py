"""What keywords mean: the sections Parameters and Returns of the docstrings of functions, from one table."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from typing import Any

PARAMETERS = {
    "A": "a matrix",
    "P": "the kernel, in a form of nadir.Model, or a whole model: a Model, a file, a dictionary of Gymnasium, a frame",
    "R": "rewards: (S, A), one number for each state or row, or in the form of P; left out for a whole model",
    "actions": "how many actions every state has; default: up to the largest in the data",
    "avoid": "states to be avoided on the way to the goal",
    "backend": "how linear systems are solved: 'lapack', 'klu', 'krylov', 'auto'",
    "bounds": "also the dual bound",
    "certify": "how much work proofs may cost: 'off', 'auto', 'strict'",
    "checkpoint": "a file that is kept up to date",
    "checkpoint_seconds": "how often it is",
    "columns": "what columns are called: {role: name} or {name: role}; others keep their common names",
    "compress": "deflate the arrays (.npz)",
    "concentration": "weight of the prior of each successor",
    "confidence": "of what is promised, between 0 and 1 (0.95)",
    "costs": "rewards are costs, to be negated",
    "data": "a log: a frame, an array, a file",
    "discount": "of rewards in the next step, from 0 to 1",
    "domain": "of kernels: 'simplex' (default), 'support' (no new transitions), 'free' (signs free), 'box' (of intervals, their default)",
    "evaluations_limit": "how many evaluations the search may take (1000)",
    "formula": "'kernel', or 'nominal' on the free domain",
    "frozen_rewards": "rewards of transitions are averaged under the nominal kernel, and paid whatever the successor",
    "gap": "wanted between the bounds, relative (1e-6)",
    "goal": "the probability to reach one of these states is asked for, without a discount",
    "guarantee": "'return' (default), 'posterior': if the prior is right, or (fit) 'kernel': a ball that holds the true kernel",
    "horizon": "how many steps; default: no end",
    "initial": "where one starts: a distribution, or the number or name of a state",
    "iterations_limit": "how many iterations the search may take",
    "kernel": "the file of the kernel",
    "kind": "which one: nadir.generators() has them",
    "labels": "a companion file with labels",
    "layout": "'sas' for P[s, a, t], 'ass' for P[a, s, t]; needed where the shape cannot tell",
    "method": "of the search, or of the radius: see the pages docs/methods.md and docs/fit.md",
    "model": "a Model",
    "model_file": "the file of the model, to be compared byte by byte",
    "more": "how many more visits: where they help most is told",
    "norm": "p of the L_p norm, 1 to infinity or 'inf' (2), or 'chi2'",
    "optimistic": "the best case instead of the worst",
    "order": "how: 0 to 3, 'paper', 'power' (default), 'random', 'slsqp'",
    "other": "the policy that is compared with",
    "outcome": "which one of a table with a column idoutcome, or 'mean'",
    "path": "a file",
    "policies": "{name: policy}, or a list of policies",
    "policy": "a table (S, A), action numbers or names, {state: action}, a frame, 'uniform', 'optimal', a file",
    "policy_file": "the file of the policy, to be compared byte by byte",
    "prior": "weight of the prior of a row, in observations (2)",
    "progress": "called with what is being done and its share; something true stops it",
    "proof_time_limit": "seconds for the proof of the result (10)",
    "radii": "of a curve: (first, last, how many)",
    "radius": "how far a kernel may be from the nominal one; default: the model's own",
    "ragged": "states have the actions up to the largest seen there",
    "resume": "a checkpoint to go on from",
    "reward_model": "which one of a Storm file",
    "reward_norm": "p of the L_p norm of the rewards (2)",
    "reward_radius": "how far rewards of pairs may be off as well",
    "rewards": "a companion file with rewards",
    "samples": "how many kernels are drawn",
    "scales": "how uncertain each row is, 0 pins it; of fit: 'auto', 'ones', 'deviation', 'occupancy', 'sensitivity'",
    "seed": "of random numbers",
    "sets": "'nonrect' (default, one budget), 's' (one for each state), 'sa' (one for each row)",
    "settings": "those of the kind, by name",
    "start": "the policy to begin with",
    "state_rows": "the first row of each state, and then the number of rows",
    "states": "how many states there are; default: up to the largest in the data",
    "step": "length of a step (method='paper')",
    "successors": "which are possible: 'all', 'seen', or a file that lists them",
    "target": "the return that is to be met",
    "target_penalty": "how many visits lower the penalty to this is told, and where",
    "threads": "how many; default: one for each processor",
    "time_limit": "seconds; of optimize for the search, of report for all (60), otherwise for strict proofs (10)",
    "title": "of the page",
    "tolerance": "of the value, relative to the penalty",
    "total": "with discount=1: total rewards until a state that stays without reward",
    "unseen": "what landing on a successor without a reward pays: 'additive', 'row', 'min' or a number",
    "until": "total rewards until one of these states are asked for, without a discount",
    "unvisited": "what rows without data are: 'absorb', 'pin', or (kernel) 'uniform'",
    "watch": "called after every step; something true stops the search",
    "width": "bounds closer than this share of the penalty are called certified (1e-6)",
    "witness": "the file of the proof",
}


def documented(function: Callable[..., Any]) -> None:
    """Adds what the parameters are and what is returned to the docstring, before its examples."""
    signature = inspect.signature(function)
    lines = ["Parameters", "----------"]
    for name, one in signature.parameters.items():
        default = "" if one.default is one.empty else f", default {one.default!r}"
        lines += [f"{name} : {one.annotation}{default}", *textwrap.wrap(PARAMETERS[name], 100, initial_indent="    ", subsequent_indent="    ")]
    if signature.return_annotation != "None":
        lines += ["", "Returns", "-------", str(signature.return_annotation)]
    text, begins, code = inspect.cleandoc(function.__doc__ or "").partition("\n>>> ")
    examples = ["", "Examples", "--------", ">>> " + code] if begins else []
    function.__doc__ = "\n".join([text.rstrip(), "", *lines, *examples]) + "\n"
