"""pandas: columns and labels count by their names, in any order; what is ambiguous is refused; everything tabular goes back."""

import itertools

import numpy as np
import pytest
from conftest import random_mdp
from test_fit import PolarsFrame
from test_forms import LAKE, TAXI

import nadir

pandas = pytest.importorskip("pandas")

STATES, ACTIONS = ["new", "worn", "broken"], ["use", "repair"]
P = np.array([[[0.8, 0.2, 0.0], [1.0, 0.0, 0.0]], [[0.0, 0.7, 0.3], [0.9, 0.1, 0.0]], [[0.0, 0.0, 1.0], [0.6, 0.0, 0.4]]])
R = np.array([[10.0, 4.0], [7.0, 2.0], [0.0, -5.0]])


@pytest.fixture
def shop():
    return nadir.Model(P, R, 0.95, state_names=STATES, action_names=ACTIONS)


def long_frame(named=False):
    s, a, t = np.nonzero(P)
    numbers = {"state": s, "action": a, "next": t, "probability": P[s, a, t], "reward": R[s, a]}
    if named:
        numbers |= {"state": np.array(STATES)[s], "action": np.array(ACTIONS)[a], "next": np.array(STATES)[t]}
    return pandas.DataFrame(numbers)


def test_policies_of_other_models_count_by_name(shop):
    """Whatever the order of states and actions, with and without names; against the return of the same choice by name."""
    policy = shop.policy({"new": {"use": 0.25, "repair": 0.75}, "worn": "use", "broken": "repair"})
    wanted = nadir.evaluate(shop, policy, radius=0).nominal_return
    for states in itertools.permutations(range(3)):
        for actions in ([0, 1], [1, 0]):
            order = np.ix_(states, actions, states)
            names = {"state_names": [STATES[s] for s in states], "action_names": [ACTIONS[a] for a in actions]}
            other = nadir.Model(P[order].copy(), R[order[:2]][..., 0].copy(), 0.95, **names)
            carried = other.policy(policy)
            assert {name: carried[name] for name in STATES} == {name: policy[name] for name in STATES}
            assert abs(nadir.evaluate(other, policy, radius=0).nominal_return - wanted) < 1e-12 * abs(wanted)
            assert carried.sha256 == other.policy(policy.to_pandas()).sha256
            half = nadir.Model(P[order].copy(), R[order[:2]][..., 0].copy(), 0.95, state_names=names["state_names"])
            if actions == [0, 1]:  # actions have no names here: their numbers count
                assert [half.policy(policy)[name] for name in STATES] == [{0: 0.25, 1: 0.75}, {0: 1.0}, {1: 1.0}]
    bare = nadir.Model(P, R, 0.95)
    assert (bare.policy(policy).probabilities == policy.probabilities).all()
    with pytest.raises(nadir.PolicyError, match="a state 'new', which the model does not have"):
        nadir.Model(P, R, 0.95, state_names=["fresh", "worn", "broken"]).policy(policy)
    with pytest.raises(nadir.PolicyError, match="no action 'use'; it has run, repair"):
        nadir.Model(P, R, 0.95, state_names=STATES, action_names=["run", "repair"]).policy(policy)


# ------------------------------------------------------------------------------------------------ models


def test_columns_in_every_order_give_the_same_model(shop):
    """All 120 orders, by number and by name."""
    for named in (False, True):
        table = long_frame(named)
        wanted = nadir.Model(P, R, 0.95).sha256
        for order in itertools.permutations(table.columns):
            model = nadir.Model(table[list(order)], discount=0.95)
            assert model.sha256 == wanted
        assert model.given_state_names() == (STATES if named else None)
    assert nadir.Model(table, discount=0.95, initial="worn").initial[1] == 1
    found = nadir.evaluate(table, ["use", "use", "repair"], discount=0.95, radius=0.1)
    assert found.robust_return == nadir.evaluate(shop, [0, 0, 1], radius=0.1).robust_return


