"""AMLGym's own metrics of a learned PDDL domain. AMLGym leaves files in the working directory, so call it in one of
your own."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from trace2strips.peers.amlgym_files import domain_file, problem_files, states_to_ask

ASKED_PROBLEMS = 5  # AMLGym has a hundred problems with states to ask about; its simulator takes a second a state
ASKED_STATES = 4  # of each
PLANNING_SECONDS = 20


@dataclass(frozen=True)
class Scores:
    """Precision and recall of the text, of which actions work in a state, and of what they change; the share of
    problems with a plan that works, and with one that does not. None: AMLGym could not say."""

    syntax_precision: float | None = None
    syntax_recall: float | None = None
    applicable_precision: float | None = None
    applicable_recall: float | None = None
    effects_precision: float | None = None
    effects_recall: float | None = None
    solved: float | None = None
    false_plans: float | None = None

    def row(self) -> dict[str, float | None]:
        return {name: None if value is None else round(float(value), 4) for name, value in asdict(self).items()}


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """It prints progress bars and credits."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("ignore")
        yield


def score(learned: Path, name: str, problems: list[Path]) -> Scores:
    """`learned` against AMLGym's domain `name`; plans for `problems`."""
    with silence():
        return Scores(**syntax(learned, name), **predictions(learned, name), **plans(learned, name, problems))


def syntax(learned: Path, name: str) -> dict[str, float]:
    from amlgym.metrics import syntactic_precision, syntactic_recall

    paths = str(learned), str(domain_file(name))
    return {"syntax_precision": syntactic_precision(*paths)["mean"], "syntax_recall": syntactic_recall(*paths)["mean"]}


def predictions(learned: Path, name: str) -> dict[str, float]:
    from amlgym.metrics import predictive_power
    from amlgym.modeling.UPEnv import UPEnv

    asked = [(path, states_to_ask(name, path)[:ASKED_STATES]) for path in problem_files(name, "predictive_power")]
    asked = [(path, states) for path, states in asked if states][:ASKED_PROBLEMS]
    mine = [UPEnv(str(learned), str(path)) for path, _ in asked]
    theirs = [UPEnv(str(domain_file(name)), str(path)) for path, _ in asked]
    found = predictive_power(mine, theirs, [states for _, states in asked], show_progress=False)
    works, changes = found["applicability"], found["predicted_effects"]
    return {
        "applicable_precision": works["mean_precision"], "applicable_recall": works["mean_recall"],
        "effects_precision": changes["mean_precision"], "effects_recall": changes["mean_recall"],
    }  # fmt: skip


def plans(learned: Path, name: str, problems: list[Path]) -> dict[str, float]:
    from amlgym.metrics import problem_solving

    found = problem_solving(
        str(learned), str(domain_file(name)), [str(p) for p in problems], timeout=PLANNING_SECONDS, show_progress=False
    )
    return {"solved": found["solving_ratio"], "false_plans": found["false_plans_ratio"]}
