"""Datasets of random traces of a hidden model: initial states, random walks (`walks`), final values.

The same seed gives the same bytes whatever the number of cores: every trace has its own random stream, and initial
states are drawn chunk by chunk, each chunk with a seed of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Int64

from trace2strips.bits import pack, stable_seed, unpack
from trace2strips.errors import DomainError, shorten
from trace2strips.model.strips import State, StripsModel, state_of
from trace2strips.model.vocabulary import Kind, Vocabulary
from trace2strips.pddl import format_model
from trace2strips.traces.dataset import SEPARATOR, Dataset, token_type
from trace2strips.worlds.domain import Domain
from trace2strips.worlds.pddl_files import World
from trace2strips.worlds.walks import walk_many

MAX_STATES = 100_000
CHUNK = 4096  # traces made at a time: bounds the memory and moves the progress bar
CHUNK_POSITIONS = 4096 * 1024  # domain actions made at a time; fewer traces where they are very long


@dataclass(frozen=True)
class SampleSettings:
    """What `trace2strips sample` can be told. `init` is "atoms" or "states:N", `suffix` "all", "goal" or "none"."""

    traces: int = 100_000
    max_length: int = 50
    split: str = "train"
    init: str = "atoms"
    suffix: str = "goal"
    seed: int = 0

    def __post_init__(self) -> None:
        def refuse(message: str, hint: str) -> None:
            raise DomainError(message, hint=hint)

        if self.traces < 1:
            refuse(f"cannot sample {self.traces} traces", "at least 1")
        if not 0 <= self.max_length <= 100_000:
            refuse(f"the maximum length {self.max_length} is out of range", "0 to 100000")
        if self.split not in ("train", "test"):
            refuse(f"unknown split {self.split!r}", "train or test")
        if self.suffix not in ("all", "goal", "none"):
            refuse(f"unknown suffix {self.suffix!r}", "all, goal or none")
        if not 0 <= self.seed < 2**63:
            refuse(f"the seed {self.seed} is out of range", "0 to 2^63 - 1")
        if self.init != "atoms" and self.states < 1:
            hint = f"atoms or states:N with N from 1 to {MAX_STATES}, for example states:50"
            refuse(f"unknown encoding of initial states {shorten(self.init)!r}", hint)

    @property
    def states(self) -> int:
        """N of the init-state encoding, 0 for init-atoms."""
        kind, _, number = self.init.partition(":")
        valid = kind == "states" and number.isdecimal() and len(number) < 10 and int(number) <= MAX_STATES
        return int(number) if valid else 0


def build_vocabulary(domain: Domain, settings: SampleSettings) -> Vocabulary:
    """The tokens that traces with these settings may hold, before partial grounding."""
    atoms = settings.init == "atoms"
    suffix = {"all": domain.model.atoms, "goal": domain.goal_atoms, "none": ()}[settings.suffix]
    return Vocabulary(
        actions=domain.reachable_actions,
        init_atoms=domain.initial_atoms if atoms else (),
        init_states=() if atoms else tuple(f"s{i}" for i in range(settings.states)),
        test_atoms=suffix,
        has_init_false=atoms,
    )


def sample(
    domain: Domain,
    settings: SampleSettings,
    like: Dataset | None = None,
    progress: Callable[[int], None] | None = None,
    tried: Collection[str] | None = None,
) -> Dataset:
    """Draw traces. Training sets lose the actions that were never applicable in them (partial grounding);
    a test set takes the vocabulary of its training set through `like`. Where it is said which actions are `tried`, all
    of these stay, whether they ever worked or not. `progress` is told how many traces are new.
    """
    states = domain.state_set(settings.states) if settings.states else None
    names = {} if states is None else {f"s{i}": state_of(domain.model, row) for i, row in enumerate(states)}
    record = {"domain": domain.name, "model": hash_model(domain.model), **asdict(settings)}
    if (separator := separator_of(domain)) is not None:
        record[SEPARATOR] = separator
    if domain.family.files:  # a file may have the name of a benchmark domain
        record["files"] = list(domain.family.files)
    if like is not None:
        check_like(like, record, names)
    vocabulary = like.vocabulary if like is not None else build_vocabulary(domain, settings)
    if tried is not None:
        vocabulary = replace(vocabulary, actions=tuple(name for name in vocabulary.actions if name in tried))
    parts = []
    chunk = chunk_size(settings.max_length)
    for start in range(0, settings.traces, chunk):
        count = min(chunk, settings.traces - start)
        parts.append(sample_chunk(domain, settings, vocabulary, states, start // chunk, count))
        if progress:
            progress(count)
    tokens, inapplicable, lengths = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    del parts
    offsets = np.zeros(settings.traces + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    dataset = Dataset(vocabulary, tokens, inapplicable, offsets, record, names)
    stays = like is not None or tried is not None or settings.split == "test"
    return dataset if stays else ground_partially(dataset)


def sample_world(
    world: World,
    settings: SampleSettings,
    like: Dataset | None = None,
    progress: Callable[[int], None] | None = None,
    tried: Collection[str] | None = None,
) -> Dataset:
    """Traces of all instances of a world, as many of each: those of the first, then those of the second, and so on."""
    if len(world.instances) == 1:
        return sample(world.instances[0], settings, like, progress, tried)
    if settings.states:
        raise DomainError("initial states can be named only where all problems have the same objects",
                          hint="--encoding atoms, or one problem")  # fmt: skip
    if settings.traces < len(world.instances):
        raise DomainError(f"{settings.traces} traces of {len(world.instances)} problems", hint="at least one of each")
    model = hash_model(world.model)
    record = {"domain": world.name, "model": model, **asdict(settings), "files": list(world.files)}
    if like is not None:
        check_like(like, record, {})
    parts = []
    for number, domain in enumerate(world.instances):
        count = len(range(number, settings.traces, len(world.instances)))
        seed = settings.seed if number == 0 else stable_seed(f"{settings.seed} instance {number}") % 2**63
        known = tried if like is None else set(like.vocabulary.actions)
        parts.append(sample(domain, replace(settings, traces=count, seed=seed), None, progress, known))
    vocabulary = like.vocabulary if like is not None else unite([part.vocabulary for part in parts])
    parts = [part.in_words_of(vocabulary) for part in parts]
    separators = {part.separator for part in parts}
    if len(separators) == 1 and (separator := separators.pop()) is not None:
        record[SEPARATOR] = separator
    ends = np.cumsum([0, *(len(part.tokens) for part in parts)])
    return Dataset(
        vocabulary,
        np.concatenate([part.tokens for part in parts]).astype(token_type(vocabulary)),
        np.concatenate([part.inapplicable for part in parts]),
        np.concatenate([[0], *(part.offsets[1:] + end for part, end in zip(parts, ends[:-1], strict=True))]),
        record,
    )


def unite(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """All names, in the order in which they first appear."""
    atoms, states, actions, finals = (
        tuple(dict.fromkeys(name for group in groups for name in group))
        for groups in zip(*(vocabulary.groups for vocabulary in vocabularies), strict=True)
    )
    return Vocabulary(actions, atoms, states, finals, any(vocabulary.has_init_false for vocabulary in vocabularies))


def separator_of(domain: Domain) -> str | None:
    """What stands between the words of all names; None where an object has that in its own name."""
    names = domain.task.origin.items()
    return next((mark for mark in ("_", "__") if all(tuple(name.split(mark)) == words for name, words in names)), None)


def chunk_size(max_length: int) -> int:
    """Depends on nothing else, so that a longer sample starts with the shorter one."""
    return min(CHUNK, CHUNK_POSITIONS // max(max_length, 1))


def hash_model(model: StripsModel) -> str:
    """A short hash of ⟨F, A⟩: two files of one name need not hold one model."""
    return hashlib.sha256(format_model(model).encode()).hexdigest()[:16]


def check_like(like: Dataset, record: Mapping[str, Any], states: Mapping[str, State]) -> None:
    for key in ("domain", "init", "suffix", "model"):
        theirs, ours = like.settings.get(key), record[key]
        if theirs != ours:
            raise DomainError(
                f"the training set has {key} {theirs!r}, not {ours!r}",
                hint="sample both with the same options and files",
            )
    if like.states != states:
        raise DomainError(
            "the training set's initial states are others", hint="sample both with the same problem files"
        )


def refuse_unsaid_atoms(initial: Bool[np.ndarray, "traces atoms"], domain: Domain, vocabulary: Vocabulary) -> None:
    """An atom without an `init-p` would be true, but the trace could not say so."""
    unsaid = set(np.flatnonzero(initial.any(axis=0)).tolist())
    for number in sorted(unsaid - set(column_numbers(domain, vocabulary.init_atoms).tolist())):
        raise DomainError(
            f"the training set cannot tell that {domain.model.atoms[number]!r} holds at the start",
            hint="sample both with the same problem files",
        )


def sample_chunk(
    domain: Domain,
    settings: SampleSettings,
    vocabulary: Vocabulary,
    states: Bool[np.ndarray, "states atoms"] | None,
    chunk: int,
    count: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tokens and labels of `count` traces end to end, and the traces' lengths."""
    split = stable_seed(settings.split) % 2**32
    rng = np.random.default_rng([settings.seed, split, chunk])
    if states is None:
        initial = domain.draw_states(rng, count, settings.split)
        refuse_unsaid_atoms(initial, domain, vocabulary)
    else:
        chosen = rng.integers(len(states), size=count)
        initial = states[chosen]
    # streams[t] seeds trace t alone, so no trace depends on what another core does
    streams = rng.integers(2**64, size=count, dtype=np.uint64)
    lengths = rng.integers(settings.max_length + 1, size=count)
    refusals = rng.random(count) < 0.5  # test split: does the last action fail?

    actions = StripsModel(domain.model.atoms, tuple(domain.model.action(name) for name in vocabulary.actions))
    domain_tokens, labels, final = walk_many(
        actions,
        pack(initial),
        settings.split == "train",
        streams,
        refusals,
        lengths,
        token_type(vocabulary),
        domain.balance(actions),
    )
    if states is None:
        prefix = np.concatenate(
            [np.ones((count, 1), dtype=bool), initial[:, column_numbers(domain, vocabulary.init_atoms)]], axis=1
        )
        prefix_tokens = np.arange(1 + len(vocabulary.init_atoms))
    else:
        prefix = np.ones((count, 1), dtype=bool)
        prefix_tokens = vocabulary.first[Kind.INIT_STATE] + chosen[:, None]
    values = unpack(final, len(domain.model.atoms))[:, column_numbers(domain, vocabulary.test_atoms)]
    return assemble(
        prefix, np.broadcast_to(prefix_tokens, prefix.shape).astype(domain_tokens.dtype),
        domain_tokens + domain_tokens.dtype.type(vocabulary.first[Kind.ACTION]), labels, lengths,
        values, vocabulary.first[Kind.TEST_ATOM],
    )  # fmt: skip