def test_matrices_of_actions_count_by_label(shop):
    """Every order of the rows and columns of every frame; rewards by the same labels; what differs is named."""
    each = [pandas.DataFrame(P[:, action], index=STATES, columns=STATES) for action in range(2)]
    wide = pandas.DataFrame(R, index=STATES)
    landing = [one * 0 + np.arange(9.0).reshape(3, 3) for one in each]
    paid = nadir.Model([np.array(one) for one in each], [np.array(one) for one in landing], 0.95).sha256
    for rows, columns in itertools.product(itertools.permutations(STATES), repeat=2):
        moved = each[1].loc[list(rows), list(columns)]
        model = nadir.Model([each[0], moved], wide.loc[list(columns)], 0.95)
        assert model.sha256 == shop.sha256 and model.given_state_names() == STATES
        first = nadir.Model([moved, each[0]], wide[[1, 0]].set_axis([0, 1], axis=1), 0.95, state_names=STATES)
        assert first.sha256 == nadir.Model(P[:, ::-1].copy(), R[:, ::-1].copy(), 0.95).sha256
        bare = nadir.Model([moved, each[0]], wide[[1, 0]].set_axis([0, 1], axis=1), 0.95)
        assert bare.given_state_names() == list(rows)
        returns = [nadir.evaluate(one, {name: 0 for name in STATES}, radius=0).nominal_return for one in (bare, first)]
        assert abs(returns[0] - returns[1]) < 1e-9
        back = [landing[0], landing[1].loc[list(rows), list(columns)]]
        assert nadir.Model([each[0], moved], back, 0.95).sha256 == paid
        numbers = moved.rename(index=STATES.index, columns=lambda name: str(STATES.index(name)))
        model = nadir.Model([pandas.DataFrame(P[:, 0]), numbers], R, 0.95)
        assert model.sha256 == shop.sha256 and model.given_state_names() is None
        low, high = ([one * 0 + bound for one in (each[0], moved)] for bound in (0.0, 1.0))
        low[1].loc["new", "worn"] = moved.loc["new", "worn"]
        box = nadir.Model([each[0], moved], R, 0.95, lower=low, upper=high)
        assert box.to_pandas().equals(nadir.Model(each, R, 0.95, lower=[low[0], low[1].loc[STATES, STATES]], upper=high).to_pandas())
    named = nadir.Model({"repair": each[1], "use": each[0]}, R, 0.95, action_names=ACTIONS)
    assert named.sha256 == shop.sha256 and named.known_action_names() == ACTIONS
    turned = nadir.Model({"repair": each[1], "use": each[0]}, wide.set_axis(ACTIONS, axis=1), 0.95)
    assert turned.known_action_names() == ACTIONS[::-1] and (turned.rewards.reshape(3, 2) == R[:, ::-1]).all()
    assert nadir.Model({1: P[:, 1], 0: P[:, 0]}, R, 0.95).sha256 == shop.sha256
    found = nadir.evaluate({"use": each[0], "repair": each[1]}, wide.set_axis(ACTIONS, axis=1), ["use", "use", "repair"], discount=0.95, radius=0.1)
    assert found.robust_return == nadir.evaluate(shop, [0, 0, 1], radius=0.1).robust_return
    for wrong, words in (
        ([each[0], each[1].rename(columns={"worn": "torn"})], "the columns of P of action 1 have 'torn' and lack 'worn'; expected 'new', 'worn', 'broken'"),
        ([each[0].rename(index={"worn": "torn"}), each[1]], "the columns of P of action 0 have 'worn' and lack 'torn'"),
        ([each[0], each[1].iloc[[0, 1, 1]]], "the rows of P of action 1 have twice 'worn' and lack 'broken'"),
        ([each[0].set_axis([1, 2, 3]), each[1]], "the rows of P of action 0 have '3' and lack '0'; expected names, or numbers from 0 on"),
        ([each[0], P[:, 1]], "P of action 1 is no frame, and others are"),
        ([each[0], each[1].iloc[:2, :2]], "the rows of P of action 1 lack 'broken'"),
    ):
        with pytest.raises(nadir.UsageError, match=words):
            nadir.Model(wrong, R, 0.95)
    with pytest.raises(nadir.UsageError, match="the rows of R of action 0 have 'a', 'b', 'c' and lack 'broken'"):
        nadir.Model(each, [one.set_axis(list("abc")) for one in each], 0.95)
    with pytest.raises(nadir.UsageError, match="layout='sas' is for arrays"):
        nadir.Model(each, R, 0.95, layout="sas")


