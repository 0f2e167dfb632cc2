"""How much the one initial state matters where nothing is told: blocksworld-8b, no final values, one named state.

The first row has the state of the experiment `alignment`, the others the first ones of the set of 100. 100,000 training
traces, 5,000 test traces (D = 200), STRIPS Transformer, preset fast, seed 0.
"""

from __future__ import annotations

import numpy as np
from measuring import options, write_results

from trace2strips.domains import Domain, get_domain
from trace2strips.learning import learn
from trace2strips.traces import SampleSettings, sample

SEED = 0


class FromOneState(Domain):
    """A domain whose only named initial state is given."""

    def __init__(self, domain: Domain, state: np.ndarray) -> None:
        super().__init__(domain.name, domain.family)
        self.state = state

    def state_set(self, count: int) -> np.ndarray:
        return self.state[None][:count]


def main() -> None:
    arguments = options(__doc__)
    name, traces, others = ("blocksworld:5", 200, 1) if arguments.quick else ("blocksworld-8b", 100_000, 4)
    domain = get_domain(name)
    rows = []
    for number, state in enumerate([*domain.state_set(1), *domain.state_set(100)[:others]]):
        one = FromOneState(domain, state)
        train = sample(one, SampleSettings(traces, 50, "train", "states:1", "none", SEED))
        test = sample(one, SampleSettings(min(5_000, traces), 200, "test", "states:1", "none", SEED), like=train)
        metrics = learn(train, test=test).metrics
        atoms = np.array(domain.model.atoms)[state]
        towers = sum(atom.startswith("ontable") for atom in atoms)
        row = {"state": number, "towers": int(towers), "on": [str(atom) for atom in atoms if atom.startswith("on_")]}
        row |= {key: metrics[key] for key in ("train_accuracy", "test_accuracy", "atoms", "train_seconds")}
        rows.append(row)
        print(row, flush=True)
    settings = {"domain": name, "traces": traces, "init": "states:1", "suffix": "none", "seed": SEED}
    write_results(arguments.out, "python benchmarks/one_state.py", settings, rows)


if __name__ == "__main__":
    main()
