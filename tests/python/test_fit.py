"""From data to a ball: the posterior mean against NumPy, forms of data, and what is asked of the ball."""

import numpy as np
import pytest

import nadir

STATES, ACTIONS = 4, 2


@pytest.fixture(scope="module")
def log():
    """(state, action, next state, reward) of a walk through a random model."""
    rng = np.random.default_rng(3)
    P = rng.dirichlet(np.ones(STATES), size=(STATES, ACTIONS))
    R = rng.normal(size=(STATES, ACTIONS))
    steps, state = [], 0
    for _ in range(2000):
        action = int(rng.integers(ACTIONS))
        successor = int(rng.choice(STATES, p=P[state, action]))
        steps.append((state, action, successor, R[state, action]))
        state = successor
    return np.array(steps), P, R


def test_posterior_mean_and_rewards(log):
    steps, _, R = log
    counts = np.zeros((STATES, ACTIONS, STATES))
    np.add.at(counts, tuple(steps[:, :3].astype(int).T), 1)
    found = nadir.fit(steps, gamma=0.9, prior=2, samples=500, guarantee="kernel")
    mean = (counts + 2 / STATES) / (counts.sum(axis=2, keepdims=True) + 2)
    np.testing.assert_allclose(found.nominal.dense(), mean, rtol=1e-13)
    np.testing.assert_allclose(found.nominal.table(found.nominal.rewards), R, rtol=1e-12)
    assert (found.observations, found.rows_visited) == (2000, STATES * ACTIONS)
    assert found.data_kind == "transitions"


def test_forms_of_data(log, tmp_path):
    steps, _, _ = log
    wanted = nadir.fit(steps, gamma=0.9, samples=300, guarantee="kernel")
    lines = [f"{int(s)},{int(a)},{int(t)},{r!r}" for s, a, t, r in steps.tolist()]
    (tmp_path / "log.csv").write_text("\n".join(["idstatefrom,idaction,idstateto,reward", *lines]) + "\n")
    columns = [("idstatefrom", "i8"), ("idaction", "i8"), ("idstateto", "i8"), ("reward", "f8")]
    records = np.array([tuple(row) for row in steps.tolist()], dtype=columns)
    for data in (tmp_path / "log.csv", records):
        found = nadir.fit(data, gamma=0.9, samples=300, guarantee="kernel")
        assert found.model.sha256 == wanted.model.sha256
        assert found.radius == wanted.radius


def test_the_same_as_the_command(log, command, tmp_path):
    steps, _, _ = log
    np.save(tmp_path / "log.npy", steps)
    for words, asked in (
        (["--guarantee", "kernel"], {"guarantee": "kernel"}),
        (["--scales", "ones", "--seed", 5], {"scales": "ones", "seed": 5}),
        (["--method", "bootstrap", "--policy", "uniform"], {"method": "bootstrap", "policy": "uniform"}),
        (["--method", "distribution-free", "--set", "sa"], {"method": "distribution-free", "set": "sa"}),
    ):
        common = ["--discount", 0.9, "--samples", 300, "--threads", 1, "--out", tmp_path / "model.npz"]
        printed = command("fit", tmp_path / "log.npy", *common, *words)
        found = nadir.fit(steps, gamma=0.9, samples=300, threads=1, **asked)
        made = found.to_dict()
        assert found.model.sha256 == printed["model_sha256"]
        for name in ("radius", "scales", "nominal_return", "confidence", "observations", "rows_visited"):
            if asked.get("set") is None or name not in ("radius", "scales"):  # of the set that is written
                assert made[name] == printed[name], name
        for mine, theirs in zip(made["guarantees"], printed["guarantees"]):
            assert mine["lower_bound"] == theirs["lower_bound"] and mine["radius"] == theirs["radius"]


