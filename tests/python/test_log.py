"""A log as people have it, with names of its own and an end: policies by name, what is refused, and what is printed."""

import pickle

import numpy as np
import pytest
from test_forms import LAKE

import nadir

pandas = pytest.importorskip("pandas")

STATES, ACTIONS, END = ["new", "engaged", "lapsing"], ["nothing", "email", "discount"], "churned"
COLUMNS = {"state": "segment", "action": "offer", "next": "after", "reward": "profit", "episode": "customer", "done": "ended"}
ASKED = {"discount": 0.95, "columns": COLUMNS, "samples": 2000, "threads": 1}
MINE = {"new": "email", "engaged": "nothing", "lapsing": "nothing"}
RICH = {"new": "discount", "engaged": "discount", "lapsing": "discount"}


def simulate(length, seed):
    """Customers and what they were offered, with a chance to go after every week."""
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet([4, 4, 4, 0.7], size=(3, 3))
    lines, customer = [], 0
    while len(lines) < length:
        state, customer = int(rng.choice(3, p=[0.7, 0.2, 0.1])), customer + 1
        for _ in range(15):
            action = int(rng.integers(3))
            after = int(rng.choice(4, p=chances[state, action]))
            profit = 3 * state - action + rng.normal()
            names = (STATES[state], ACTIONS[action], (STATES + [END])[after])
            lines.append((f"c{customer:05d}", *names, round(profit, 2), after == 3))
            state = after
            if after == 3:
                break
    return pandas.DataFrame(lines, columns=["customer", "segment", "offer", "after", "profit", "ended"])


@pytest.fixture(scope="module")
def frame():
    return simulate(1500, 5)


@pytest.fixture(scope="module")
def found(frame):
    return nadir.fit_return(frame, **ASKED)


# ----------------------------------------------------------------------------------------------- the end


def test_the_end_keeps_its_name(frame, found):
    model = found.model
    assert model._all_state_names() == [model.state_name(s) for s in range(4)] and model.state_name(3) == END
    assert (model.states, model.states_given) == (4, 3) and sorted(model.given_state_names()) == sorted(STATES)
    assert found.policy.table.shape == (3, 3) and END not in str(found.policy) and len(found.policy) == 3
    assert model.facts().terminal_states == 1
    assert found.policy[END] == found.policy[3] and len(found.policy[END]) == 1
    several = frame.assign(after=frame["after"].mask(frame.index == frame.index[frame["ended"]][0], "lost"))
    assert nadir.fit_return(several, **ASKED).model.state_name(3) == "terminal"


def test_policies_need_not_say_what_is_done_at_the_end(frame, found):
    names = found.model.given_state_names()
    actions = found.model.known_action_names()
    wide = pandas.DataFrame({action: [float(RICH[s] == action) for s in STATES] for action in ACTIONS}, index=STATES)
    long = pandas.DataFrame({"segment": STATES, "offer": [RICH[s] for s in STATES], "p": 1.0})
    table = np.array([[float(RICH[s] == a) for a in actions] for s in names])
    forms = {
        "dictionary": RICH,
        "with the end": {**RICH, END: "email"},
        "chances": {s: {RICH[s]: 1.0} for s in STATES},
        "mixed": {**RICH, "new": {"discount": 0.25 + 0.75}},
        "series": pandas.Series(RICH),
        "wide": wide[::-1],
        "wide, no zeros": wide[["discount"]],
        "long": long,
        "long, common names": long.set_axis(["state", "action", "probability"], axis=1),
        "names": [RICH[s] for s in names],
        "with its name": [*(RICH[s] for s in names), "email"],
        "table": table,
        "table and end": np.vstack([table, [1, 0, 0]]),
        "numbers": [actions.index(RICH[s]) for s in names],
        "policy": found.model.policy(RICH),
    }
    wanted = nadir.fit_return(frame, policy=RICH, **ASKED)
    for form, policy in forms.items():
        alone = nadir.fit_return(frame, policy=policy, **ASKED)
        assert alone.guaranteed == wanted.guaranteed, form
        assert alone.policy.sha256 == wanted.policy.sha256, form
    compared = nadir.fit_compare(frame, [RICH, MINE, wide], **ASKED)
    assert compared.guaranteed[0] == compared.guaranteed[2] == wanted.guaranteed


