"""How calls are put and what they say: keywords, places of arguments, messages, policies, and what is printed first."""

import inspect
import itertools
import json
import pickle
import re
import subprocess

import numpy as np
import pytest
from conftest import COMMAND, TREE, random_mdp
from test_forms import LAKE

import nadir
from nadir import _verdict
from nadir._keywords import OLDER, in_python

CALLS = ("evaluate", "sweep", "radius", "difference", "gradient", "optimize", "solve")


@pytest.fixture
def arrays():
    return random_mdp(21, states=6, actions=3)


@pytest.fixture
def model(arrays):
    P, R, _ = arrays
    return nadir.Model(P, R, 0.9)


@pytest.fixture
def machine():
    return nadir.generate("machine")


# ---------------------------------------------------------------------------------------------- keywords


def names(function):
    return set(inspect.signature(function).parameters) - {"self"}


def test_signatures_are_explicit_and_agree():
    """The same words in functions, in models and in solvers; no **options; and every one has a type."""
    of_model = {"P", "R", "discount", "initial", "layout", "state_rows", "costs", "frozen_rewards", "unseen"}
    of_model |= {"goal", "avoid", "until", "total"}
    of_solver = {"backend", "threads", "seed", "progress"}
    for name in CALLS:
        function = getattr(nadir, name)
        method = getattr(nadir.Model, name)
        for one in (function, method):
            kinds = {parameter.kind for parameter in inspect.signature(one).parameters.values()}
            assert inspect.Parameter.VAR_KEYWORD not in kinds
            hints = {n for n, p in inspect.signature(one).parameters.items() if p.annotation is p.empty}
            assert hints <= {"self"}, (name, hints)
            assert not names(one) & OLDER.keys()
        assert names(method) <= names(function)
        assert names(function) - names(method) - of_model <= {"method"}
        if name not in ("optimize", "solve"):
            asked = names(getattr(nadir.Solver, name))
            assert asked - names(function) <= {"radius"}  # of `radius`: many of them, shaped alike
            assert names(function) - asked <= of_model | of_solver | {"policy", "horizon", "reward_radius", "reward_norm"}


def test_older_names(arrays):
    P, R, pi = arrays
    new = nadir.evaluate(P, R, pi, discount=0.9, initial=2, radius=0.1, sets="s")
    old = nadir.evaluate(P, R, pi, gamma=0.9, mu=2, radius=0.1, set="s")
    assert new.robust_return == old.robust_return
    model = nadir.Model(P, R, gamma=0.9, mu=2, set="s", radius=0.1)
    assert model.gamma == model.discount == 0.9 and (model.mu == model.initial).all()
    assert nadir.evaluate(model, pi).robust_return == new.robust_return
    assert model.replace(gamma=0.5, mu=0).sha256 == model.replace(discount=0.5, initial=0).sha256
    assert model.solver(pi).sweep(radii=[0.1]).radius == [0.1]
    assert nadir.generate("riverswim", gamma=0.5).sha256 == nadir.generate("riverswim", discount=0.5).sha256
    with pytest.raises(TypeError, match="gamma is another name of discount"):
        nadir.evaluate(P, R, pi, discount=0.9, gamma=0.9, radius=0.1)


def test_a_wrong_keyword_names_the_call_and_the_nearest(model):
    solver = nadir.Solver(model)
    for call, words in (
        (lambda: nadir.evaluate(model, "uniform", radius=0.1, time=2), r"nadir.evaluate\(\) .*'time'.*'time_limit'"),
        (lambda: nadir.evaluate(model, "uniform", radius=0.1, p=2), r"nadir.evaluate\(\) .*'p'; did you mean 'norm'"),
        (lambda: nadir.sweep(model, "uniform", radius=[0.1], domian="free"), r"nadir.sweep\(\) .*'domain'"),
        (lambda: model.optimize(radius=0.1, max_iter=3), r"nadir.Model.optimize\(\) has no keyword 'max_iter'"),
        (lambda: solver.evaluate(0.1, certfy="off"), r"nadir.Solver.evaluate\(\) .*'certify'"),
        (lambda: nadir.Model(np.ones((1, 1, 1)), [[1.0]], discuont=0.9), r"nadir.Model\(\) .*'discount'"),
        (lambda: nadir.read("x.npz", discout=0.9), r"nadir.read\(\) .*'discount'"),
    ):
        with pytest.raises(TypeError, match=words):
            call()


