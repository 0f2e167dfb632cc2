"""Wrong labels: found, listed and repaired; the small model beside them; constants that actions do not name."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from trace2strips.learners.learning import learn, load
from trace2strips.learners.suspects import find_suspects, from_csv, to_csv
from trace2strips.learners.windows.constants import find_constants
from trace2strips.learners.windows.encoding import encode
from trace2strips.learners.windows.fitting import Fit, fit, label_nats
from trace2strips.learners.windows.learner import Windows
from trace2strips.learners.windows.lifted import LiftedWorld, lift
from trace2strips.learners.windows.memory import summarise_log
from trace2strips.learners.windows.repair import most_likely
from trace2strips.learners.windows.rows import Rows
from trace2strips.learners.windows.simulation import simulate, wrong_traces
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.tolerant import TolerantSearch, weigh
from trace2strips.traces import Dataset
from trace2strips.traces.names import Naming, understand
from trace2strips.traces.trace import Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.everyday import WORLDS, everyday_log, everyday_traces
from trace2strips.worlds.sampling import SampleSettings, sample

TEST = 300


@lru_cache
def log(name: str, traces: int = 200, wrong: float = 0.0) -> Dataset:
    return Dataset.of(everyday_log(name, traces, 0, wrong))


def fitted(dataset: Dataset, naming: Naming, noise: float | None = None) -> Fit:
    return fit(dataset, summarise_log(dataset, naming, 2, StartLevel.SAME), noise)


def accuracy(lifted: LiftedWorld, name: str) -> float:
    return 1 - float(wrong_traces(lifted, Dataset.of(everyday_log(name, TEST, 99))).mean())


def flipped(dataset: Dataset, position: int) -> Dataset:
    labels = dataset.inapplicable.copy()
    labels[position] = ~labels[position]
    return replace(dataset, inapplicable=labels)


@pytest.mark.parametrize("name", list(WORLDS))
def test_logs_say_what_happened_but_for_wrong_labels(name: str) -> None:
    clean, noisy = everyday_log(name, 100), list(everyday_traces(name, 100, 0, 0.05))
    assert [trace.ok for trace in clean] == [truth for _, truth in noisy]
    wrong = sum(ok != really for trace, truth in noisy for ok, really in zip(trace.ok, truth, strict=True))
    attempts = sum(len(trace.ok) for trace in clean)
    assert 0.03 < wrong / attempts < 0.07
    assert 0.35 < sum(map(sum, (trace.ok for trace in clean))) / attempts < 0.6


@pytest.mark.parametrize("name", ["door", "api", "blocksworld-5b"])
def test_rows_count_every_attempt(name: str) -> None:
    if name in WORLDS:
        dataset, naming = log(name), understand(log(name).vocabulary.actions)
    else:
        dataset = sample(get_domain(name), SampleSettings(20, 50, suffix="none"))
        naming = understand(dataset.vocabulary.actions, "_")
    rows = Rows.of(dataset, encode(dataset, naming, 2))
    attempts = rows.row_of >= 0
    assert rows.worked.sum() + rows.refused.sum() == attempts.sum() > 300
    refused = np.bincount(rows.row_of[attempts], weights=dataset.inapplicable[attempts], minlength=len(rows.refused))
    assert (refused == rows.refused).all()


@pytest.mark.parametrize("name", ["door", "blocksworld-5b", "logistics-3c"])
def test_a_search_makes_the_errors_that_its_model_makes(name: str) -> None:
    """Rows, signs and starts mean the same as the lifted world that is written down."""
    if name in WORLDS:
        dataset, naming = log(name, wrong=0.02), understand(log(name).vocabulary.actions)
    else:
        dataset = sample(get_domain(name), SampleSettings(30, 40, suffix="goal"))
        naming = understand(dataset.vocabulary.actions, "_")
    rows = Rows.of(dataset, encode(dataset, naming, 2))
    for care in (1.0, 10.0):
        search = TolerantSearch(rows, 0.02, care)
        search.fill()
        lifted = lift(search.predicates, rows.projection, rows.types, naming)
        _, refused = simulate(lifted, dataset)
        attempts = rows.row_of >= 0
        assert search.predicates
        assert search.errors == (refused != dataset.inapplicable)[attempts].sum()


def test_changes_are_weighed_as_they_turn_out() -> None:
    """`weigh` tells for every change of one sign or start what the predicate would gain then."""
    dataset = sample(get_domain("blocksworld-5b"), SampleSettings(20, 50, suffix="none"))
    rows = Rows.of(dataset, encode(dataset, understand(dataset.vocabulary.actions, "_"), 2))
    search = TolerantSearch(rows, 0.01)
    rng = np.random.default_rng(0)

    def gains(signs: np.ndarray, starts_true: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        gain, change, start_change = (np.zeros_like(part) for part in search.room(board, len(board.askings)))
        weigh(
            signs, starts_true, 0, len(board.entry_history), *board.arrays, search.weights(board), gain, change,
            start_change,
        )  # fmt: skip
        return gain, change, start_change

    for board in search.boards:
        for _ in range(5):
            signs = rng.integers(-1, 2, size=board.bits).astype(np.int8)
            starts_true = rng.random(len(board.starts)) < 0.5
            gain, change, start_change = gains(signs, starts_true)
            for token in range(board.bits):
                for sign in (-1, 0, 1):
                    other = signs.copy()
                    other[token] = sign
                    expected = gain if sign == signs[token] else gain + change[:, token, sign + 1]
                    assert np.allclose(gains(other, starts_true)[0], expected)
            for start in range(len(board.starts)):
                toggled = starts_true.copy()
                toggled[start] = ~toggled[start]
                assert np.allclose(gains(signs, toggled)[0], gain + start_change[:, start])


def test_labels_are_described_by_their_entropy() -> None:
    assert label_nats(0, 1000) == 0
    assert label_nats(1, 1000) == pytest.approx(7.9, abs=0.1)
    assert label_nats(500, 1000) == pytest.approx(1000 * np.log(2))


@pytest.mark.parametrize("name", list(WORLDS))
def test_clean_logs_have_no_wrong_label(name: str) -> None:
    dataset = log(name)
    learned = learn(dataset, Windows())
    assert learned.figures.noise == 0
    assert learned.suspects == ()
    assert accuracy(learned.lifted, name) >= 0.93


@pytest.mark.parametrize(("name", "traces", "seed"), [("order", 2, 3), ("door", 3, 3), ("api", 4, 0), ("order", 6, 2)])
def test_small_clean_logs_have_no_wrong_label(name: str, traces: int, seed: int) -> None:
    """Where so little is known that a model costs more than calling a tenth of the labels wrong."""
    learned = learn(everyday_log(name, traces, seed=seed), Windows())
    assert not learned.suspects
    assert learned.figures.train_errors == 0


@pytest.mark.parametrize("name", ["door", "order", "api"])
def test_one_wrong_label_is_found(name: str) -> None:
    dataset, naming = log(name), understand(log(name).vocabulary.actions)
    clean = accuracy(fitted(dataset, naming).lifted, name)
    rng = np.random.default_rng(3)
    attempts = Rows.of(dataset, encode(dataset, naming, 2)).row_of >= 0
    for position in rng.choice(np.flatnonzero(attempts), 2, replace=False):
        told_wrongly = flipped(dataset, int(position))
        found = fitted(told_wrongly, naming)
        listed = np.flatnonzero(found.refused != told_wrongly.inapplicable).tolist()
        assert position in listed
        assert len(listed) <= 2  # a refusal that happened once looks like a wrong label
        assert accuracy(found.lifted, name) >= clean - 0.02


@pytest.mark.parametrize(("wrong", "least"), [(0.01, 0.97), (0.05, 0.85)])
def test_wrong_labels_are_listed(wrong: float, least: float) -> None:
    pairs = list(everyday_traces("door", 400, 0, wrong))
    dataset = Dataset.of([trace for trace, _ in pairs])
    truth = Dataset.of([replace(trace, ok=really) for trace, really in pairs]).inapplicable
    found = fitted(dataset, understand(dataset.vocabulary.actions))
    wrong_ones, listed = truth != dataset.inapplicable, found.refused != dataset.inapplicable
    assert (wrong_ones & listed).sum() >= 0.95 * wrong_ones.sum()
    assert (wrong_ones & listed).sum() >= 0.95 * listed.sum()
    assert accuracy(found.lifted, "door") >= least
    assert found.noise == pytest.approx(wrong, rel=0.3)


def test_a_repair_undoes_what_a_wrong_label_does_to_the_history() -> None:
    """A label is wrong where another one leaves fewer contradictions, not where the model first disagrees."""
    dataset, naming = log("door"), understand(log("door").vocabulary.actions)
    model = fitted(dataset, naming).lifted.over_tokens(dataset.vocabulary)
    position = next(
        i
        for i in np.flatnonzero(~dataset.inapplicable).tolist()
        if dataset.vocabulary.subjects[dataset.tokens[i]] == "take-key"
    )
    told = flipped(dataset, position)
    assert np.flatnonzero(most_likely(model, told, 0.9, 1.0) != told.inapplicable).tolist() == [position]


def test_constants_are_found_and_written() -> None:
    dataset = log("warehouse")
    naming = find_constants(dataset, understand(dataset.vocabulary.actions), 2, 0.0)
    assert ("charge", "dock") in naming.constants
    assert naming.action("charge") == ("charge", "dock")
    learned = learn(dataset, Windows())
    assert learned.figures.certain_share == 0  # they are a guess
    assert learned.ask(Trace((), ()), "charge").answer == "open"
    found = fitted(dataset, naming)
    text = found.lifted.pddl()
    assert "(:constants" in text
    assert "dock" in text
    assert LiftedWorld.from_json(found.lifted.to_json()) == found.lifted


def test_no_constant_where_none_is_needed() -> None:
    dataset = sample(get_domain("ferry:3x3"), SampleSettings(40, 40, suffix="none"))
    naming = understand(dataset.vocabulary.actions, "_")
    assert find_constants(dataset, naming, 2, 0.0) == naming


def test_what_is_wrong_is_listed_with_its_place_and_nothing_is_certain(tmp_path: Path) -> None:
    """From a file to the list in the run folder."""
    traces = everyday_log("order", 200)
    dataset = Dataset.of(traces)
    file = tmp_path / "log.jsonl"
    written = [json.dumps({"actions": list(t.actions), "ok": [*t.ok]}) for t in traces]
    third = traces[2]
    labels = [*third.ok]
    labels[4] = not labels[4]
    written[2] = json.dumps({"actions": list(third.actions), "ok": labels})
    file.write_text("\n".join(written) + "\n")
    learned = learn(file, Windows())
    (suspect,) = learned.suspects
    assert (suspect.action, suspect.worked, suspect.line, suspect.attempt) == (third.actions[4], labels[4], 3, 5)
    assert str(file) in suspect.place
    learned.save(tmp_path / "run")
    assert load(tmp_path / "run").suspects == learned.suspects
    assert learned.ask(Trace((), ()), "create").answer == "open"
    assert "nothing is certain" in " ".join(learned.figures.warnings)
    assert learn(dataset, Windows(noise=0)).figures.noise == 0


def test_lists_of_suspects_are_read_as_written() -> None:
    dataset = log("door", 20)
    suspects = find_suspects(dataset, ~dataset.inapplicable)[:50]
    assert from_csv(to_csv(suspects)) == suspects
    with pytest.raises(ValueError, match="no list"):
        from_csv("a,b\n1,2\n")