def test_the_same_as_the_command(frame, command, tmp_path):
    frame.to_csv(tmp_path / "log.csv", index=False)
    pandas.DataFrame(RICH.items(), columns=["segment", "offer"]).to_csv(tmp_path / "rich.csv", index=False)
    columns = ",".join(f"{role}={name}" for role, name in COLUMNS.items())
    asked = ["--discount", 0.95, "--columns", columns, "--samples", 2000, "--threads", 1]
    printed = command("fit", tmp_path / "log.csv", *asked, "--policy", tmp_path / "rich.csv")
    assert printed["guaranteed"] == nadir.fit_return(frame, policy=RICH, **ASKED).guaranteed


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        ({"new": "email", "engaged": "email"}, "does not say what to do in 1 of 3 states: lapsing; only states"),
        (pandas.Series({"new": "email"}), "in 2 of 3 states: .*engaged.*; only states with one action"),
        ({**RICH, "lapsed": "email"}, "a state 'lapsed', which the model does not have; did you mean 'lapsing'"),
        ({**RICH, "new": "gift"}, "state new: there is no action 'gift'; it has "),
        ({**RICH, "new": {"email": 0.5}}, "sum to 0.5"),
        ({**RICH, 7: "email"}, "a state 7, which the model does not have"),
        (["email", "email"], "2 names of actions; expected 3, one for each state"),
        (pandas.DataFrame({"gift": [1.0] * 3}, index=STATES), "the columns of the policy are 'gift'"),
        (pandas.DataFrame({"email": [1.0] * 4}, index=[*STATES, "new"]), "state new twice"),
    ],
)
def test_what_is_wrong_with_a_policy_is_named(frame, policy, words):
    with pytest.raises(nadir.NadirError, match=words):
        nadir.fit_return(frame, policy=policy, **ASKED)


def test_ends_of_dictionaries_need_no_action():
    lake = nadir.Model(LAKE, discount=0.95, initial=0)
    ends = [s for s in range(lake.states) if all(t[0][1] == s and t[0][2] == 0 for t in LAKE[s].values())]
    live = [s for s in range(lake.states) if s not in ends]
    assert ends and lake.facts().terminal_states == len(ends) and lake._ends().nonzero()[0].tolist() == ends
    policy = lake.policy({s: 1 for s in live})
    assert policy.sha256 == lake.policy([1 if s in live else 0 for s in range(lake.states)]).sha256
    for s in ends:
        assert policy[s] == {0: 1.0}
    with pytest.raises(nadir.PolicyError, match=f"in 1 of {lake.states} states: {live[1]}; only"):
        lake.policy({s: 1 for s in live if s != live[1]})
    table = policy.table.copy()
    table[ends] = 1 / table.shape[1]  # what is done at an end is no decision
    mixed = lake.policy(table)
    assert len(mixed.randomised_states()) == 0 and mixed.is_deterministic and mixed.actions[live].tolist() == [1] * len(live)


def test_chances_by_state_make_the_same_policy_again(found):
    policy = found.model.policy({"new": {"email": 0.3, "discount": 0.7}, "engaged": "nothing", "lapsing": {"email": 1}})
    for again in ({name: policy[name] for name in STATES}, {s: policy[s] for s in range(3)}, list(policy)):
        assert found.model.policy(again).sha256 == policy.sha256


# -------------------------------------------------------------------------------------- how it is laid out


def test_columns_in_both_directions(frame, found):
    inverted = {name: role for role, name in COLUMNS.items()}
    words = ",".join(f"{role}={name}" for role, name in COLUMNS.items())
    for columns in (inverted, words, {**COLUMNS, "next_state": COLUMNS["next"]} | {}, {"terminated" if r == "done" else r: n for r, n in COLUMNS.items()}):
        columns = {r: n for r, n in columns.items() if r != "next"} if isinstance(columns, dict) and "next_state" in columns else columns
        assert nadir.fit_return(frame, **{**ASKED, "columns": columns}).guaranteed == found.guaranteed
    some = {role: name for role, name in COLUMNS.items() if role != "reward"}
    renamed = frame.rename(columns={"profit": "reward"})
    assert nadir.fit_return(renamed, **{**ASKED, "columns": some}).guaranteed == found.guaranteed
    for columns, said in (
        ({**COLUMNS, "state": "segmnt"}, "'state' is 'segmnt', which the frame does not have; did you mean 'segment'"),
        ({**COLUMNS, "rewrd": "profit"}, "columns has 'rewrd'; expected .* did you mean 'reward'"),
        ({**COLUMNS, "obs": "after"}, "twice what 'state' is: 'segment' and 'after'"),
        ("segment", "columns is 'segment'; expected"),
    ):
        with pytest.raises(nadir.UsageError, match=said):
            nadir.fit_return(frame, **{**ASKED, "columns": columns})


