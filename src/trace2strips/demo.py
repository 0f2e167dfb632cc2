"""What `make demo` shows: a hidden blocksworld, its traces, its model, and the trace classifier at work."""

from __future__ import annotations

import time

from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from trace2strips.domains import get_domain
from trace2strips.pddl import format_model
from trace2strips.strips import is_negative, label_tokens
from trace2strips.traces import Dataset, SampleSettings, sample

DOMAIN = "blocksworld-5b"
TRACES = 20_000


def run_demo(console: Console) -> None:
    domain = get_domain(DOMAIN)
    model = domain.model
    console.rule(f"A hidden world: {DOMAIN}")
    console.print(
        f"{len(model.atoms)} atoms, {len(model.actions)} actions, {domain.family.count_states():,} reachable states. "
        "A learner sees none of this, only which actions worked and which were refused."
    )
    start = time.perf_counter()
    dataset = sample(domain, SampleSettings(traces=TRACES, suffix="none", seed=0))
    seconds = time.perf_counter() - start
    console.rule("What a learner sees")
    console.print(
        f"{len(dataset):,} traces, {len(dataset.tokens):,} positions, sampled in {seconds:.1f} s. Three of them:"
    )
    shown = [i for i in range(len(dataset)) if 5 <= len(dataset[i].actions) <= 9][:3]
    for index in shown:
        console.print(Panel(render(dataset, index), title=f"trace {index}"))
    console.rule("What is hidden: one of the actions")
    text = format_model(model)
    begin = text.index("  (:action stack_b1_b2")
    console.print(Text(text[begin : text.index("  (:action", begin + 1)].rstrip()))
    console.rule("The classifier f_M")
    tokens = dataset.vocabulary.extend(model)
    labels = label_tokens(tokens.bits, dataset.tokens, dataset.offsets)
    wrong = int((labels != dataset.inapplicable).sum())
    console.print(f"f_M recomputed every label from the model: {wrong} of {len(labels):,} positions differ.")
    for trace in (
        ["init-false", "init-clear_b1", "init-ontable_b1", "init-handempty", "pick-up_b1", "put-down_b1"],
        ["init-false", "init-clear_b1", "init-ontable_b1", "init-handempty", "pick-up_b1", "pick-up_b2"],
    ):
        verdict = Text("negative", style="red") if is_negative(tokens, trace) else Text("positive", style="green")
        console.print(Text.assemble(" ".join(trace), " → ", verdict))


def render(dataset: Dataset, index: int) -> Text:
    """One trace; refused actions carry '!' and are red."""
    trace = dataset[index]
    text = Text("starts with ") + Text(" ".join(sorted(trace.init or ())), style="dim") + Text("\n")
    for action, ok in zip(trace.actions, trace.ok, strict=True):
        text.append(action + " " if ok else f"!{action} ", style="green" if ok else "red")
    return text
