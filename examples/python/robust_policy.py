"""The policy that does best in the worst case: what it costs, what it buys, how good it is for certain."""

import nadir

model = nadir.generate("machine")

nominal = nadir.solve(model)
fragile = nadir.evaluate(model, nominal.policy, radius=0.1)
robust = nadir.optimize(model, radius=0.1)

print("                 nominal       worst")
print(f"nominal optimum  {nominal.nominal_optimum:10.5f}  {fragile.robust_return:10.5f}")
print(f"robust policy    {robust.nominal_return:10.5f}  {robust.robust_return:10.5f}")
print(f"no policy guarantees more than {robust.optimality_upper_bound:.5f}; certified: {robust.certified}")
print(robust.policy.compare(nominal.policy))

# Anyone can recheck the bounds, without searching, from the kernel and its witness alone.
print("verified:", robust.verify().verified)