def test_roles_are_those_of_the_library(frame, tmp_path):
    """Every word for a column that Python knows, the library knows, too."""
    from nadir._frames import LOG_ROLES

    frame.head(60).to_csv(tmp_path / "log.csv", index=False)
    for role, words in LOG_ROLES.items():
        for word in words:
            path = tmp_path / "log.csv"
            columns = {"state": "segment", "action": "offer", "next": "after", role: COLUMNS.get(role, "no such column")}
            columns[word] = columns.pop(role)
            if role in COLUMNS:
                nadir.fit(path, columns=columns, samples=200, guarantee="kernel")
            else:
                with pytest.raises(nadir.FormatError, match="no such column"):
                    nadir.fit(path, columns=columns, samples=200, guarantee="kernel")


def test_categories_keep_their_order(frame, found):
    typed = frame.assign(
        segment=pandas.Categorical(frame["segment"], [*STATES, END]),
        offer=pandas.Categorical(frame["offer"], ["never", *ACTIONS]),
        after=pandas.Categorical(frame["after"], [*STATES, END]),
    )
    again = nadir.fit_return(typed, **ASKED)
    assert again.model.given_state_names() == STATES and again.model.known_action_names() == ACTIONS
    assert again.model.state_name(3) == END
    assert again.guaranteed == pytest.approx(found.guaranteed, rel=0.02)  # other draws
    text = typed.assign(offer=typed["offer"].astype(str))
    assert nadir.fit(text, **{**ASKED, "samples": 200}, guarantee="kernel").model.known_action_names() == found.model.known_action_names()


def test_starts_are_distributions_too(frame):
    chances = {"new": 0.5, "lapsing": 0.25, "engaged": 0.25}
    names = nadir.fit_return(frame, **ASKED).model.given_state_names()
    array = [chances[name] for name in names]
    wanted = nadir.fit_return(frame, initial=chances, **ASKED)
    assert [wanted.model.initial[wanted.model.state_number(name)] for name in names] == array
    for initial in (pandas.Series(chances), array, np.array([*array, 0.0]), {i: chance for i, chance in enumerate(array)}):
        assert nadir.fit_return(frame, initial=initial, **ASKED).guaranteed == wanted.guaranteed
    assert nadir.fit_compare(frame, [RICH], initial=chances, **ASKED).policies[0].model.initial[0] == wanted.model.initial[0]
    assert nadir.fit(frame, initial={"new": 1.0}, **{**ASKED, "samples": 200}, guarantee="kernel").model.start_words() == "new"
    for initial, words in (
        ({"nwe": 1.0}, "initial, row 0: `state` is `nwe`, which the model does not have"),
        ({"new": 0.5}, "initial: the initial distribution sums to 0.5"),
        ([0.5, 0.5], "initial has 2 numbers; expected 3, one for each state"),
        ([[1.0, 0, 0]], "initial has the shape"),
        ("nwe", "initial distribution nwe"),
    ):
        with pytest.raises(nadir.NadirError, match=words):
            nadir.fit_return(frame, initial=initial, **ASKED)


