"""From logged transitions to a robust policy, with a guarantee at 95 % confidence."""

import numpy as np

import nadir

# What nobody knows: the true model. All that is seen is a log of (state, action, next state, reward).
truth = nadir.generate("riverswim", states=5)
kernel, rewards = truth.dense(), truth.table(truth.rewards)
rng = np.random.default_rng(7)
log, state = [], 0
for _ in range(20000):
    action = int(rng.random() < 0.8)
    successor = int(rng.choice(5, p=kernel[state, action]))
    log.append((state, action, successor, rewards[state, action]))
    state = successor

fitted = nadir.fit(np.array(log), confidence=0.95, discount=0.95, guarantee="kernel")
print(fitted)
found = nadir.optimize(fitted.model)
earned = nadir.Solver(truth, found.policy).nominal().nominal_return
print(f"promised {found.lower_bound:.0f}, earned on the true model {earned:.0f}")
print("the promise is kept:", found.lower_bound <= earned)