def test_the_ball_reaches_the_questions(log):
    steps, P, R = log
    found = nadir.fit(steps, gamma=0.9, samples=1000, scales="ones", guarantee="kernel")
    nonrect = found.guarantees[0]
    assert (nonrect.set, nonrect.radius) == ("nonrect", found.radius)
    asked = nadir.evaluate(found.model, "optimal")
    assert asked.radius == found.radius
    assert asked.robust_return == pytest.approx(nonrect.robust_return, rel=1e-8)
    assert nadir.evaluate(found.model, "optimal", radius=0.5 * found.radius).penalty < asked.penalty
    # At 95 % the truth lies inside for this seed, and so the promise is kept.
    assert np.linalg.norm(P - found.nominal.dense()) <= found.radius
    best = nadir.optimize(found.model)
    truth = nadir.Model(P, R, 0.9)
    assert nadir.Solver(truth, best.policy).nominal().nominal_return >= best.lower_bound
    assert "at least" in str(found) and found.to_dict()["confidence"] == 0.95


def test_wrong_data(tmp_path):
    (tmp_path / "log.csv").write_text("idstatefrom,idaction,idstateto\n0,0,x\n")
    with pytest.raises(nadir.FormatError, match="log.csv:2"):
        nadir.fit(tmp_path / "log.csv", guarantee="kernel")
    with pytest.raises(nadir.UsageError, match="confidence"):
        nadir.fit(np.array([[0, 0, 0]]), confidence=1.5, guarantee="kernel")
    with pytest.raises(nadir.UsageError, match="sets is 'both'"):
        nadir.fit(np.array([[0, 0, 0]]), set="both")


def test_a_guarantee_of_the_return(log, command, tmp_path):
    steps, P, R = log
    np.save(tmp_path / "log.npy", steps)
    printed = command("fit", tmp_path / "log.npy", "--discount", 0.9, "--out", tmp_path / "model.npz")
    found = nadir.fit_return(steps, gamma=0.9)
    assert found.guaranteed == printed["guaranteed"] and found.ties == printed["ties"]
    assert found.radius == printed["radius"] and found.model.sha256 == printed["model_sha256"]
    assert found.guaranteed <= found.posterior_bound < found.nominal_return
    true = nadir.evaluate(nadir.Model(P, R, 0.9), found.policy.table, radius=0).nominal_return
    assert true >= found.guaranteed
    given = nadir.fit_return(steps, gamma=0.9, policy="uniform")
    assert given.guaranteed == given.posterior_bound and np.isnan(given.weight)


def test_policies_are_compared_on_the_same_kernels(log, command, tmp_path):
    steps, _, _ = log
    np.save(tmp_path / "log.npy", steps)
    nominal = nadir.fit_return(steps, gamma=0.9).model
    other = nadir.solve(nominal).policy.table
    np.save(tmp_path / "other.npy", other)
    asked = ["--policy", "uniform", "--policy", tmp_path / "other.npy"]
    printed = command("fit", tmp_path / "log.npy", "--discount", 0.9, *asked)
    found = nadir.fit_compare(steps, ["uniform", other], gamma=0.9)
    assert found.best == 1 and found.decided == printed["decided"]
    for i, one in enumerate(printed["policies"]):
        assert found.guaranteed[i] == one["guaranteed"] and found.together[i] == one["guaranteed_together"]
        assert found.lower[i, 0] == one["difference_lower"] and 0 - found.lower[0, i] == one["difference_upper"]
        assert found.together[i] < found.guaranteed[i] < found.nominal[i]
    alone = nadir.fit_return(steps, gamma=0.9, policy="uniform")
    assert alone.guaranteed == found.guaranteed[0]
    gap = found.returns[1] - found.returns[0]
    assert np.quantile(gap, 0.03) < found.lower[1, 0] < np.quantile(gap, 0.05)
    assert gap.std() < np.hypot(*found.returns.std(axis=1))  # the same kernels: returns rise and fall together
    with pytest.raises(nadir.UsageError, match="no policies"):
        nadir.fit_compare(steps, [], gamma=0.9)


class Frame(dict):
    """As much of a frame as is asked for."""

    columns = property(lambda self: list(self))

    def __len__(self):
        return len(next(iter(self.values())))