def test_time_limit(machine):
    """The strict proof stops at its limit, and says so; without one it proves."""
    hard = {"radius": 0.7, "certify": "strict"}
    stopped = nadir.evaluate(machine, "optimal", time_limit=1e-6, **hard)
    assert not stopped.certified and stopped.time_ran_out and "a larger time_limit" in str(stopped)
    found = nadir.evaluate(machine, "optimal", time_limit=float("inf"), **hard)
    assert found.certified and not found.time_ran_out
    assert stopped.guaranteed <= found.guaranteed
    for call in (machine.sweep, machine.gradient):
        assert call("optimal", radius=[0.1] if call == machine.sweep else 0.1, certify="strict", time_limit=1)


# ------------------------------------------------------------------------------------- places of arguments


def test_the_policy_comes_second_after_a_whole_model(model, arrays, tmp_path):
    P, R, pi = arrays
    model.write(tmp_path / "model.npz")
    lake = {"discount": 0.9, "radius": 0.1}
    wanted = nadir.evaluate(nadir.Model(LAKE, discount=0.9), "optimal", radius=0.1).robust_return
    assert nadir.evaluate(LAKE, "optimal", **lake).robust_return == wanted
    assert nadir.evaluate(LAKE, nadir.solve(LAKE, discount=0.9).policy, **lake).robust_return == wanted
    assert nadir.evaluate(LAKE, np.full((4, 2), 0.5), **lake).certified
    path = str(tmp_path / "model.npz")
    assert nadir.evaluate(path, pi, radius=0.1).robust_return == nadir.evaluate(P, R, pi, discount=0.9, radius=0.1).robust_return
    with pytest.raises(nadir.UsageError, match="nadir.evaluate needs rewards: R"):
        nadir.evaluate(P, "optimal", discount=0.9, radius=0.1)
    with pytest.raises(nadir.UsageError, match="a policy is needed by nadir.evaluate"):
        nadir.evaluate(LAKE, **lake)


def test_difference_of_two(model, arrays):
    P, R, pi = arrays
    wanted = nadir.difference(P, R, pi, "uniform", discount=0.9, radius=0.1).worst
    assert nadir.difference(model, pi, "uniform", radius=0.1).worst == wanted
    assert nadir.difference(model, policy=pi, other="uniform", radius=0.1).worst == wanted
    assert nadir.difference(model, pi, other="uniform", radius=0.1).worst == wanted
    assert model.difference(pi, other="uniform", radius=0.1).worst == wanted
    assert nadir.difference(LAKE, "optimal", "uniform", discount=0.9, radius=0.01).worst <= 1
    found = nadir.difference(model, pi, "uniform", radius=0.1)
    moved = found.explain(model.rows)
    assert sum(one.penalty for one in moved) == pytest.approx(found.nominal - found.worst, rel=1e-9)
    assert "What moves the difference" in str(moved) and len(found.explain(2)) == 2
    with pytest.raises(nadir.UsageError, match="has not kept its kernel"):
        pickle.loads(pickle.dumps(found)).explain()
    with pytest.raises(nadir.UsageError, match=r"difference\(model, a, b\)"):
        nadir.difference(model, pi, radius=0.1)


def test_rewards_are_needed(arrays):
    P, R, pi = arrays
    with pytest.raises(nadir.UsageError, match="R is None: give rewards"):
        nadir.Model(P, None, 0.9)
    with pytest.raises(nadir.UsageError, match="R is None"):
        nadir.Model(P, R=None)
    for name in ("solve", "optimize"):
        with pytest.raises(nadir.UsageError, match=f"nadir.{name} needs rewards"):
            getattr(nadir, name)(P, discount=0.9)
    bare = nadir.Model(P, discount=0.9)  # a kernel alone
    assert bare.rewards is None and bare.valid_radius() > 0 and "rewards      none" in str(bare)
    with pytest.raises(nadir.ModelError, match="the model has no rewards: give R"):
        nadir.evaluate(bare, pi, radius=0.1)
    assert nadir.Model(LAKE, None, 0.9).rewards is not None  # it brings its own