def test_other_names_types_and_frames():
    table = long_frame()
    wanted = nadir.Model(P, R, 0.95).sha256
    craam = table.set_axis(["idstatefrom", "idaction", "idstateto", "probability", "reward"], axis=1)
    short = table.set_axis(["s", "a", "s_next", "p", "r"], axis=1)
    mine = table.set_axis(["obs", "act", "then", "chance", "paid"], axis=1).assign(state="noise", weight=3)
    called = {"state": "obs", "action": "act", "next": "then", "probability": "chance", "reward": "paid"}
    types = table.astype({"state": float, "action": "category", "next": "Int64"})
    indexed = table.set_axis(range(100, 100 + len(table)))
    for one in (craam, short, types, indexed, table.assign(note="beside"), PolarsFrame(table.to_dict("list"))):
        assert nadir.Model(one, discount=0.95).sha256 == wanted
    assert nadir.Model(mine, discount=0.95, columns=called).sha256 == wanted
    shuffled = table.sample(frac=1, random_state=3)
    assert nadir.Model(shuffled, discount=0.95).sha256 == wanted
    bare = table.drop(columns="reward")
    assert nadir.Model(bare, R, 0.95).sha256 == wanted
    assert nadir.Model(table.assign(reward=-table["reward"]), discount=0.95, costs=True).sha256 == wanted
    frozen = nadir.Model(table.assign(reward=np.arange(len(table))), discount=0.95, frozen_rewards=True)
    assert frozen.facts().reward_kind == "row"
    assert not nadir.Model(table, discount=0.95).is_borrowed


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda t: (t.assign(s=0),), "two columns for 'state': 'state' and 's'"),
        (lambda t: (t.assign(prob=t["probability"]),), "two columns for 'probability'"),
        (lambda t: (t.set_axis(["state", "state", "next", "probability", "reward"], axis=1),), "same name: 'state'"),
        (lambda t: (t.drop(columns="reward"),), "without a column 'reward'; it has 'state', 'action'"),
        (lambda t: (t.rename(columns={"next": "then"}),), "without a column 'next'"),
        (lambda t: (t.drop(columns="probability"),), "without a column 'probability'.*of a log of transitions nadir.fit"),
        (lambda t: (pandas.DataFrame(P.reshape(6, 3)), R), "without a column 'state'"),
        (lambda t: (t, R), "R is given, and the frame has rewards"),
    ],
)
def test_frames_that_are_refused(make, words):
    with pytest.raises(nadir.UsageError, match=words):
        nadir.Model(*make(long_frame()), discount=0.95)


def test_errors_speak_of_the_frame(caplog):
    table = long_frame()
    with pytest.raises(nadir.FormatError, match="the frame, row 2: `probability`"):
        nadir.Model(table.assign(probability=table["probability"].mask(table.index == 2)), discount=0.95)
    with pytest.raises(nadir.ModelError, match="the frame, row 0: state 0, action 0: probabilities sum to 0.2"):
        nadir.Model(table.drop(index=0), discount=0.95)
    with pytest.raises(nadir.UsageError, match="columns has 'stat'; expected .*; did you mean 'state'"):
        nadir.Model(table, discount=0.95, columns={"stat": "x"})
    with pytest.raises(nadir.UsageError, match="'state' is 'obs', which the frame does not have; it has 'state', 'action'"):
        nadir.Model(table, discount=0.95, columns={"state": "obs"})
    with pytest.raises(nadir.UsageError, match="columns of a frame"):
        nadir.Model(P, R, 0.95, columns={"state": "obs"})
    with caplog.at_level("INFO", logger="nadir"):
        nadir.Model(table[table["state"] < 2], discount=0.95)
    assert "the frame: 1 state has no action (2): terminal" in caplog.text


# ------------------------------------------------------------------------------ rewards, policies and others


