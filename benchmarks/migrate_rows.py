"""Rows and notes of before learners had names: network, form, preset, heads, max_steps → learner, settings.

    python benchmarks/migrate_rows.py results/runs.jsonl results/notes.json results/one_state.json

Each file is rewritten in place. No figure changes; what is migrated already stays as it is.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from trace2strips.experiments.rows import format_row, read_row
from trace2strips.files import writing_text

OLD = ("network", "form", "preset", "heads", "max_steps")


def migrated(row: dict[str, Any]) -> dict[str, Any]:
    """A row with the learner in the place of the network; all that is no setting of the learner stays."""
    if "network" not in row:
        return row
    learner, settings = learner_of(row)
    new: dict[str, Any] = {}
    for name, value in row.items():
        if name == "network":
            new |= {"learner": learner, "settings": settings}
        elif name not in OLD and value is not None:
            new[name] = value
    return new


def learner_of(row: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Who learned, and the settings that are not its defaults."""
    network, preset, steps = row["network"], row["preset"], row["max_steps"]
    settings = {"heads": row["heads"], "steps": steps}
    if network != "strips":
        learner = network
        settings |= {"preset": preset, "network_only": row["suffix"] == "none"}
    elif preset == "paper":
        rate = 0.005 if (row["domain"], row["encoding"]) == ("ferry-8c", "atoms") else None
        learner, settings = "strips", settings | {"form": row["form"], "preset": preset, "rate": rate}
    elif steps == 0:
        learner, settings = "completion", {"heads": row["heads"]}
    else:
        learner, settings = "strips+completion", settings | {"form": row["form"]}
    defaults = {"form": "factored", "preset": "fast", "network_only": False}
    return learner, {name: value for name, value in settings.items() if value != defaults.get(name)}


def migrated_selection(selection: dict[str, Any]) -> dict[str, Any]:
    """The settings that a note names: `strips` there meant training and completion."""
    return {("learner" if name == "network" else name): ours(name, value) for name, value in selection.items()}


def ours(name: str, value: Any) -> Any:
    return "strips+completion" if (name, value) == ("network", "strips") else value


def main() -> None:
    for path in map(Path, sys.argv[1:]):
        text = path.read_text()
        if path.suffix == ".jsonl":
            rows = [json.dumps(migrated(json.loads(line))) for line in text.splitlines()]
            new = "".join(format_row(read_row(row, path, number)) + "\n" for number, row in enumerate(rows, 1))
        else:
            record = json.loads(text)
            if isinstance(record, list):  # notes
                record = [{**note, "runs": migrated_selection(note["runs"])} for note in record]
            else:  # of a benchmark
                record["rows"] = [migrated_selection(row) for row in record["rows"]]
            new = json.dumps(record, indent=1, ensure_ascii=False) + "\n"
        with writing_text(path, force=True) as stream:
            stream.write(new)


if __name__ == "__main__":
    main()
