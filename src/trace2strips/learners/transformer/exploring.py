"""What the heads of a trained STRIPS Transformer read, for the explorer's page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Bool, Float, Int64

from trace2strips.explorer.contents import Attention, Head, HeadWeights
from trace2strips.explorer.reading import break_stick, choose_traces, shown_trace, sparse
from trace2strips.learners.transformer.parameters import SHARED, Layout, Theta, over_tokens
from trace2strips.learners.transformer.references import TokenTheta, expand
from trace2strips.model.vocabulary import Vocabulary
from trace2strips.traces import Dataset

ABOUT = {
    "attention": "Each head is an atom. A step that needs the atom reads the nearest earlier step that changes it: the"
    " stick-breaking weights of the trained network. Hard: the same with every parameter rounded to 0 or 1, a STRIPS"
    " model. What came after that training is not in it: completion, actions trained alone.",
    "factored": "Each head is an atom. A head keeps the value of the last step that changed it, and a step that needs"
    " the atom asks for that: the weight of a step is how much of its effect is left. Hard: the same with every"
    " parameter rounded to 0 or 1, a STRIPS model. What came after that training is not in it: completion, actions"
    " trained alone.",
}


MOST_NUMBERS = 60_000  # of the network in the page: a fifth of what a page has room for


def attention_of(form: str, weights: Mapping[str, np.ndarray], vocabulary: Vocabulary, dataset: Dataset) -> Attention:
    """On some of these traces, which are in the words of the vocabulary."""
    theta = Theta(weights["query"], weights["key"], weights["value"])
    aligned = len(Layout(vocabulary, np.zeros(0, dtype=np.int64)).aligned)
    layout = Layout(vocabulary, np.full(theta.query.shape[1] - aligned, SHARED, dtype=np.int64))
    shown = []
    for index in choose_traces(dataset):
        at = slice(int(dataset.offsets[index]), int(dataset.offsets[index + 1]))
        tokens, masked = dataset.tokens[at].astype(np.int64), dataset.inapplicable[at]
        soft, hard = expand(theta, layout, tokens), expand(theta.binarise(), layout, tokens)
        keep = np.ones(len(tokens))
        for head in range(layout.heads):
            keep *= 1 - weights_of(form, soft, head, masked) @ soft.value[:, head]  # Eq. 10
        heads = heads_of(form, soft, hard, layout, masked)
        shown.append(shown_trace(f"trace {index + 1}", dataset, index, 1 - keep >= 0.5, heads))
    return Attention(form, ABOUT[form], tuple(shown), head_weights(theta, layout))


def head_weights(theta: Theta, layout: Layout) -> HeadWeights | None:
    """Of all tokens, on heads that somebody asks; None where that is too much for a page."""
    every = over_tokens(theta, layout)
    table = np.rint(1000 * np.nan_to_num(np.stack([every.query, every.key, every.value], axis=-1))).astype(int)
    asked = np.flatnonzero(table[:, :, 0].any(axis=0))
    table = table[:, asked]
    touched = table[:, :, :2].any(axis=-1)  # a value without a key says nothing
    if 4 * int(touched.sum()) > MOST_NUMBERS:
        return None
    rows = tuple(
        tuple((head, *triple(table[token, head])) for head in np.flatnonzero(touched[token]).tolist())
        for token in range(len(table))
    )
    vocabulary, names = layout.vocabulary, layout.names()
    heads = tuple((names[head], note_of(layout, head)) for head in asked.tolist())
    return HeadWeights(tuple(zip(vocabulary.kinds.tolist(), vocabulary.subjects, strict=True)), heads, rows)


def triple(values: Int64[np.ndarray, " three"]) -> tuple[int, int, int]:
    query, key, value = values.tolist()
    return query, key, value


def note_of(layout: Layout, head: int) -> str:
    name = layout.names()[head]
    aligned = head < len(layout.aligned)
    return f"the atom {name}, which the log names" if aligned else f"{name}, an atom that the network invented"


def heads_of(
    form: str, soft: TokenTheta, hard: TokenTheta, layout: Layout, masked: Bool[np.ndarray, " positions"]
) -> Iterator[Head]:
    """Those that somebody asks."""
    keys = np.arange(len(masked))
    for head, name in enumerate(layout.names()):
        rows = sparse(weights_of(form, soft, head, masked), keys), sparse(weights_of(form, hard, head, masked), keys)
        if any(map(any, rows)):
            yield Head(name, note_of(layout, head), *rows)


def weights_of(
    form: str, at: TokenTheta, head: int, masked: Bool[np.ndarray, " positions"]
) -> Float[np.ndarray, "positions positions"]:
    """How much each position has of what an earlier one left. In the factored form the query stands outside the stick
    (`references` has both)."""
    query, key = at.query[:, head].astype(float), at.key[:, head].astype(float) * ~masked
    asked = query if form == "attention" else np.ones_like(query)
    found = break_stick(np.tril(np.outer(asked, key), -1))
    return found if form == "attention" else found * query[:, None]
