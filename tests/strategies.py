"""Random STRIPS models and traces for property tests."""

from __future__ import annotations

from hypothesis import strategies as st

from trace2strips.strips import StripsAction, StripsModel

PLAIN = st.from_regex(r"[a-z][a-z0-9_-]{0,6}", fullmatch=True)
ANY_NAME = st.one_of(
    PLAIN,
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.sampled_from(["x--a", "and", "not", "object", "Stack A B", "x--", "-", "a|b", "!a", "@s", "100%", "#1", " "]),
)


@st.composite
def models(draw: st.DrawFn, names: st.SearchStrategy[str] = PLAIN, max_atoms: int = 6) -> StripsModel:
    """Few atoms and actions, every combination of lists: also empty ones, and atoms that nobody touches."""
    atoms = draw(st.lists(names, max_size=max_atoms, unique=True))
    subset = st.frozensets(st.sampled_from(atoms)) if atoms else st.just(frozenset())
    actions = []
    for name in draw(st.lists(names, max_size=5, unique=True)):
        add = draw(subset)
        actions.append(StripsAction(name, draw(subset), add, draw(subset) - add))
    return StripsModel(tuple(atoms), tuple(actions), name=draw(names))


@st.composite
def models_and_traces(draw: st.DrawFn) -> tuple[StripsModel, list[str]]:
    model = draw(models())
    actions = [action.name for action in model.actions]
    return model, draw(st.lists(st.sampled_from(actions), max_size=12)) if actions else []
