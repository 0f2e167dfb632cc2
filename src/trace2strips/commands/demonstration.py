"""What `make demo` shows: 20 traces become a lifted domain with proofs and a plan for a larger world; then a log of a
person's kind with a mistake in it."""

from __future__ import annotations

import time
from pathlib import Path

from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.text import Text

from trace2strips.commands.explore import hidden_model
from trace2strips.compilation import compiling_watched
from trace2strips.explorer.contents import Surroundings
from trace2strips.files import writing_text
from trace2strips.judging.equivalence import DIFFERENT, EQUIVALENT, INVARIANTS, NOT_DISTINGUISHED, compare
from trace2strips.judging.sources import Source
from trace2strips.judging.starts import find_starts, with_final_values
from trace2strips.learners.learner import Learned
from trace2strips.learners.learning import learn
from trace2strips.model.strips import StripsModel
from trace2strips.pddl import format_domain
from trace2strips.traces import Dataset
from trace2strips.traces.trace import Trace
from trace2strips.worlds import Domain, get_domain
from trace2strips.worlds.everyday import everyday_log
from trace2strips.worlds.sampling import SampleSettings, sample

DOMAIN, LARGER = "blocksworld-5b", "blocksworld:20"
TRACES, TEST_TRACES = 20, 1_000
STARTS = 1_000
WORLD, WORLD_TRACES, WRONG_TRACE, WRONG_ATTEMPT = "door", 300, 17, 3


def run_demo(console: Console, out: Path | None = None) -> Learned:
    """Sample, learn, prove, compare, plan; writes the learned PDDL to `out` where given."""
    domain = get_domain(DOMAIN)
    console.rule(f"A hidden world: {DOMAIN}")
    console.print(
        "The learner never sees a state, only which actions worked and which were refused, "
        f"and what was true at the start: {TRACES} traces of up to 50 actions. One of them:"
    )
    train = sample(domain, SampleSettings(TRACES, seed=0, suffix="none"))
    index = next(i for i in range(len(train)) if 7 <= len(train[i].actions) <= 12)
    console.print(Panel(render(train, index), title=f"trace {index + 1}; ! and red: refused"))
    learned, seconds = learn_timed(train)
    console.rule("Learned and hidden, side by side")
    console.print(f"Learned in {seconds}.")
    texts = {"learned": learned.learner.pddl_files(learned)["domain.pddl"], "hidden": format_domain(domain.lifted)}
    console.print(Columns([Panel(Text(text), title=title) for title, text in texts.items()]))
    console.print("Names of told atoms are kept; what nobody told is invented and called after who makes or needs it.")
    show_comparison(console, learned, domain)
    console.rule("What is certain, and why")
    show_proofs(console, learned, domain)
    if out is not None:
        with writing_text(out, force=True) as stream:
            stream.write(texts["learned"])
        page = out.with_suffix(".html")
        learned.explore(Surroundings("The demo: five blocks", hidden=hidden_model(learned))).save(page, force=True)
        console.print(f"The domain for any planner: {out}")
        console.print(f"See, try and question it in a browser: {page}")
    console.rule(f"A plan for a world four times as large: {LARGER}")
    show_plan(console, learned, get_domain(LARGER))
    console.rule(f"A log of a person's kind: {WORLD}")
    show_person(console)
    return learned


def learn_timed(log: Dataset | list[Trace]) -> tuple[Learned, str]:
    """What was learned, and how long that took, told apart from compiling, which only the first run of all does."""
    start = time.perf_counter()
    with compiling_watched() as compiling:
        learned = learn(log, "windows")
    seconds = time.perf_counter() - start - compiling.seconds
    once = f" (and {compiling.seconds:.0f} s of compiling, once)" if compiling.seconds >= 1 else ""
    return learned, f"{seconds:.1f} s{once}"


def show_comparison(console: Console, learned: Learned, domain: Domain) -> None:
    """Whether the two accept the same traces, and how that is known."""
    actions = [action.name for action in domain.model.actions]
    world = learned.learner.world_over(learned, actions, domain.initial_atoms)
    hidden, found = Source("hidden", domain.model, domain=domain), Source("learned", world.model, world)
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


def show_proofs(console: Console, learned: Learned, domain: Domain) -> None:
    """The share of new positions that is certain, and the proofs of two attempts."""
    test = sample(domain, SampleSettings(TEST_TRACES, 200, "test", seed=0, suffix="none"))
    tested = learned.tested_on(test).figures
    console.print(
        f"{TEST_TRACES:,} new traces of up to 200 actions: {tested.test_accuracy:.2%} are predicted without an error; "
        f"{tested.certain_share or 0:.1%} of their positions are certain, that is, the same in every model that fits "
        f"the {TRACES} traces. Two attempts of another trace:"
    )
    walk = sample(domain, SampleSettings(1, 50, seed=2, suffix="none"))[0]
    explained = learned.why(Trace(walk.actions[:20], walk.ok[:20], walk.init))
    for answer in ("works", "refused"):
        shown = next((found for found in explained if found.reply.answer == answer), None)
        if shown is not None:
            console.print(Panel(Text(str(shown))))


def show_plan(console: Console, learned: Learned, domain: Domain) -> None:
    problem = domain.problems(1)[0]
    start = time.perf_counter()
    result = learned.plan(sorted(problem.goal), init=sorted(problem.init))
    plan = result.plan or ()
    works = problem.goal <= final_state(domain.model, problem.init, plan)
    console.print(
        f"{len(plan)} steps, found in {time.perf_counter() - start:.1f} s; tried out in the hidden world: "
        f"{'it reaches the goal' if works else 'it fails'}."
    )
    console.print(Panel(Text(" ".join(plan))))


def final_state(model: StripsModel, state: frozenset[str], plan: tuple[str, ...]) -> frozenset[str]:
    """Where a plan leads; nowhere if a step does not apply."""
    for name in plan:
        action = model.action(name)
        if not action.pre <= state:
            return frozenset()
        state = (state - action.delete) | action.add
    return state


def show_person(console: Console) -> None:
    """A log with one wrong label: which one it is, and what was learned all the same."""
    log = everyday_log(WORLD, WORLD_TRACES)
    told = log[WRONG_TRACE]
    labels = list(told.ok)
    labels[WRONG_ATTEMPT] = not labels[WRONG_ATTEMPT]
    log[WRONG_TRACE] = Trace(told.actions, tuple(labels))
    attempts = sum(len(trace.actions) for trace in log)
    console.print(
        f"{WORLD_TRACES} traces, {attempts:,} attempts, nothing told; one label was made wrong "
        f"(trace {WRONG_TRACE + 1}, attempt {WRONG_ATTEMPT + 1})."
    )
    learned, seconds = learn_timed(log)
    console.print(f"Learned in {seconds}. Probably wrong:")
    for suspect in learned.suspects:
        console.print(f"  {suspect}", markup=False)
    share = learned.accuracy(everyday_log(WORLD, TEST_TRACES, seed=1))
    console.print(f"{TEST_TRACES:,} new traces: {share:.2%} are predicted without an error.")


def render(dataset: Dataset, index: int) -> Text:
    """One trace; refused actions carry '!' and are red."""
    trace = dataset[index]
    text = Text("starts with ") + Text(" ".join(sorted(trace.init or ())), style="dim") + Text("\n")
    for action, ok in zip(trace.actions, trace.ok, strict=True):
        text.append(action + " " if ok else f"!{action} ", style="green" if ok else "red")
    return text
