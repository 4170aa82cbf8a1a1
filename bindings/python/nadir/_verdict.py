"""The words of the command's verdict (cli/verdict.c): what is guaranteed comes first, in short numbers."""

from __future__ import annotations

import math
from typing import Any

SETS = {
    "nonrect": "one budget for the whole kernel",
    "s": "a budget for each state",
    "sa": "a budget for each state and action",
}
DOMAINS = {
    "simplex": "new transitions allowed",
    "support": "no new transitions",
    "free": "negative probabilities allowed",
    "box": "probabilities within their intervals",
}
Lines = list[tuple[str, str]]


def short(value: float, side: int = 0) -> str:
    """Five significant digits: the nearest, or (side -1 or 1) not above or not below the value."""
    digits = 6 if 99999.5 <= abs(value) < 999999.5 else 5
    text = f"{value:.{digits}g}"
    if side and math.isfinite(value) and value != 0 and (float(text) - value) * side < 0:
        unit = 10.0 ** (math.floor(math.log10(abs(value))) - digits + 1)
        text = f"{float(text) + side * unit:.{digits}g}"
    return text


def between(lower: float, upper: float) -> str:
    """Two bounds: five digits, rounded outward, where they tell them well apart; else twelve."""
    if upper - lower >= 1e-3 * max(abs(lower), abs(upper)):
        return f"{short(lower, -1)} to {short(upper, 1)}"
    return f"{lower:.12g} to {upper:.12g}"


def norm(value: Any) -> str:
    return value if isinstance(value, str) else short(value)


def percent(share: float) -> str:
    share = 0.0 if abs(share) < 1e-11 else share  # below this it is rounding
    return f"{100 * share:.0f} %" if abs(share) >= 0.995 else f"{100 * share:.2g} %"


def chance(share: float) -> str:
    """Of an action: as `percent`, with the digits that tell it from 1."""
    if not 0.995 <= share < 1:
        return percent(share)
    digits = min(max(1 - math.floor(math.log10(100 * (1 - share))), 0), 6)
    return f"{100 * share:.{digits}f}".rstrip("0").rstrip(".") + " %"


def chances(of: dict[Any, float]) -> str:
    """ "wait (71 %), repair (29 %)", or the one action."""
    return ", ".join(f"{action}" + (f" ({chance(share)})" if share < 1 else "") for action, share in of.items())


def change(start: float, value: float) -> str:
    """ "loses 34 %", "gains 1.2": how far `value` is from `start`."""
    moved = value - start
    share = abs(moved) / abs(start) if start else math.nan if moved == 0 else math.inf
    return f"{'gains' if moved > 0 else 'loses'} {percent(share) if share <= 10 else short(abs(moved))}"


def proven(certified: bool, certificate: str | None) -> str:
    if not certified:
        return "not proven"
    return "proven" if certificate == "rigorous" else "proven, if its iterations converged as they seem to"


def ball(one: Any, radius: bool = True) -> str:
    size = f"radius {short(one.radius)}, " if radius else ""
    return f"{size}norm {norm(one.norm)}; {SETS.get(one.set, one.set)}; {DOMAINS.get(one.domain, one.domain)}"


