"""The numbers that completion goes by, each with its reason.

"Measured" means `python benchmarks/completion.py`: each setting changed alone, on nine clean or six noisy small worlds
of about 2,000 traces, two seeds; accuracy on longer clean traces, and how many training traces the models get wrong.
On the clean worlds the defaults come to .969 and 0; what is missing there no trace tells. On the noisy ones they came
to .89 and, with other labels flipped, to .82, so that less than .07 between two values says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CompletionSettings:
    """Thresholds of completion and bounds on its search."""

    # --- one atom ---

    # So many open refusals weigh as much as one success that an atom forbids: the action may have other reasons to be
    # refused, but none to work. It is also the number of refusals that an atom which explains only a part must stay
    # below. Chosen; measured: 1, 3 and 10 differ by .0015; with 30 seven training traces are wrong, with 100 it is 289,
    # perhaps since the search then cannot forbid a success for a moment to gain many refusals.
    success_weight: int = 10
    # So many traces from a named initial state show what can be done there: what no label says of it is then false, and
    # two atoms that look like one are one. Measured: with 100 instead, accuracy falls from .99 to .96 on mazes with 100
    # traces a state (chance unites atoms), without any such rule from .84 to .81 where one state has 2,000.
    state_traces: int = 500
    # Starts that an atom is tried with, those that fit best first. A bound on time; measured: 1 and all do the same.
    starts: int = 4
    # Atoms that another is tried to be one with, the most alike first. Measured: with none there are 541 atoms instead
    # of 538, with 1 as few as with 20.
    joins: int = 3
    # Demands of either kind on which two atoms must agree before they are tried on all. A bound on time; measured: 100
    # and all do the same.
    trial_demands: int = 2_000
    # Rounds of new atoms. A bound: each round builds on the atoms of the one before, and ferry, the deepest, needs two.
    rounds: int = 5

    # --- several atoms at once ---

    # If more than this share of the refusals stays open, several atoms at once are looked for. Measured: with .1 852 of
    # 1,500 training traces of a ferry are wrong; with 0 nothing changes but time is spent on a last few refusals.
    open_refusals: float = 0.02
    # Refusals of an action that are looked at (of what worked, all). Measured: 100 leave 20 training traces wrong,
    # 1,000 do the same as all.
    sampled_refusals: int = 1_000
    # Labels of either kind with which every part is tried with every action, to choose a few. Measured: 30 leave seven
    # training traces wrong; 3,000 leave none and are no better beyond chance (.969 and .974).
    sampled_labels: int = 300
    # Windows, the shortest ones, that decide which row adds. A bound on time; measured: all do the same.
    windows: int = 300
    # Parts that another is tried to be put together with, the most alike first. Measured: 1 leaves five training traces
    # wrong, 20 one.
    tries: int = 5
    # Rounds of parts. A bound: in the first only actions may delete, in the second named states too.
    several_rounds: int = 3

    # --- noisy labels: `expected` is the noise level times the number of labels ---

    # Errors of a fit that noise explains: so many times what is expected, and some standard deviations. More than once,
    # since a wrong label also makes the history behind it wrong. Chosen; measured: .5, 1 and 2 are alike, 4 costs .10.
    noise_errors: float = 2.0
    # An effect goes if its loss costs no more than this times the noise in the labels that it decides. Chosen;
    # measured: 0 to 3 are alike, 6 costs .16.
    noise_effect: float = 3.0
    # A precondition must explain more than so many refusals for each success that it forbids. At least 1, or it would
    # do harm. Chosen; measured: 1, 2 and 4 are alike.
    noise_success: float = 2.0
    # Open refusals of an action that call for no atom: so many times what is expected, and some standard deviations.
    # Chosen; measured: 0, 1, 1.5 and 3 are alike, with 362, 363, 351 and 319 atoms.
    noise_refusals: float = 1.5
    # Standard deviations that chance is allowed in these rules, the square root of what is expected each. Chosen, as
    # usual; measured: 0 to 6 are alike.
    deviations: float = 3.0


DEFAULTS = CompletionSettings()
