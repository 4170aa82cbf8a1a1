"""The policy that does best in the worst case: what it costs, what it buys, how good it is for certain."""

import nadir

model = nadir.generate("machine")
ball = {"radius": 0.1, "domain": "simplex"}

nominal = nadir.solve(model)
fragile = nadir.evaluate(model, nominal.policy, **ball)
robust = nadir.optimize(model, **ball)

print("                 nominal       worst")
print(f"nominal optimum  {nominal.nominal_optimum:10.5f}  {fragile.robust_return:10.5f}")
print(f"robust policy    {robust.nominal_return:10.5f}  {robust.robust_return:10.5f}")
print(f"no policy is sure of more than {robust.optimality_upper_bound:.5f}; certified: {robust.certified}")
for state in range(model.states):
    chances = robust.policy.table[state]
    if chances[nominal.policy.actions[state]] < 1:
        print(f"state {model.state_name(state)}: {chances.round(3)}")

# Anyone can recheck the bounds, without searching, from the kernel and its witness alone.
print("verified:", robust.evaluation.verify().verified)
