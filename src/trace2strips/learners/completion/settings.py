"""The numbers that completion goes by, each with its reason."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CompletionSettings:
    """Thresholds and bounds of the search. The defaults are good for all domains that we have; tests set others."""

    success_weight: int = 10
    state_traces: int = 500
    trial_demands: int = 2_000
    open_refusals: float = 0.02
    sampled_refusals: int = 1_000
    sampled_labels: int = 300
    windows: int = 300
    tries: int = 5
    rounds: int = 5
    several_rounds: int = 3
    starts: int = 4
    joins: int = 3
    noise_errors: float = 2.0
    noise_effect: float = 3.0
    noise_success: float = 2.0
    noise_refusals: float = 1.5
    deviations: float = 3.0


DEFAULTS = CompletionSettings()