def test_a_state_without_lines_is_named(frame):
    """What the data say nothing of is told, with what it is taken to pay."""
    columns = {role: name for role, name in COLUMNS.items() if role != "done"}
    with pytest.warns(nadir.NadirWarning, match="no line begins in state churned.*lowest reward seen, -.*a column done"):
        open_end = nadir.fit_return(frame, **{**ASKED, "columns": columns})
    assert "no line begins in state churned: it is taken to stay there for ever, at the lowest reward seen" in str(open_end)
    means = frame.groupby(["segment", "offer", "after"])["profit"].mean()  # what it pays: a transition pays its mean
    assert f"seen, {means.min():.5g}." in str(open_end)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"discount": 1}, "the discount is 1; expected at least 0 and less than 1"),
        ({"discount": "0.9"}, "discount is '0.9'; expected a number"),
        ({"discount": float("nan")}, "discount is nan; expected a number"),
        ({"discount": 1.5}, "the discount is 1.5"),
        ({"confidence": 95}, "the confidence is 95"),
        ({"more": 5, "target_penalty": 1}, "more and target_penalty cannot both"),
    ],
)
def test_what_is_wrong_is_named(frame, more, words):
    with pytest.raises(nadir.NadirError, match=words):
        nadir.fit_return(frame, **{**ASKED, **more})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda f: f.sample(frac=1, random_state=0), r"sort_values\(\['customer'.*\]\)"),
        (lambda f: f.assign(segment=f["segment"].mask(f.index == 5)), "the frame, row 5: `segment` is missing"),
        (lambda f: f.assign(profit=f["profit"].mask(f.index == 5)), "the frame, row 5: no reward"),
        (lambda f: f.drop(columns="segment"), "'state' is 'segment', which the frame does not have"),
        (lambda f: f.groupby("segment"), "objects, not numbers; expected .* a frame, or a dictionary of columns"),
        (lambda f: {**f.to_dict("list"), "profit": [1.0]}, "differ in length: 'customer' 15.*, 'profit' 1"),
        (lambda f: f.assign(segment=f["segment"].mask(f.index == 5, 3)), "row 5: `segment` is `3`, a number, but row 0 has a name"),
        (lambda f: f.iloc[:0], "no transitions"),
    ],
)
def test_wrong_logs_speak_of_frames(frame, make, words):
    with pytest.raises(nadir.NadirError, match=words) as caught:
        nadir.fit_return(make(frame), **ASKED)
    assert "header" not in str(caught.value) and "--" not in str(caught.value)


class Arrow:
    """Stands in for a table of pyarrow, which is not installed everywhere: its `columns` are arrays, without names."""

    def __init__(self, frame):
        self._columns = frame.to_dict("list")
        self.column_names, self.columns = list(self._columns), list(self._columns.values())

    def __getitem__(self, name):
        return self._columns[name]

    def to_pydict(self):
        return dict(self._columns)


class Interchange:
    """A frame of a library that is not known here, behind the protocol of data frames."""

    def __init__(self, frame):
        self._frame = frame

    def __dataframe__(self, nan_as_null=False, allow_copy=True):
        return self._frame.__dataframe__(nan_as_null, allow_copy)


@pytest.mark.parametrize(
    "make",
    [
        lambda f: f.to_dict("list"),
        lambda f: {name: f[name].to_numpy() for name in f.columns},
        lambda f: f.to_dict("records"),
        lambda f: f.to_records(index=False),
        lambda f: f.set_index(["customer", "segment"]),
        lambda f: f.rename_axis("line"),
        Arrow,
        Interchange,
    ],
    ids=["columns", "arrays", "lines", "records", "index", "named index", "pyarrow", "protocol"],
)
def test_other_tables_are_read_by_name(frame, found, make):
    assert nadir.fit_return(make(frame), **ASKED).guaranteed == found.guaranteed


def test_times_as_pandas_has_them(frame, found):
    """Ten hours between steps, whatever the type of the column; an end that is called in words."""
    start, step = pandas.Timestamp("2024-02-25 20:00"), frame.groupby("customer").cumcount()
    when = start + pandas.to_timedelta(10 * step, unit="h")
    words = frame.assign(ended=frame["ended"].map({True: "Yes", False: "no"}))
    for column in (when, when.dt.tz_localize("Europe/Paris"), when.astype(str), when.dt.strftime("%Y-%m-%dT%H:%MZ"), when.map(lambda t: t.to_pydatetime())):
        again = nadir.fit_return(words.assign(when=column), **{**ASKED, "columns": {**COLUMNS, "time": "when"}})
        assert again.guaranteed == found.guaranteed
    with pytest.raises(nadir.FormatError, match="is before that of the last; sort it first: frame.sort_values"):
        nadir.fit_return(words.assign(when=when.astype(str)[::-1].to_numpy()), **{**ASKED, "columns": {**COLUMNS, "time": "when"}})