def test_rewards_by_label(shop):
    names = {"state_names": STATES, "action_names": ACTIONS}
    wide = pandas.DataFrame(R, index=STATES, columns=ACTIONS)
    for rows, columns in itertools.product(itertools.permutations(STATES), itertools.permutations(ACTIONS)):
        assert nadir.Model(P, wide.loc[list(rows), list(columns)], 0.95, **names).sha256 == shop.sha256
    numbered = pandas.DataFrame(R)
    assert nadir.Model(P, numbered.iloc[::-1, ::-1], 0.95).sha256 == shop.sha256
    assert nadir.Model(P, numbered.set_axis(["0", "1"], axis=1), 0.95).sha256 == shop.sha256
    stacked = wide.rename_axis(index="state", columns="action").stack()
    for one in (stacked, stacked.rename("reward").reset_index(), stacked.sample(frac=1, random_state=1)):
        assert nadir.Model(P, one, 0.95, **names).sha256 == shop.sha256
    by_state = pandas.Series([1.0, 2.0, 3.0], index=STATES)
    wanted = nadir.Model(P, [1.0, 2.0, 3.0], 0.95).sha256
    assert nadir.Model(P, by_state[::-1], 0.95, **names).sha256 == wanted
    assert nadir.Model(P, {"broken": 3.0, "new": 1.0, "worn": 2.0}, 0.95, **names).sha256 == wanted
    paid = long_frame(named=True).assign(reward=np.arange(10.0))
    dense = np.full(P.shape, np.nan)
    dense[np.nonzero(P)] = np.arange(10.0)
    assert nadir.Model(P, paid.drop(columns="probability"), 0.95, **names).sha256 == nadir.Model(P, dense, 0.95).sha256
    for wrong, words in (
        (wide, "the lines of R, by their labels, are 'new'"),
        (numbered.set_axis(["go", "stop"], axis=1), "the columns of R are 'go', 'stop'; expected 0 to 1"),
        (numbered.set_axis([0, 0, 1]), "expected 0 to 2, each once"),
        (numbered.set_axis([0, 1, 3]), "expected 0 to 2"),
        (pandas.Series([1.0, 2.0, 3.0], index=["a", "b", "c"]), "the states of R are"),
        (pandas.DataFrame({"state": [0], "action": [0], "reward": [1.0]}), "R has no line for state 0, action 1"),
        (pandas.DataFrame({"state": [0, 0], "action": [0, 0], "reward": [1.0, 2.0]}), "two lines for the same state"),
        (pandas.DataFrame({"state": [7], "action": [0], "reward": [1.0]}), "R: state is 7; expected 0 to 2"),
        (pandas.DataFrame({"state": [0], "action": [0]}), "R is a frame without a column 'reward'"),
    ):
        with pytest.raises(nadir.UsageError, match=words):
            nadir.Model(P, wrong, 0.95)


def test_policies_by_label(shop):
    pi = np.array([[0.25, 0.75], [1.0, 0.0], [0.0, 1.0]])
    wanted = shop.policy(pi).sha256
    wide = pandas.DataFrame(pi, index=STATES, columns=ACTIONS)
    for rows, columns in itertools.product(itertools.permutations(STATES), itertools.permutations(ACTIONS)):
        assert shop.policy(wide.loc[list(rows), list(columns)]).sha256 == wanted
    back = shop.policy(pi).to_pandas()
    assert list(back.columns) == ["state", "action", "probability"]
    assert shop.policy(back.sample(frac=1, random_state=2)[["probability", "action", "state"]]).sha256 == wanted
    assert shop.policy(back.set_index(["state", "action"])["probability"]).sha256 == wanted
    fixed = shop.policy([0, 0, 1]).sha256
    chosen = pandas.Series(["repair", "use", "use"], index=["broken", "new", "worn"])
    assert shop.policy(chosen).sha256 == shop.policy(dict(chosen)).sha256 == fixed
    assert shop.policy(pandas.Series([1, 0, 0], index=[2, 0, 1])).sha256 == fixed
    assert shop.policy(pandas.DataFrame({"action": [1, 0, 0], "state": [2, 0, 1]})).sha256 == fixed
    with pytest.raises(nadir.PolicyError, match="the frame"):
        shop.policy(pandas.DataFrame({"action": [1, 0], "state": [2, 0]}))
    with pytest.raises(nadir.UsageError, match="the columns of the policy are"):
        shop.policy(wide.set_axis(["use", "go"], axis=1))


