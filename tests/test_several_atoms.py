"""Several new atoms at once: windows are all hit, nothing that worked is forbidden, and whole models come out of traces that name nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Heads, untouched
from trace2strips.learners.completion.histories import UNSTARTED, deciders, is_false
from trace2strips.learners.completion.several_atoms import Part, PartSearch, hitting_set
from trace2strips.learners.layout import Rows
from trace2strips.learners.learning import learn
from trace2strips.learners.transformer.learner import StripsCompletion
from trace2strips.learners.transformer.parameters import SHARED, Layout
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def completion_of(domain: str, init: str, traces: int) -> Completion:
    dataset = sample(get_domain(domain), SampleSettings(traces, 40, "train", init, "none", 1))
    return Completion(dataset, Rows(dataset.vocabulary))


def search_in(completion: Completion) -> PartSearch:
    worked, refused = (
        {a: completion.histories.by_label(a)[k] for a in range(completion.layout.actions)} for k in range(2)
    )
    return PartSearch(completion.histories, worked, refused)


@given(st.lists(st.sets(st.integers(0, 69), min_size=1, max_size=6), max_size=12), st.integers(1, 5))
def test_every_window_is_hit_by_a_small_set(windows: list[set[int]], most: int) -> None:
    windows.sort(key=len)
    content = np.zeros((len(windows), 2), dtype=np.uint64)
    for i, window in enumerate(windows):
        for row in window:
            content[i, row // 64] |= np.uint64(1) << np.uint64(row % 64)
    chosen = np.zeros(70, dtype=bool)
    hitting_set(np.array([len(window) for window in windows], dtype=np.int64), content, most, chosen)
    rows = set(np.flatnonzero(chosen).tolist())
    assert all(window & rows for window in windows)
    assert len(rows) <= len(windows)
    assert rows <= set().union(*windows)


def test_short_windows_say_who_adds() -> None:
    """Row 3 stands in more windows, but row 1 stands alone in one of them."""
    windows = [{1}, {1, 3}, {2, 3}, {2, 3}]
    content = np.array([[sum(1 << row for row in window)] for window in windows], dtype=np.uint64)
    chosen = np.zeros(4, dtype=bool)
    hitting_set(np.array([len(window) for window in windows], dtype=np.int64), content, 10, chosen)
    assert chosen[1]
    assert chosen.sum() == 2


def test_long_windows_are_hit_too() -> None:
    """The weight of a window of 600 rows would be nothing beside that of a short one."""
    chosen = np.zeros(4, dtype=bool)
    hitting_set(np.array([600, 601], dtype=np.int64), np.array([[6], [8]], dtype=np.uint64), 10, chosen)
    assert chosen.sum() == 2


@given(st.integers(0, 100))
def test_an_atom_is_what_the_last_row_says(seed: int) -> None:
    completion = completion_of("blocksworld:2", "atoms", 20)
    h = completion.histories
    rng = np.random.default_rng(seed)
    effect = rng.integers(0, 3, h.layout.rows).astype(np.uint8)
    start = int(rng.integers(-1, h.initially_false.shape[1]))
    where = np.arange(len(h.trace))
    by, false = deciders(h, where, effect), is_false(h, where, effect, start)
    for o in where.tolist():
        begin = h.row_start[h.trace[o]]
        last = [row for row in h.rows[begin : begin + h.depth[o]].tolist() if effect[row] != NONE][-1:]
        assert by[o] == (last or [-1])[0]
        initially = start != UNSTARTED and h.initially_false[h.trace[o], start] == 1
        assert false[o] == (effect[last[0]] == DELETE if last else initially)


@pytest.mark.parametrize("init", ["states:1", "states:5", "atoms"])
def test_parts_forbid_nothing_that_worked_and_explain_refusals(init: str) -> None:
    completion = completion_of("blocksworld:3", init, 500)
    search = search_in(completion)
    starts = list(range(completion.aligned + 1))
    parts = search.find(starts, states=False)
    assert parts
    open_before = sum(map(len, search.refused.values()))
    still_open = 0
    for action, refusals in search.refused.items():
        false = [is_false(completion.histories, refusals, part.effect, part.start) for part in parts]
        safe = [
            not is_false(completion.histories, search.worked[action], part.effect, part.start).any() for part in parts
        ]
        assert any(safe)
        still_open += int((~np.logical_or.reduce([f for f, s in zip(false, safe, strict=True) if s])).sum())
        for part, harmless in zip(parts, safe, strict=True):
            assert harmless or action not in part.users
    assert still_open < 0.1 * open_before


def test_two_atoms_of_one_action_are_told_apart() -> None:
    """`go` needs a key and a ticket; each is given and taken by actions of its own. No one atom explains its refusals."""
    rng = np.random.default_rng(0)
    traces = []
    for _ in range(300):
        has = {"key": False, "ticket": False}
        steps = []
        for _ in range(20):
            action = rng.choice(["go", "give-key", "take-key", "give-ticket", "take-ticket"])
            steps.append((str(action), bool(action != "go" or all(has.values()))))
            if action != "go":
                verb, thing = str(action).split("-")
                has[thing] = verb == "give"
        traces.append(Trace(tuple(name for name, _ in steps), tuple(worked for _, worked in steps)))
    learned = learn(traces)
    assert learned.figures.train_errors == 0
    go = next(action for action in learned.model.actions if action.name == "go")
    assert len(go.pre) == 2
    effects = {a.name: (len(a.add & go.pre), len(a.delete & go.pre)) for a in learned.model.actions}
    assert effects == {
        "go": (0, 0), "give-key": (1, 0), "take-key": (0, 1), "give-ticket": (1, 0), "take-ticket": (0, 1)
    }  # fmt: skip


def test_parts_become_one_atom_only_if_nothing_is_lost() -> None:
    """`give-a` and `give-b` open two doors; one atom for both would explain less than one for each."""
    steps = [("take-a", True), ("take-b", True), ("give-a", True), ("go", False), ("give-b", True), ("go", True)]
    other = [("take-b", True), ("take-a", True), ("give-b", True), ("go", False), ("give-a", True), ("go", True)]
    traces = [Trace(tuple(n for n, _ in t), tuple(w for _, w in t)) for t in (steps, other)]
    dataset = Dataset.of(traces)
    layout = Layout(dataset.vocabulary, np.full(1, SHARED))
    search = search_in(Completion(dataset, layout))
    row = {name: i for i, name in enumerate(dataset.vocabulary.actions)}

    def part(which: str) -> Part:
        effect = np.zeros(layout.rows, dtype=np.uint8)
        effect[row[f"take-{which}"]], effect[row[f"give-{which}"]] = DELETE, ADD
        return Part(effect, {row["go"]: is_false(search.histories, search.looked_at[row["go"]], effect)})

    one, two = part("a"), part("b")
    assert one.explained == two.explained == 1
    assert search.together(one, two, others=False) is None


@pytest.mark.parametrize(("init", "least"), [("states:1", 0.9), ("states:20", 0.99)])
def test_a_world_without_a_single_name_is_learned(init: str, least: float) -> None:
    """No atom is told, neither at the start nor at the end: all of blocksworld's are invented."""
    domain = get_domain("blocksworld:4")
    train = sample(domain, SampleSettings(5_000, 50, "train", init, "none", 0))
    test = sample(domain, SampleSettings(500, 100, "test", init, "none", 0), like=train)
    learned = learn(train, "strips+completion", test=test)
    assert learned.figures.train_accuracy == 1.0
    assert learned.figures.test_accuracy >= least
    assert learned.figures.attempts == 1


