"""How much the one initial state matters where nothing is told: blocksworld-8b, no final values, one named state.

The first rows have the state of the experiment `alignment`, the others the first ones of the set of 100. 100,000
training traces, 5,000 test traces (D = 200), preset fast, seed 0. `rare` is the share of test traces with an action
that worked fewer than 100 times in training.
"""

from __future__ import annotations

import numpy as np
from measuring import options, write_results

from trace2strips.learners.learning import learn
from trace2strips.learners.registry import make_learner
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

SEED = 0


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
    arguments = options(__doc__)
    domain_name, traces, others = ("blocksworld:5", 200, 1) if arguments.quick else ("blocksworld-8b", 100_000, 3)
    domain = get_domain(domain_name)
    states = [*domain.state_set(1), *domain.state_set(100)[:others]]
    rows = []
    for name, number in [*(("strips+completion", number) for number in range(len(states))), ("sb", 0), ("sb", 1)]:
        one = FromOneState(domain, states[number])
        train = sample(one, SampleSettings(traces, 50, "train", "states:1", "none", SEED))
        test = sample(one, SampleSettings(min(5_000, traces), 200, "test", "states:1", "none", SEED), like=train)
        steps = 2 if arguments.quick else None
        learner = make_learner(name, {"steps": steps} | ({"network_only": True} if name == "sb" else {}))
        figures = learn(train, learner, test=test).figures.record()
        atoms = np.array(domain.model.atoms)[states[number]]
        row = {"learner": name, "state": number, "towers": int(sum(a.startswith("ontable") for a in atoms))}
        row |= {"on": [str(atom) for atom in atoms if atom.startswith("on_")], "rare": share_of_rare(train, test)}
        row |= {key: figures[key] for key in ("train_accuracy", "test_accuracy", "train_seconds")}
        rows.append(row)
        print(row, flush=True)
    settings = {"domain": domain_name, "traces": traces, "init": "states:1", "suffix": "none", "seed": SEED}
    write_results(arguments.out, "python benchmarks/one_state.py", settings, rows)


if __name__ == "__main__":
    main()