def test_other_numbers_by_label(shop):
    assert shop.replace(initial={"worn": 1}).initial.tolist() == [0, 1, 0]
    assert shop.replace(initial={"broken": 0.25, "new": 0.75}).initial.tolist() == [0.75, 0, 0.25]
    with pytest.raises(nadir.UsageError, match="the states of initial are 'torn'"):
        shop.replace(initial={"torn": 1})
    start = pandas.Series([0.5, 0.3, 0.2], index=["worn", "new", "broken"])
    np.testing.assert_array_equal(shop.replace(initial=start).initial, [0.3, 0.5, 0.2])
    scales = pandas.DataFrame([[1.0, 0.0], [0.5, 1.0], [1.0, 1.0]], index=STATES, columns=ACTIONS)
    np.testing.assert_array_equal(shop.replace(scales=scales.iloc[::-1, ::-1]).scales, [1, 0, 0.5, 1, 1, 1])
    radii = pandas.Series([0.3, 0.1, 0.2], index=["broken", "new", "worn"])
    by_label = nadir.evaluate(shop, "uniform", radius=radii, sets="s").robust_return
    assert by_label == nadir.evaluate(shop, "uniform", radius=[0.1, 0.2, 0.3], sets="s").robust_return
    cells = scales * 0.1
    by_label = nadir.evaluate(shop, "uniform", radius=cells.iloc[::-1], sets="sa").robust_return
    assert by_label == nadir.evaluate(shop, "uniform", radius=cells.to_numpy(), sets="sa").robust_return


# ------------------------------------------------------------------------------------------- and back again


def test_models_go_there_and_back():
    arrays = random_mdp(3, states=7, actions=2, zeros=0.5)
    for model in (
        nadir.Model(*arrays[:2], 0.9),
        nadir.generate("machine"),
        nadir.generate("gridworld", width=3, height=3),
        nadir.Model(P, np.where(P > 0, R[:, :, None] + np.arange(3.0), np.nan), 0.95),
    ):
        table = model.to_pandas()
        again = nadir.Model(table, discount=model.discount, initial=model.initial, scales=model.scales)
        assert again.given_state_names() == model.given_state_names()
        assert again.sha256 == model.sha256
        if model.given_state_names():
            texts = table.astype({"state": str, "action": str, "next": str})
            order = {"state_names": model.given_state_names(), "action_names": model.known_action_names()}
            more = {"discount": model.discount, "initial": model.initial, "scales": model.scales}
            assert nadir.Model(texts, **order, **more).sha256 == model.sha256
            plain = nadir.Model(texts, discount=0.9)  # numbered as they appear
            assert sorted(plain.given_state_names()) == sorted(model.given_state_names())


def test_answers_as_frames(shop):
    solver = nadir.Solver(shop, "uniform")
    found = solver.evaluate(0.1)
    curve = solver.sweep([0.0, 0.1, 0.2]).to_pandas()
    assert list(curve.columns[:3]) == ["radius", "guaranteed", "robust_return"] and len(curve) == 3
    assert curve["robust_return"][1] == pytest.approx(found.robust_return, rel=1e-9)
    assert curve.dtypes["certified"] == bool
    rows = found.explain().to_pandas()
    assert rows["share"].sum() == pytest.approx(1) and set(rows["state"]) == set(STATES) and rows["action"][0] in ACTIONS
    changes = found.changes().to_pandas()
    assert list(changes.columns) == ["state", "action", "next", "nominal", "worst", "delta"]
    sums = changes.groupby(["state", "action"])["delta"].sum()
    assert sums.abs().max() < 1e-12
    best = shop.solve()
    table = best.to_pandas()
    assert list(table.columns) == ["state", "action", "probability", "value"] and len(table) == 6
    assert shop.policy(table).sha256 == best.policy.sha256
    np.testing.assert_allclose(table["value"][::2], nadir.Solver(shop, best.policy).value())
    robust = shop.optimize(radius=0.1).to_pandas()
    assert (robust["worst_value"] <= robust["value"]).all()
    assert list(solver.gradient(0.1).to_pandas().columns) == ["state", "action", "probability", "gradient"]
    both = pandas.concat([solver.evaluate(radius).to_pandas() for radius in (0.1, 0.2)])
    assert list(both["radius"]) == [0.1, 0.2] and both.columns[0] == "guaranteed"
    compared = best.policy.compare("uniform").to_pandas()
    assert list(compared["state"]) == STATES and list(compared.columns) == ["state", "optimal", "uniform", "distance"]
    for one in (solver.radius(100.0), solver.difference("optimal", 0.1), shop.facts(), solver.nominal(), found.verify()):
        assert len(one.to_pandas()) == 1


