"""Completion where labels are wrong: how many errors are put down to noise, what a wrong label may cost, and what not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from trace2strips.learners.completion.atoms import AtomSearch, Candidate
from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.effects import Fit, Fitter
from trace2strips.learners.completion.heads import ADD, DELETE, NONE, Heads, world_model
from trace2strips.learners.completion.histories import Histories, demand
from trace2strips.learners.completion.preconditions import Cover, cover, find_false_heads
from trace2strips.learners.completion.settings import CompletionSettings
from trace2strips.learners.layout import Rows
from trace2strips.model.vocabulary import Kind
from trace2strips.model.world import WorldModel
from trace2strips.traces import Dataset, Trace
from trace2strips.traces.accuracy import trace_accuracy
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample


def log(*lines: tuple[str, int], **start: Any) -> list[Trace]:
    """("shut !use", 3): three traces in which `use` is refused after `shut`."""
    start = start or {"state": "s"}
    return [
        Trace(tuple(w.removeprefix("!") for w in text.split()), tuple(w[0] != "!" for w in text.split()), **start)
        for text, count in lines
        for _ in range(count)
    ]


def histories_of(traces: list[Trace]) -> Histories:
    dataset = Dataset.of(traces)
    return Histories.of(dataset, Rows(dataset.vocabulary))


def number(histories: Histories, name: str) -> int:
    """The row of an action or a named initial state."""
    vocabulary = histories.layout.vocabulary
    return (*vocabulary.actions, *vocabulary.init_states).index(name)


def effect(histories: Histories, **rows: int) -> np.ndarray:
    """What the named rows do; states that are not named add."""
    column = np.full(histories.layout.rows, NONE, dtype=np.uint8)
    column[histories.layout.actions :] = ADD
    for name, what in rows.items():
        column[number(histories, name)] = what
    return column


def fit_of(traces: list[Trace], noise: float, rows: dict[str, int], **settings: Any) -> Fit:
    """An atom for `use` that begins with these effects."""
    histories = histories_of(traces)
    demands = demand(*histories.by_label(number(histories, "use")))
    return Fit(histories, demands, 0, effect(histories, **rows), noise, CompletionSettings(**settings))


@pytest.mark.parametrize(
    ("noise", "errors", "done"),
    [
        (0.0, 0, True), (0.0, 1, False),
        (0.01, 5, True), (0.01, 6, False),  # 2 * 1 + 3 * sqrt(1)
        (0.05, 16, True), (0.05, 17, False),  # 2 * 5 + 3 * sqrt(5)
    ],
)  # fmt: skip
def test_a_fit_is_done_when_noise_explains_its_errors(noise: float, errors: int, done: bool) -> None:
    """Of 100 labels some are refusals that an atom which is always true leaves open."""
    fit = fit_of(log(("!use", errors), ("use", 100 - errors)), noise, {})
    assert fit.errors == errors
    assert fit.done == done


@pytest.mark.parametrize(
    ("noise", "refused", "kept"),
    [
        (0.0, 0, False), (0.0, 100, True),
        (0.05, 57, False), (0.05, 58, True),  # without the effect 14 and 16 labels more are wrong, 3 * 0.05 * 100 = 15
        (0.10, 64, False), (0.10, 66, True),  # 28 and 32 of 30
    ],
)  # fmt: skip
def test_an_effect_must_pay_for_more_than_noise_would(noise: float, refused: int, kept: bool) -> None:
    """After `shut` 100 labels of `use` follow. If they are mixed, its effect may be one that noise has made."""
    fit = fit_of(log(("shut !use", refused), ("shut use", 100 - refused), ("use", 1)), noise, {"shut": DELETE})
    fit.simplify()
    assert fit.effect[number(fit.histories, "shut")] == (DELETE if kept else NONE)


def test_effects_that_stand_in_for_each_other_do_not_all_go() -> None:
    """Either of `shut` and `lock` may go for nothing, both only for 100 labels: noise pays for 15."""
    fit = fit_of(log(("shut lock !use", 100), ("use", 100)), 0.05, {"shut": DELETE, "lock": DELETE})
    fit.simplify()
    left = [name for name in ("shut", "lock") if fit.effect[number(fit.histories, name)] == DELETE]
    assert len(left) == 1
    assert fit.errors == 0


@pytest.mark.parametrize(("noise", "enough", "false"), [(0.0, 2, True), (0.0, 3, False), (0.01, 2, False)])
def test_what_no_label_says_of_a_state_is_false_only_without_noise(noise: float, enough: int, false: bool) -> None:
    """Two traces begin in `b`, where `use` is never tried. With noise, as many labels for as against look the same."""
    traces = log(("use", 2), state="a") + log(("wait", 2), state="b") + log(("!use", 2), state="c")
    fit = fit_of(traces, noise, {"a": ADD, "b": ADD, "c": DELETE}, state_traces=enough)
    fit.simplify()
    assert [int(fit.effect[number(fit.histories, name)]) for name in "abc"] == [ADD, DELETE if false else ADD, DELETE]


def cover_of(traces: list[Trace], noise: float, heads: list[dict[str, int]]) -> Cover:
    """What `use` needs, of heads with these effects."""
    histories = histories_of(traces)
    columns = [effect(histories, **rows) for rows in heads]
    table = Heads(np.stack(columns, axis=1), np.zeros(len(columns), dtype=np.int64))
    states = find_false_heads(histories, table)
    return cover(histories, states, number(histories, "use"), np.arange(len(columns)), noise)


@pytest.mark.parametrize(
    ("noise", "forbidden", "explained", "needed"),
    [
        (0.0, 0, 1, True), (0.0, 1, 50, False),  # without noise one success is enough to clear a head
        (0.01, 0, 3, False), (0.01, 0, 4, True),  # 3 * sqrt(0.01 * 100): so few refusals may be noise
        (0.01, 5, 13, False), (0.01, 5, 14, True),  # and twice as many as it forbids successes
        (0.01, 20, 43, False), (0.01, 20, 44, True),
    ],
)  # fmt: skip
def test_with_noise_a_precondition_explains_twice_what_it_forbids(
    noise: float, forbidden: int, explained: int, needed: bool
) -> None:
    """`use` was tried 100 times; the head is false after `shut`."""
    traces = log(("shut !use", explained), ("shut use", forbidden), ("use", 100 - explained - forbidden))
    assert cover_of(traces, noise, [{"shut": DELETE}]).pre == ((0,) if needed else ())


@pytest.mark.parametrize(("noise", "alone", "needed"), [(0.01, 10, (1, 2)), (0.01, 11, (0, 1, 2)), (0.0, 1, (0, 1, 2))])
def test_with_noise_a_precondition_must_explain_on_its_own_twice_what_it_forbids(
    noise: float, alone: int, needed: tuple[int, ...]
) -> None:
    """Head 0 explains most and is taken first. Heads 1 and 2 then explain the rest and all but `alone` of its refusals;
    it forbids five successes, if there is noise.
    """
    traces = log(
        ("x !use", 14), ("y !use", 14), ("only !use", alone), ("only use", 5 if noise else 0),
        ("more-x !use", 10), ("more-y !use", 10), ("use", 40),
    )  # fmt: skip
    heads = [
        {"x": DELETE, "y": DELETE, "only": DELETE}, {"x": DELETE, "more-x": DELETE}, {"y": DELETE, "more-y": DELETE}
    ]  # fmt: skip
    assert sorted(cover_of(traces, noise, heads).pre) == list(needed)


@pytest.mark.parametrize(
    ("noise", "refused", "left"),
    [(0.0, 1, 1), (0.01, 4, 0), (0.01, 5, 5), (0.04, 12, 0), (0.04, 13, 13)],  # 1.5 * 1 + 3 * 1, 1.5 * 4 + 3 * 2
)
def test_refusals_that_noise_explains_call_for_no_atom(noise: float, refused: int, left: int) -> None:
    """Of 100 tries some are refused, and no head is ever false."""
    assert len(cover_of(log(("!use", refused), ("use", 100 - refused)), noise, [{}]).unexplained) == left


@pytest.mark.parametrize(
    ("noise", "explained", "open_refusals", "forbidden", "helps"),
    [
        (0.0, 11, 9, 0, True), (0.0, 10, 10, 0, False),
        (0.0, 20, 0, 1, False),  # one success weighs ten refusals
        (0.0, 1, 4, 0, True), (0.0, 0, 5, 0, False),  # who explains nothing is of no use
        (0.01, 20, 0, 1, True),  # with noise they weigh the same: fewer errors than half of the refusals
        (0.01, 21, 19, 0, True), (0.01, 20, 20, 0, False), (0.01, 36, 4, 15, True), (0.01, 36, 4, 16, False),
    ],
)  # fmt: skip
def test_which_atoms_help_that_explain_only_a_part(
    noise: float, explained: int, open_refusals: int, forbidden: int, helps: bool
) -> None:
    traces = log(("shut !use", explained), ("shut use", forbidden), ("shut", 1), ("!use", open_refusals), ("use", 9))
    histories = histories_of(traces)
    use = number(histories, "use")
    atom = Candidate(effect(histories, shut=DELETE), 0, [use], demand(*histories.by_label(use)))
    search = AtomSearch(Fitter(histories, noise), np.zeros(0, dtype=bool), None)
    assert search.helps(atom) == helps


def complete(dataset: Dataset, limit: int | None = None, **changed: Any) -> tuple[WorldModel, Completion]:
    layout = Rows(dataset.vocabulary)
    completion = Completion(dataset, layout, CompletionSettings(**changed))
    return world_model(completion.run(limit=limit), layout), completion


def test_no_atom_is_invented_for_labels_that_contradict_each_other() -> None:
    """`go` works once and is refused 30 times in one state. An atom for that would be no precondition, and yet count
    among those that do not fit within the limit."""
    world, completion = complete(Dataset.of(log(("go", 1), ("!go", 30))), limit=0)
    assert completion.over_limit == 0
    assert world.model.action("go").pre == set()


def test_actions_share_an_atom_if_their_atoms_are_alike() -> None:
    """`enter` and `look` need the door open, `ring` needs power. One atom would do for all three, since no trace has both
    doors and bells, but nothing speaks for it.
    """
    traces = log(
        ("!enter !look open enter look shut !enter !look", 3), ("!ring mend ring break !ring", 3), init=frozenset()
    )
    histories = histories_of(traces)
    door, power = {"open": ADD, "shut": DELETE}, {"mend": ADD, "break": DELETE}

    def share(**settings: Any) -> set[frozenset[str]]:
        atoms = []
        for name, rows in (("enter", door), ("look", door), ("ring", power)):
            action = number(histories, name)
            atoms.append(Candidate(effect(histories, **rows), 0, [action], demand(*histories.by_label(action))))
        fitter = Fitter(histories, settings=CompletionSettings(**settings))
        assert all(fitter.at(atom.demands, atom.start, atom.effect).done for atom in atoms)
        shared = AtomSearch(fitter, np.zeros(0, dtype=bool), None).share(atoms)
        names = histories.layout.vocabulary.actions
        return {frozenset(names[action] for action in atom.actions) for atom in shared}

    assert share() == {frozenset({"enter", "look"}), frozenset({"ring"})}
    assert share(joins=0) == {frozenset({"enter"}), frozenset({"look"}), frozenset({"ring"})}


def test_sharing_saves_atoms() -> None:
    """With few traces from a state nothing else puts atoms together."""
    dataset = sample(get_domain("maze-5x5"), SampleSettings(2000, 50, init="states:20"))
    assert len(complete(dataset)[0].model.atoms) < len(complete(dataset, joins=0)[0].model.atoms)


def flipped(dataset: Dataset, kind: Kind, chosen: np.ndarray) -> Dataset:
    """The labels of some tokens of a kind turned round; `chosen` is over all tokens, or the number of one."""
    which = np.zeros(len(dataset.tokens), dtype=bool)
    which[chosen] = True
    which &= dataset.vocabulary.kinds[dataset.tokens] == kind
    return replace(dataset, inapplicable=dataset.inapplicable ^ which)


def test_one_wrong_final_value_changes_nothing() -> None:
    """It is no noise either: that would be everywhere."""
    dataset = sample(get_domain("blocksworld:3"), SampleSettings(2000, 20))
    clean, _ = complete(dataset)
    finals = np.flatnonzero(dataset.vocabulary.kinds[dataset.tokens] == Kind.TEST_ATOM)
    for place in finals[:: len(finals) // 5][:5]:
        world, completion = complete(flipped(dataset, Kind.TEST_ATOM, np.array([place])))
        assert completion.noise == 0
        assert world.model == clean.model


def test_many_wrong_final_values_say_how_noisy_labels_are() -> None:
    """What actions do to the atoms whose values are told is found all the same."""
    dataset = sample(get_domain("blocksworld:3"), SampleSettings(2000, 20))
    wrong = np.random.default_rng(0).random(len(dataset.tokens)) < 0.05
    (clean, without), (world, completion) = complete(dataset), complete(flipped(dataset, Kind.TEST_ATOM, wrong))
    assert without.noise == 0
    assert completion.noise == pytest.approx(0.05, abs=0.005)
    told = set(dataset.vocabulary.test_atoms)
    effects = [[(a.add & told, a.delete & told) for a in found.model.actions] for found in (world, clean)]
    assert effects[0] == effects[1]


@pytest.mark.parametrize(("share", "least"), [(0.01, 0.95), (0.02, 0.95)])
def test_a_model_is_learned_from_noisy_labels(share: float, least: float) -> None:
    domain = get_domain("logistics:2x1")
    train = sample(domain, SampleSettings(2000, 30))
    test = sample(domain, SampleSettings(1000, 60, "test"), like=train)
    wrong = np.random.default_rng(0).random(len(train.tokens)) < share
    world, completion = complete(flipped(flipped(train, Kind.ACTION, wrong), Kind.TEST_ATOM, wrong))
    assert share < completion.noise < 2 * share
    assert trace_accuracy(world.over_tokens(test.vocabulary), test) >= least
