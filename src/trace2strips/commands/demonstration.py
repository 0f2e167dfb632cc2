"""What `make demo` shows: a hidden blocksworld is learned from traces, shown beside the result, and planned in."""

from __future__ import annotations

import re
import time
from pathlib import Path

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.progress import Progress
from rich.text import Text

from trace2strips.commands.terminal import table_of_pairs
from trace2strips.files import writing_text
from trace2strips.judging.equivalence import DIFFERENT, EQUIVALENT, INVARIANTS, NOT_DISTINGUISHED, compare
from trace2strips.judging.plan_outcomes import evaluate_planning
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import find_starts, with_final_values
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.learners.training import Report
from trace2strips.model.strips import StripsModel
from trace2strips.model.world import count_parts
from trace2strips.pddl import format_model
from trace2strips.traces import Dataset
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

DOMAIN = "blocksworld-8b"
TRACES = 20_000
TEST_TRACES = 20_000
SHOWN = "stack_b1_b2"
PROBLEMS = 100
STARTS = 20_000


def run_demo(console: Console, out: Path | None = None) -> Learned:
    """Sample, learn, test, compare; writes the learned PDDL to `out` where given."""
    domain = get_domain(DOMAIN)
    console.rule(f"A hidden world: {DOMAIN}")
    console.print(
        f"{len(domain.model.atoms)} atoms, {len(domain.model.actions)} actions, "
        f"{domain.family.count_states():,} reachable states. The learner sees none of this, only which actions worked "
        "and which were refused, what was true at the start and whether the goal atoms held at the end."
    )
    start = time.perf_counter()
    train = sample(domain, SampleSettings(TRACES, seed=0))
    test = sample(domain, SampleSettings(TEST_TRACES, 200, "test", seed=0), like=train)
    console.rule("What the learner sees")
    console.print(
        f"{TRACES:,} traces of up to 50 actions, sampled with a longer test set in {seconds(start)}. One of them:"
    )
    index = next(i for i in range(len(train)) if 7 <= len(train[i].actions) <= 9)
    console.print(Panel(render(train, index), title=f"trace {index}; ! and red: refused"))
    console.rule("Learning")
    start = time.perf_counter()
    learned = learn_with_bar(console, train, test)
    console.print(
        f"Learned in {seconds(start)}. Training traces explained: {learned.figures.train_accuracy:.2%}. "
        f"Test traces, four times as long and from unseen initial states: {learned.figures.test_accuracy:.2%}."
    )
    console.rule("Learned and hidden, side by side")
    ours, true = count_parts(learned.model), count_parts(domain.model)
    for part, count in ours.items():
        console.print(f"{part:14} {count:4} learned, {true[part]:4} hidden")
    console.print(
        Columns(
            [Panel(Text(action_pddl(learned.model, SHOWN)), title="learned"),
             Panel(Text(action_pddl(domain.model, SHOWN)), title="hidden")]
        )
    )  # fmt: skip
    invented = sorted(learned.model.action(SHOWN).pre - set(domain.model.atoms))
    if invented:
        console.print(f"{invented[0]} was invented: it plays the part of holding_b1, which no trace ever mentioned.")
    show_comparison(console, learned, domain)
    if out is not None:
        with writing_text(out, force=True) as stream:
            stream.write(learned.pddl())
        console.print(f"The whole model for any planner: {out}")
    console.rule("Planning with the learned model")
    show_plans(console, learned, domain)
    return learned


def show_comparison(console: Console, learned: Learned, domain: Domain) -> None:
    """Whether the two accept the same traces, and how that is known."""
    hidden, found = Source("hidden", domain.model, domain=domain), Source("learned", learned.model, learned.world)
    starts, further = find_starts(hidden, found, count=STARTS)
    result = compare(*with_final_values(hidden, found), starts, further=further)
    how = {
        EQUIVALENT: "proven by invariants, each precondition of one follows from those of the other"
        if INVARIANTS in result.how
        else f"proven by looking at all {result.pairs:,} pairs of states",
        DIFFERENT: f"they part after {' '.join(result.trace or ())}",
        NOT_DISTINGUISHED: f"{result.pairs:,} pairs of states were looked at",
    }
    console.print(
        f"Do both accept the same traces from {result.starts:,} initial states? "
        f"{result.verdict}: {how[result.verdict]}."
    )


def show_plans(console: Console, learned: Learned, domain: Domain) -> None:
    """All planning problems, and the plan of the first one."""
    problems = domain.problems(PROBLEMS)
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("planning", total=PROBLEMS)
        report = evaluate_planning(
            learned.need_world(), domain, problems=problems, progress=lambda n: progress.advance(task, n)
        )
    console.print(
        f"{PROBLEMS} problems, none of which starts where a training trace did. Mimir plans with the learned model; "
        "each plan is then tried out in the hidden world."
    )
    console.print(table_of_pairs(f"{PROBLEMS} problems of {domain.name}", report.summary(), numbers=True))
    problem, first = problems[0], report.judged[0]
    goal = " ".join(sorted(problem.goal))
    console.print(f"The first problem: reach {goal}. Plan ({first.outcome.value}):")
    console.print(Panel(Text(" ".join(first.result.plan or ()))))


def learn_with_bar(console: Console, train: Dataset, test: Dataset) -> Learned:
    with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("training", total=None)

        def watch(stage: str, report: Report) -> None:
            total = report.steps if stage == "training" else None
            progress.update(task, description=stage, total=total, completed=report.step)

        return learn(train, test=test, watch=watch)


def seconds(start: float) -> str:
    return f"{time.perf_counter() - start:.0f} s"


def action_pddl(model: StripsModel, name: str) -> str:
    """One action of the written domain, a condition or effect a line."""
    text = format_model(StripsModel(model.atoms, (model.action(name),)))
    block = text[text.index("(:action") : text.rindex(")")].rstrip()
    spread = re.sub(r"(?<!not) (?=\((?!and))", "\n      ", block)
    return spread.replace(":parameters\n      ()", ":parameters ()")


def render(dataset: Dataset, index: int) -> Text:
    """One trace; refused actions carry '!' and are red."""
    trace = dataset[index]
    text = Text("starts with ") + Text(" ".join(sorted(trace.init or ())), style="dim") + Text("\n")
    for action, ok in zip(trace.actions, trace.ok, strict=True):
        text.append(action + " " if ok else f"!{action} ", style="green" if ok else "red")
    held = [atom for atom, value in trace.final.items() if value]
    return text + Text("\nat the end ") + Text(" ".join(held), style="dim")
