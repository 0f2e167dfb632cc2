"""Signatures are checked while tests run: arrays and their shapes by jaxtyping, everything else by beartype.

jaxtyping's import hook puts `jaxtyped` around each function and class of a package. That binds the arguments and checks
them twice, which half of all tests' time went into, so it is left for signatures that name a shape.
"""

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from functools import partial
from typing import Any

import jaxtyping

check_shapes = jaxtyping.jaxtyped


def check(package: str) -> None:
    """From now on, in all modules of the package that are not imported yet."""
    jaxtyping.jaxtyped = check_signature  # the name that the hook looks up
    jaxtyping.install_import_hook(package, "beartype.beartype")


def check_signature(thing: Any = None, *, typechecker: Callable[[Any], Any]) -> Any:
    """What is defined inside a function would be wrapped anew whenever that is called, which takes a millisecond: there
    only shapes are checked.
    """
    if thing is None:
        return partial(check_signature, typechecker=typechecker)
    if inspect.isclass(thing):
        if is_dataclass(thing):
            thing.__init__ = check_signature(thing.__init__, typechecker=typechecker)  # type: ignore[method-assign]
        return thing
    hints = thing.__annotations__
    if any("'" in str(hint) or '"' in str(hint) for hint in hints.values()):  # a shape is a string in its annotation
        return check_shapes(thing, typechecker=typechecker)
    if "<locals>" in thing.__qualname__:
        return thing
    for name, hint in hints.items():
        try:
            hints[name] = eval(hint, thing.__globals__) if isinstance(hint, str) else hint
        except NameError:  # a class inside its own body, or what only the static checker imports
            hints[name] = Any
    return typechecker(thing)