def assemble(
    prefix: Bool[np.ndarray, "traces prefix"],
    prefix_tokens: np.ndarray,
    domain_tokens: np.ndarray,
    labels: Bool[np.ndarray, "traces length"],
    lengths: Int64[np.ndarray, " traces"],
    values: Bool[np.ndarray, "traces suffix"],
    first_test: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Prefix, walk and suffix of each trace side by side, then everything that is really there in one flat row."""
    count, suffix = values.shape
    walked = np.arange(labels.shape[1]) < lengths[:, None]
    there = np.concatenate([prefix, walked, np.ones((count, suffix), dtype=bool)], axis=1)
    suffix_tokens = np.broadcast_to(first_test + np.arange(suffix), values.shape).astype(domain_tokens.dtype)
    tokens = np.concatenate([prefix_tokens, domain_tokens, suffix_tokens], axis=1)
    inapplicable = np.concatenate([np.zeros_like(prefix), labels, ~values], axis=1)
    return tokens[there], inapplicable[there], there.sum(axis=1)


def column_numbers(domain: Domain, atoms: tuple[str, ...]) -> Int64[np.ndarray, " atoms"]:
    return np.array([domain.model.atom_index[atom] for atom in atoms], dtype=np.int64)


def ground_partially(dataset: Dataset) -> Dataset:
    """Remove the actions that were never applicable: their (refused, so without effect) positions and their tokens."""
    vocabulary = dataset.vocabulary
    worked = np.zeros(len(vocabulary), dtype=bool)
    worked[dataset.tokens[~dataset.inapplicable]] = True
    keep = worked | (vocabulary.kinds != Kind.ACTION)
    if keep.all():
        return dataset
    first = vocabulary.first[Kind.ACTION]
    smaller = Vocabulary(
        tuple(name for i, name in enumerate(vocabulary.actions) if keep[first + i]),
        vocabulary.init_atoms, vocabulary.init_states, vocabulary.test_atoms, vocabulary.has_init_false,
    )  # fmt: skip
    renumbered = (np.cumsum(keep) - 1).astype(dataset.tokens.dtype)
    stays = keep[dataset.tokens]
    kept_before = np.concatenate([[0], np.cumsum(stays)])
    return Dataset(
        smaller, renumbered[dataset.tokens[stays]], dataset.inapplicable[stays], kept_before[dataset.offsets],
        dataset.settings, dataset.states,
    )  # fmt: skip
