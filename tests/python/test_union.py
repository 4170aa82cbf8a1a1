"""Unions of balls, tables with outcomes, and uncertain rewards."""

import numpy as np
import pytest

import nadir


def models(count=3):
    return [nadir.generate("garnet", states=6, actions=3, seed=seed) for seed in range(1, count + 1)]


def test_union_is_the_worst_member():
    each = models()
    found = nadir.Union(each, radius=[0.05, 0, 0.1]).evaluate("uniform")
    alone = [nadir.evaluate(one, "uniform", radius=r) for one, r in zip(each, [0.05, 0, 0.1])]
    assert found.robust_return == min(one.robust_return for one in alone)
    assert found.guaranteed == min(one.lower_bound for one in alone)
    assert found.member == int(np.argmin([one.robust_return for one in alone]))
    assert found.certified and len(found.members) == 3
    assert found.to_dict()["members"][1]["robust_return"] == alone[1].robust_return
    assert "worst: member" in str(found)
    best = nadir.Union(each, radius=0).evaluate("uniform", optimistic=True)
    assert best.robust_return == max(nadir.evaluate(one, "uniform", radius=0).robust_return for one in each)


def test_optimum():
    union = nadir.Union(models(), radius=0.02)
    found = union.optimize()
    assert found.lower_bound <= found.robust_return <= found.optimality_upper_bound
    again = union.evaluate(found.policy)
    assert again.guaranteed == found.lower_bound


def test_files(tmp_path):
    each = models(2)
    for i, one in enumerate(each):
        one.write(tmp_path / f"m{i}.npz")
    (tmp_path / "list.csv").write_text("model,radius\nm0.npz,0.1\nm1.npz,0\n")
    found = nadir.Union([tmp_path / "list.csv"], radius=5).evaluate("uniform")
    assert found.members[0].radius == 0.1 and found.members[1].radius == 0
    table = "idoutcome,idstatefrom,idaction,idstateto,probability,reward\n"
    (tmp_path / "o.csv").write_text(table + "0,0,0,0,1,1\n1,0,0,0,1,3\n")
    assert nadir.evaluate(nadir.read(tmp_path / "o.csv", discount=0.5, outcome="mean"), "uniform", radius=0).robust_return == pytest.approx(4)
    assert nadir.read(tmp_path / "o.csv", discount=0.5, outcome=1).states == 1
    union = nadir.Union([tmp_path / "o.csv"], discount=0.5, radius=0)
    assert len(union) == 2 and union.evaluate("uniform").robust_return == pytest.approx(2)


def test_refused():
    with pytest.raises(nadir.UsageError, match="one model or more"):
        nadir.Union([])
    with pytest.raises(nadir.UsageError, match="2 radii for 3 models"):
        nadir.Union(models(), radius=[1, 2])
    other = nadir.generate("garnet", states=7, actions=3)
    with pytest.raises(nadir.ModelError, match="member 2 of the union has 7 states"):
        nadir.Union([models(1)[0], other], radius=0).evaluate("uniform")


def test_rewards():
    model = models(1)[0]
    plain = nadir.evaluate(model, "uniform", radius=0.1)
    found = nadir.evaluate(model, "uniform", radius=0.1, reward_radius=0.1, reward_norm="inf")
    assert found.certified and found.robust_return == pytest.approx(plain.robust_return - 0.1 / (1 - model.discount))
    worst = nadir.evaluate(found.kernel_model(), "uniform", radius=0)
    assert worst.nominal_return == pytest.approx(found.robust_return)
    with pytest.raises(nadir.UsageError, match="reward_norm"):
        nadir.evaluate(model, "uniform", radius=0.1, reward_norm=1)
    with pytest.raises(nadir.UnsupportedError, match="worst case alone"):
        nadir.evaluate(model, "uniform", radius=0.1, reward_radius=0.1, optimistic=True)
