"""Several files of one log as one dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from trace2strips.errors import TraceError
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces.dataset import Dataset, Origin


def united(vocabularies: Sequence[Vocabulary]) -> Vocabulary:
    """All names, sorted."""
    groups = zip(*(vocabulary.groups for vocabulary in vocabularies), strict=True)
    atoms, states, actions, finals = (tuple(sorted({name for names in group for name in names})) for group in groups)
    return Vocabulary(actions, atoms, states, finals, any(one.has_init_false for one in vocabularies))


def joined(parts: Sequence[Dataset]) -> Dataset:
    """One after the other. What files say of their names must be the same."""
    separators = {part.separator for part in parts}
    if len(separators) > 1:
        first, other = parts[0], next(part for part in parts if part.separator != parts[0].separator)
        message = f"separator {other.separator!r}, while {first.file} has {first.separator!r}"
        raise TraceError(message, file=other.file, hint="learn from one of them, or give both the same")
    vocabulary = united([part.vocabulary for part in parts])
    spoken = [part.in_words_of(vocabulary) for part in parts]
    ends = np.cumsum([0, *(len(part.tokens) for part in spoken)])
    whole = replace(
        spoken[0],
        tokens=np.concatenate([part.tokens for part in spoken]),
        inapplicable=np.concatenate([part.inapplicable for part in spoken]),
        offsets=np.append(0, np.concatenate([part.offsets[1:] + end for part, end in zip(spoken, ends, strict=False)])),
        states={name: state for part in spoken for name, state in part.states.items()},
        lines=(),
        untold=np.concatenate([part.untold for part in spoken]),
        file=None,
        origin=origin_of(spoken),
    )
    return whole if len({repr(sorted(part.settings.items())) for part in parts}) == 1 else replace(whole, settings={})


def origin_of(parts: Sequence[Dataset]) -> Origin:
    """Where attempts stand; of a file with a trace a line, that line."""
    files: list[str] = []
    file, line = [], []
    for part in parts:
        if part.origin is not None:
            file.append(part.origin.file + len(files))
            line.append(part.origin.line)
            files += part.origin.files
            continue
        counts = np.diff(part.actions_before())
        lines = np.array(part.lines, dtype=np.int64) if len(part.lines) else np.arange(1, len(part) + 1)
        file.append(np.full(int(counts.sum()), len(files)))
        line.append(np.repeat(lines, counts))
        files.append(part.file or "?")
    understood = tuple(text for part in parts if part.origin is not None for text in part.origin.understood)
    return Origin(tuple(files), np.concatenate(file).astype(np.uint32), np.concatenate(line), understood[:5])
