"""The hidden domain of a run: what its model is judged against, where the traces were sampled from a benchmark domain.

Its name alone says little, as a PDDL file may be called blocksworld-5b.pddl. So a dataset remembers, and each run
learned from it, the fingerprint of the model it was sampled from and the files that model was read from, if any.
"""

from __future__ import annotations

from trace2strips.errors import DomainError, shorten
from trace2strips.learners.learner import Figures
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import hash_model


def find_hidden_domain(figures: Figures) -> Domain:
    """The benchmark domain of a run's traces; a DomainError says in one line why there is none to be found."""
    name = figures.domain
    if name is None:
        raise DomainError("the traces do not say which domain they come from", hint="--domain blocksworld-8b")
    if figures.hidden_files:
        file, *problems = figures.hidden_files
        raise DomainError(
            "the traces come from PDDL files, not from a benchmark domain",
            hint=" ".join(["--domain", file, *(f"--problem {problem}" for problem in problems)]),
        )
    try:
        domain = get_domain(name)
    except DomainError:
        raise DomainError(
            f"the traces come from {shorten(name)!r}, which is no benchmark domain", hint="--domain blocksworld-8b"
        ) from None
    if figures.hidden_model is None:
        raise DomainError(
            f"the run is too old to say whether {name!r} means the benchmark domain", hint=f"--domain {name} if it does"
        )
    if figures.hidden_model != hash_model(domain.model):
        raise DomainError(f"the traces come from another {name!r} than the benchmark domain", hint="--domain …")
    return domain