def test_one_trace_without_a_start_does_not_hide_the_atoms_of_the_others() -> None:
    """Such a trace begins in a state of its own; the others begin with atoms all the same."""
    dataset = sample(get_domain("blocksworld:3"), SampleSettings(300, 40, "train", "atoms", "none", 1))
    left = []
    for extra in ([], [Trace((), ())]):
        traces = Dataset.of([*dataset, *extra])
        completion = Completion(traces, Rows(traces.vocabulary))
        told = Heads(
            np.zeros((completion.layout.rows, completion.aligned), dtype=np.uint8), np.arange(completion.aligned)
        )
        told.effects[:] = untouched(completion.layout)[:, None]
        told.pre = [set() for _ in range(completion.layout.actions)] + [{h} for h in range(completion.aligned)]
        left.append(completion.with_several_atoms(told, None)[1])
    assert left[1] <= 1.5 * left[0] + 10


def test_no_success_is_sold_for_many_refusals() -> None:
    """`go` needs A (d deletes, a adds) and B (d2 and a2). A alone must not be bent to explain what B does: it would
    forbid the one success after d2, and be a precondition of none any more."""
    rows = [("d !go a go", 50), ("d a2 !go", 50), ("d2 !go", 30), ("d2 a2 go", 1)]
    traces = [
        Trace(tuple(w.removeprefix("!") for w in text.split()), tuple(not w.startswith("!") for w in text.split()))
        for text, count in rows
        for _ in range(count)
    ]
    dataset = Dataset.of(traces)
    completion = Completion(dataset, Rows(dataset.vocabulary))
    names = dataset.vocabulary.actions
    effect = untouched(completion.layout)
    effect[completion.layout.actions :] = ADD
    effect[names.index("d")], effect[names.index("a")] = DELETE, ADD
    heads = Heads(effect[:, None], np.zeros(1, dtype=np.int64), [set() for _ in names])
    before = sum(map(len, completion.choose_preconditions(heads).values()))
    completion.simplify(heads)
    assert sum(map(len, completion.choose_preconditions(heads).values())) <= before == 30


def test_heads_stay_within_their_limit() -> None:
    domain = get_domain("blocksworld:3")
    train = sample(domain, SampleSettings(500, 30, "train", "states:1", "none", 0))
    learned = learn(train, StripsCompletion(heads=3, steps=50))
    assert len(learned.model.atoms) <= 3
    assert "heads are too few" in learned.figures.warnings[0]