# ---------------------------------------------------------------------------------------------- messages


def test_messages_of_the_library_in_the_words_of_python():
    """No option of the command, and no function of C, in any message of the library."""
    strings = re.compile(r'"((?:[^"\\]|\\.)*)"')
    seen = 0
    for path in sorted((TREE / "src").rglob("*.c")):
        text = re.sub(r'"\s*\n\s*"', "", path.read_text(encoding="utf-8"))  # strings over several lines
        for message in strings.findall(text):
            if re.search(r"--[a-z]|in C:", message):
                seen += 1
                said = in_python(message)
                assert not re.search(r"--[a-z]|in C:|nadir_\w+_settings", said), said
                assert said.count("(") == said.count(")"), said
    assert seen > 20
    assert in_python("say --layout sas or --layout ass") == 'say layout="sas" or layout="ass"'
    assert in_python("or take --frozen-rewards") == "or take frozen_rewards=True"
    assert in_python("a -- b") == "a -- b"
    with pytest.raises(nadir.UsageError, match="domain is 'suport'.*did you mean 'support'"):
        nadir.Model(LAKE, discount=0.9, domain="suport")
    with pytest.raises(nadir.ModelError, match="the discount is 1.2; expected 0 <= discount <= 1$"):
        nadir.Model(LAKE, discount=1.2)
    with pytest.raises(nadir.IllPosedError, match="a number of steps .horizon= of nadir.evaluate."):
        nadir.evaluate(np.full((2, 1, 2), 0.5), [1.0, 2.0], "uniform", discount=1, radius=0.1)


