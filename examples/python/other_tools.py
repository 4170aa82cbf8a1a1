"""Models as other tools keep them: one sparse matrix per action, and the dictionaries of Gymnasium."""

import numpy as np
from scipy import sparse

import nadir

# MDPtoolbox: a list of (S, S) matrices, one for each action, and rewards (S, A). Here: its forest example.
wait = sparse.csr_matrix([[0.1, 0.9, 0.0], [0.1, 0.0, 0.9], [0.1, 0.0, 0.9]])
cut = sparse.csr_matrix([[1.0, 0.0, 0.0]] * 3)
rewards = np.array([[0.0, 0.0], [0.0, 1.0], [4.0, 2.0]])
forest = nadir.Model([wait, cut], rewards, discount=0.96)
same = nadir.generate("forest", states=3, discount=0.96)
print("the forest, as nadir has it:", forest.sha256 == same.sha256)
print(f"worst return of waiting: {nadir.evaluate(forest, [0, 0, 0], radius=0.1).robust_return:.6f}")

# Gymnasium's toy-text environments: env.P, or the environment itself. A corridor with a goal at its end;
# a step slips with chance 1/5, and reaching the goal ends the episode.
goal = 3
corridor = {goal: {a: [(1.0, goal, 0.0, True)] for a in (0, 1)}}
for state in range(goal):
    left, right = max(state - 1, 0), state + 1
    done = right == goal
    corridor[state] = {
        0: [(0.8, left, 0.0, False), (0.2, right, float(done), done)],
        1: [(0.8, right, float(done), done), (0.2, left, 0.0, False)],
    }
model = nadir.Model(corridor, discount=0.9, initial=0)
found = nadir.optimize(model, radius=0.1, domain="support")
print("corridor: always right is best:", found.policy.actions[:goal].tolist() == [1, 1, 1])
print(f"worst return from the start: {found.robust_return:.6f} (nominal {found.nominal_return:.6f})")
print("the end of the episode is pinned:", model.scales[-2:].tolist())
