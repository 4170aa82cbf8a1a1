"""The words of the command about fits (cli/fit_print.c, cli/fit_return_print.c)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ._verdict import Lines, percent, short

if TYPE_CHECKING:
    from .model import Model

_GROUNDS = "holds if the prior is right (rows independent, Dirichlet)"
ELSEWHERE = f"of policies made elsewhere: {_GROUNDS}"
SHOWN = 10  # rows of a table of more data


def grounds(guarantee: str, chosen: bool) -> str:
    if guarantee == "posterior":
        return f"of any policy: {_GROUNDS}"
    if chosen:
        return "of a policy chosen on these data: first order, measured in simulations, no theorem"
    return f"of a policy made elsewhere: {_GROUNDS}"


def ball_grounds(data: str, method: str) -> str:
    """Of a ball that holds the true kernel."""
    if data == "samples":
        return "of any policy: holds if the kernels given are drawn from the posterior"
    if method == "distribution-free":
        return "of any policy: proven for every true kernel"
    if method == "bootstrap":
        return "of any policy: holds if the estimate is off by as much as those from simulated data, no theorem"
    return f"of any policy: {_GROUNDS}"


def row_list(model: "Model", rows: Any) -> str:
    """ "a, wait; b, go; and 3 more"."""
    owner = model.row_states
    names = [f"{model.state_name(int(owner[row]))}, {model.action_name(int(row))}" for row in rows[:4]]
    return "; ".join(names) + (f"; and {len(rows) - 4} more" if len(rows) > 4 else "")


def behaviour(value: float, deviation: float) -> Lines:
    made = [("behaviour", f"{short(value)}, the return of the policy that made the data: the line to beat")]
    return made + ([("rewards", f"vary by {short(deviation)}: their means are drawn too")] if deviation > 0 else [])


def draws(count: int, confidence: float) -> Lines:
    return [("draws", f"{count} kernels of the posterior; each bound allows for chance in them ({100 * confidence:g} %)")]


def picture(count: int, confidence: float) -> str:
    return f"how likely each return is after the data ({count} draws); dashed: guaranteed with confidence {confidence:g}"


def data(facts: dict[str, Any], model: "Model", policies: Any) -> Lines:
    """How much there is, and what there is not. facts: `Fit` and `FitReturn` have them; policies: [rows] each."""
    ends = int(facts["terminal"])
    episodes = f" in {facts['episodes']} episodes" if facts["episodes"] else ""
    made = [("data", f"{facts['total_count']:.12g} transitions{episodes}; a row has {short(facts['visits_median'])} of them "
             f"(median), at least {short(facts['visits_min'])}")]  # fmt: skip
    end = f", and {model.state_name(model.states - 1)}, the end" if ends else ""
    made.append(("rows", f"{facts['rows_visited']} of {facts['rows'] - ends} visited, {facts['states'] - ends} states{end}"))
    untried = model.untried_rows()
    if len(untried):
        taken = any((one[untried] > 0).any() for one in policies)
        made.append(("no data", row_list(model, untried) + (": taken by the policy all the same" if taken else ": not taken")))
    made += [("", f"{words}") for words in without_data(facts, model)]
    if facts["dropped"]:
        made.append(("dropped", f"{facts['dropped']} lines whose next state is not known"))
    return [*made, ("start", model.start_words() + (", as the episodes of the data" if facts["starts_seen"] else ""))]


def without_data(facts: dict[str, Any], model: "Model") -> list[str]:
    """What is assumed of states that the data reach, and say nothing of."""
    if facts["unvisited"] not in (None, "absorb"):
        return []
    untried = np.zeros(model.rows, bool)
    untried[model.untried_rows()] = True
    states = np.flatnonzero(np.logical_and.reduceat(untried, model.state_rows[:-1]))
    if not len(states):
        return []
    names = ", ".join(model.state_name(int(state)) for state in states[:4]) + (", ..." if len(states) > 4 else "")
    paid = "" if model.rewards is None else f", at the lowest reward seen, {short(float(model.rewards[untried].min()))}"
    kind, stay = ("state", "it is taken to stay") if len(states) == 1 else ("states", "they are taken to stay")
    return [f"no line begins in {kind} {names}: {stay} there for ever{paid}. Where episodes end there, a column done says so"]


# ------------------------------------------------------------------------------------------------ one policy


def returned(one: Any) -> tuple[Lines, Lines]:
    """Verdict and block of a `FitReturn`."""
    chosen, model = not math.isnan(one.weight), one.policy.model
    heads = [
        ("Guaranteed", f"{short(one.guaranteed, -1)} with confidence {one.confidence:g}   estimated {short(one.nominal_return)}"),
        ("Grounds", one.grounds),
    ]
    block = [("policy", "chosen on these data" if chosen else one.policy.name or "given")]
    if one.guaranteed < one.posterior_bound:
        block.append(("posterior", f"{short(one.posterior_bound, -1)} if the prior is right and the choice is not paid for"))
    if one.ties:
        rows = row_list(model, np.flatnonzero(one.tied_rows))
        kind = "row is" if one.ties == 1 else "rows are"
        block.append(("choosing", f"{one.ties} {kind} not told apart from those taken: {rows}"))
    if one.level_used < 1 - one.confidence - 1e-12:
        asked = percent(1 - one.confidence)
        block.append(("caution", f"{percent(one.level_used)} of the posterior is below the guarantee, in place of {asked}"))
    elif one.ties:
        block.append(("", "choosing among them costs nothing here"))
    block += behaviour(one.behaviour_return, one.reward_deviation) + data(one.data, model, [one.policy.probabilities])
    paid = model.reward_words()
    block += ([("rewards", paid)] if paid.startswith("paid on landing") else []) + draws(one.draws, one.monte_carlo_confidence)
    if math.isfinite(one.radius):
        block.append(("ball", f"radius {short(one.radius)}, worst return {short(one.radius_lower_bound, -1)}: `model` has it"))
        block.append(("", "explains the guarantee of this policy; does not hold the kernel"))
    else:
        block.append(("ball", "none: no kernel of the domain returns as little"))
    if one.more is None:
        block.append(("more data", "more=N tells where N more visits help most, target_penalty=X how many are needed"))
    else:
        block.append(("more data", more_words(one.more) + "; `more` is the table"))
    return heads, block + (one.policy._lines() if chosen else [])


# ------------------------------------------------------------------------------------------------- more data


def more_words(more: Any) -> str:
    if not more.visits > 1e-6:
        return f"no visits more: the penalty is {short(more.penalty)}"
    return (
        f"{math.ceil(more.visits - 1e-6)} visits more: predicted penalty {short(more.penalty_told)} where they help most, "
        f"{short(more.penalty_even)} evenly, {short(more.penalty_as_before)} as before; now {short(more.penalty)}"
    )


def whole_visits(rows: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers that add up to the whole of all, rounded up: the largest remainders get one more."""
    whole = np.floor(rows + 1e-6)
    left = int(math.ceil(rows.sum() - 1e-6) - whole.sum())
    whole[np.argsort(whole - rows, kind="stable")[: max(left, 0)]] += 1
    return whole


