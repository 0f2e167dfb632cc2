"""trace2strips: STRIPS world models from sequences of actions, each marked "worked" or "did not work".

The pipeline goes one way, and so do the imports:
errors, files, compilation → strips → pddl → domains → traces → … → cli. See docs/architecture.md.
"""

from importlib.metadata import version

__version__ = version("trace2strips")
