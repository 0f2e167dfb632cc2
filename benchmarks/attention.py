"""Stick-breaking attention, a training step and state probing, each against its slow reference, in one run.

1. Attention, forward and backward, batch 64, 4 heads, 150 positions, head size 16, two threads each: the log-space
   reference in PyTorch (its own threads) and the fused kernel (a thread for each half of the traces, as in training);
   once with random scores, where sticks are soon used up, and once with scores so low that every walk goes to the first
   key.
2. A training step at blocksworld-8b (suffix all, batch 64, d_model 64, 2 layers, 8 heads) with the fused kernel, and
   the same network on the reference over all positions of padded traces, as one would write it in plain PyTorch.
3. State probing: all prefixes of a trace in one pass, and every prefix run again with each test-p at its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from measuring import options, seconds, seconds_of_both, write_results

from trace2strips.learners.decoder.batches import Batch
from trace2strips.learners.decoder.network import Decoder
from trace2strips.learners.decoder.packing import Packing
from trace2strips.learners.decoder.probing import probe, probe_slowly
from trace2strips.learners.decoder.settings import DecoderSettings, OptimiserSettings
from trace2strips.learners.decoder.stick_breaking import attend_padded, attend_sticks, strict_mask
from trace2strips.learners.decoder.threads import in_threads
from trace2strips.learners.decoder.training import DecoderNetwork
from trace2strips.traces import Dataset
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

BATCH, HEADS, TIME, SIZE, THREADS = 64, 4, 150, 16, 2
BARS = {"attention": 12, "step": 3, "probing": 30}


def attention(bias: float, repeats: int) -> tuple[float, float]:
    """Seconds of the reference and of the kernel; `bias` is added to every score."""
    torch.manual_seed(0)
    q, k, v, weights = (torch.randn(BATCH, HEADS, TIME, SIZE) for _ in range(4))
    q[..., 0], k[..., 0] = 1.0, bias * SIZE**0.5 + 0 * k[..., 0]
    inputs = [x.requires_grad_() for x in (q, k, v)]
    seen = strict_mask(torch.ones(BATCH, TIME, dtype=torch.bool))
    offsets = np.arange(BATCH // 2 + 1) * TIME
    packing = Packing(offsets, offsets, np.tile(np.arange(TIME, dtype=np.int32), BATCH // 2))
    halves = [
        [x.transpose(1, 2).flatten(0, 1).contiguous().requires_grad_() for x in parts]
        for parts in zip(*(x.detach().chunk(2) for x in (q, k, v, weights)), strict=True)
    ]

    def reference() -> Sequence[torch.Tensor]:
        torch.set_num_threads(THREADS)
        return torch.autograd.grad(attend_padded(inputs[0], inputs[1], inputs[2], seen), inputs, weights)

    def half(parts: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        return torch.autograd.grad(attend_sticks(parts[0], parts[1], parts[2], packing), parts[:3], parts[3])

    def kernel() -> list[Sequence[torch.Tensor]]:
        return list(in_threads(half, halves))

    for ours, theirs in zip(zip(*kernel(), strict=True), reference(), strict=True):
        torch.testing.assert_close(torch.cat(ours), theirs.transpose(1, 2).flatten(0, 1), rtol=1e-3, atol=1e-4)
    return seconds_of_both(reference, kernel, 2 * repeats)


class PlainDecoder(Decoder):
    """The same network over padded traces, every position a key that may be masked."""

    def forward(self, batch: Batch, head_weights: torch.Tensor | None = None) -> torch.Tensor:
        assert head_weights is None
        lengths = np.diff(batch.packing.query_offsets)
        longest = int(lengths.max())
        where = torch.from_numpy(batch.packing.padded_query_indices)
        tokens = torch.zeros(len(lengths) * longest, dtype=torch.int64)
        tokens[where] = torch.from_numpy(batch.tokens)
        is_key = torch.zeros(len(lengths) * longest, dtype=torch.bool)
        is_key[where[torch.from_numpy(batch.keys)]] = True
        seen = strict_mask(is_key.view(len(lengths), longest))
        h = torch.nn.functional.embedding(tokens, self.embedding)
        for block in self.each_block:
            normed = block.norm_attention(h)
            parts = (block.split(block.query(normed)), *block.split_pair(block.key_value(normed)))
            q, k, v = (x.unflatten(0, (len(lengths), longest)).transpose(1, 2) for x in parts)  # type: ignore[no-untyped-call]
            h = block.finish(h, attend_padded(q, k, v, seen).transpose(1, 2).flatten(0, 1))
        return self.read(h)[where]


def step(dataset: Dataset, plain: bool, repeats: int) -> float:
    network = DecoderNetwork(dataset, DecoderSettings(), OptimiserSettings(), 1000, seed=0)
    if plain:
        twin = PlainDecoder(len(dataset.vocabulary), replace(DecoderSettings(), fused=False))
        twin.load_state_dict(network.decoder.state_dict())
        chosen = np.arange(8)
        loss, _ = network.loss_and_gradient(chosen, 8, np.random.default_rng(0))
        network.decoder, network.parameters = twin, list(twin.parameters())
        assert abs(network.loss_and_gradient(chosen, 8, np.random.default_rng(0))[0] - loss) < 1e-5
    rng = np.random.default_rng(0)
    return seconds(lambda: network.step(rng.integers(len(dataset), size=BATCH)), repeats)


def main() -> None:
    arguments = options(__doc__)
    torch.set_num_threads(1)
    few = 1 if arguments.quick else 5
    rows: list[dict[str, object]] = []

    def add(what: str, slow: float, fast: float, bar: int | None) -> None:
        rows.append({"what": what, "reference_seconds": slow, "seconds": fast, "ratio": slow / fast, "bar": bar})
        told = "" if bar is None else f"   (bar {bar}×)"
        print(f"{what:44} {1000 * slow:10.1f} ms {1000 * fast:8.2f} ms {slow / fast:8.1f}×{told}", flush=True)

    add("attention, random scores", *attention(0.0, few), BARS["attention"])
    add("attention, every walk to the first key", *attention(-8.0, few), None)
    dataset = sample(get_domain("blocksworld-8b"), SampleSettings(10_000, 50, suffix="all", seed=0))
    add("training step", step(dataset, True, few), step(dataset, False, 4 * few), BARS["step"])
    torch.manual_seed(0)
    decoder = Decoder(len(dataset.vocabulary), DecoderSettings())
    traces = np.arange(1 if arguments.quick else 5)
    slow = seconds(lambda: [probe_slowly(decoder, dataset, int(t)) for t in traces], 1)
    add("probing", slow, seconds(lambda: probe(decoder, dataset, traces), 10), BARS["probing"])
    settings = {
        "attention": {"batch": BATCH, "heads": HEADS, "time": TIME, "size": SIZE, "threads": THREADS},
        "step": {"domain": "blocksworld-8b", "suffix": "all", "traces": len(dataset), "batch": BATCH, "threads": 2},
        "probing": {"traces": len(traces), "threads": 1},
        "seed": 0,
    }
    write_results(arguments.out, "python benchmarks/attention.py", settings, rows)


if __name__ == "__main__":
    main()
