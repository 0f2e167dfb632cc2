"""The licences of all that is installed with trace2strips, as a page:

    python -m trace2strips.licences docs/licences.md [--check]

From the metadata of the packages in requirements/*.lock, as far as they are installed here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

HEAD = """# Licences of what is installed

Written by `python -m trace2strips.licences docs/licences.md` from the metadata of the packages in `requirements/`; a
test compares it with what is installed. trace2strips itself is under the MIT licence and imports nothing under the GPL
into its own process: pymimir, pyperplan and the search of Fast Downward are GPLv3 and run in a process of their own,
which gets numbers and returns a plan. Without them (`pip uninstall pymimir`) all that plans uses `plain`, a planner
that is part of trace2strips.

| package | version | comes with | licence |
|---|---|---|---|
"""
TEXT = re.compile(r"\s+")


def locked(path: Path) -> dict[str, str]:
    """Package → version."""
    lines = (line.strip() for line in path.read_text(encoding="utf-8").splitlines())
    return dict(line.split("==", 1) for line in lines if "==" in line)


def licence_of(found: Distribution) -> str:
    """The SPDX expression, else what the classifiers say, else the first words of the free text."""
    (said,) = (found.metadata.get_all("License-Expression") or [""])[:1]
    if said:
        return str(said)
    names = [
        value.rpartition(" :: ")[2] for value in found.metadata.get_all("Classifier") or () if "License ::" in value
    ]
    free = TEXT.sub(" ", (found.metadata.get_all("License") or [""])[0]).strip()
    return ", ".join(dict.fromkeys(names)) or free[:60] or first_words(found) or "not said"


def first_words(found: Distribution) -> str:
    """Of the licence's own text, where the metadata says nothing."""
    for file in found.files or ():
        if file.name.upper().startswith(("LICEN", "COPYING")):
            text = TEXT.sub(" ", Path(str(file.locate())).read_text(encoding="utf-8", errors="replace"))
            return f"its text: {text.strip()[:50]}"
    return ""


def lines(default: dict[str, str], every: dict[str, str]) -> Iterable[str]:
    for name, version in sorted((default | every).items(), key=lambda item: item[0].lower()):
        try:
            licence = licence_of(distribution(name))
        except PackageNotFoundError:
            licence = "not installed here"
        where = "trace2strips" if name in default else "an extra"
        yield f"| {name} | {version} | {where} | {licence.replace('|', '/')} |"


def page(requirements: Path) -> str:
    return HEAD + "\n".join(lines(locked(requirements / "default.lock"), locked(requirements / "all.lock"))) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--requirements", type=Path, default=Path("requirements"))
    parser.add_argument("--check", action="store_true", help="exit code 1 if the page says something else")
    told = parser.parse_args()
    text = page(told.requirements)
    if not told.check:
        told.out.write_text(text, encoding="utf-8")
    elif told.out.read_text(encoding="utf-8") != text:
        sys.exit(f"{told.out} is not what is installed")


if __name__ == "__main__":
    main()
