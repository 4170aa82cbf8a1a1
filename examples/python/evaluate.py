"""How badly can a policy do when its kernel is only known up to a ball? From NumPy arrays."""

import numpy as np

import nadir

# A machine that is new (0), worn (1) or broken (2); it can be used (0) or repaired (1).
P = np.array(
    [
        [[0.8, 0.2, 0.0], [1.0, 0.0, 0.0]],
        [[0.0, 0.7, 0.3], [0.9, 0.1, 0.0]],
        [[0.0, 0.0, 1.0], [0.6, 0.0, 0.4]],
    ]
)
R = np.array([[10.0, 4.0], [7.0, 2.0], [0.0, -5.0]])
policy = np.array([0, 0, 1])  # use it until it breaks

model = nadir.Model(P, R, discount=0.95)
for domain in ("simplex", "support"):
    found = nadir.evaluate(model, policy, radius=0.1, domain=domain)
    print(f"{domain:8} nominal {found.nominal_return:.6f}, worst {found.robust_return:.6f}", end=" ")
    print("(proven)" if found.certified else f"(at least {found.lower_bound:.6f})")

print("who does the damage:")
for row in nadir.evaluate(model, policy, radius=0.1).explain(3):
    print(f"  state {row.state}, action {row.action}: {100 * row.share:.2f} %,", end=" ")
    print(f"{row.moved:.6f} moved from {row.origin} to {row.target}")
