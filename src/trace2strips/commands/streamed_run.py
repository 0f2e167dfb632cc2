"""One run of windows on a log that is learned shard by shard, here or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from trace2strips.commands.log_options import show_understood
from trace2strips.commands.terminal import training_bar
from trace2strips.errors import UserError, with_file

if TYPE_CHECKING:
    from trace2strips.learners.learner import Learned, Learner
    from trace2strips.learners.training import Report
    from trace2strips.traces.columns import Columns

LARGE = 2**30  # bytes of files that are learned shard by shard


def is_large(files: Sequence[Path]) -> bool:
    """More bytes than are read at once; what is packed counts tenfold."""
    from trace2strips.traces.formats import find_all

    packed = (".gz", ".parquet", ".pq")
    found = (path for path in find_all(files) if path.is_file())
    return sum(path.stat().st_size * (10 if path.suffix.lower() in packed else 1) for path in found) > LARGE


@contextmanager
def learn_streamed(
    paths: Sequence[Path], learner: Learner, out: Path, test: Path | None, columns: Columns, hold_out: float | None,
    ray: str | None, seed: int, force: bool, quiet: bool,
) -> Iterator[Learned]:  # fmt: skip
    """Shard by shard, here or on a cluster, in a run folder that nobody else gets until this is left."""
    from dataclasses import replace
    from functools import partial

    from trace2strips.learners.holding_out import with_held_out
    from trace2strips.learners.learner import Job, columns_of
    from trace2strips.learners.runs import RunLog, open_run
    from trace2strips.learners.windows.learner import Windows
    from trace2strips.learners.windows.spreading import OnRay
    from trace2strips.learners.windows.streaming import Here, Runner, beginning, first_traces, hash_files, learn_shards
    from trace2strips.ray_cluster import connected
    from trace2strips.traces import read_traces
    from trace2strips.traces.columns import FILE, NONE, OPTIONS
    from trace2strips.traces.formats import find_all, is_event_log
    from trace2strips.traces.shards import find_shards

    if not isinstance(learner, Windows):
        raise UserError(
            f"learner {learner.name!r} needs the whole log in memory", hint="--learner windows learns shard by shard"
        )
    files, said = find_all(paths), columns
    if len(files) > 1 and all(map(is_event_log, files)):
        from trace2strips.traces.events import settled
        from trace2strips.traces.tables import read_table

        columns = settled(read_table(files[0]), columns)
    read = partial(read_traces, columns=columns)
    shards = find_shards(files)
    first = first_traces(shards, read)
    show_understood(first, quiet)
    if (kept := columns_of(first)) is not None:  # what the first file does not have may be in others
        kept = replace(kept, **{role: getattr(said, role) for role in OPTIONS if getattr(kept, role) in (NONE, FILE)})
    chosen = learner.told_by(first)
    testing = None if test is None else read(test)
    data = hash_files(files)
    with ExitStack() as stack:
        run: Runner = Here() if ray is None else OnRay(stack.enter_context(connected(ray, may_start=True)))
        stack.enter_context(open_run(out, chosen.run_settings(seed, data), force))
        with ExitStack() as learning:
            log = RunLog(out)
            learning.callback(log.close)
            show = learning.enter_context(training_bar(quiet))

            def watch(stage: str, report: Report) -> None:
                log.write(stage, report)
                show(stage, report)

            learned = learn_shards(chosen, shards, Job(seed, out, watch), data, read, run)
        if testing is not None:
            learned = with_file(str(test), lambda: learned.tested_on(testing))
        elif hold_out != 0:
            learned = with_held_out(learned, beginning(shards, learned.vocabulary, read), hold_out)
        yield replace(learned, columns=kept)
