"""The loop: batches by seed and step, best checkpoint, early stop, resume to the same result."""

from pathlib import Path

import numpy as np
import pytest

from trace2strips.errors import FileError
from trace2strips.learners.training import BLOCK, Report, TrainingSettings, draw_batches, is_done, train
from trace2strips.learners.transformer.network import NetworkSettings, StripsNetwork
from trace2strips.learners.transformer.parameters import Layout
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

NOTHING = Dataset.of([Trace(("a",), (True,))])


class Scripted:
    """A network whose accuracy at each validation is written down."""

    def __init__(self, script: list[float]) -> None:
        self.script, self.steps, self.seen = script, 0, []

    def step(self, chosen: np.ndarray) -> float:
        self.steps += 1
        self.seen.append(chosen.tolist())
        return 1.0 / self.steps

    def evaluate(self, dataset: Dataset) -> float:
        return self.script[self.steps // BLOCK - 1]

    def save(self) -> dict[str, np.ndarray]:
        return {"steps": np.array([self.steps])}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.steps = int(arrays["steps"][0])


def test_the_best_validation_wins() -> None:
    network = Scripted([0.2, 0.9, 0.5, 0.3])
    report = train(network, NOTHING, TrainingSettings(4 * BLOCK, 2, BLOCK))
    assert (report.step, report.best, report.best_step) == (4 * BLOCK, 0.9, 2 * BLOCK)
    assert network.steps == 2 * BLOCK


def test_training_stops_when_the_training_set_is_certified() -> None:
    network = Scripted([0.5, 1.0, 0.0, 0.0])
    report = train(network, NOTHING, TrainingSettings(4 * BLOCK, 2, BLOCK))
    assert (report.step, report.best) == (2 * BLOCK, 1.0)


def test_training_can_go_on_to_its_end_and_look_at_a_part_on_the_way() -> None:
    network, sizes = Scripted([0.5, 1.0, 0.9]), []
    evaluate = network.evaluate
    network.evaluate = lambda dataset: (sizes.append(len(dataset)), evaluate(dataset))[1]  # type: ignore[method-assign]
    traces = Dataset.of([Trace(("a",), (True,))] * 5)
    report = train(network, traces, TrainingSettings(3 * BLOCK, 2, BLOCK, validation=2, certify=False))
    assert sizes == [2, 2, 2, 5]
    assert (report.step, report.best, report.best_step) == (3 * BLOCK, 1.0, 2 * BLOCK)


def test_the_first_traces_are_those_of_the_whole() -> None:
    whole = sample(get_domain("blocksworld:3"), SampleSettings(20, 8, suffix="all"))
    few = whole.first(7)
    assert list(few) == [whole[i] for i in range(7)]
    assert len(few.tokens) == len(few.inapplicable) == whole.offsets[7]
    assert len(whole.first(30)) == 20


def test_batches_depend_on_seed_and_step_alone() -> None:
    settings = TrainingSettings(3 * BLOCK, 4, BLOCK, seed=5)
    block = draw_batches(100, settings, BLOCK)
    assert (draw_batches(100, settings, BLOCK + 7) == block[7:]).all()
    assert (draw_batches(100, TrainingSettings(3 * BLOCK, 4, BLOCK, seed=6), BLOCK) != block).any()
    assert len(draw_batches(100, TrainingSettings(BLOCK + 3, 4, BLOCK), BLOCK)) == 3
    assert block.min() >= 0
    assert block.max() < 100


def test_the_watcher_sees_every_block() -> None:
    seen: list[int] = []
    train(Scripted([0.0] * 3), NOTHING, TrainingSettings(3 * BLOCK, 1, BLOCK), watch=lambda r: seen.append(r.step))
    assert seen == [BLOCK, 2 * BLOCK, 3 * BLOCK]


class KilledError(Exception):
    pass


@pytest.mark.parametrize("kill_at", [BLOCK, 2 * BLOCK, 3 * BLOCK])
def test_a_killed_run_goes_on_to_the_same_result(tmp_path: Path, kill_at: int) -> None:
    dataset = sample(get_domain("blocksworld:3"), SampleSettings(400, 10))
    layout = Layout(dataset.vocabulary, np.arange(len(dataset.vocabulary.actions)))
    settings = TrainingSettings(4 * BLOCK, 8, BLOCK, seed=3)

    def fresh() -> StripsNetwork:
        return StripsNetwork(layout, dataset, NetworkSettings(rate=0.01), 3)

    whole = fresh()
    expected = train(whole, dataset, settings)

    def kill(report: Report) -> None:
        if report.step == kill_at:
            raise KilledError

    checkpoint = tmp_path / "c.safetensors"
    with pytest.raises(KilledError):
        train(fresh(), dataset, settings, checkpoint, kill)
    resumed = fresh()
    report = train(resumed, dataset, settings, checkpoint)
    assert (report.step, report.best, report.best_step) == (expected.step, expected.best, expected.best_step)
    assert all((array == whole.save()[name]).all() for name, array in resumed.save().items())


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    checkpoint = tmp_path / "c.safetensors"
    train(Scripted([0.1]), NOTHING, TrainingSettings(BLOCK, 1, BLOCK), checkpoint)
    with pytest.raises(FileError, match="other settings"):
        train(Scripted([0.1]), NOTHING, TrainingSettings(BLOCK, 2, BLOCK), checkpoint)
    checkpoint.write_bytes(b"rubbish")
    with pytest.raises(FileError, match="not a checkpoint"):
        train(Scripted([0.1]), NOTHING, TrainingSettings(BLOCK, 1, BLOCK), checkpoint)


def test_training_ends_when_it_gets_no_better() -> None:
    """Patience counts from the last validation at which the share of wrong traces had fallen by a tenth."""
    settings = TrainingSettings(10_000, 4, 500, patience=1_000)
    assert not is_done(Report(step=900, mark_step=0, best=0.5), settings)
    assert is_done(Report(step=1_000, mark_step=0, best=0.5), settings)
    assert not is_done(Report(step=1_000, mark_step=500, best=0.5), settings)
    assert not is_done(Report(step=9_000, best=0.5), TrainingSettings(10_000, 4, 500))
    assert is_done(Report(step=1, best=1.0), settings)
