"""The hidden domain of a run: found by name and fingerprint, never taken for a benchmark domain that it is not."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from conftest import Run

from trace2strips.commands.sources import open_source
from trace2strips.errors import DomainError
from trace2strips.judging.hidden import find_hidden_domain
from trace2strips.learners.learning import learn
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import Domain, domain_from_files, get_domain
from trace2strips.worlds.sampling import SampleSettings, hash_model, sample

BLOCKS = get_domain("blocksworld-5b")
NEEDS_NO_HAND = ("(ontable ?x) (handempty))", "(ontable ?x))")  # a change of pick-up


def from_files(folder: Path, change: tuple[str, str] = ("", "")) -> Domain:
    """The benchmark domain, or a changed one, as files of its name."""
    (folder / "blocksworld-5b.pddl").write_text(BLOCKS.family.pddl.replace(*change))
    (folder / "problem.pddl").write_text(BLOCKS.family.problem())
    return domain_from_files(folder / "blocksworld-5b.pddl", [folder / "problem.pddl"])


def test_a_benchmark_domain_is_found() -> None:
    dataset = sample(BLOCKS, SampleSettings(50, 10))
    assert "files" not in dataset.settings  # a dataset of a benchmark domain has the bytes it always had
    assert find_hidden_domain(learn(dataset, "completion").figures) is BLOCKS


def test_files_named_like_a_benchmark_domain_are_not_it(tmp_path: Path) -> None:
    """Not even where the model is the same: the named initial states s0, s1, … are others."""
    for change in (("", ""), NEEDS_NO_HAND):
        domain = from_files(tmp_path, change)
        assert (domain.name, hash_model(domain.model) == hash_model(BLOCKS.model)) == (
            "blocksworld-5b",
            change[0] == "",
        )
        dataset = sample(domain, SampleSettings(50, 10))
        dataset.save(tmp_path / "traces.t2s", force=True)
        figures = learn(Dataset.load(tmp_path / "traces.t2s"), "completion").figures
        assert figures.domain == "blocksworld-5b"
        with pytest.raises(
            DomainError, match=r"come from PDDL files, .*: --domain blocksworld-5b.pddl --problem problem.pddl"
        ):
            find_hidden_domain(figures)


def test_traces_of_before_are_known_by_the_model_they_remember(tmp_path: Path) -> None:
    """Datasets did not always name their files; their fingerprint was there."""
    dataset = sample(from_files(tmp_path, NEEDS_NO_HAND), SampleSettings(50, 10))
    older = replace(dataset, settings={key: value for key, value in dataset.settings.items() if key != "files"})
    figures = learn(older, "completion").figures
    with pytest.raises(DomainError, match="another 'blocksworld-5b' than the benchmark domain"):
        find_hidden_domain(figures)
    with pytest.raises(DomainError, match="too old to say whether 'blocksworld-5b' means the benchmark domain"):
        find_hidden_domain(replace(figures, hidden_model=None))


def test_what_is_unknown_is_said() -> None:
    log = learn(Dataset.of([Trace(("open", "open"), (True, False))]), "completion")
    with pytest.raises(DomainError, match=r"do not say which domain they come from \(hint: --domain"):
        find_hidden_domain(log.figures)
    with pytest.raises(DomainError, match="come from 'kitchen', which is no benchmark domain"):
        find_hidden_domain(replace(log.figures, domain="kitchen", hidden_model="0"))


def test_a_run_from_files_has_no_benchmark_domain(run: Run, tmp_path: Path) -> None:
    for domain, expected in ((from_files(tmp_path), None), (BLOCKS, BLOCKS)):
        dataset, folder = sample(domain, SampleSettings(50, 10)), tmp_path / str(expected)
        learn(dataset, "completion").save(folder)
        assert open_source(str(folder)).domain is expected
    figures = json.loads(run("evaluate", tmp_path / "None", "--problems", 5, "--json").stdout)
    assert (figures["domain"], "plan_accuracy" in figures) == ("blocksworld-5b", False)
