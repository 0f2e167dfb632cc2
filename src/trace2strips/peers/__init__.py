"""Beside what others made: AMLGym's benchmark and learners (extra `peers`), and ourselves as one of its algorithms.

from trace2strips.peers import Trace2Strips, Trace2StripsAgent  # or get_algorithm("Trace2Strips") after this
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trace2strips.peers.adapter import Trace2Strips, Trace2StripsAgent

__all__ = ["Trace2Strips", "Trace2StripsAgent"]


def __getattr__(name: str) -> Any:
    """AMLGym takes seconds to import, so it is not before somebody asks for what needs it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trace2strips.peers import adapter
    from trace2strips.peers.amlgym_files import amlgym_folder

    amlgym_folder()  # says in one line what is missing
    return getattr(adapter, name)
