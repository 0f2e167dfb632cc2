"""trace2strips: STRIPS world models from sequences of actions, each marked "worked" or "did not work".

Five minutes
============

A log is what was tried, and whether it worked. No state has to be described:

>>> import trace2strips as t2s
>>> log = [
...     [("open", True), ("open", False), ("close", True), ("close", False)],
...     [("close", False), ("open", True), ("close", True), ("open", True)],
... ]
>>> learned = t2s.learn(log)
>>> print(learned)
learned by windows: 100.00% of 2 training traces explained
2 atoms (2 invented), 2 actions
close
  needs   after-open
  adds    before-open
  deletes after-open
open
  needs   before-open
  adds    after-open
  deletes before-open

Traces are also given as a path (.csv with the columns case, action, ok; .jsonl, .txt, .t2s), as a `Dataset` or as a
list of `Trace`, which can tell initial and final atoms as well. `read_traces` reads a file, `write_traces` writes one;
where a log has columns of its own, `read_traces("log.csv", arguments=["tool"])` says which hold arguments, and
`Columns` says the rest.

>>> t2s.accuracy(learned, [[("close", False), ("open", True), ("open", False)]])
1.0
>>> learned.model.action("open").pre        # a StripsModel of StripsActions
frozenset({'before-open'})
>>> learned.figures.train_accuracy          # what was measured: Figures
1.0
>>> pddl = learned.pddl()                   # for any planner
>>> print(learned.plan("after-open"))       # the plan itself, an action a line
open

`learned.explore()` is a page on which the world can be tried and questioned: a notebook shows it, `.save("page.html")`
writes it. `learned.save("run")` writes a run folder, and `t2s.load("run")` reads it. The command line does all this
without Python and in the same folders: `trace2strips --help`.

Who learns
==========

>>> t2s.learner_names()
('windows', 'completion', 'strips', 'strips+completion', 'lifted-strips', 'sb', 'sinusoidal', 'rope')
>>> by_labels_alone = t2s.learn(log, "completion")
>>> with_settings = t2s.learn(log, t2s.StripsCompletion(steps=200), seed=1)

>>> print(learned.ask("open", "close"))     # also .next, .why, .suggest and .judge
close: works, for certain

`Windows`, the default, finds a lifted model (schemas with arguments, for objects never seen) from few traces and says
what is certain; `Completion` needs no network, `Strips` is the STRIPS Transformer by gradients alone,
`StripsCompletion` both, one after the other, `LiftedStrips` is one with predicates as heads;
`StickBreaking`, `Sinusoidal` and `Rope` are decoders, need PyTorch and traces with final values.

Hidden worlds, to try it out
============================

>>> train = t2s.sample("blocksworld:2", t2s.SampleSettings(traces=300, max_length=10))
>>> learned = t2s.learn(train)
>>> print(t2s.compare(learned, "blocksworld:2").verdict)
equivalent
>>> table = "ontable_b1 ontable_b2 clear_b1 clear_b2 handempty"
>>> print(t2s.plan(learned, "on_b1_b2", init=table))
pick-up_b1
stack_b1_b2

`compare` and `plan` take what was learned, a `StripsModel` (`read_pddl` reads one), the path of a run folder or of a
propositional PDDL file, or the name of a domain. `compare` says whether two models accept the same traces, proves it or
shows a trace that tells them apart.

Whatever a user can get wrong is a `UserError`: one line, with a hint.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trace2strips.api import accuracy, compare, plan, read_pddl, sample, write_traces
    from trace2strips.errors import UserError
    from trace2strips.judging.equivalence import Comparison
    from trace2strips.learners.completion.learner import Completion
    from trace2strips.learners.decoder.learner import Rope, Sinusoidal, StickBreaking
    from trace2strips.learners.learner import Figures, Learned
    from trace2strips.learners.learning import learn, load
    from trace2strips.learners.lifted_transformer.learner import LiftedStrips
    from trace2strips.learners.registry import learner_names
    from trace2strips.learners.transformer.learner import Strips, StripsCompletion
    from trace2strips.learners.windows.learner import Windows
    from trace2strips.model.strips import StripsAction, StripsModel, StripsProblem
    from trace2strips.planning.plans import PlanResult
    from trace2strips.traces import Dataset, Trace, read_traces
    from trace2strips.traces.columns import Columns
    from trace2strips.worlds import Domain, get_domain
    from trace2strips.worlds.sampling import SampleSettings

    __version__: str

__all__ = [
    "Columns",
    "Comparison",
    "Completion",
    "Dataset",
    "Domain",
    "Figures",
    "Learned",
    "LiftedStrips",
    "PlanResult",
    "Rope",
    "SampleSettings",
    "Sinusoidal",
    "StickBreaking",
    "Strips",
    "StripsAction",
    "StripsCompletion",
    "StripsModel",
    "StripsProblem",
    "Trace",
    "UserError",
    "Windows",
    "accuracy",
    "compare",
    "get_domain",
    "learn",
    "learner_names",
    "load",
    "plan",
    "read_pddl",
    "read_traces",
    "sample",
    "write_traces",
]

# Where each name lives. It is imported when it is asked for: `import trace2strips` alone loads nothing else.
HOMES = {
    "api": ("accuracy", "compare", "plan", "read_pddl", "sample", "write_traces"),
    "errors": ("UserError",),
    "judging.equivalence": ("Comparison",),
    "learners.completion.learner": ("Completion",),
    "learners.decoder.learner": ("Rope", "Sinusoidal", "StickBreaking"),
    "learners.learner": ("Figures", "Learned"),
    "learners.learning": ("learn", "load"),
    "learners.lifted_transformer.learner": ("LiftedStrips",),
    "learners.registry": ("learner_names",),
    "learners.transformer.learner": ("Strips", "StripsCompletion"),
    "learners.windows.learner": ("Windows",),
    "model.strips": ("StripsAction", "StripsModel", "StripsProblem"),
    "planning.plans": ("PlanResult",),
    "traces": ("Dataset", "Trace", "read_traces"),
    "traces.columns": ("Columns",),
    "worlds": ("Domain", "get_domain"),
    "worlds.sampling": ("SampleSettings",),
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("trace2strips")
    for home, names in HOMES.items():
        if name in names:
            return getattr(import_module(f"trace2strips.{home}"), name)
    raise AttributeError(f"module 'trace2strips' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__, "__version__"]
