"""B-RASP, the Boolean language behind the STRIPS Transformer: programs, their text, their evaluation, and the program
of a STRIPS model. May import up to `traces`.
"""

from trace2strips.brasp.evaluation import Evaluation, accepts, evaluate, evaluate_by_definition, transduce
from trace2strips.brasp.examples import EXAMPLES, Example
from trace2strips.brasp.language import (
    And,
    Attention,
    Choice,
    Constant,
    Definition,
    Formula,
    Mask,
    Not,
    Or,
    Pointwise,
    Program,
    Variable,
    disjunction,
)
from trace2strips.brasp.strips_program import SIMPLE, SIMPLE_TRACES, strips_program
from trace2strips.brasp.text import format_program, parse_program, read_program

__all__ = [
    "EXAMPLES",
    "SIMPLE",
    "SIMPLE_TRACES",
    "And",
    "Attention",
    "Choice",
    "Constant",
    "Definition",
    "Evaluation",
    "Example",
    "Formula",
    "Mask",
    "Not",
    "Or",
    "Pointwise",
    "Program",
    "Variable",
    "accepts",
    "disjunction",
    "evaluate",
    "evaluate_by_definition",
    "format_program",
    "parse_program",
    "read_program",
    "strips_program",
    "transduce",
]
