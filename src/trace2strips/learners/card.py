"""The model card of a run: what was learned from what, how sure it is and how to use it; for people who read no PDDL.

`card.md` and the self-contained page `card.html` say the same. Names come from logs, so they are a stranger's text: no
name is ever taken for Markdown or HTML.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from trace2strips.errors import printable, shorten
from trace2strips.learners.rules import ADDS, DELETES, NEEDS, Rules
from trace2strips.learners.suspects import Suspect
from trace2strips.pages.html import format_document, format_key_figures, format_section
from trace2strips.pages.html import format_table as html_table
from trace2strips.pages.markdown import code_block, literal
from trace2strips.pages.markdown import format_table as markdown_table
from trace2strips.pages.tables import NONE, Section, number, table, words

MOST_ROWS = 200  # of one table
TITLE = "Model card"


@dataclass(frozen=True)
class Card:
    """`figures` are a learner's `Figures`; `rules` are None where a network was learned alone."""

    learner: str
    settings: dict[str, Any]
    figures: Any
    rules: Rules | None
    naming: str | None = None
    suspects: tuple[Suspect, ...] = ()
    explorer: str | None = None  # the address of the explorer's page, where there is one

    def markdown(self) -> str:
        parts = [f"# {TITLE}", literal(self.lead)]
        if self.explorer is not None:
            parts.append(f"[Try this world in the explorer]({self.explorer})")
        parts.append("\n".join(f"- {literal(name)}: {literal(value)}" for name, value in self.key_figures()))
        for section in self.sections():
            parts += [f"## {literal(section.title)}", *map(literal, section.sentences)]
            for found in section.tables:
                parts += [*filter(None, [literal(found.caption)]), markdown_table(found, literal)]
        parts += ["## How to use it", "RUN is the folder of this card.", code_block("\n".join(self.commands()))]
        return "\n\n".join(parts) + "\n"

    def html(self) -> str:
        head = f'<p class="project">trace2strips</p>\n<h1>{TITLE}</h1>\n<p class="lead">{shown(self.lead)}</p>'
        if self.explorer is not None:
            head += f'\n<p><a href="{escape(self.explorer)}">Try this world in the explorer</a></p>'
        head += "\n" + format_key_figures((name, printable(value)) for name, value in self.key_figures())
        sections = list(self.sections())
        body = [
            format_section(
                section.name,
                section.title,
                *(f"<p>{shown(text)}</p>" for text in section.sentences),
                *map(html_table, section.tables),
            )
            for section in sections
        ]
        lines = shown("\n".join(self.commands()), lines=True)
        use = "<p>RUN is the folder of this card.</p>", f'<pre class="scroll" tabindex="0"><code>{lines}</code></pre>'
        body.append(format_section("use", "How to use it", *use))
        contents = [*((section.name, section.title) for section in sections), ("use", "How to use it")]
        footer = "<p>Written by <code>trace2strips learn</code>. The same log and settings give the same card.</p>"
        return format_document(TITLE, head, contents, f'<div class="card">\n{chr(10).join(body)}\n</div>', footer)

    def fragment(self) -> str:
        """What was learned and the model's table, as a part of another page."""
        parts = [f"<p>{shown(self.lead)}</p>"]
        if self.rules is not None:
            parts += map(html_table, self.model(self.rules).tables)
        return "\n".join(parts)

    def __str__(self) -> str:
        return self.markdown()

    # --- what it says -------------------------------------------------------------------------------------------------

    @property
    def lead(self) -> str:
        f = self.figures
        source = f" of {shorten(f.file)}" if f.file else ""
        what = "A network" if self.rules is None else "What each action needs and what it changes"
        return f"{what}, learned from {number(f.traces)} traces{source} by the learner {self.learner}."

    def key_figures(self) -> Iterator[tuple[str, str]]:
        f = self.figures
        if f.test_accuracy is not None:
            yield "test traces predicted without an error", percent(f.test_accuracy)
        yield "training traces explained without an error", percent(f.train_accuracy)
        if f.certain_share is not None:
            whose = "test positions" if f.test_traces else "positions of one half of the traces, by the other half"
            yield f"certain, of {whose}", percent(f.certain_share)
        if self.suspects:
            yield "labels that are probably wrong", number(len(self.suspects))

    def sections(self) -> Iterator[Section]:
        yield self.data()
        yield self.understanding()
        yield self.accuracy()
        if self.rules is not None:
            yield self.model(self.rules)
            yield self.atoms(self.rules)
            yield self.certainty(self.rules)
        yield self.labels()

    def data(self) -> Section:
        f = self.figures
        rows = [("file", f.file), ("traces", number(f.traces)), ("attempts", number(f.tried)),
                ("of these refused", number(f.refused)), ("test traces", number(f.test_traces)),
                ("traces known before (updated run)", number(f.earlier_traces)),
                ("sampled from", f.domain)]  # fmt: skip
        shown = [(name, value) for name, value in rows if value not in (None, NONE)]
        return Section("data", "The data", (), (facts("data-table", shown),))

    def understanding(self) -> Section:
        f = self.figures
        rows = [("names of actions are read as", self.naming)] if self.naming else []
        rows += [(f"assumption {i}", text) for i, text in enumerate(f.assumptions, 1)]
        rows += [("setting " + name, str(value)) for name, value in self.settings.items() if value is not None]
        note = "What is called certain is so if all assumptions hold." if f.assumptions else ""
        sentences = tuple(filter(None, (note, *f.warnings)))
        return Section("understood", "How it was understood", sentences, (facts("understood-table", rows),))

    def accuracy(self) -> Section:
        f = self.figures
        read_out = "traces, by the model read out"
        found = [
            ("training traces", f.train_accuracy, f.train_errors, f.traces),
            (f"training {read_out}", f.model_train_accuracy, f.model_train_errors, f.traces),
            ("test traces", f.test_accuracy, f.test_errors, f.test_traces),
            (f"test {read_out}", f.model_test_accuracy, f.model_test_errors, f.test_traces),
        ]
        if f.held_out_accuracy is not None:
            others = f"traces held back, by a model of the other {number(f.held_out_learned_from)}"
            found.append((others, f.held_out_accuracy, f.held_out_errors, f.held_out_traces))
        if f.held_out_sound_accuracy is not None and f.held_out_sound is not None:
            wrong = round((1 - f.held_out_sound_accuracy) * f.held_out_sound)
            found.append(
                ("of these without a label that looks wrong", f.held_out_sound_accuracy, wrong, f.held_out_sound)
            )
        rows = [
            (name, percent(share), number(wrong), number(count))
            for name, share, wrong, count in found
            if share is not None
        ]
        caption = "A trace counts only if every attempt in it is predicted rightly."
        shown = table("accuracy-table", caption, [words("of"), "share right", "wrong", "in all"], rows)
        sentences = (
            ()
            if f.test_accuracy is not None or f.held_out_accuracy is not None
            else ("No traces were held back to test on.",)
        )
        return Section("accuracy", "How well it predicts", sentences, (shown,))

    def model(self, rules: Rules) -> Section:
        rows = [
            (
                action,
                *(", ".join(rules.of_action(action, part)) or NONE for part in (NEEDS, ADDS, DELETES)),
                ", ".join(rules.undone_by(action)) or NONE,
            )
            for action in rules.actions[:MOST_ROWS]
        ]
        columns = [words(title) for title in ("action", "needs", "makes true", "makes false", "undone by")]
        caption = "An action works only where all that it needs is true. x, y, z stand for any objects."
        left = len(rules.actions) - len(rows)
        sentences = (f"{number(left)} more actions are in model.pddl.",) if left > 0 else ()
        return Section("model", "The model", sentences, (table("model-table", caption, columns, rows),))

    def atoms(self, rules: Rules) -> Section:
        rows = []
        for atom in rules.atoms[:MOST_ROWS]:
            said = rules.explain(atom.name).meaning
            rows.append((atom.shown, said, atom.starts, "named by the log" if atom.told else "invented"))
        columns = [words(title) for title in ("atom", "seems to mean", "at the start", "")]
        left = len(rules.atoms) - len(rows)
        sentences = (f"{number(left)} more atoms are in model.pddl.",) if left > 0 else ()
        return Section("atoms", "What the words mean", sentences, (table("atoms-table", "", columns, rows),))

    def certainty(self, rules: Rules) -> Section:
        levels = [rule.level for rule in rules.rules]
        if not any(levels):
            said = "This learner does not know what is certain; the learner windows does."
            return Section("certain", "What is certain, and what is not", (said,))
        counts = f"{levels.count('certain')} certain, {levels.count('likely')} likely, {levels.count('free')} free"
        doubted = [rule for rule in rules.rules if rule.level != "certain"]
        rows = [
            (rule.action, f"{rule.part} {rule.atom}", rule.level, "; ".join(rule.places) or NONE)
            for rule in doubted[:MOST_ROWS]
        ]
        sentences = (
            f"Preconditions and effects: {counts}. Certain: every model that fits the log has it. Likely: without it"
            " some labels of the log would be predicted wrongly. Free: the log says neither yes nor no.",
            "All of them, with the lines of the log that show them, are in support.txt.",
        )
        columns = [words(title) for title in ("action", "what", "how sure", "shown by")]
        caption = "What is not certain: more attempts would decide it (see suggest below)."
        tables = (table("certain-table", caption, columns, rows),) if rows else ()
        return Section("certain", "What is certain, and what is not", sentences, tables)

    def labels(self) -> Section:
        if not self.suspects:
            sentence = "No label of the log looks wrong." if self.learner == "windows" else "Labels were not examined."
            return Section("labels", "Labels that look wrong", (sentence,))
        rows = [
            (s.place, s.action, "worked" if s.worked else "refused", "refused" if s.worked else "worked")
            for s in self.suspects[:MOST_ROWS]
        ]
        columns = [words(title) for title in ("where", "action", "written", "probably")]
        sentence = f"{number(len(self.suspects))} labels are probably wrong; all of them are in suspects.csv."
        return Section("labels", "Labels that look wrong", (sentence,), (table("labels-table", "", columns, rows),))

    def commands(self) -> Sequence[str]:
        lines = ["trace2strips judge RUN NEW-LOG                # every attempt: as expected, surprising, impossible"]
        lines.append("trace2strips explore RUN                      # see it and try it in the browser")
        if self.rules is not None:
            atom = shlex.quote(printable(self.rules.atoms[0].name)) if self.rules.atoms else "ATOM"
            lines += [
                f"trace2strips explain RUN {atom}",
                "trace2strips plan RUN --enable ACTION         # what to do so that an action works",
                "trace2strips export RUN --format pddl         # for any planner",
            ]
        if self.learner == "windows":
            lines += [
                "trace2strips next RUN TRACE                   # what works after a trace, for certain or perhaps",
                "trace2strips why RUN TRACE                    # the lines of the log that prove it",
                "trace2strips suggest RUN                      # what to try next to learn most",
            ]
        return lines


def percent(share: int | float) -> str:
    """Never rounded up to 100 nor down to 0: an error stays visible."""
    if share in (0, 1):
        return f"{share:.0%}"
    digits = 1
    while float((text := f"{share:.{digits}%}").rstrip("%")) in (0, 100):
        digits += 1
    return text


def facts(name: str, rows: Sequence[tuple[str, Any]]) -> Any:
    """A table of names and values."""
    shown = [(what, str(value)) for what, value in rows]
    return table(name, "", [words("what"), words("value")], shown)


def shown(text: str, lines: bool = False) -> str:
    """As HTML, without control characters; `lines` keeps line breaks."""
    parts = text.split("\n") if lines else [text]
    return "\n".join(escape(printable(part)) for part in parts)