def test_a_policy_that_is_none(model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for call in (lambda: model.policy("optimall"), lambda: nadir.evaluate(model, "optimall", radius=0.1),
                 lambda: nadir.evaluate(model, "optimall", radius=0.1, horizon=3)):
        with pytest.raises(nadir.UsageError, match="there is no policy 'optimall'.*did you mean 'optimal'"):
            call()
    with pytest.raises(nadir.UsageError, match="nadir.optimize finds the robust one"):
        model.policy("robust")
    with pytest.raises(nadir.FileError):
        model.policy("optimal.csv")
    model.policy("uniform").write("mine.csv")
    (tmp_path / "mine.csv").rename(tmp_path / "mine")
    assert model.policy("mine").sha256 == model.policy("uniform").sha256  # a file without an ending


def test_the_exception_says_where_the_best_is(model):
    with pytest.raises(nadir.ConvergenceError, match="`result`") as failed:
        nadir.evaluate(model, "uniform", radius=0.3, iterations_limit=1, tolerance=1e-15)
    assert failed.value.result.guaranteed <= failed.value.result.robust_return


# ---------------------------------------------------------------------------------------------- policies


def test_policies_by_state(machine):
    best = machine.solve().policy
    assert best["age0"] == best[0] == {"wait": 1.0}
    assert best["age0", "wait"] == best[0, 0] == 1.0 and best[np.int64(0), "repair"] == 0.0
    assert len(best) == 10 and [*best][0] == best[0]
    assert repr(best).startswith("Policy('optimal', deterministic, 10 states: [wait, wait,") and "\n" not in repr(best)
    assert str(best).splitlines()[1].split() == ["age0", "wait"]
    for wrong, error in ((10, IndexError), (-1, IndexError), ("age00", KeyError), (0.5, TypeError), ((0, "go"), KeyError)):
        with pytest.raises(error):
            best[wrong]
    with pytest.raises(KeyError, match="did you mean 'age0'"):
        best["agee0"]


def test_randomised_policies_are_not_reduced(machine):
    robust = machine.optimize(radius=0.1).policy
    assert list(robust.randomised_states()) == [4] and not robust.is_deterministic
    with pytest.raises(nadir.PolicyError, match="randomised in 1 of 10 states, first in state age4"):
        robust.actions
    assert robust.likeliest().shape == (10,)
    assert set(robust["age4"]) == {"wait", "repair"} and sum(robust["age4"].values()) == pytest.approx(1)
    assert "age4: " not in repr(robust) and "randomised" in repr(robust)
    compared = robust.compare("optimal")
    assert compared.states == [4] and compared.names == ["age4"] and compared.policies == ("robust", "optimal")
    assert "They differ in 1 of 10 states" in str(compared) and len(robust.compare(robust)) == 0


def test_policies_by_name(machine):
    best = machine.solve().policy
    words = [next(iter(actions)) for actions in best]
    assert machine.policy(words).sha256 == best.sha256
    by_state = dict(zip(machine.given_state_names(), words))
    assert machine.policy(dict(reversed(by_state.items()))).sha256 == best.sha256
    with pytest.raises(nadir.PolicyError, match="state age0: there is no action 'wat'; it has wait, repair"):
        machine.policy(["wat", *words[1:]])
    with pytest.raises(nadir.PolicyError, match="does not say what to do in 9 of 10 states: age1, age2"):
        machine.policy({"age0": "wait"})
    assert machine.replace(initial="age3").initial[3] == 1
    with pytest.raises(nadir.UsageError, match="initial is 'age33', which is no state; did you mean 'age3'"):
        machine.replace(initial="age33")


# ----------------------------------------------------------------------------------- what is printed first


def test_the_verdict_is_that_of_the_command(machine, tmp_path):
    """The same first lines, but for advice, which names keywords."""
    path = tmp_path / "garnet.npz"
    garnet = nadir.generate("garnet", states=30, actions=3, branch=4, seed=2)
    garnet.write(path)
    printed = subprocess.run([COMMAND, "evaluate", path, "--policy", "optimal", "--radius", "1"], capture_output=True,
                             text=True).stdout.splitlines()
    lines = str(nadir.evaluate(garnet, "optimal", radius=1)).splitlines()
    assert printed[0].startswith("Guaranteed   at least") and "quick proof" in printed[2] and lines[:3] == printed[:3]
    path = tmp_path / "machine.npz"
    machine.write(path)
    for radius, strict, domain in itertools.product((0.1, 0.7), ("auto", "off"), ("simplex", "support")):
        asked = ["--radius", str(radius), "--certify", strict, "--domain", domain, "--policy", "optimal", "--threads", "1"]
        printed = subprocess.run([COMMAND, "evaluate", path, *asked], capture_output=True, text=True).stdout.splitlines()
        found = nadir.evaluate(machine, "optimal", radius=radius, certify=strict, domain=domain, threads=1)
        lines = str(found).splitlines()
        assert lines[0] == printed[0]
        if not found.certified:
            assert lines[1] == printed[1]
            assert lines[2] == in_python(printed[2]).replace('certify= off', 'certify="off"')
            assert lines[3].startswith("Try ")
        for line in printed:
            assert not line.startswith("Most") or line in lines
            if line.split()[0] in ("policy", "ball", "start", "rewards"):
                assert in_python(line) in lines
    printed = subprocess.run([COMMAND, "sweep", path, "--policy", "optimal", "--radius", "0.3:0.7:3"], capture_output=True,
                             text=True).stdout.splitlines()
    lines = str(nadir.sweep(machine, "optimal", radius=[0.3, 0.5, 0.7])).splitlines()
    assert lines[0] == printed[0] and [line.split() for line in lines[-3:]] == [line.split() for line in printed[-3:]]
    printed = subprocess.run([COMMAND, "optimize", path, "--radius", "0.1"], capture_output=True, text=True).stdout
    assert str(nadir.optimize(machine, radius=0.1)).splitlines()[0] == printed.splitlines()[0]
    asked = ["--policy", "optimal", "--target", "-12"]
    printed = subprocess.run([COMMAND, "radius", path, *asked], capture_output=True, text=True).stdout
    assert str(nadir.radius(machine, "optimal", target=-12)).splitlines()[:3] == in_python(printed).splitlines()[:3]
    printed = subprocess.run([COMMAND, "evaluate", path, "--policy", "optimal", "--policy", "uniform", "--difference",
                              "--radius", "0.1"], capture_output=True, text=True).stdout
    assert str(nadir.difference(machine, "optimal", "uniform", radius=0.1)).splitlines()[0] in printed.splitlines()


def test_what_is_guaranteed_comes_first(model):
    solver = nadir.Solver(model, "uniform")
    worst, best = solver.evaluate(2.0), solver.evaluate(2.0, optimistic=True)
    assert worst.guaranteed == worst.lower_bound and best.guaranteed == best.upper_bound
    for one in (worst, best, solver.radius(-3.0), solver.difference("optimal", 0.1), model.optimize(radius=0.1)):
        assert next(iter(one.to_dict())) == "guaranteed" and "(guaranteed=" in repr(one)
    curve = solver.sweep([0.0, 0.1])
    np.testing.assert_array_equal(curve.guaranteed, curve.lower_bound)
    assert "certificate" not in str(worst)


def test_short_numbers():
    """As cli/verdict.c: never above a lower bound, never below an upper one."""
    rng = np.random.default_rng(4)
    for value in [*rng.normal(size=300) * 10.0 ** rng.integers(-8, 9, size=300), 99999.7, 123456.7, 0.0]:
        low, high = float(_verdict.short(value, -1)), float(_verdict.short(value, 1))
        assert low <= value <= high and high - low <= 2.1e-4 * abs(value)
    assert _verdict.short(float("inf")) == "inf" and _verdict.change(0.0, 0.0) == "loses 0"


LIFT = """state,action,next_state,probability,reward
new,run,new,0.7,10
new,run,worn,0.3,10
worn,run,worn,0.8,10
worn,run,stuck,0.1,-15
worn,run,crash,0.1,-200
worn,mend,new,0.9,2
worn,mend,crash,0.1,-200
stuck,mend,worn,0.9,-10
stuck,mend,crash,0.1,-200
"""


def test_answers_say_what_new_landings_pay(tmp_path):
    (tmp_path / "lift.csv").write_text(LIFT)
    lift = nadir.read(tmp_path / "lift.csv", discount=0.95, initial="new")
    found = nadir.evaluate(lift, "uniform", radius=0.1)
    new = next(one for one in found.explain(5) if lift.state_name(one.state) == "new")
    assert lift.state_name(new.assumed_target) == "crash" and -200 < new.assumed_reward < -150
    assert lift.unseen_error > 0 and "off rewards that are given" in str(lift)
    assert f"Assumed      new, run → crash pays {_verdict.short(new.assumed_reward)}: a fit, up to" in str(found)
    support = nadir.evaluate(lift, "uniform", radius=0.1, domain="support")
    assert "Assumed" not in str(support) and "without a reward" not in str(support)
    assert all(one.assumed == 0 and one.assumed_target == -1 and np.isnan(one.assumed_reward) for one in support.explain(5))


def test_models_print_what_is_assumed():
    lake = nadir.Model(LAKE, discount=0.9, initial=0)
    text = str(lake)
    assert "initial      0" in text
    assert "paid on landing; successors without a reward: additive" in text
    assert "4 rows, known exactly; all of states 2, 3" in text
    assert lake.unseen_error == 0
    opened = nadir.Model(lake.dense(), lake.rewards, 0.9)
    assert list(opened.open_ends()) == [2, 3] and not len(lake.open_ends())
    assert "states 2, 3 stay for ever without reward" in str(opened) and "open ends" not in text
    facts = str(lake.facts())
    assert "reward kind" in facts and "unseen" in facts and "pinned rows" in facts
    assert "paid on landing" in str(nadir.evaluate(lake, "optimal", radius=0.1))
    assert "discount" in (nadir.Model.__init__.__doc__ or "")


# ---------------------------------------------------------------------------------- explanations, pictures


def test_explanations_and_changes(machine):
    found = nadir.evaluate(machine, "optimal", radius=0.1)
    rows = found.explain(3)
    assert isinstance(rows, list) and len(rows) == 3 and "share of the loss" in str(rows) and "<table>" in rows._repr_html_()
    changes = found.changes()
    P, Q = machine.dense().reshape(20, 10), found.kernel().reshape(20, 10)
    again = P.copy()
    again[changes.state * 2 + changes.action, changes.next] += changes.delta
    np.testing.assert_allclose(again, Q, atol=1e-12)
    assert (np.diff(np.abs(changes.delta)) <= 0).all() and len(changes) == (np.abs(Q - P) > 1e-12).sum()
    np.testing.assert_allclose(changes.worst - changes.nominal, changes.delta, atol=1e-15)
    np.testing.assert_allclose(np.abs(changes.delta[changes.state == 0]).sum() / 2,
                               sum(one.mass for one in found.explain(20) if one.state == 0), atol=1e-9)


def test_changes_of_large_and_of_negative_kernels():
    """Sparse kernels stay sparse; those of the free domain have negative entries."""
    large = nadir.generate("garnet", states=20000, actions=2, branch=3, seed=1)
    found = nadir.evaluate(large, "uniform", radius=0.1, domain="support", certify="off")
    changes = found.changes()
    assert len(changes) > 0 and np.linalg.norm(changes.delta) == pytest.approx(0.1, rel=1e-6)
    assert len(large.to_pandas()) == large.nonzeros and len(large.policy("uniform").to_pandas()) == large.rows
    assert "20000 states" in repr(large.policy("uniform")) and len(str(large.solve()).splitlines()) < 20
    river = nadir.generate("riverswim")
    free = nadir.evaluate(river, "uniform", radius=0.001, domain="free")
    assert np.linalg.norm(free.changes().delta) == pytest.approx(0.001, rel=1e-6) and free.changes().worst.min() < 0


def test_colours_are_those_of_the_command(machine, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    source = (TREE / "cli" / "sweep_plot.c").read_text(encoding="utf-8")
    colours = re.findall(r'"(#[0-9a-f]{6})"', source[source.index("colours[] ="): source.index("dashes[] =")])
    from nadir._plots import COLOURS, DASHES

    assert list(COLOURS) == colours and len(DASHES) == len(colours)
    axes = machine.sweep("optimal", radius=[0, 0.1]).plot()
    drawn = axes.lines[0]
    assert drawn.get_color() == colours[1] and drawn.get_linestyle() == "-"  # one curve: solid
    assert axes._nadir_nominal is not None
    machine.sweep("uniform", radius=[0, 0.1]).plot(axes)
    lines = [one.line for one in axes._nadir_curves]
    assert [line.get_color() for line in lines] == colours[:2]
    assert [line.get_linestyle() for line in lines] == ["--", "-"]
    assert axes._nadir_nominal is None  # two policies have two nominal returns
    third = machine.sweep("uniform", radius=[0, 0.1]).plot(axes, color="red", label="mine")
    assert third._nadir_curves[2].line.get_color() == "red" and third._nadir_curves[2].line.get_label() == "mine"
    matplotlib.pyplot.close("all")


# ----------------------------------------------------------------------------------------------- reports


def numbers_of(page):
    text = re.search(r'id="numbers">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)[1]
    return json.loads(text)


def marked(page):
    numbers = numbers_of(page)
    return numbers["points"][numbers["mark"]]


def test_a_report_is_that_of_the_command(tmp_path, machine):
    """The same page, but for the words of the commands; an answer writes that of its question."""
    page, other = tmp_path / "page.html", tmp_path / "other.html"
    made = nadir.report(machine, radius=0.2, norm=1, domain="support", path=page)
    machine.write(tmp_path / "model.npz")
    words = ["report", "model.npz", "--radius", "0.2", "--norm", "1", "--domain", "support", "--out", other]
    subprocess.run([COMMAND, *words], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert numbers_of(page) == numbers_of(other)
    assert made.bytes == page.stat().st_size and made.left_out == 0 and not made.time_ran_out
    assert "nadir evaluate model.npz --norm 1 --domain support --policy optimal --radius 0.2" in page.read_text()
    found = nadir.evaluate(machine, "optimal", radius=0.2, norm=1, domain="support")
    assert found.report(other).lower_bound == found.lower_bound == made.lower_bound
    assert marked(other)["evaluate"]["robust_return"] == found.robust_return
    best = nadir.optimize(machine, radius=0.2, norm=1, domain="support")
    assert best.report(other).optimum_robust_return == best.robust_return == made.optimum_robust_return


def test_a_report_of_arrays_and_of_a_policy(tmp_path, arrays):
    P, R, _ = arrays
    page = tmp_path / "page.html"
    made = nadir.report(P, R, "uniform", discount=0.9, radius=0.1, radii=(0, 0.2, 3), path=page, title="<mine>")
    text = page.read_text()
    assert made.radii == 3 and "<h1><bdi>&lt;mine&gt;</bdi></h1>" in text and "the uniform policy" in text
    assert made.robust_return == nadir.evaluate(P, R, "uniform", discount=0.9, radius=0.1).robust_return
    with pytest.raises(nadir.UsageError, match="expected .first, last, how many."):
        nadir.report(P, R, discount=0.9, radius=0.1, radii=5, path=page)
    with pytest.raises(nadir.UsageError, match="best one"):
        nadir.evaluate(P, R, "uniform", discount=0.9, radius=0.1, optimistic=True).report(page)
    with pytest.warns(nadir.NadirWarning, match="the time was up"):
        nadir.report(nadir.generate("garnet", states=3000), radius=0.1, time_limit=0, path=page)


def test_a_report_of_data(tmp_path):
    """The promise stands first; the radius is the one that the data support."""
    data = str(TREE / "examples" / "data" / "river-log.csv")
    words = {"discount": 0.95, "successors": str(TREE / "examples" / "data" / "river-neighbours.csv")}
    promise = nadir.fit_return(data, **words)
    fitted = nadir.fit(data, policy=promise.policy, **words, guarantee="kernel")
    page = tmp_path / "page.html"
    made = fitted.report(page, promise=promise)
    assert made.radius == fitted.radius and made.lower_bound == pytest.approx(fitted.guaranteed, rel=1e-9)
    assert numbers_of(page)["promise"] == promise.guaranteed
    assert "radius that the data support" in page.read_text()
    with pytest.raises(nadir.UsageError, match="same policy"):
        nadir.fit(data, **words, guarantee="kernel").report(page, promise=promise)
    assert pickle.loads(pickle.dumps(fitted.guarantees)) == fitted.guarantees


    made = promise.report(page)  # makes that fit itself
    assert made.radius == fitted.radius and numbers_of(page)["promise"] == promise.guaranteed
    lines = str(made).splitlines()
    assert [line.split("  ")[0] for line in lines[:4]] == ["Report", "Guaranteed", "Worst case", "Robust"]
    assert lines[4].split()[0] == "policy" and "radii" in str(made)
    with pytest.raises(nadir.UsageError, match="pickled"):
        pickle.loads(pickle.dumps(promise)).report(page)
    with pytest.raises(nadir.UsageError, match=r"of a log: nadir.fit\(log, discount=...\).report"):
        nadir.report(data, discount=0.95, path=page)
    assert 'guarantee="return"' in str(fitted)


def test_a_report_prints_like_the_command(tmp_path):
    nadir.generate("machine").write(tmp_path / "m.npz")
    words = [COMMAND, "report", "m.npz", "--radius", "0.1", "--out", "page.html"]
    told = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    mine = str(nadir.report(nadir.read(tmp_path / "m.npz"), radius=0.1, path=tmp_path / "page.html")).splitlines()
    assert mine[1:4] == told[1:4] and mine[-1] == told[-1] and len(mine) == len(told)


def test_words_that_are_nearly_right(tmp_path):
    """Keywords with their older names, generators, and states of three letters."""
    with pytest.raises(TypeError, match="did you mean 'gamma'"):
        nadir.Model(np.ones((1, 1, 1)), gama=0.9)
    for word in ("out", "file"):
        with pytest.raises(TypeError, match="did you mean 'path'"):
            nadir.report(nadir.generate("machine"), radius=0.1, **{word: "x.html"})
    with pytest.raises(nadir.UsageError, match="did you mean inventory"):
        nadir.generate("inventori")
    path = tmp_path / "m.csv"
    path.write_text("state,action,next,probability,reward\nnew,run,old,1,1\nold,run,new,1,0\n")
    for word in ("neu", "nwe"):
        with pytest.raises(nadir.NadirError, match="did you mean new"):
            nadir.read(path, discount=0.9, initial=word)


def test_nothing_lost_is_nobody_s_damage():
    machine = nadir.generate("machine", discount=0.5)
    for radius in (0, 1e-300, 1e-16):
        assert "damage" not in str(machine.evaluate("uniform", radius=radius)), radius
    assert "Most damage" in str(machine.evaluate("uniform", radius=0.1))


def test_docstrings_have_parameters_and_returns():
    """Every parameter of every function, from a table that has no others; examples stay."""
    from nadir._parameters import PARAMETERS

    used = set()
    for name in nadir.__all__:
        function = getattr(nadir, name)
        if inspect.isfunction(function) and inspect.signature(function).parameters:
            words = function.__doc__.split("\nParameters\n----------\n")[1]
            for parameter in inspect.signature(function).parameters:
                assert f"{parameter} : " in words and PARAMETERS[parameter].split()[0] in words, (name, parameter)
                used.add(parameter)
            assert ("\nReturns\n-------\n" in words) == (name != "write")
    assert used == PARAMETERS.keys()
    for name in ("`fit`", "fit_compare", "frames"):
        assert name in nadir.__doc__


def test_numbers_and_policies_by_place():
    """A number that follows the model or the policy is told its name; answers with a policy stand for it."""
    model = nadir.generate("riverswim")
    for call, words in (
        (lambda: nadir.evaluate(model, "uniform", 0.1), "nadir.evaluate: 0.1 is in the place of a policy; .*: policy='uniform', radius=0.1$"),
        (lambda: nadir.evaluate(model, [0] * 6, 0.1), "by name: policy=..., radius=0.1$"),
        (lambda: nadir.evaluate(model, 0.1), "by name: policy=..., radius=0.1$"),
        (lambda: nadir.evaluate(model, "uniform", 0.1, horizon=3), "by name: policy='uniform', radius=0.1$"),
        (lambda: nadir.sweep(model, "uniform", [0, 0.1], radius=[1]), "another one is given; .* by name: policy='uniform', radius=..."),
        (lambda: nadir.radius(model, "uniform", 300.0, target=1), "by name: policy='uniform', target=300.0$"),
        (lambda: nadir.optimize(model, np.float64(0.1)), "nadir.optimize: 0.1 is in the place of R; .* by name: radius=0.1$"),
        (lambda: nadir.optimize(model, 1), "by name: radius=1$"),
        (lambda: nadir.solve(model, 0.9), "by name: discount=0.9$"),
    ):
        with pytest.raises(nadir.UsageError, match=words):
            call()
    with pytest.raises(TypeError, match=r"nadir.Model.optimize\(\) takes nothing by place, and anything else by name; did you mean radius=\?"):
        model.optimize(0.1)
    with pytest.raises(TypeError, match=r"nadir.Model.evaluate\(\) takes policy by place, and anything else by name"):
        model.evaluate("uniform", 0.1)
    best = model.solve()
    wanted = nadir.evaluate(model, best.policy, radius=0.1).robust_return
    robust = model.optimize(radius=0.05)
    assert nadir.evaluate(model, best, radius=0.1).robust_return == wanted
    assert nadir.evaluate(model, policy=best, radius=0.1).robust_return == wanted
    found = [nadir.evaluate(model.P, model.rewards, one, discount=0.95, radius=0.1).robust_return for one in (best, best.policy)]
    assert found[0] == found[1]
    assert model.evaluate(best, radius=0.1).robust_return == wanted
    assert nadir.evaluate(model, robust, radius=0.1, horizon=5) is not None
    assert nadir.difference(model, robust, best, radius=0.05).nominal == nadir.difference(model, robust.policy, best.policy, radius=0.05).nominal
    assert nadir.optimize(model, radius=0.05, policy=best, start=robust).compared is not None


def test_digits_of_bounds():
    """Five, never inside the bounds, where they are well apart; where more digits tell them apart, twelve."""
    assert _verdict.between(39.2216416403, 39.2216416485) == "39.2216416403 to 39.2216416485"
    assert _verdict.between(39.2216416403, 41.0000001) == "39.221 to 41.001"
    assert _verdict.between(-41.0000001, -39.2216416403) == "-41.001 to -39.221"
    assert _verdict.between(0.0, 0.0) == "0 to 0" and _verdict.between(-np.inf, 1.23456789) == "-inf to 1.2346"
    assert _verdict.between(np.nan, 1.0) == "nan to 1"
    random = np.random.default_rng(20261119)
    for middle, width in zip(random.normal(0, 1e3, 2000), 10 ** random.uniform(-9, 3, 2000)):
        shown = [float(word) for word in _verdict.between(middle - width, middle + width).split(" to ")]
        assert shown[0] <= middle - width + 1e-11 * abs(middle) and shown[1] >= middle + width - 1e-11 * abs(middle), (middle, width)