def test_columns_with_no_names_are_asked_for(frame):
    with pytest.raises(nadir.FormatError) as caught:
        nadir.fit_return(frame, discount=0.95)
    assert "header" not in str(caught.value) and 'columns={"state": NAME' in str(caught.value)


# ----------------------------------------------------------------------- policies that the data have made


def test_policies_from_the_same_data_are_refused(frame, found):
    words = "is made from the same data: leave policy out"
    robust = nadir.optimize(found.model).policy
    made = ["optimal", found.policy, pickle.loads(pickle.dumps(found.policy)), robust, nadir.solve(found.model).policy]
    for policy in made:
        with pytest.raises(nadir.UnsupportedError, match=words):
            nadir.fit_return(frame, policy=policy, **ASKED)
        with pytest.raises(nadir.UnsupportedError, match="on some of the episodes"):
            nadir.fit_compare(frame, [RICH, policy], **ASKED)
        assert nadir.fit_return(frame, policy=policy, guarantee="posterior", **ASKED).guarantee == "posterior"
    other = nadir.fit_return(simulate(700, 6), **ASKED).policy  # made elsewhere
    by_name = {name: other[name] for name in STATES}
    same = nadir.fit_return(frame, policy=by_name, **ASKED)
    assert nadir.fit_return(frame, policy=other, **ASKED).guaranteed == same.guaranteed
    nadir.fit_compare(frame, [RICH, found.model.policy(RICH)], **ASKED)  # the user's own, whatever carries it


def test_a_policy_keeps_its_names_in_another_log(found, tmp_path):
    """Logs number states and actions as they appear; a policy means what it says, as an object, a file and a frame."""
    test = simulate(900, 8)
    test = pandas.concat([part for _, part in sorted(test.groupby("customer"), key=lambda one: one[1]["segment"].iloc[0])])
    mine = found.model.policy({"new": "email", "engaged": {"nothing": 0.5, "discount": 0.5}, "lapsing": "discount"})
    mine.write(tmp_path / "mine.csv")
    assert END not in (tmp_path / "mine.csv").read_text()
    read = nadir.fit_return(test, policy={name: mine[name] for name in STATES}, **ASKED)
    assert read.model.given_state_names() != found.model.given_state_names()
    for form in (mine, tmp_path / "mine.csv", mine.to_pandas(), pickle.loads(pickle.dumps(mine))):
        again = nadir.fit_return(test, policy=form, **ASKED)
        assert again.guaranteed == read.guaranteed
        assert all(again.policy[name] == mine[name] for name in STATES)
    rows = nadir.fit_compare(test, {"object": mine, "file": tmp_path / "mine.csv", "names": read.policy}, **ASKED)
    assert len(set(rows.nominal)) == 1
    lapsed = set(test["customer"][(test["segment"] == "lapsing") | (test["after"] == "lapsing")])
    fewer = test[~test["customer"].isin(lapsed)]
    with pytest.raises(nadir.PolicyError, match="a state 'lapsing', which the model does not have"):
        nadir.fit_return(fewer, policy=mine, **ASKED)
    with pytest.raises(nadir.NadirError, match="`state_name` is `lapsing`, which the model does not have; it has"):
        nadir.fit_return(fewer, policy=tmp_path / "mine.csv", **ASKED)


def test_the_command_refuses_the_same(frame, tmp_path):
    import subprocess

    from conftest import COMMAND

    frame.drop(columns="customer").to_csv(tmp_path / "log.csv", index=False)
    columns = "state=segment,action=offer,next=after,reward=profit,done=ended"
    words = [COMMAND, "fit", tmp_path / "log.csv", "--discount", "0.95", "--columns", columns, "--policy", "optimal"]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode != 0 and "is made from the same data: leave it out" in done.stderr


# ------------------------------------------------------------------------------------------ what is printed


