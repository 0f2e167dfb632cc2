"""Learning shard by shard: a log larger than memory, or than one machine.

Each shard becomes a part, parts are merged (`parts`), and the small model is made of the merged summary: the outcome is
that of learning from the whole log at once, to the byte. What a first pass shows to be wrong (a name that changes how
all are read, a refusal that needs a larger arity or a weaker level of starts) is mended by reading the shards again.
Where labels are taken to be wrong, the beginning of the log decides about the model, as it does at once too; which
labels are wrong is found out shard by shard.

Parts that are ready are kept in the run folder until the run is done; whoever starts it again goes on there.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from trace2strips.errors import FileError, TraceError
from trace2strips.files import make_folder_in, read_text, writing_text
from trace2strips.learners.learner import NO_ACTION, NO_ACTION_HINT, Job, Learned, basic_figures, said_of
from trace2strips.learners.runs import KEPT, MOST_BYTES
from trace2strips.learners.training import Report
from trace2strips.learners.windows.fitting import MOST_ATTEMPTS, traces_with
from trace2strips.learners.windows.learner import FIRST, MOST, MOST_TOKENS, Tested, Windows, completed
from trace2strips.learners.windows.parts import (
    Part,
    Wanted,
    fold,
    merge_errors,
    merge_parts,
    summarise_shard,
    test_shard,
)
from trace2strips.learners.windows.projection import arity_of, count_tokens
from trace2strips.learners.windows.reading import read_log
from trace2strips.learners.windows.saving import from_text, to_text
from trace2strips.learners.windows.starts import StartLevel
from trace2strips.learners.windows.summary import Summary
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.model.world import vocabulary_from_json
from trace2strips.schemas import Schema, dump, record, record_of
from trace2strips.traces import Dataset
from trace2strips.traces.formats import read_traces
from trace2strips.traces.joining import origin_of
from trace2strips.traces.names import Naming, understand
from trace2strips.traces.shards import Read, Shard, hash_shard, read_blocks

Value = TypeVar("Value")
PART = Schema(
    record(
        "Part",
        {"shard": dict[str, Any], "content": str, "names": record_of(Vocabulary), "untold": bool, "attempts": int,
         "refused": int, "asked": int, "settings": dict[str, Any], "separator": str | None, "cases": str,
         "summary": str},
        {},
    )
)  # fmt: skip


@runtime_checkable  # the type checker of the tests asks
class Runner(Protocol):
    """Who does the work: this process, or a cluster."""

    @property
    def threads(self) -> int | None:
        """Of one shard; None: all that there are."""

    def __call__(
        self,
        task: Callable[[Shard], Value | None],
        join: Callable[[Value, Value], Value],
        shards: Sequence[Shard],
        known: Callable[[int], Value | None],
        done: Callable[[int, Value | None], None],
    ) -> Value | None:
        """The task for each shard, joined in order. Some results are `known` by their number; `done` is told the
        others."""


class Here:
    """One shard after the other, each with all threads."""

    threads: int | None = None

    def __call__(
        self,
        task: Callable[[Shard], Value | None],
        join: Callable[[Value, Value], Value],
        shards: Sequence[Shard],
        known: Callable[[int], Value | None],
        done: Callable[[int, Value | None], None],
    ) -> Value | None:
        def results() -> Iterator[Value | None]:
            for number, shard in enumerate(shards):
                found = known(number)
                if found is None:
                    found = task(shard)
                    done(number, found)
                yield found

        return fold(results(), join)


@dataclass
class Stream:
    """A log as shards, and what is known of it so far."""

    learner: Windows
    shards: Sequence[Shard]
    job: Job
    read: Read = read_traces
    run: Runner = field(default_factory=Here)
    passes: int = 0
    found: dict[Wanted, Part] = field(default_factory=dict)

    def part(self, wanted: Wanted) -> Part:
        """Of the whole log."""
        if wanted not in self.found:
            task = partial(summarise_shard, wanted=wanted, read=self.read, threads=self.run.threads)
            kept = None if self.job.folder is None else Kept(self.job.folder, wanted)
            part = self.work("windows", task, merge_parts, kept)
            if part is None:
                raise TraceError("no trace in the files", hint="one trace a line")
            self.found[wanted] = part
        return self.found[wanted]

    def work(
        self,
        stage: str,
        task: Callable[[Shard], Value | None],
        join: Callable[[Value, Value], Value],
        kept: Kept | None = None,
    ) -> Value | None:
        self.passes += 1
        clock = time.perf_counter()
        ready = 0

        def tell() -> None:
            took = time.perf_counter() - clock
            self.job.tell(stage, Report(ready, len(self.shards), seconds=took, attempt=self.passes))

        def known(number: int) -> Any:
            nonlocal ready
            found = None if kept is None else kept.read(number, self.shards[number])
            ready += found is not None
            return found

        def done(number: int, value: Value | None) -> None:
            nonlocal ready
            if kept is not None:
                kept.keep(number, self.shards[number], value)
            ready += 1
            tell()

        tell()
        return self.run(task, join, self.shards, known, done)

    def first_naming(self) -> tuple[Naming, int]:
        """How the names of the first traces are read, and the arity that explains these."""
        traces = first_traces(self.shards, self.read)
        self.learner.check_actions(traces.vocabulary.actions)
        found = understand(traces.vocabulary.actions, self.learner.separator)
        level = StartLevel.SAME if self.learner.start is None else StartLevel(self.learner.start)
        if self.learner.arity is not None or len(self.shards) == 1:  # then looking costs as much as trying
            return found, FIRST if self.learner.arity is None else self.learner.arity
        return found, self.learner.collect(traces, found, level).encoding.projection.arity

    def understood(self) -> tuple[Naming, Part]:
        """The first pass, and another one where later names say that all are to be read in another way."""
        level = StartLevel.SAME if self.learner.start is None else StartLevel(self.learner.start)
        guess, arity = self.first_naming()
        while True:
            part = self.part(Wanted(guess, arity, level))
            if part.separator is not None and self.learner.separator is None:
                message = f"the separator {part.separator!r} is said after the first traces"
                raise TraceError(message, hint=f"say it first, or --separator '{part.separator}'")
            if not part.attempts:
                raise TraceError(NO_ACTION, hint=NO_ACTION_HINT)
            self.learner.check_actions(part.names.actions)
            found = understand(part.names.actions, self.learner.separator)
            if same_form(found, guess):
                part = replace(part, summary=replace(part.summary, naming=found))
                self.found[Wanted(found, arity, level)] = part
                return found, part
            guess, arity = found, FIRST if self.learner.arity is None else self.learner.arity

    def summarise(self, naming: Naming, level: StartLevel) -> Summary:
        """With the smallest arity that explains the log at this level."""
        return self.smallest_arity(naming, level).summary

    def smallest_arity(self, naming: Naming, level: StartLevel) -> Part:
        """As `Windows.collect`; an arity that leaves a part of the log inexplicable is not tried again."""
        if self.learner.arity is not None:
            return self.part(Wanted(naming, self.learner.arity, level))
        arity = max((w.arity for w in self.found if (w.naming, w.start) == (naming, level)), default=FIRST)
        while arity > FIRST and count_tokens(self.part(Wanted(naming, arity, level)).schemas, arity) > MOST_TOKENS:
            arity -= 1
        while True:
            found = self.part(Wanted(naming, arity, level))
            largest = max((arity_of(schema) for schema in found.summary.projection.asked), default=0)
            if arity >= min(MOST, largest) or not found.summary.inexplicable:
                return found
            arity += 1
            if count_tokens(found.schemas, arity) > MOST_TOKENS:
                return found


def same_form(one: Naming, other: Naming) -> bool:
    """Whether names are split alike; of calls the sign between arguments matters only where names are written."""
    return one.form == other.form and (one.separator == other.separator or one.form == "call")


def learn_shards(
    learner: Windows, shards: Sequence[Shard], job: Job, data: str, read: Read = read_traces, run: Runner | None = None
) -> Learned:
    """What `Windows.learn` gives of all shards together. `data` says which they are."""
    clock = time.perf_counter()
    stream = Stream(learner, shards, job, read, run or Here())
    names, part = stream.understood()
    vocabulary = part.vocabulary
    some = beginning(shards, vocabulary, read)
    level = None if learner.start is None else StartLevel(learner.start)
    fixed = learner.separator is not None or learner.arity is not None
    begun = partial(learner.summarise_at, some)
    traces = part.summary.traces
    if len(some) == traces and part.summary.inexplicable:  # small enough to look at it as a whole
        return replace(learner.learn(some, job), data=data)
    reading = read_log(some, names, stream.summarise, level, learner.noise, fixed, begun, traces)
    job.tell("predicates", Report(attempt=stream.passes + 1))
    lifted = completed(reading)
    doubting = reading.fit.lifted if reading.fit.doubted else None
    task = partial(test_shard, predicting=lifted, doubting=doubting, read=read)
    found = stream.work("testing", task, merge_errors)
    assert found is not None
    warnings = tuple(said_of(part.attempts, part.refused))
    tested = Tested(traces, found.errors, found.wrong_labels, found.suspects, warnings)
    reading = replace(reading, fit=replace(reading.fit, noise=found.wrong_labels / max(1, part.asked)))
    basic = replace(
        basic_figures(replace(some, settings=part.settings), 0, time.perf_counter() - clock, reading.is_consistent),
        traces=traces,
        train_accuracy=1 - found.errors / traces,
        train_errors=found.errors,
        tried=part.attempts,
        refused=part.refused,
    )
    return learner.assembled(reading, lifted, tested, basic, data, vocabulary, job)


def beginning(shards: Sequence[Shard], vocabulary: Vocabulary, read: Read = read_traces) -> Dataset:
    """As much as is looked at where labels may be wrong, in the words of all."""
    found: list[Dataset] = []
    for block in (block for shard in shards for block in read_blocks(shard, read)):
        found.append(block.traces.in_words_of(vocabulary))
        if sum(len(traces.tokens) for traces in found) > MOST_ATTEMPTS:
            break
    whole = one_after_the_other(found)
    return whole.first(traces_with(whole, MOST_ATTEMPTS))


def first_traces(shards: Sequence[Shard], read: Read = read_traces) -> Dataset:
    """Some, in bounded memory."""
    found = (block.traces for shard in shards for block in read_blocks(shard, read))
    traces = next(found, None)
    if traces is None:
        raise TraceError("no trace in the files", hint="one trace a line")
    return traces


def one_after_the_other(blocks: Sequence[Dataset]) -> Dataset:
    """Traces in the words of one vocabulary."""
    if len(blocks) == 1:
        return blocks[0]
    ends = np.cumsum([0, *(len(block.tokens) for block in blocks)])
    offsets = [block.offsets[1:] + end for block, end in zip(blocks, ends, strict=False)]
    return replace(
        blocks[0],
        tokens=np.concatenate([block.tokens for block in blocks]),
        inapplicable=np.concatenate([block.inapplicable for block in blocks]),
        offsets=np.append(0, np.concatenate(offsets)),
        lines=tuple(line for block in blocks for line in block.lines),
        untold=np.concatenate([block.untold for block in blocks]),
        origin=None if blocks[0].origin is None else origin_of(blocks),
    )


def hash_files(files: Sequence[Path]) -> str:
    """Tells logs apart without reading them: names and sizes. What a shard holds is compared by its content."""
    listed = [(path.name, path.stat().st_size) for path in files]
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


@dataclass(frozen=True)
class Kept:
    """Parts that are ready, in the run folder, each with a hash of the shard that it is of."""

    folder: Path
    wanted: Wanted

    def path(self, number: int) -> Path:
        w = self.wanted
        key = hashlib.sha256(repr((w.naming, w.arity, str(w.start))).encode()).hexdigest()[:8]
        return self.folder / KEPT / f"{key}-{number:06}.json.gz"

    def keep(self, number: int, shard: Shard, part: Any) -> None:
        if not isinstance(part, Part):
            return
        path = self.path(number)
        make_folder_in(self.folder, KEPT)
        kept = {
            "shard": asdict(shard),
            "content": part.content,
            "names": asdict(part.names),
            "untold": part.untold,
            "attempts": part.attempts,
            "refused": part.refused,
            "asked": part.asked,
            "settings": dict(part.settings),
            "separator": part.separator,
            "cases": part.cases.hex(),
            "summary": to_text(part.summary),
        }
        with writing_text(path, force=True, follow=False) as stream:
            stream.write(dump(kept))

    def read(self, number: int, shard: Shard) -> Part | None:
        """None where nothing is kept of it, or of something else: then it is done again."""
        path = self.path(number)
        if not path.exists():
            return None
        try:
            kept = PART.parse(read_text(path, MOST_BYTES))
            if kept["shard"] != asdict(shard) or kept["content"] != hash_shard(shard):
                return None
            return Part(
                from_text(kept["summary"]),
                vocabulary_from_json(kept["names"]),
                bool(kept["untold"]),
                int(kept["attempts"]),
                int(kept["refused"]),
                int(kept["asked"]),
                dict(kept["settings"]),
                kept["separator"],
                (shard.number, shard.number),
                kept["content"],
                bytes.fromhex(kept["cases"]),
            )
        except (FileError, ValueError, TraceError):
            return None