def listed(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def about(solver: Any, one: Any, radius: bool = True) -> Lines:
    """Policy, ball, start and rewards, as far as they are known."""
    made: Lines = [("ball", ball(one, radius))]
    if solver is None:
        return made
    made.insert(0, ("start", solver.model.start_words()))
    if solver.policy.name:
        made.insert(0, ("policy", solver.policy.name))
    paid = solver.model.reward_words()
    return [*made, ("rewards", paid)] if paid.startswith("paid on landing") and one.domain != "support" else made


def promise(model: Any, radius: float) -> Lines:
    """What the ball of a fitted model is for, where it is the one that was asked about."""
    radii = model._array(model._view.radius, model._view.radius_count)
    if model.promise is None or radii is None or radius != radii.max():
        return []
    if model.promise == "kernel":
        return [("Note", f"this ball holds the true kernel with confidence {model.confidence:g}")]
    return [("Note", "this ball explains the guarantee that nadir.fit gave for one policy; it does not hold the true kernel")]


def robust(one: Any, certify: str) -> Lines:
    """The worst (or best) return of a policy: proven, or what is guaranteed, what was found, why, and what to try."""
    best = one.optimistic
    nominal, bound = one.nominal_return, one.guaranteed
    words = proven(one.certified, one.certificate)
    if one.certified:
        head = f"{short(one.robust_return)}   nominal {short(nominal)}, {change(nominal, one.robust_return)}   {words}"
        return [("Best case" if best else "Worst case", head)]
    if math.isfinite(bound):
        side = f"at most {short(bound, 1)}" if best else f"at least {short(bound, -1)}"
        made = [("Guaranteed", f"{side}   nominal {short(nominal)}, {change(nominal, bound)} at most")]
    else:
        made = [("Guaranteed", f"nothing   nominal {short(nominal)}")]
    made.append((
        "Found",
        f"{short(one.robust_return)}, {change(nominal, one.robust_return)}   {words}: "
        f"a {'better' if best else 'worse'} kernel is not ruled out",
    ))
    return made + [("Why", _reason(one, certify)), ("Try", _advice(one, certify))]


def most(one: Any, damage: Any, model: Any) -> Lines:
    """The row that does most damage."""
    what = ("Most gain", "gain") if one.optimistic else ("Most damage", "loss")
    row = f"{model.state_name(damage.state)}, {model.action_name(damage.row)}"
    return [(what[0], f"{row}: {move(damage, model)}, {percent(damage.share)} of the {what[1]}")]


def assumed(rows: Any, model: Any) -> Lines:
    """What new landings are assumed to pay, where rows rely on it and the fit misses rewards that are given."""
    rely = [one for one in rows if one.assumed > 1e-3 * one.mass]
    if not rely or not model.unseen_error > 0:
        return []
    to = rely[0].assumed_target
    paid = [one.assumed_reward for one in rely if one.assumed_target == to]
    low, high = short(min(paid)), short(max(paid))
    one, where = rely[0], model.state_name(to)
    row = f"{model.state_name(one.state)}, {model.action_name(one.row)}"
    what = f"{row} → {where} pays {low}" if low == high else f"new transitions to {where} pay {low} to {high}"
    off = f"a fit, up to {short(model.unseen_error, 1)} off rewards that are given;"
    return [("Assumed", f"{what}: {off}"), ("", "entries of R where P is 0 say what they pay, or unseen=")]


def move(damage: Any, model: Any, size: str = "") -> str:
    """ "worn → stuck (not in the model) and 2 other moves": the largest move of a row, with its size where that is given."""
    others = damage.moves - 1
    more = f" and {others} other move{'s' if others > 1 else ''}" if others > 0 else ""
    new = " (not in the model)" if damage.is_new else ""
    return f"{model.state_name(damage.origin)} → {model.state_name(damage.target)}{new}{size}{more}"


def _reason(one: Any, certify: str) -> str:
    if certify == "off":
        return 'no proof was asked for (certify="off")'
    if one.trap_radius_high <= one.radius:
        return "some kernels of the ball never end: searches go round them, and proofs do not hold"
    if one.time_ran_out:
        return "the time for the proof was up"
    if certify == "strict":
        return "the strict proof ended with no step left to try: its bounds do not meet the kernel found"
    if one.kappa > 0.5:
        return f"the ball is too large for the quick proof (kappa {short(one.kappa, 1)}; up to 0.5 it works)"
    if one.set == "nonrect" and one.norm not in (2, "chi2"):
        return "the second-order proof is for norm 2 only; what is left is a weaker bound"
    return "the bounds that can be proven do not meet the kernel found"


def _advice(one: Any, certify: str) -> str:
    if certify == "off":
        return 'certify="auto"'
    if one.trap_radius_high <= one.radius:
        return f"a radius below {short(one.trap_radius_low, -1)}: up to there every kernel ends"
    words = [] if certify == "strict" else ['certify="strict"']
    if certify == "strict" and one.time_ran_out:
        words.append("a larger time_limit")
    if one.domain == "simplex":
        words.append('domain="support"')
    return listed([*words, "a smaller radius"])
