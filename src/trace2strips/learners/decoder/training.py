"""A decoder with its optimiser on one training set: what `training.train` drives.

Loss: the focal loss of each scored position (actions and `test-p`), mean over a trace, mean over the traces,

    ℓ(y, z) = −α z (1−y)^γ log y − (1−α)(1−z) y^γ log(1−y)

Nobody attends to a `test-p`, and there is one for every atom: they teach most at the beginning, cost most of the time,
and are soon right. So after the first fifth of training a step looks at a random share of them only, each weighted by
the inverse of the share: on average the same loss.

Each trace is read with some heads *silent*, by chance, until SILENT_UNTIL of training: their output is 0 (dropout of
whole heads). A head that knows all moves that touch an atom, and a committee of heads that know some of them each, say
the same of short traces, but not of long ones, where a later move of one member's has to undo an earlier one of
another's. With silent heads the committee pays: it is wrong whenever one of its members is missing, the single head and
its copies only when all are.

Two more things begin when half of the training traces are right. That is checked CHECKS times in a training, but not in
its first fifth.

A refusal for one reason alone (all that an action needs is there but one atom) is rare for each single action. So a
part of each batch are *hard* traces: those of the training set where y of some action is farthest from the truth; the
network searches for them every SEARCH_EVERY steps.

A trace of training has few keys, so a head can afford to leave a little of its stick on each that does not matter, or
to take only most of it where it should take all; on longer traces this adds up. So the scores z of a chunk are shifted,
all by one random number, more and more: a head must keep away from both mistakes. Raising all scores by log c does to
small shares what c copies of every key would do, so the longest trace becomes one of `horizon` keys. Softmax would not
see a shift.

Two sets of parameters are kept: those that the steps change, and their average over about the last tenth of the
steps, which is far steadier while the rate is high. CHECKS times in a training, once half of the training traces are
right, the average is asked whether it is done: is it right on LOOKED_AT training traces? Of SB more is asked: does the
STRIPS model that is read out of it explain these, and is it right on as many longer traces that are sampled from that
model? (Softmax does not hold on longer traces, however long it trains.) If so, the average is the result, and the steps
that are left are not taken. No error in 1,000 says with 95 % confidence that fewer than 3 in 1,000 are wrong.

The matrices of the blocks go by Muon: the step of a matrix is its momentum with all singular values made equal (Newton
and Schulz's iteration with PyTorch's coefficients, but in float32); everything else goes by Adam.

A batch is cut into CHUNKS parts, whatever the number of threads, and their gradients are added in order, so a step has
the same bits on any machine with the same libraries. Parameters are views into one flat vector, which the optimiser
updates as a whole. Needs the extra `networks`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from math import ceil, log, sqrt

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from torch.nn import functional

from trace2strips.learners.decoder.batches import make_batch
from trace2strips.learners.decoder.inference import probabilities, right_traces
from trace2strips.learners.decoder.lengthening import longer_traces
from trace2strips.learners.decoder.network import Decoder
from trace2strips.learners.decoder.packing import indices_of_traces
from trace2strips.learners.decoder.probing import extract_by_probing, with_actions
from trace2strips.learners.decoder.settings import LOOKED_AT, DecoderSettings, OptimiserSettings
from trace2strips.learners.decoder.threads import in_threads
from trace2strips.learners.radam import BETA1, BETA2, EPSILON, rectification
from trace2strips.model.strips import label_tokens
from trace2strips.model.vocabulary import Kind
from trace2strips.traces import Dataset
from trace2strips.traces.accuracy import differing_traces

CHUNKS = 2
ALL_TESTED = 0.2  # of training
CHECKS, CHECKED, ENOUGH = 16, 2000, 0.5  # checks in a training, traces in each, share of them that must be right
SILENT_UNTIL = 0.7  # of training
AVERAGED = 0.1  # of the steps so far, about
PROBED = 25_000  # actions, for the model that the average is compared with
WIDENING = 0.4  # of training: from when half of the traces are right until the shift is as wide as it gets
SEARCH_EVERY, SEARCHED = 1000, 6_000_000  # steps from one search for hard traces to the next, positions of each
HARDEST = 0.03  # of the traces
QUINTIC = (3.4445, -4.7750, 2.0315)  # a σ + b σ³ + c σ⁵ takes every σ in (0, 1] near 1 within five rounds
ROUNDS = 5


def focal_loss(
    logits: Float[Tensor, " queries"], refused: Bool[Tensor, " queries"], weights: Float[Tensor, " queries"],
    alpha: float, gamma: float,
) -> Float[Tensor, ""]:  # fmt: skip
    """Weighted sum of ℓ(σ(logit), z). With s the logit of the right answer, ℓ = −α_z σ(−s)^γ log σ(s)."""
    right = torch.where(refused, logits, -logits)
    balance = torch.where(refused, alpha, 1 - alpha) * weights
    return -(balance * torch.sigmoid(-right) ** gamma * functional.logsigmoid(right)).sum()


def orthogonal(matrix: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
    """U Vᵀ of the singular value decomposition U Σ Vᵀ, nearly: the singular values come out between 0.7 and 1.2."""
    a, b, c = QUINTIC
    x = matrix / (matrix.norm() + 1e-7)
    if wide := x.shape[0] < x.shape[1]:
        x = x.T
    for _ in range(ROUNDS):
        square = x.T @ x
        x = a * x + x @ (b * square + c * square @ square)
    return x.T if wide else x


class DecoderNetwork:
    """Decoder, average of its parameters, moments of its gradient, number of steps taken; the step at which half of the
    training traces were found right (0: not yet), and the hard traces since then; whether it is done early."""

    def __init__(
        self, dataset: Dataset, decoder: DecoderSettings, settings: OptimiserSettings, steps: int, seed: int
    ) -> None:
        self.dataset, self.settings, self.planned, self.seed = dataset, settings, steps, seed
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            self.decoder = Decoder(len(dataset.vocabulary), decoder)
        self.parameters = list(self.decoder.parameters())
        self.flat = torch.cat([p.detach().flatten() for p in self.parameters])
        ends = np.cumsum([p.numel() for p in self.parameters]).tolist()
        self.matrices: list[tuple[slice, torch.Size]] = []  # where Muon's stand in the flat vector
        for (name, p), end in zip(self.decoder.named_parameters(), ends, strict=True):
            where = slice(end - p.numel(), end)
            p.data = self.flat[where].view_as(p)
            if settings.muon and p.ndim == 2 and name.startswith("blocks."):
                self.matrices.append((where, p.shape))
        self.mean, self.square = torch.zeros_like(self.flat), torch.zeros_like(self.flat)
        self.average = self.flat.clone()
        self.hard = np.empty(0, dtype=np.int64)
        self.steps, self.half_right_at, self.done = 0, 0, False
        self.told: tuple[Dataset, float] | None = None  # what was evaluated since it is done

    def step(self, chosen: Int64[np.ndarray, " batch"]) -> float:
        def part(chunk: tuple[Int64[np.ndarray, " chunk"], np.random.Generator]) -> tuple[float, Tensor]:
            return self.loss_and_gradient(chunk[0], len(chosen), chunk[1])

        torch.set_num_threads(1)
        self.check_progress()
        if self.done:
            return 0.0
        chosen = self.mix_in_hard_traces(chosen)
        loss, gradient = 0.0, torch.zeros_like(self.flat)
        streams = np.random.default_rng([self.seed, 4, self.steps]).spawn(CHUNKS)
        chunks = list(zip(np.array_split(chosen, CHUNKS), streams, strict=True))
        for part_loss, part_gradient in in_threads(part, chunks):
            loss += part_loss
            gradient += part_gradient
        self.update(gradient)
        return loss

    def loss_and_gradient(
        self, chosen: Int64[np.ndarray, " chunk"], traces: int, rng: np.random.Generator
    ) -> tuple[float, Tensor]:
        """The share of these traces in the mean over `traces`."""
        data, share = self.dataset, 1.0 if self.progress < ALL_TESTED else self.settings.tested
        lengths = data.offsets[chosen + 1] - data.offsets[chosen]
        where = indices_of_traces(data.offsets, chosen)
        kinds = data.vocabulary.kinds[data.tokens[where]]
        tests, scored = kinds == Kind.TEST_ATOM, kinds >= Kind.ACTION
        kept = ~tests | (rng.random(len(where)) < share)
        total = np.append(0, np.cumsum(scored))[np.append(0, np.cumsum(lengths))]
        each = 1.0 / (traces * np.maximum(1, np.diff(total)))
        weights = np.repeat(each, lengths) * scored / np.where(tests, share, 1.0)
        batch = make_batch(data, chosen, kept=kept, shift=self.shift(rng))
        refused = torch.from_numpy(data.inapplicable[where[kept]])
        weight = torch.from_numpy(weights[kept].astype(np.float32))
        logits = self.decoder(batch, self.head_weights(rng, np.diff(batch.packing.query_offsets)))
        loss = focal_loss(logits, refused, weight, self.settings.alpha, self.settings.gamma)
        gradients = torch.autograd.grad(loss, self.parameters)
        return float(loss.detach()), torch.cat([g.flatten() for g in gradients])

    def head_weights(
        self, rng: np.random.Generator, queries: Int64[np.ndarray, " traces"]
    ) -> Float[Tensor, "layers queries heads"] | None:
        """Factors of the heads' outputs: 0 where a head is silent, in all of a trace; else what keeps the mean."""
        size = self.decoder.settings
        if not size.silent or self.progress >= SILENT_UNTIL:
            return None
        speaks = rng.random((size.layers, len(queries), size.heads)) >= size.silent
        return torch.from_numpy(np.repeat(speaks.astype(np.float32) / (1 - size.silent), queries, axis=1))

    @property
    def progress(self) -> float:
        return self.steps / max(1, self.planned)

    def shift(self, rng: np.random.Generator) -> float:
        """What is added to the scores of a chunk."""
        if not self.half_right_at or not self.holds_on_longer:
            return 0.0
        width = min(1.0, (self.steps - self.half_right_at) / (WIDENING * self.planned))
        return float(rng.uniform(-width * self.settings.lowered, width * self.raised))

    @cached_property
    def raised(self) -> float:
        """log(`horizon` / keys of the trace that has most of them)."""
        data = self.actions_only
        keys = np.diff(np.append(0, np.cumsum(~data.inapplicable))[data.offsets])
        return max(0.0, log(max(1, self.settings.horizon) / int(keys.max(initial=1))))

    def check_progress(self) -> None:
        """Before a step: are half of the training traces right, and if so, which are hard, and are all right by now?"""
        s = self.settings
        if self.done:
            return
        if self.half_right_at and self.may_stop and self.steps % max(1, self.planned // CHECKS) == 0:
            self.done = self.average_is_done()
            if self.done:
                self.flat.copy_(self.average)
                return
        if self.progress < ALL_TESTED or not (s.hard or s.lowered or s.horizon):
            return
        if not self.half_right_at and self.steps % max(1, self.planned // CHECKS) == 0:
            self.half_right_at = self.steps if self.evaluate(self.dataset.first(CHECKED)) >= ENOUGH else 0
        if self.half_right_at and s.hard and (self.steps - self.half_right_at) % SEARCH_EVERY == 0:
            self.hard = self.find_hard()

    @property
    def may_stop(self) -> bool:
        """Of SB longer traces are asked, and without final values there is no model to sample them from."""
        return self.settings.stop and (not self.holds_on_longer or bool(self.dataset.vocabulary.test_atoms))

    @property
    def holds_on_longer(self) -> bool:
        return self.decoder.settings.variant == "sb"

    def average_is_done(self) -> bool:
        """Is the average right on training traces and, of SB, on longer ones that its own STRIPS model makes?"""
        here = self.flat.clone()
        self.flat.copy_(self.average)
        try:
            few = self.dataset.first(LOOKED_AT)
            if not right_traces(self.decoder, few).all():
                return False
            if not self.holds_on_longer:
                return True
            world = extract_by_probing(self.decoder, self.dataset, with_actions(self.dataset, PROBED)).world
            bits = world.over_tokens(self.dataset.vocabulary).bits
            labels = label_tokens(bits, few.tokens, few.offsets)
            if differing_traces(few, labels).any():
                return False
            rng = np.random.default_rng([self.seed, 7, self.steps])
            return bool(right_traces(self.decoder, longer_traces(world, self.dataset, LOOKED_AT, rng)).all())
        finally:
            self.flat.copy_(here)

    def mix_in_hard_traces(self, chosen: Int64[np.ndarray, " batch"]) -> Int64[np.ndarray, " batch"]:
        """The same batch with hard traces in the place of some."""
        if not len(self.hard):
            return chosen
        rng = np.random.default_rng([self.seed, 5, self.steps])
        count = round(self.settings.hard * len(chosen))
        return rng.permutation(np.append(chosen[count:], rng.choice(self.hard, count)))

    def find_hard(self) -> Int64[np.ndarray, " hard"]:
        """Of the traces searched (all, if they have no more than SEARCHED positions), those where |y − z| of some
        action is largest."""
        data = self.actions_only
        traces = np.random.default_rng([self.seed, 6, self.steps]).permutation(len(data))
        traces = traces[np.cumsum(np.diff(data.offsets)[traces]) <= SEARCHED]
        where = indices_of_traces(data.offsets, traces)
        off = np.abs(probabilities(self.decoder, data, traces=traces) - data.inapplicable[where])
        off *= data.vocabulary.kinds[data.tokens[where]] == Kind.ACTION
        worst = np.zeros(len(data), dtype=np.float32)
        np.maximum.at(worst, np.repeat(traces, np.diff(data.offsets)[traces]), off)
        return np.argsort(-worst, kind="stable")[: ceil(HARDEST * len(traces))]

    @cached_property
    def actions_only(self) -> Dataset:
        """The training set without final values, which no action depends on."""
        data = self.dataset
        kept = data.vocabulary.kinds[data.tokens] != Kind.TEST_ATOM
        offsets = np.append(0, np.cumsum(kept))[data.offsets]
        return replace(data, tokens=data.tokens[kept], inapplicable=data.inapplicable[kept], offsets=offsets)

    def slowness(self) -> float:
        """Of the step about to be taken (`steps` counts it already): warm-up and fall, from 0 to 1."""
        s = self.settings
        warm = min(1.0, self.steps / max(1, s.warmup))
        return warm * ((1 - min(1.0, self.progress)) ** 2 if s.falling else 1.0)

    @torch.no_grad()
    def update(self, gradient: Float[Tensor, " parameters"]) -> None:
        """m ← β₁m + (1−β₁)g, v ← β₂v + (1−β₂)g², x ← (1 − rate·decay)·x − rate·m̂/(√v̂ + ε), RAdam rectified;
        Muon's matrices: x ← (1 − rate·decay)·x − muon·√max(1, rows/columns)·UVᵀ of β₁m + (1−β₁)g."""
        s = self.settings
        self.steps += 1
        if s.clip:
            gradient *= min(1.0, s.clip / max(1e-12, float(gradient.norm())))
        rate = s.rate * self.slowness()
        self.flat *= 1 - rate * s.weight_decay
        self.mean.lerp_(gradient, 1 - BETA1)
        self.square.mul_(BETA2).addcmul_(gradient, gradient, value=1 - BETA2)
        matrices = [(where, self.flat[where].clone()) for where, _ in self.matrices]
        self.take_adam_step(rate / (1 - BETA1**self.steps))
        for (where, before), (_, shape) in zip(matrices, self.matrices, strict=True):
            ahead = torch.lerp(self.mean[where], gradient[where], 1 - BETA1)  # Nesterov's momentum
            step = orthogonal(ahead.view(shape)).flatten()
            size = s.muon * self.slowness() * sqrt(max(1.0, shape[0] / shape[1]))
            self.flat[where] = before - size * step
        self.average.lerp_(self.flat, min(1.0, 1 / (AVERAGED * self.steps)))

    def take_adam_step(self, rate: float) -> None:
        if self.settings.optimiser == "radam":
            rectify = rectification(self.steps)
            if rectify == 0:  # the variance is not known yet
                self.flat.add_(self.mean, alpha=-rate)
                return
            rate *= rectify
        scale = self.square.sqrt().div_(sqrt(1 - BETA2**self.steps)).add_(EPSILON)
        self.flat.addcdiv_(self.mean, scale, value=-rate)

    def evaluate(self, dataset: Dataset) -> float:
        """Trace accuracy of the rounded predictions, self-masked."""
        if self.done and self.told is not None and self.told[0] is dataset:
            return self.told[1]
        accuracy = float(right_traces(self.decoder, dataset).mean()) if len(dataset) else 1.0
        self.told = (dataset, accuracy) if self.done else None
        return accuracy

    def save(self) -> dict[str, np.ndarray]:
        arrays = {name: getattr(self, name).numpy() for name in ("flat", "average", "mean", "square")}
        return {"steps": np.array([self.steps, self.half_right_at, self.done]), "hard": self.hard, **arrays}

    def load(self, arrays: dict[str, np.ndarray]) -> None:
        self.steps, self.half_right_at, done = arrays["steps"].tolist()
        self.done, self.told = bool(done), None
        self.hard = arrays["hard"]
        for name in ("flat", "average", "mean", "square"):
            getattr(self, name).copy_(torch.from_numpy(arrays[name]))

    def weights(self) -> dict[str, np.ndarray]:
        """The parameters by name."""
        return {name: p.detach().numpy().copy() for name, p in self.decoder.named_parameters()}