def test_the_ball_of_a_return_says_what_it_is_for(frame, found, tmp_path):
    """As the command does, with the ball of the model alone; also from a file, and after pickling."""
    words = "it does not hold the true kernel"
    model = found.model
    assert (model.promise, model.confidence) == ("return", 0.95)
    model.write(tmp_path / "model.npz")
    for one in (model, nadir.read(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        for answer in (nadir.evaluate(one, "uniform"), nadir.optimize(one), nadir.sweep(one, "uniform", radius=[0, found.radius])):
            assert str(answer).count(words) == 1 and words in answer._repr_html_()
        assert words not in str(nadir.evaluate(one, "uniform", radius=0.5 * found.radius))
        assert words not in str(nadir.evaluate(one.replace(discount=0.5), "uniform"))
    kernel = nadir.fit(frame, **{**ASKED, "samples": 500}, guarantee="kernel")
    assert "this ball holds the true kernel with confidence 0.95" in str(nadir.optimize(kernel.model))
    assert kernel.model.replace(initial="new").promise == "kernel" and kernel.nominal.promise is None
    assert kernel.model.replace(scales=np.ones(kernel.model.rows)).promise is None
    assert nadir.generate("machine").promise is None


def test_chances_in_words():
    from nadir import _verdict

    shown = {0.5: "50 %", 0.9937: "99 %", 0.9977: "99.77 %", 0.99999: "99.999 %", 1 / 3: "33 %", 2e-5: "0.002 %", 1 - 1e-12: "100 %"}
    for share, words in shown.items():
        assert _verdict.chance(share) == words, share
    policy = nadir.generate("machine").policy(np.tile([0.9977, 0.0023], (10, 1)))
    assert "wait (99.77 %), repair (0.23 %)" in str(policy) and "e+" not in str(policy)
    assert "wait (99.77 %), repair (0.23 %)" in str(policy.compare("uniform"))


@pytest.mark.parametrize("radii", [[-1, 0], [-1, 0.1], [0.1, np.nan], [np.inf], [0, -1e-300]])
def test_wrong_radii_of_a_curve_are_named(radii):
    with pytest.raises(nadir.UsageError, match="radius must be >= 0 and finite; it has (-1|nan|inf|-1e-300)$"):
        nadir.sweep(nadir.generate("machine"), "uniform", radius=radii)


def test_the_print_of_a_return(frame, found, command, tmp_path):
    """The lines of the command, but for what it calls its options."""
    import subprocess

    from conftest import COMMAND

    frame.to_csv(tmp_path / "log.csv", index=False)
    columns = ",".join(f"{role}={name}" for role, name in COLUMNS.items())
    asked = [COMMAND, "fit", tmp_path / "log.csv", "--discount", "0.95", "--columns", columns, "--samples", "2000", "--threads", "1"]
    printed = subprocess.run([*asked, "--more", "500"], capture_output=True, text=True, check=True).stdout.splitlines()
    more = nadir.fit_return(frame, more=500, **ASKED)
    lines = str(more).splitlines()
    assert lines[:2] == printed[:2] and lines[0].startswith("Guaranteed   ")
    for label in ("policy", "posterior", "choosing", "caution", "behaviour", "draws"):
        theirs = [line.split(None, 1) for line in printed if line.startswith(f"  {label} ")]
        assert [line.split(None, 1) for line in lines if line.startswith(f"  {label} ")] == theirs, label
    assert more.to_dict()["grounds"] == command(*asked[1:])["grounds"]
    predicted = next(line for line in printed if "visits more" in line)
    assert predicted in str(more) and str(more.more).startswith(predicted) and "more=N" in str(found)
    table = printed[printed.index(predicted) + 2 :]
    for mine, theirs in zip(str(more.more).splitlines()[2:], table):  # more, of the variance, state, action
        assert mine.split() == theirs.replace(",", "").split()
    assert len(table) >= 2 and "decided" not in str(more) and "0x" not in str(more)
    assert "penalty" in nadir.fit_return(frame, target_penalty=1e6, **ASKED).more.__str__()


def test_the_print_of_a_comparison(frame, command, tmp_path):
    import subprocess

    from conftest import COMMAND

    frame.to_csv(tmp_path / "log.csv", index=False)
    for name, policy in (("mine.csv", MINE), ("rich.csv", RICH)):
        pandas.DataFrame(policy.items(), columns=["segment", "offer"]).to_csv(tmp_path / name, index=False)
    columns = ",".join(f"{role}={name}" for role, name in COLUMNS.items())
    asked = ["fit", "log.csv", "--discount", "0.95", "--columns", columns, "--samples", "2000", "--threads", "1"]
    asked += ["--policy", "mine.csv", "--policy", "rich.csv"]
    printed = subprocess.run([COMMAND, *asked], capture_output=True, text=True, check=True, cwd=tmp_path).stdout.splitlines()
    compared = nadir.fit_compare(frame, {"mine.csv": MINE, "rich.csv": RICH}, **ASKED)
    lines = str(compared).splitlines()
    assert lines[:2] == printed[:2]
    tables = [[line.split() for line in text if line.startswith(("  policy ", "  mine.csv ", "  rich.csv "))] for text in (lines, printed)]
    assert tables[0] == tables[1] and len(tables[0]) == 3
    for label in ("difference", "bounds", "grounds", "behaviour", "draws"):
        assert [" ".join(line.split()) for line in lines if line.startswith(f"  {label} ")] == [
            " ".join(line.split()) for line in printed if line.startswith(f"  {label} ")
        ]
    as_json = subprocess.run([COMMAND, *asked, "--json"], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    import json

    theirs, mine = json.loads(as_json), compared.to_dict()
    assert mine["policies"] == theirs["policies"] and mine["best"] == theirs["best"]
    assert mine["guaranteed"] == [one["guaranteed"] for one in theirs["policies"]]
    assert compared.to_pandas().to_dict("records") == theirs["policies"]
    assert compared.names == ["mine.csv", "rich.csv"] and "mine.csv" in repr(compared) and "Better" in compared._repr_html_()
    assert nadir.fit_compare(frame, [MINE, "uniform"], **ASKED).names == ["policy 0", "uniform"]
    alone = nadir.fit_compare(frame, [MINE], **ASKED)
    assert "difference" not in str(alone) and "of policy 0" in str(alone)
    json.dumps(mine)


# --------------------------------------------------------------------------------------------- pictures


@pytest.fixture
def pyplot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def test_pictures_of_returns(frame, found, pyplot):
    compared = nadir.fit_compare(frame, {"mine": MINE, "rich": RICH}, **ASKED)
    figure, axes = pyplot.subplots(1, 2)
    assert compared.plot(axes[0]) is axes[0] and found.plot(axes[1]) is axes[1]
    for ax, wanted in ((axes[0], dict(zip(compared.names, compared.guaranteed))), (axes[1], {"the policy chosen": found.guaranteed})):
        lines = {line.get_label().split(":")[0]: line.get_xdata()[0] for line in ax.lines}
        assert lines == wanted
        assert "dashed: guaranteed with confidence 0.95" in " ".join(ax.get_title().split())
    assert found.plot() is not axes[1]
    with pytest.raises(nadir.UsageError, match="pickled"):
        pickle.loads(pickle.dumps(found)).plot()


@pytest.mark.parametrize("size", [(12, 4), (16, 10)])
def test_damages_stay_within_their_axes(found, pyplot, size):
    """Nothing of one picture in another, and no text on another text."""
    for answer in (nadir.evaluate(found.model, found.policy), nadir.generate("gridworld").evaluate("optimal", radius=0.1)):
        figure, axes = pyplot.subplots(1, 2, figsize=size)
        assert answer.plot(axes[0]) is axes[0]
        figure.tight_layout()
        figure.canvas.draw()
        own, inner = axes[0].get_window_extent(), axes[0].child_axes[0]
        words = [*inner.texts, *inner.get_yticklabels(), inner.yaxis.label]
        boxes = [text.get_window_extent() for text in words if text.get_text()]
        legend = inner.get_legend()
        for box in boxes + ([] if legend is None else [legend.get_window_extent()]):
            assert own.x0 - 1 <= box.x0 and box.x1 <= own.x1 + 1 and box.y0 >= own.y0 - 1
        for i, one in enumerate(boxes):
            for other in boxes[:i]:
                assert not one.shrunk(0.98, 0.9).overlaps(other.shrunk(0.98, 0.9))
        title = axes[0].title.get_window_extent()
        assert own.x0 - 0.2 * own.width <= title.x0 and title.x1 <= own.x1 + 0.2 * own.width
