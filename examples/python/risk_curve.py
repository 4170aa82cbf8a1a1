"""A risk curve from one factorisation, and the largest ball that still meets a target.

With the name of a file as its argument it draws the curves (matplotlib).
"""

import sys
from typing import Any

import numpy as np

import nadir

model = nadir.generate("machine")
solver = nadir.Solver(model, "optimal")
radii = np.linspace(0, 0.2, 5)
curves = {kind: solver.sweep(radii, sets=kind) for kind in ("nonrect", "s", "sa")}

print("radius  " + "".join(f"{kind:>14}" for kind in curves))
for i, radius in enumerate(radii):
    print(f"{radius:6.3f}  " + "".join(f"{curve[i].robust_return:14.6f}" for curve in curves.values()))

target = -11.0
found = solver.radius(target)
print(f"the worst return is {target} at radius {found.radius:.6f}")

if len(sys.argv) > 1:
    axes: Any = None
    for curve in curves.values():
        axes = curve.plot(axes)
    axes.figure.savefig(sys.argv[1])