def test_frames_count_by_name(log):
    steps, _, _ = log
    named = {"reward": steps[:, 3], "next_state": steps[:, 2], "action": steps[:, 1], "state": steps[:, 0]}
    assert nadir.fit_return(Frame(named), gamma=0.9).guaranteed == nadir.fit_return(steps, gamma=0.9).guaranteed
    with pytest.raises(nadir.FormatError):
        nadir.fit_return(Frame({f"column {i}": steps[:, i] for i in range(4)}), gamma=0.9)
    with pytest.raises(nadir.FormatError, match="is `a`, a name"):
        nadir.fit_return(Frame({**named, "state": np.array(["a"] * len(steps)), "next_state": steps[:, 2]}), gamma=0.9)


def test_frames_of_names(log):
    steps, _, _ = log
    label = np.array(["s%d" % i for i in range(10)])
    named = {"r": steps[:, 3], "s_next": label[steps[:, 2].astype(int)], "a": steps[:, 1].astype(int)}
    named["from"] = label[steps[:, 0].astype(int)]
    found = nadir.fit_return(Frame(named), gamma=0.9, columns={"state": "from"}, more=50, initial="s0")
    assert not found.terminal and found.dropped == 0
    states = [found.model.state_name(i) for i in range(found.model.states)]
    assert sorted(states) == sorted(set(named["from"]) | set(named["s_next"]))
    more = found.more
    assert abs(more.rows.sum() - 50) < 1e-6 and abs(more.share.sum() - 1) < 1e-9
    assert more.penalty_told <= more.penalty_even and more.penalty_told < more.penalty
    target = nadir.fit_return(
        Frame(named), gamma=0.9, columns="state=from", target_penalty=more.penalty_told, initial="s0"
    )
    assert abs(target.more.visits - 50) < 1e-3
    with pytest.raises(nadir.UsageError):
        nadir.fit_return(Frame(named), gamma=0.9, columns="state=from", more=1, target_penalty=1)


def test_frames_with_ends():
    """What is missing beside done or truncated is no number; done leads to one state, cut off lines are dropped."""
    frame = Frame(
        state=np.array([0, 1, 0, 1]),
        action=np.array([0, 0, 1, 1]),
        next_state=np.array([1.0, np.nan, 0.0, np.nan]),
        reward=np.array([1.0, 2.0, 0.0, 1.0]),
        done=np.array([False, True, False, False]),
        truncated=np.array([False, False, False, True]),
    )
    found = nadir.fit(frame, gamma=0.9, samples=200, guarantee="kernel")
    assert found.terminal and found.dropped == 1 and found.states == 3 and found.total_count == 3


def _named(steps):
    label = np.array(["low", "left", "middle", "right", "high"] * 4)
    return {
        "reward": steps[:, 3],
        "next_state": label[steps[:, 2].astype(int)],
        "action": steps[:, 1].astype(int),
        "state": label[steps[:, 0].astype(int)],
    }


def test_frames_of_pandas(log):
    pandas = pytest.importorskip("pandas")
    steps, _, _ = log
    wanted = nadir.fit_return(steps, gamma=0.9).guaranteed
    numbers = pandas.DataFrame(steps, columns=["state", "action", "next_state", "reward"])
    assert nadir.fit_return(numbers[numbers.columns[::-1]], gamma=0.9).guaranteed == wanted
    whole = numbers.astype({"state": "Int64", "action": "category", "next_state": int})
    whole.index = whole.index[::-1]  # lines count in their order, whatever the index
    assert nadir.fit_return(whole, gamma=0.9).guaranteed == wanted
    named = _named(steps)
    texts = pandas.DataFrame(named).astype({"state": "string", "next_state": "category"})
    assert nadir.fit_return(texts, gamma=0.9).guaranteed == nadir.fit_return(Frame(named), gamma=0.9).guaranteed
    ends = texts.assign(truncated=False)
    ends.loc[ends.index[::100], ["truncated", "next_state"]] = [True, None]
    assert nadir.fit_return(ends, gamma=0.9).dropped == len(ends.index[::100])
    missing = whole.assign(done=False)
    missing.loc[missing.index[0], ["done"]] = True
    missing["next_state"] = missing["next_state"].astype("Int64").mask(missing["done"])  # pandas.NA
    assert nadir.fit_return(missing, gamma=0.9).terminal
    with pytest.raises(nadir.UsageError, match="same name"):
        nadir.fit(numbers.set_axis(["state", "state", "action", "reward"], axis=1), gamma=0.9, guarantee="kernel")
    with pytest.raises(nadir.FormatError, match="unknown field"):
        nadir.fit(numbers.set_axis(["one", "two", "three", "four"], axis=1), gamma=0.9, guarantee="kernel")
    with pytest.raises(nadir.FormatError, match="the frame, row 0: `state` is missing"):
        nadir.fit(texts.assign(state=texts["state"].mask(texts.index == texts.index[0])), gamma=0.9, guarantee="kernel")


