"""A run: a world to sample, who learns, and from how many traces. It is its settings and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, get_type_hints

from trace2strips.errors import UserError
from trace2strips.experiments.records import Value, describe, read_value
from trace2strips.learners.learner import Learner
from trace2strips.learners.registry import learner_class, make_learner, settings_of
from trace2strips.worlds.sampling import SampleSettings

LARGE = ("blocksworld-8b", "ferry-8c", "npuzzle-8t", "maze-7x7", "logistics-5c")
DECODERS = ("sb", "sinusoidal", "rope")


class Settings(Mapping[str, Value]):
    """A dict that never changes, so that a run can be a key."""

    def __init__(self, items: Mapping[str, Value] | None = None) -> None:
        self._items = dict(sorted((items or {}).items()))

    def __getitem__(self, name: str) -> Value:
        return self._items[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __hash__(self) -> int:
        return hash(frozenset(self._items.items()))

    def __repr__(self) -> str:
        return repr(self._items)


@dataclass(frozen=True)
class Run:
    """`settings` are the learner's where they are not its defaults. The seed draws the traces and starts a network."""

    domain: str
    encoding: str = "atoms"
    suffix: str = "goal"
    learner: str = "strips+completion"
    settings: Mapping[str, Value] = field(default_factory=Settings)
    traces: int = 100_000
    seed: int = 0
    noise: float = 0.0
    test_traces: int = 200_000

    def __post_init__(self) -> None:
        """Each part refuses what it does not know. Settings that are the learner's defaults go: one run, one key."""
        object.__setattr__(self, "settings", without_defaults(self.learner, self.settings))
        _ = self.make_learner(), self.training_set, self.test_set

    @property
    def name(self) -> str:
        """Tells it from every other run; the name of its folder."""
        parts = [self.domain, self.encoding, self.suffix, self.learner, f"{self.traces}", f"s{self.seed}"]
        unusual = [name for name in ("noise", "test_traces") if getattr(self, name) != getattr(Run, name)]
        further = {**self.settings, **{name: getattr(self, name) for name in unusual}}
        parts += [name if value is True else f"{name}{value}" for name, value in further.items()]
        return "-".join(parts).replace(":", "")

    def make_learner(self) -> Learner:
        return make_learner(self.learner, self.settings)

    @property
    def is_decoder(self) -> bool:
        return self.learner in DECODERS

    @property
    def training_set(self) -> SampleSettings:
        """D = 50; 200 for maze-7x7, as in the paper."""
        length = 200 if self.domain == "maze-7x7" else 50
        return SampleSettings(self.traces, length, "train", self.encoding, self.suffix, self.seed)

    @property
    def test_set(self) -> SampleSettings:
        """D = 200; 400 for maze-7x7."""
        length = 400 if self.domain == "maze-7x7" else 200
        return SampleSettings(self.test_traces, length, "test", self.encoding, self.suffix, self.seed)

    def record(self) -> dict[str, Any]:
        """As JSON says it."""
        return {item.name: getattr(self, item.name) for item in fields(self)} | {"settings": dict(self.settings)}


def without_defaults(learner: str, settings: Mapping[str, Value]) -> Settings:
    """Settings of a learner, of the types that it declares, without those that are its defaults."""
    kinds, defaults = get_type_hints(learner_class(learner)), make_learner(learner)
    known = {name: value for name, value in settings.items() if name in settings_of(learner)}
    for name, value in known.items():
        try:
            known[name] = read_value(value, kinds[name])
        except TypeError:
            raise UserError(f"setting {name!r} is {value!r}", hint=f"it should be {describe(kinds[name])}") from None
    usual = {name for name, value in known.items() if value == getattr(defaults, name)}
    return Settings({name: value for name, value in {**settings, **known}.items() if name not in usual})
