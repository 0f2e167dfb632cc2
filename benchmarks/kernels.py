"""Speed of one training step (loss and gradient) of the STRIPS Transformer, each against the paper's equations.

    python benchmarks/kernels.py [--out results/kernels.json] [--quick]

blocksworld-8b, init-atoms, D=50, 100 heads, batch 64: the paper's equations in vectorised PyTorch (forward and
backward; stick-breaking by products and by logarithms, the faster one counts), the fused attention kernel, the fused
factored kernel, all on the same batch with the same parameters in one run on two threads, without the optimiser.
Then the factored step for traces of 50 to 1,600 actions.
"""

from __future__ import annotations

import numpy as np
import torch
from measuring import options, seconds, write_results

from trace2strips.learners.transformer import module as strips_module
from trace2strips.learners.transformer.kernels import Gradient, gradient_step
from trace2strips.learners.transformer.module import StripsTransformer, focal_loss, pad_traces
from trace2strips.learners.transformer.parameters import SHARED, Layout, Theta
from trace2strips.traces import Dataset, Trace
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

HEADS, BATCH = 100, 64


def break_stick_by_logarithms(scores: torch.Tensor) -> torch.Tensor:
    """The same weights as `break_stick`; sums of logarithms have a cheaper gradient than products."""
    left = torch.log1p(-scores.clamp(max=1 - 1e-6))
    return scores * torch.exp(left.sum(-1, keepdim=True) - left.cumsum(-1))


def random_theta(layout: Layout) -> Theta:
    rng = np.random.default_rng(0)
    return Theta(*(rng.random((layout.rows, layout.heads)).astype(np.float32) for _ in range(3)))


def exact_length(domain_name: str, length: int) -> Dataset:
    """64 traces of exactly so many actions, cut from longer ones."""
    long = sample(get_domain(domain_name), SampleSettings(400, 4 * length, "train", "atoms", "goal", seed=1))
    cut = [Trace(t.actions[:length], t.ok[:length], t.init) for t in long if len(t.actions) >= length][:BATCH]
    assert len(cut) == BATCH
    return Dataset.of(cut, long.vocabulary)


def main() -> None:
    arguments = options(__doc__)
    torch.set_num_threads(2)
    dataset = sample(get_domain("blocksworld-8b"), SampleSettings(4096, 50, seed=0))
    layout = Layout(dataset.vocabulary, np.empty(0, dtype=np.int64))
    layout = Layout(dataset.vocabulary, np.full(HEADS - len(layout.aligned), SHARED))
    theta, gradient = random_theta(layout), Gradient.for_layout(layout)
    chosen = np.random.default_rng(0).integers(len(dataset), size=8 if arguments.quick else BATCH)
    tokens, refused = pad_traces(dataset, chosen)
    module = StripsTransformer(layout, theta, "attention")

    def reference() -> None:
        module.zero_grad()
        focal_loss(module(tokens, refused), refused, tokens, 0.5, 1.0).backward()  # type: ignore[no-untyped-call]

    repeats = 1 if arguments.quick else 3
    rows = []
    for how, breaking in (("products", strips_module.break_stick), ("logarithms", break_stick_by_logarithms)):
        strips_module.break_stick = breaking
        rows.append({"what": f"paper's equations, PyTorch, {how}", "seconds": seconds(reference, repeats)})
    paper = min(row["seconds"] for row in rows)  # type: ignore[type-var]
    for form in ("attention", "factored"):

        def step(form: str = form) -> float:
            return gradient_step(theta, layout, dataset, chosen, form, 0.5, 1.0, gradient)

        rows.append({"what": f"{form} kernel", "seconds": seconds(step, 20)})
    for row in rows:
        row["ratio"] = paper / row["seconds"]  # type: ignore[operator]
        print(f"{row['what']:28} {1000 * row['seconds']:10.2f} ms   {row['ratio']:10,.0f}×")  # type: ignore[operator]
    print(f"batch {len(chosen)}, {tokens.shape[1]} positions, {HEADS} heads; bars: attention 200×, factored 1,000×")
    for length in (50, 100, 200, 400, 800, 1600):
        data = exact_length("blocksworld-8b", length)

        def scan(data: Dataset = data) -> float:
            return gradient_step(theta, layout, data, np.arange(BATCH), "factored", 0.5, 1.0, gradient)

        rows.append({"what": "factored kernel, length", "length": length, "seconds": seconds(scan, 10)})
        per = 1e6 * rows[-1]["seconds"] / length  # type: ignore[operator]
        print(f"factored step at length {length:5}: {1000 * rows[-1]['seconds']:8.2f} ms, {per:6.2f} µs an action")  # type: ignore[operator]
    settings = {"domain": "blocksworld-8b", "heads": HEADS, "batch": len(chosen), "seed": 0, "threads": 2}
    write_results(arguments.out, "python benchmarks/kernels.py", settings, rows)


if __name__ == "__main__":
    main()