def test_data_as_frames(shop):
    rng = np.random.default_rng(2)
    states, actions = rng.integers(0, 3, 400), rng.integers(0, 2, 400)
    log = pandas.DataFrame({"reward": R[states, actions], "action": np.array(ACTIONS)[actions], "state": np.array(STATES)[states]})
    log["next_state"] = [STATES[rng.choice(3, p=P[s, a])] for s, a in zip(states, actions)]
    with pytest.raises(nadir.FormatError, match=r"^the frame: unknown columns: `user`.*columns=\{"):
        nadir.fit(log.assign(user="me"), discount=0.9, guarantee="kernel")
    fitted = nadir.fit(log, discount=0.9, samples=500, guarantee="kernel")
    assert list(fitted.to_pandas()["set"]) == ["nonrect", "s", "sa"]
    assert str(fitted).startswith("Guaranteed   ") and fitted.guaranteed == fitted.guarantees[0].lower_bound
    assert str(fitted).splitlines()[1] == f"Grounds      {fitted.grounds}"
    found = nadir.fit_return(log, discount=0.9, more=50)
    assert str(found).startswith("Guaranteed   ") and "first order, measured in simulations, no theorem" in str(found)
    more = found.more.to_pandas()
    assert list(more.columns) == ["state", "action", "visits", "share"] and set(more["state"]) == set(STATES)
    assert more["visits"].sum() == pytest.approx(50) and more["visits"].is_monotonic_decreasing


def test_states_that_were_added_are_left_out():
    ride = nadir.Model(TAXI, discount=0.5)
    assert len(ride.policy("uniform").to_pandas()) == 4 and len(ride.solve().to_pandas()) == 4
    lake = nadir.evaluate(LAKE, "optimal", discount=0.9, radius=0.1)
    assert set(lake.changes().to_pandas()["state"]) <= {0, 1}


def test_columns_go_both_ways():
    """{role: name}, or {name: role} as pandas' rename takes it; roles that are not named keep their common names."""
    table = long_frame()
    wanted = nadir.Model(table, discount=0.95).sha256
    called = {"state": "obs", "action": "act", "next": "then", "probability": "chance", "reward": "paid"}
    mine = table.rename(columns=called)
    for columns in (called, {name: role for role, name in called.items()}, {**called, "next": "then"}):
        assert nadir.Model(mine, discount=0.95, columns=columns).sha256 == wanted
    some = table.rename(columns={"state": "obs"})
    for columns in ({"state": "obs"}, {"obs": "state"}):
        assert nadir.Model(some, discount=0.95, columns=columns).sha256 == wanted
    swapped = table.rename(columns={"state": "next", "next": "state"})
    assert nadir.Model(swapped, discount=0.95, columns={"state": "next", "next": "state"}).sha256 == wanted
    for columns, words in (
        ({"state": "obss"}, "'state' is 'obss', which the frame does not have; did you mean 'obs'"),
        ({"obs": "stat"}, "columns has 'obs'; expected {role: name}"),
        ({"state": "obs", "s": "act"}, "twice what 'state' is"),
    ):
        with pytest.raises(nadir.UsageError, match=words):
            nadir.Model(mine, discount=0.95, columns=columns)


def test_tables_of_models_are_read_back_from_csv(tmp_path):
    """`next` is a name of the successor's column; an index is not used."""
    P = np.array([[[0.5, 0.5], [1, 0]], [[0, 1], [1, 0]]])
    model = nadir.Model(P, [[1.0, 2.0], [3.0, 4.0]], 0.9, layout="sas", state_names=["new", "old"])
    for index in (False, True):
        model.to_pandas().to_csv(tmp_path / "m.csv", index=index)
        again = nadir.read(tmp_path / "m.csv", discount=0.9)
        assert np.array_equal(again.P, model.P) and again.solve().policy.actions.tolist() == model.solve().policy.actions.tolist()