class PolarsSeries:
    """A column as polars has it: no index, and None for what is missing."""

    def __init__(self, values):
        self._values = list(values)

    def __len__(self):
        return len(self._values)

    def to_list(self):
        return list(self._values)

    def to_numpy(self):
        return np.array(self._values)

    def __array__(self, dtype=None, copy=None):
        return np.array(self._values, dtype=dtype)


class PolarsFrame:
    """Stands in for a frame of polars, which Debian does not package: the members that polars documents, and no others."""

    def __init__(self, columns):
        self._columns = {name: PolarsSeries(values) for name, values in columns.items()}

    columns = property(lambda self: list(self._columns))
    height = property(lambda self: len(next(iter(self._columns.values()))))

    def __len__(self):
        return self.height

    def __getitem__(self, name):
        return self._columns[name]

    def get_column(self, name):
        return self._columns[name]

    def to_dict(self, *, as_series=True):
        return {name: one if as_series else one.to_list() for name, one in self._columns.items()}


def test_frames_like_those_of_polars(log):
    steps, _, _ = log
    named = {name: list(values) for name, values in _named(steps).items()}
    assert nadir.fit_return(PolarsFrame(named), gamma=0.9).guaranteed == nadir.fit_return(
        Frame(_named(steps)), gamma=0.9
    ).guaranteed
    named["truncated"] = [i % 100 == 0 for i in range(len(steps))]
    named["next_state"] = [None if cut else s for s, cut in zip(named["next_state"], named["truncated"])]
    assert nadir.fit_return(PolarsFrame(named), gamma=0.9).dropped == sum(named["truncated"])


def test_fit_promises_what_the_command_does(log, command, tmp_path):
    """The return of one policy, unless what is asked for is about the ball."""
    steps, _, _ = log
    np.save(tmp_path / "log.npy", steps)
    printed = command("fit", tmp_path / "log.npy", "--discount", 0.9, "--samples", 300, "--threads", 1)
    asked = {"discount": 0.9, "samples": 300, "threads": 1}
    found = nadir.fit(steps, **asked)
    assert isinstance(found, nadir.FitReturn) and found.guaranteed == printed["guaranteed"]
    assert found.guaranteed == nadir.fit_return(steps, **asked).guaranteed
    assert nadir.fit(steps, guarantee="posterior", **asked).guarantee == "posterior"
    assert nadir.fit(steps, more=100, **asked).more.visits == 100
    for words in ({"guarantee": "kernel"}, {"scales": "ones"}, {"sets": "sa"}, {"method": "bootstrap"}):
        assert isinstance(nadir.fit(steps, **asked, **words), nadir.Fit), words
    assert isinstance(nadir.fit(steps, samples=300), nadir.Fit)
    with pytest.raises(nadir.UsageError, match='guarantee="return"'):
        nadir.fit(steps, guarantee="kernel", more=100, **asked)
    for words in ({"method": "bootstrap", "guarantee": "return"}, {"scales": "ones", "guarantee": "posterior"}):
        with pytest.raises(nadir.UnsupportedError, match='leave it out, or take guarantee="kernel"'):
            nadir.fit(steps, **words, **asked)
    assert nadir.fit(steps, norm=1, **asked).guaranteed == found.guaranteed  # of the ball that explains it
    with pytest.raises(nadir.UsageError, match='nadir.fit takes "kernel"'):
        nadir.fit_return(steps, guarantee="kernel", **asked)
