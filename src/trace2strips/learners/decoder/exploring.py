"""What the heads of a trained decoder read, for the explorer's page. Needs the extra `networks`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from jaxtyping import Float

from trace2strips.explorer.contents import Attention, Head
from trace2strips.explorer.reading import choose_traces, hardest, shown_trace, sparse
from trace2strips.learners.decoder.batches import Batch, make_batch
from trace2strips.learners.decoder.network import Decoder, rotate
from trace2strips.learners.decoder.stick_breaking import break_stick
from trace2strips.traces import Dataset

ABOUT = {
    "sb": "Each query breaks its stick on earlier steps, the nearest first. Steps that were refused are never read.",
    "sinusoidal": "Softmax attention over the earlier steps; sines and cosines tell positions.",
    "rope": "Softmax attention over the earlier steps; queries and keys are rotated by their position.",
}
HARD = " Hard: the one step that gets most of the weight."


def attention_of(decoder: Decoder, dataset: Dataset) -> Attention:
    """On some of these traces, which are in the words that it was trained on."""
    shown = []
    variant = decoder.settings.variant
    for index in choose_traces(dataset):
        batch = make_batch(dataset, np.array([index]))
        with torch.inference_mode():
            said = (decoder(batch) >= 0).cpu().numpy()
            heads = list(heads_of(decoder, batch))
        shown.append(shown_trace(f"trace {index + 1}", dataset, index, said, heads))
    return Attention(variant, ABOUT[variant] + HARD, tuple(shown))


def heads_of(decoder: Decoder, batch: Batch) -> Iterator[Head]:
    for layer, weights in enumerate(layer_weights(decoder, batch)):
        for number, found in enumerate(weights):
            name = f"layer {layer + 1}, head {number + 1}"
            yield Head(name, "", sparse(found, batch.keys), sparse(hardest(found), batch.keys))


def layer_weights(decoder: Decoder, batch: Batch) -> Iterator[Float[np.ndarray, "heads queries keys"]]:
    """The weights of each layer: what `Decoder.forward` does, where `attend` gives no weights away."""
    tokens, positions, keys = (torch.from_numpy(x) for x in (batch.tokens, batch.positions, batch.keys))
    visible = torch.from_numpy(batch.packing.mask)  # (1, queries, keys)
    h = decoder.embed(tokens, positions)
    for block in decoder.each_block:
        normed = block.norm_attention(h)
        q, (k, v) = block.split(block.query(normed)), block.split_pair(block.key_value(normed[keys]))
        asked, known = (q, k)
        if decoder.settings.variant == "rope":
            asked, known = rotate(q, positions), rotate(k, positions[keys])
        scores = torch.einsum("qhs,khs->hqk", asked, known)[None] / q.shape[-1] ** 0.5
        if decoder.settings.variant == "sb":
            weights = break_stick(scores, visible)
        else:
            weights = torch.nan_to_num(torch.softmax(scores.masked_fill(~visible[:, None], -torch.inf), dim=-1))
        yield weights[0].double().cpu().numpy()
        h = block.finish(h, decoder.attend(q, k, v, batch.packing, positions, positions[keys]))
