"""All learners by name. A learner is imported when it is asked for: some need libraries that take long to load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from trace2strips.errors import UserError, suggest

if TYPE_CHECKING:
    from trace2strips.learners.learner import Learner

LEARNERS: dict[str, tuple[str, str]] = {  # name → module and class
    "windows": ("trace2strips.learners.windows.learner", "Windows"),
    "completion": ("trace2strips.learners.completion.learner", "Completion"),
    "strips": ("trace2strips.learners.transformer.learner", "Strips"),
    "strips+completion": ("trace2strips.learners.transformer.learner", "StripsCompletion"),
    "lifted-strips": ("trace2strips.learners.lifted_transformer.learner", "LiftedStrips"),
    "sb": ("trace2strips.learners.decoder.learner", "StickBreaking"),
    "sinusoidal": ("trace2strips.learners.decoder.learner", "Sinusoidal"),
    "rope": ("trace2strips.learners.decoder.learner", "Rope"),
}
DEFAULT = "windows"


def learner_class(name: str) -> type[Learner]:
    if name not in LEARNERS:
        raise UserError(f"unknown learner {name!r}", hint=suggest(name, LEARNERS, "learners"))
    module, found = LEARNERS[name]
    return getattr(import_module(module), found)


def settings_of(name: str) -> tuple[str, ...]:
    """What a learner can be told."""
    return tuple(item.name for item in fields(learner_class(name)))  # type: ignore[arg-type]


def make_learner(name: str = DEFAULT, settings: Mapping[str, Any] | None = None) -> Learner:
    """A learner by name, with these settings; one that it does not have is the user's error."""
    known = settings_of(name)
    for setting in settings or {}:
        if setting not in known:
            hint = f"it has {', '.join(known)}" if known else "it has none"
            raise UserError(f"learner {name!r} has no setting {setting!r}", hint=hint)
    return learner_class(name)(**(settings or {}))


def learner_names() -> tuple[str, ...]:
    """All learners by name, as `learn` takes them."""
    return tuple(LEARNERS)
