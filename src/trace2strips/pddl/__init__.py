"""PDDL in and out: `parsing` reads it, `grounding` instantiates schemas, `writing` formats, `names` spells."""

from trace2strips.pddl.grounding import GroundTask, ground
from trace2strips.pddl.names import decode_name, encode_name
from trace2strips.pddl.parsing import (
    parse_domain,
    parse_expression,
    parse_model,
    parse_model_problem,
    parse_problem,
    read_domain,
    read_model,
    read_model_problem,
)
from trace2strips.pddl.writing import format_domain, format_model, format_model_problem, format_problem

__all__ = [
    "GroundTask",
    "decode_name",
    "encode_name",
    "format_domain",
    "format_model",
    "format_model_problem",
    "format_problem",
    "ground",
    "parse_domain",
    "parse_expression",
    "parse_model",
    "parse_model_problem",
    "parse_problem",
    "read_domain",
    "read_model",
    "read_model_problem",
]
