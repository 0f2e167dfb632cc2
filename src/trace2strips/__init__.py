"""trace2strips: STRIPS world models from sequences of actions, each marked "worked" or "did not work"."""

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("trace2strips")
    raise AttributeError(f"module 'trace2strips' has no attribute {name!r}")
