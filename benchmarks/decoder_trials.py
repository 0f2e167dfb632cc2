"""What makes the SB Transformer converge, and hold on longer traces: one setting changed at a time.

blocksworld-8b, init-atoms, seed 0, 100,000 training traces, 1,000 steps of batch 64; accuracy
on the first 4,000 training traces and on 4,000 test traces (D = 200).
"""

from __future__ import annotations

import time
from dataclasses import asdict, replace

from measuring import options, write_results

from trace2strips.learners.decoder.inference import right_traces
from trace2strips.learners.decoder.presets import DECODER_PRESETS
from trace2strips.learners.decoder.training import DecoderNetwork
from trace2strips.learners.training import TrainingSettings, draw_batches
from trace2strips.worlds import get_domain
from trace2strips.worlds.sampling import SampleSettings, sample

STEPS, LOOKED_AT, SEED = 1_000, 4_000, 0
FAST, SIZE = DECODER_PRESETS["fast"].optimiser, DECODER_PRESETS["fast"].decoder["sb"]
TRIALS = {
    "preset fast": (FAST, SIZE),
    "no silent heads": (FAST, replace(SIZE, silent=0.0)),
    "two layers": (FAST, replace(SIZE, layers=2)),
    "two layers, no silent heads": (FAST, replace(SIZE, layers=2, silent=0.0)),
    "d_model 64": (FAST, replace(SIZE, d_model=64)),
    "4 heads": (FAST, replace(SIZE, heads=4)),
    "scores begin near 0": (FAST, replace(SIZE, reserve=0.0)),
    "scores not shifted": (replace(FAST, lowered=0.0, horizon=0), SIZE),
    "no hard traces": (replace(FAST, hard=0.0), SIZE),
    "all `test-p` at every step": (replace(FAST, tested=1.0), SIZE),
    "no Muon, AdamW 4·10⁻³ for all": (replace(FAST, muon=0.0, rate=4e-3), SIZE),
}


def main() -> None:
    arguments = options(__doc__)
    steps, traces = (2, 100) if arguments.quick else (STEPS, 100_000)
    domain = get_domain("blocksworld-8b")
    train = sample(domain, SampleSettings(traces, 50, suffix="all", seed=SEED))
    test = sample(domain, SampleSettings(min(LOOKED_AT, traces), 200, "test", suffix="all", seed=SEED), like=train)
    rows = []
    for name, (optimiser, size) in TRIALS.items():
        network = DecoderNetwork(train, size, optimiser, steps, SEED)
        clock, plan = time.perf_counter(), TrainingSettings(steps, 64, 500, SEED)
        while network.steps < steps:
            for chosen in draw_batches(traces, plan, network.steps):
                network.step(chosen)
        seconds = time.perf_counter() - clock
        found = [float(right_traces(network.decoder, data).mean()) for data in (train.first(LOOKED_AT), test)]
        told = {"trial": name, "train": found[0], "test": found[1], "seconds": seconds}
        rows.append(told | asdict(optimiser) | asdict(size))
        print(f"{name:32} train {found[0]:.4f} test {found[1]:.4f} {seconds:.0f} s", flush=True)
    settings = {"domain": "blocksworld-8b", "traces": traces, "steps": steps, "batch": 64, "seed": SEED}
    write_results(arguments.out, "python benchmarks/decoder_trials.py", settings, rows)


if __name__ == "__main__":
    main()