def more_rows(more: Any) -> list[list[str]]:
    model, visits = more._policy.model, whole_visits(more.rows)
    order = [int(row) for row in np.argsort(-more.rows, kind="stable") if more.rows[row] > 0]
    owner = model.row_states
    made = [
        [f"{visits[row]:.0f}", f"{100 * more.share[row]:.1f} %", model.state_name(int(owner[row])), model.action_name(row)]
        for row in order[:SHOWN]
    ]
    if len(order) > SHOWN:
        rest = visits[order[SHOWN:]].sum()
        made.append([f"{rest:.0f}", "", f"{len(order) - SHOWN} others", "to_pandas() has all"])
    return made


# ------------------------------------------------------------------------------------------ several policies


def decision(one: Any) -> Lines:
    """Which policy to run, and what it is sure of."""
    best, count, confidence = one.names[one.best], len(one.names), f"{one.confidence:g}"
    others = [name for i, name in enumerate(one.names) if i != one.best]
    sure = f"{short(one.together[one.best], -1)} of {best}, picked among {count}, with confidence {confidence}"
    if count == 1:
        return [("Guaranteed", f"{short(one.guaranteed[0], -1)} of {best}, with confidence {confidence}")]
    if one.decided:
        than = others[0] if count == 2 else "each of the others"
        first = ("Better", f"{best}: it earns more than {than} with confidence {confidence}")
    else:
        alike = ", ".join(name for i, name in enumerate(one.names) if i != one.best and not one.lead[i] > 0)
        first = ("Undecided", f"the data do not tell {best} from {alike} with confidence {confidence}")
    return [first, ("Guaranteed", sure)]


def comparison_rows(one: Any) -> list[list[str]]:
    made = []
    for i, name in enumerate(one.names):
        cells = [name, short(one.nominal[i]), short(one.guaranteed[i], -1)]
        if i and one.lower[i, 0] == one.lower[0, i] == 0:
            cells += [f"the same policy as {one.names[0]}", "", ""]
        elif i:
            cells += [short(one.nominal[i] - one.nominal[0]), short(one.lower[i, 0], -1), short(0 - one.lower[0, i], 1)]
        made.append(cells if i else [*cells, "", "", ""])
    return made


def comparison_block(one: Any) -> Lines:
    model = one.policies[0].model
    made: Lines = []
    if len(one.names) > 1:
        made.append(("difference", f"return less that of {one.names[0]}, under the same kernels"))
        made.append(("bounds", f"each of the table holds with confidence {one.confidence:g} on its own;"))
        made.append(("", "what stands above the table holds after looking at all of them (union bound)"))
    made.append(("grounds", ELSEWHERE))
    made += behaviour(one.behaviour_return, one.reward_deviation)
    made += data(one.data, model, [policy.probabilities for policy in one.policies])
    return made + draws(one.draws, one.monte_carlo_confidence)
