"""How much the one initial state matters where nothing is told: blocksworld-8b, no final values, one named state.

    python benchmarks/one_state.py --out results/one_state.json

State 0 is that of the experiment `alignment`, the others are the first ten of the set of 100. 100,000 training traces,
5,000 test traces (D = 200), preset fast, seed 0; the learners of lifted models also with 1,000 traces. `rare` is the
share of test traces with an action that worked fewer than 100 times in training.

Every row is saved as soon as it is measured; the command goes on where it was stopped. A part of it:
--learner windows --state 0 1 2
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measuring import Growing, options

from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

SEED = 0
LIFTED = ("windows", "lifted-strips")
LEARNERS = (*LIFTED, "strips+completion", "sb")
STATES = tuple(range(11))
SETTINGS = {"sb": {"network_only": True}}


class FromOneState(Domain):
    """A domain whose only named initial state is given."""

    def __init__(self, domain: Domain, state: np.ndarray) -> None:
        super().__init__(domain.name, domain.family)
        self.state = state

    def state_set(self, count: int) -> np.ndarray:
        return self.state[None][:count]


def share_of_rare(train: Dataset, test: Dataset, least: int = 100) -> float:
    """Test traces with an action that is rare in training."""
    worked = train.tokens[~train.inapplicable]
    rare = np.bincount(worked, minlength=len(train.vocabulary)) < least
    trace = np.repeat(np.arange(len(test)), np.diff(test.offsets))
    is_action = test.vocabulary.kinds[test.tokens] == Kind.ACTION
    return len(np.unique(trace[is_action & rare[test.tokens]])) / len(test)


def main() -> None:
    arguments = options(__doc__, learner=LEARNERS, state=STATES)
    quick = arguments.quick
    domain_name, many, few = ("blocksworld:5", 200, 50) if quick else ("blocksworld-8b", 100_000, 1_000)
    domain = get_domain(domain_name)
    states = [*domain.state_set(1), *domain.state_set(100)[: len(STATES) - 1]]
    settings = {"domain": domain_name, "init": "states:1", "suffix": "none", "seed": SEED}
    command = "python benchmarks/one_state.py --out results/one_state.json"
    file = Growing(arguments.out, command, settings, ("learner", "state", "traces"))
    for learner in arguments.learner:
        for state in arguments.state[:1] if quick else arguments.state:
            for traces in (few, many) if learner in LIFTED else (many,):
                key = {"learner": learner, "state": state, "traces": traces}
                if file.find(**key) is None:
                    row = file.add(key | measure(domain, states[state], learner, traces, quick))
                    print(row, flush=True)


def measure(domain: Domain, state: np.ndarray, learner: str, traces: int, quick: bool) -> dict[str, Any]:
    one = FromOneState(domain, state)
    train = sample(one, SampleSettings(traces, 50, "train", "states:1", "none", SEED))
    test = sample(one, SampleSettings(200 if quick else 5_000, 200, "test", "states:1", "none", SEED), like=train)
    more: dict[str, Any] = {"steps": 2} if quick and learner != "windows" else {}
    figures = learn(train, make_learner(learner, more | SETTINGS.get(learner, {})), test=test).figures.record()
    atoms = np.array(domain.model.atoms)[state]
    return {
        "towers": int(sum(atom.startswith("ontable") for atom in atoms)),
        "on": [str(atom) for atom in atoms if atom.startswith("on_")],
        "rare": share_of_rare(train, test),
        **{key: figures[key] for key in ("train_accuracy", "test_accuracy", "train_seconds")},
    }


if __name__ == "__main__":
    main()
