"""Questions to the version space: may this work, what may be done next, why, and what is worth trying.

All of it needs the summary alone, no log; plain Python, as one situation is asked about at a time. The trace that is
asked about counts as a further trace of the log: what worked or was refused in it is evidence too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from trace2strips.errors import UserError
from trace2strips.learners.windows.answers import Answer
from trace2strips.learners.windows.lifted import LiftedWorld
from trace2strips.learners.windows.predicates import bits_of
from trace2strips.learners.windows.proofs import describe, is_within, token_name
from trace2strips.learners.windows.reference import History, Reason
from trace2strips.learners.windows.relations import Together
from trace2strips.learners.windows.starts import Start, start_key
from trace2strips.learners.windows.summary import Place, Refusal, Summary, keep
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.dataset import vocabulary_of
from trace2strips.traces.names import readable
from trace2strips.traces.states import states_along
from trace2strips.traces.trace import Trace

Question = tuple[int, frozenset[tuple[Reason, int]]]  # a schema, and the live reasons with their windows
MOST_ACTIONS = 200_000  # that are looked at after one trace
MOST_COMPARED = 300  # open attempts of one schema that `suggest` compares with each other
MOST_SITUATIONS = 20  # kept traces after which `suggest` looks if none is given


@dataclass(frozen=True)
class Reply:
    """`answer` is works or refused if that is certain, else open; `guess` is what the small model says. Of the reasons
    for which it could be refused, so many are `live`: possible for all the log says; the others are `ruled_out`.
    `apart`: objects that were never tried together there, while only some ever are, so an untold fact may forbid it."""

    action: str
    answer: str
    guess: str
    live: int
    ruled_out: int
    apart: tuple[str, ...] = ()

    @property
    def certain(self) -> bool:
        return self.answer != "open"

    def __str__(self) -> str:
        action = readable(self.action)
        if self.certain:
            return f"{action}: {self.answer}, for certain"
        if self.apart and not self.live:
            return f"{action}: open ({never_together(self.apart)}); the model says {self.guess}"
        of = self.live + self.ruled_out
        return f"{action}: open ({self.live} of {of} reasons to refuse it are left); the model says {self.guess}"


@dataclass(frozen=True)
class Explanation:
    """A reply with its proof, a sentence each. `happened`: works or refused, where the trace has it."""

    reply: Reply
    because: tuple[str, ...]
    happened: str | None = None

    def __str__(self) -> str:
        after = "" if self.happened is None else f"; it {'worked' if self.happened == 'works' else 'was refused'}"
        if self.reply.certain and self.happened not in (None, self.reply.answer):
            after += ", against all models that fit the log"
        return "\n".join([f"{self.reply}{after}", *(f"  {line}" for line in self.because)])


@dataclass(frozen=True)
class Suggestion:
    """An open attempt, after the given trace or after the one that stands `after` in the log. So many more open
    attempts there are decided if it works, and if it is refused; if it works, so many reasons of recorded refusals
    go."""

    after: str | None
    reply: Reply
    decided_if_works: int
    decided_if_refused: int
    reasons_removed: int

    @property
    def worth(self) -> tuple[int, int, int]:
        decided = self.decided_if_works, self.decided_if_refused
        return sum(decided), min(decided), self.reasons_removed

    def __str__(self) -> str:
        where = "" if self.after is None else f"after {self.after}: "
        return (
            f"{where}{self.reply}; decides {self.decided_if_works} more if it works, "
            f"{self.decided_if_refused} more if it is refused"
        )


@dataclass(frozen=True)
class Attempted:
    """An action in a situation: its reasons with their windows, and which of them are live."""

    action: str
    schema: int
    objects: tuple[str, ...]
    situation: Mapping[Reason, int]
    live: Mapping[Reason, int]
    apart: tuple[str, ...]


class Questions:
    def __init__(self, summary: Summary, lifted: LiftedWorld) -> None:
        self.summary, self.lifted, self.together = summary, lifted, Together(lifted)
        self.refusals: dict[int, list[Refusal]] = defaultdict(list)
        for refusal in summary.refusals:
            self.refusals[refusal.schema].append(refusal)

    def ask(self, trace: Trace, action: str) -> Reply:
        """Whether the action works after what worked in the trace."""
        return Standing(self, trace).reply(action)

    def next(self, trace: Trace) -> tuple[Reply, ...]:
        """All actions over the objects of the trace, and of their types: those that work first, then open ones."""
        standing = Standing(self, trace)
        order = {"works": 0, "open": 1, "refused": 2}
        replies = standing.replies(standing.actions())
        return tuple(sorted(replies, key=lambda reply: (order[reply.answer], reply.action)))

    def why(self, trace: Trace, action: str | None = None) -> tuple[Explanation, ...]:
        """The proof for an action after the trace, or for each attempt of the trace."""
        if action is not None:
            return (Standing(self, trace).explain(action),)
        standing = Standing(self, Trace((), (), trace.init, trace.state))
        found = []
        for name, ok, guess in zip(trace.actions, trace.ok, self.guesses(trace), strict=True):
            found.append(replace(standing.explain(name, guess), happened="works" if ok else "refused"))
            standing.advance(name, ok)
        return tuple(found)

    def guesses(self, trace: Trace) -> list[bool]:
        """What the small model says of each attempt of a trace, by what worked before it."""
        dataset = Dataset.of([replace(trace, final={})])
        model = self.lifted.over_tokens(dataset.vocabulary)
        steps = zip(dataset.tokens.tolist(), states_along(model, dataset), strict=False)
        guesses = [model.actions[token].pre <= state for token, state in steps]
        return guesses[len(guesses) - len(trace.actions) :]

    def suggest(self, trace: Trace | None = None, count: int = 5) -> tuple[Suggestion, ...]:
        """The open attempts whose answers decide most, after the trace or after some that are kept of the log."""
        if trace is not None:
            found = list(Standing(self, trace).suggestions(None))
        else:
            kept = sorted(self.summary.sample, key=lambda sampled: sampled.number)[:MOST_SITUATIONS]
            places = [(Standing(self, sampled.trace), self.summary.where_is(sampled.number)) for sampled in kept]
            found = [pair for standing, where in places for pair in standing.suggestions(where)]
        found.sort(key=lambda pair: (pair[1].reply.live, pair[1].after or "", pair[1].reply.action))
        found.sort(key=lambda pair: pair[1].worth, reverse=True)
        chosen: dict[Question, Suggestion] = {}
        for question, suggestion in found:
            chosen.setdefault(question, suggestion)
        return tuple(chosen.values())[:count]


class Standing:
    """Where things stand after a trace."""

    def __init__(self, questions: Questions, trace: Trace) -> None:
        self.questions, self.summary = questions, questions.summary
        self.naming = self.summary.naming
        self.projection = self.summary.projection
        self.number_of = {schema: i for i, schema in enumerate(self.projection.schemas)}
        self.told = [self.naming.words(atom) for atom in sorted(trace.init or ())]
        self.history = History(self.projection)
        self.starts: dict[tuple[str, ...], Start] = {}
        self.smallest: dict[Reason, dict[int, Place]] = defaultdict(dict)  # of this trace
        self.refusals = {schema: list(found) for schema, found in questions.refusals.items()}
        self.contradiction: Place | None = None  # the first label that no model explains which fits all before it
        if self.summary.inexplicable:
            self.contradiction = self.summary.inexplicable[0].place
        self.together = questions.together.copy()
        self.first = Trace((), (), trace.init, trace.state)
        self.steps: list[tuple[str, bool]] = []
        for name, ok in zip(trace.actions, trace.ok, strict=True):
            self.advance(name, ok)

    def advance(self, action: str, ok: bool) -> None:
        """The next attempt of the trace: what it says joins what the log says."""
        attempted = self.attempt(action)
        place = self.summary.traces << 32 | len(self.steps)
        refusals = self.refusals.setdefault(attempted.schema, [])
        if self.contradiction is None:
            if self.decide(attempted)[0] == (Answer.REFUSED if ok else Answer.WORKS):
                self.contradiction = place
            elif ok:
                for reason, window in attempted.situation.items():
                    keep(self.smallest[reason], window, place)
                refusals[:] = [replace(r, reasons=left_by(attempted.situation, r.reasons)) for r in refusals]
            elif not attempted.apart:
                refusals.append(Refusal(attempted.schema, dict(attempted.live), place))
        if ok:
            self.together.add(self.projection.schemas[attempted.schema], attempted.objects)
            self.history.apply(attempted.schema, attempted.objects)
        self.steps.append((action, ok))

    @property
    def trace(self) -> Trace:
        return replace(self.first, actions=tuple(name for name, _ in self.steps), ok=tuple(ok for _, ok in self.steps))

    def start(self, about: tuple[str, ...]) -> Start:
        if about not in self.starts:
            level, number = self.summary.start, self.summary.traces
            self.starts[about] = start_key(self.first, self.told, about, level, number)
        return self.starts[about]

    def attempt(self, action: str) -> Attempted:
        schema, objects = self.naming.schema(action)
        number = self.number_of[schema]
        situation = self.history.situation(number, objects, self.start)
        live = {reason: window for reason, window in situation.items() if not self.witnesses(reason, window)}
        return Attempted(action, number, objects, situation, live, self.together.apart(schema, objects))

    def witnesses(self, reason: Reason, window: int) -> list[Place]:
        """Where successes rule out a reason: no more happened since, and yet it worked."""
        kept = (self.summary.smallest.get(reason), self.smallest.get(reason))
        return [place for found in kept if found for other, place in found.items() if other & ~window == 0]

    def decide(self, attempted: Attempted) -> tuple[Answer, Refusal | None]:
        """Theorem 2, and the refusal that shows it where it is refused."""
        if self.contradiction is not None or self.summary.nothing_certain:
            return Answer.OPEN, None
        if not attempted.live:
            return (Answer.OPEN if attempted.apart else Answer.WORKS), None
        for refusal in self.refusals.get(attempted.schema, ()):
            if is_within(attempted.situation, refusal):
                return Answer.REFUSED, refusal
        return Answer.OPEN, None

    def reply(self, action: str) -> Reply:
        return next(iter(self.replies([action])))

    def replies(self, actions: Sequence[str]) -> Iterator[Reply]:
        guesses = self.guess(actions)
        for action in actions:
            yield self.reply_to(attempted := self.attempt(action), self.decide(attempted)[0], guesses[action])

    def reply_to(self, attempted: Attempted, answer: Answer, guess: bool) -> Reply:
        live = len(attempted.live)
        out = len(attempted.situation) - live
        said = "works" if guess else "refused"
        return Reply(attempted.action, answer.name.lower(), said, live, out, attempted.apart)

    def guess(self, actions: Sequence[str]) -> dict[str, bool]:
        """What the small model says of each."""
        trace = self.trace
        vocabulary = vocabulary_of([trace, Trace(tuple(actions), (False,) * len(actions))])
        dataset = Dataset.of([trace], vocabulary)
        model = self.questions.lifted.over_tokens(dataset.vocabulary)
        *_, state = states_along(model, dataset)
        numbers = {action: dataset.vocabulary.number(Kind.ACTION, action) for action in actions}
        return {action: model.actions[number].pre <= state for action, number in numbers.items()}

    # --- what can be attempted ----------------------------------------------------------------------------------------

    def actions(self) -> list[str]:
        """All names over the objects of the trace, each in places of its types."""
        of_type: dict[int, list[str]] = defaultdict(list)
        for name in sorted(self.objects()):
            for kind in self.types_of(name):
                of_type[kind].append(name)
        found: list[str] = []
        for number, (word, pattern) in enumerate(self.projection.schemas):
            groups = [of_type[kind] for kind in self.summary.types[number]]
            constants = self.naming.action(word)[1:] if self.naming.constants else ()
            said = pattern[: len(pattern) - len(constants)]  # what the name says; it is silent on constants
            for place, constant in zip(pattern[len(said) :], constants, strict=True):
                groups[place] = [constant]
            for chosen in choices(groups):
                found.append(self.naming.join((word, *(chosen[i] for i in said))))
                if len(found) > MOST_ACTIONS:
                    raise UserError(
                        f"more than {MOST_ACTIONS:,} actions over the objects of the trace", hint="ask for one action"
                    )
        return found

    def objects(self) -> set[str]:
        """Those that the trace names; where it names none, all that are known."""
        words = chain(self.told, (self.naming.words(name) for name, _ in self.steps))
        return {name for _, *arguments in words for name in arguments} or set(chain(*self.summary.objects))

    def types_of(self, name: str) -> set[int]:
        """As it is known; of a new object, by where it stands; of one that nothing is known of, all."""
        known = {kind for kind, names in enumerate(self.known_objects) if name in names}
        return known or self.new_types.get(name) or set(range(len(self.summary.objects)))

    @cached_property
    def known_objects(self) -> list[set[str]]:
        return [set(names) for names in self.summary.objects]

    @cached_property
    def new_types(self) -> dict[str, set[int]]:
        """Types of the trace's objects by their places in actions, and in initial atoms where kept traces show them."""
        found: dict[str, set[int]] = defaultdict(set)
        for action, _ in self.steps:
            schema, objects = self.naming.schema(action)
            for kind, name in zip(self.summary.types[self.number_of[schema]], objects, strict=True):
                found[name].add(kind)
        places: dict[tuple[str, int], set[int]] = defaultdict(set)
        seen = {atom for sampled in self.summary.sample for atom in sampled.trace.init or ()}
        for word, *arguments in map(self.naming.words, sorted(seen)):
            for i, name in enumerate(arguments):
                places[word, i] |= {kind for kind, names in enumerate(self.known_objects) if name in names}
        for word, *arguments in self.told:
            for i, name in enumerate(arguments):
                if name not in found and len(places[word, i]) == 1:
                    found[name] |= places[word, i]
        return found

    # --- proofs in words ----------------------------------------------------------------------------------------------

    def explain(self, action: str, guess: bool | None = None) -> Explanation:
        """`guess` is what the small model says, where that is known already."""
        attempted = self.attempt(action)
        answer, refusal = self.decide(attempted)
        reply = self.reply_to(attempted, answer, self.guess([action])[action] if guess is None else guess)
        if self.summary.wrong_labels:
            said = f"nothing is certain: {self.summary.wrong_labels:,} labels of the log are probably wrong"
            return Explanation(reply, (said,))
        if self.naming.constants:
            return Explanation(reply, ("nothing is certain: what actions are about was guessed from the log",))
        if self.contradiction is not None:
            place = self.summary.where(self.contradiction)
            return Explanation(reply, (f"nothing is certain: no model explains the label at {place}",))
        if refusal is not None:
            lines = [f"it was refused at {self.summary.where(refusal.place)}, and only one of these can be why:"]
            lines += self.said(attempted, refusal.reasons, "  because of")
            lines.append("each of them is here too, with no more since")
            return Explanation(reply, tuple(lines))
        lines = []
        for reason, window in attempted.situation.items():
            if reason not in attempted.live:
                witness = min(self.witnesses(reason, window))
                (said,) = self.said(attempted, {reason: window}, "not because of")
                lines.append(f"{said}: it worked so at {self.summary.where(witness)}")
        if attempted.apart:
            lines.append(f"perhaps because of something that nobody told: {never_together(attempted.apart)}")
        return Explanation(reply, (*lines, *self.said(attempted, attempted.live, "perhaps because of")))

    def said(self, attempted: Attempted, reasons: Mapping[Reason, int], how: str) -> list[str]:
        lines = []
        for reason, window in reasons.items():
            _, positions = self.projection.queries[reason[0]]
            since = [token_name(self.summary, len(positions), b, positions, attempted.objects) for b in bits_of(window)]
            about = ", ".join(attempted.objects[i] for i in positions)
            what = describe(self.summary, reason, attempted.objects)
            if not isinstance(reason[1], int) and about:
                what += f" of {about}"
            lines.append(f"{how} {what}, {'with no more than ' + ', '.join(since) if since else 'with nothing'} since")
        return lines

    # --- what is worth trying -----------------------------------------------------------------------------------------

    def suggestions(self, after: str | None) -> Iterator[tuple[Question, Suggestion]]:
        """All open attempts, each with the question that it asks: others with the same live reasons ask the same."""
        groups: dict[int, list[Attempted]] = defaultdict(list)
        for action in self.actions():
            attempted = self.attempt(action)
            knows_more = attempted.live or not attempted.apart  # else the answer speaks of these objects alone
            if self.decide(attempted)[0] == Answer.OPEN and knows_more:
                groups[attempted.schema].append(attempted)
        for schema, found in groups.items():
            compared = sorted(found, key=lambda a: (len(a.live), a.action))[:MOST_COMPARED]
            guesses = self.guess([attempted.action for attempted in compared])
            for one in compared:
                others = [other for other in compared if other is not one]
                yield (
                    (schema, frozenset(one.live.items())),
                    Suggestion(
                        after,
                        self.reply_to(one, Answer.OPEN, guesses[one.action]),
                        sum(covers(one.situation, other.live) for other in others),
                        sum(is_within(other.situation, Refusal(schema, dict(one.live), 0)) for other in others),
                        sum(covered(one.situation, refusal.reasons) for refusal in self.refusals.get(schema, ())),
                    ),
                )


def never_together(objects: Sequence[str]) -> str:
    """Of one object: that it never stood there."""
    return f"{' and '.join(objects)} {'were never tried together' if len(objects) > 1 else 'was never tried'} there"


def covers(success: Mapping[Reason, int], live: Mapping[Reason, int]) -> bool:
    """Whether a success rules out all of these reasons."""
    return covered(success, live) == len(live)


def covered(success: Mapping[Reason, int], live: Mapping[Reason, int]) -> int:
    """How many of these reasons a success rules out."""
    return sum(reason in success and success[reason] & ~window == 0 for reason, window in live.items())


def left_by(success: Mapping[Reason, int], live: Mapping[Reason, int]) -> dict[Reason, int]:
    """The reasons that a success leaves."""
    return {reason: w for reason, w in live.items() if reason not in success or success[reason] & ~w}


def choices(groups: Sequence[Iterable[str]]) -> Iterator[tuple[str, ...]]:
    """One of each, all different."""
    if not groups:
        yield ()
        return
    *before, last = groups
    names = list(last)
    for chosen in choices(before):
        for name in names:
            if name not in chosen:
                yield (*chosen, name)
