"""The STRIPS Transformer as a `torch.nn.Module`, in both forms, for any device. Needs the extra `networks`.

The same numbers as `references` in NumPy and `kernels` in Numba, with gradients by autograd.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from trace2strips.learners.transformer.kernels import LEAST
from trace2strips.learners.transformer.parameters import Layout, Theta
from trace2strips.traces import Dataset


class StripsTransformer(nn.Module):
    """y_θ for batches of padded traces. Parameters are probabilities; keep them in [0, 1] as you train."""

    learned: Tensor
    fixed: Tensor
    row: Tensor
    askable: Tensor

    def __init__(self, layout: Layout, theta: Theta, form: str = "factored") -> None:
        super().__init__()
        self.form = form
        self.rows, self.heads = layout.rows, layout.heads
        dtype = torch.from_numpy(theta.query).dtype
        self.query = nn.Parameter(torch.from_numpy(theta.query.copy()))
        self.key = nn.Parameter(torch.from_numpy(theta.key.copy()))
        self.value = nn.Parameter(torch.from_numpy(theta.value.copy()))
        # one more token than the vocabulary has: padding, which does nothing
        wired = np.pad(layout.hard_wired, ((0, 0), (0, 1), (0, 0)))
        self.register_buffer("learned", torch.from_numpy(np.isnan(wired)))
        self.register_buffer("fixed", torch.from_numpy(np.nan_to_num(wired)).to(dtype))
        self.register_buffer("row", torch.from_numpy(np.append(np.maximum(layout.row, 0), 0)))
        self.register_buffer("askable", torch.from_numpy(layout.askable).to(dtype))

    def forward(
        self, tokens: Int64[Tensor, "batch time"], masked: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time"]:
        """The inapplicability of each position; masked positions are attended by nobody. Padding is token −1."""
        rows = torch.stack([self.query * self.askable, self.key, self.value])[:, self.row]
        q, k, v = torch.where(self.learned, rows, self.fixed)[:, tokens]  # (batch, time, heads) each
        k = k * ~masked[..., None]
        y = run_attention(q, k, v) if self.form == "attention" else run_factored(q, k, v)  # (batch, time, heads)
        return 1 - (1 - y).prod(dim=-1)  # Eq. 10


def run_attention(
    q: Float[Tensor, "batch time heads"], k: Float[Tensor, "batch time heads"], v: Float[Tensor, "batch time heads"]
) -> Float[Tensor, "batch time heads"]:
    """The paper's equations: scores, strict mask, stick-breaking, value aggregation."""
    time = q.shape[1]
    scores = q.permute(0, 2, 1)[..., :, None] * k.permute(0, 2, 1)[..., None, :]  # Eq. 7, (batch, heads, time, time)
    strict = torch.ones(time, time, dtype=torch.bool, device=q.device).tril(-1)
    weights = break_stick(scores * strict)
    return (weights @ v.permute(0, 2, 1)[..., None]).squeeze(-1).permute(0, 2, 1)  # Eq. 9


def break_stick(scores: Float[Tensor, "*batch query key"]) -> Float[Tensor, "*batch query key"]:
    """A[i,j] = s[i,j] · Π_{j<k<i} (1 − s[i,k]) (Eq. 8): the nearest earlier key takes its share first."""
    left = torch.flip(torch.cumprod(torch.flip(1 - scores, (-1,)), dim=-1), (-1,))  # Π_{k≥j}
    return scores * torch.cat([left[..., 1:], torch.ones_like(left[..., :1])], dim=-1)


def run_factored(
    q: Float[Tensor, "batch time heads"], k: Float[Tensor, "batch time heads"], v: Float[Tensor, "batch time heads"]
) -> Float[Tensor, "batch time heads"]:
    """The factored form: the state of every head, position after position."""
    state = q.new_zeros(q.shape[0], q.shape[2])
    out = []
    for i in range(q.shape[1]):
        out.append(q[:, i] * state)
        state = state + k[:, i] * (v[:, i] - state)
    return torch.stack(out, dim=1) if out else q


def pad_traces(dataset: Dataset, chosen: np.ndarray) -> tuple[Int64[Tensor, "batch time"], Bool[Tensor, "batch time"]]:
    """Tokens and labels of some traces, padded with −1 and "refused" to the longest."""
    lengths = dataset.offsets[chosen + 1] - dataset.offsets[chosen]
    tokens = torch.full((len(chosen), int(lengths.max(initial=0))), -1, dtype=torch.int64)
    refused = torch.ones(tokens.shape, dtype=torch.bool)
    for i, trace in enumerate(chosen):
        where = slice(int(dataset.offsets[trace]), int(dataset.offsets[trace + 1]))
        tokens[i, : lengths[i]] = torch.from_numpy(dataset.tokens[where].astype(np.int64))
        refused[i, : lengths[i]] = torch.from_numpy(dataset.inapplicable[where].copy())
    return tokens, refused


def focal_loss(
    y: Float[Tensor, "batch time"], refused: Bool[Tensor, "batch time"], tokens: Int64[Tensor, "batch time"],
    alpha: float, gamma: float,
) -> Float[Tensor, ""]:  # fmt: skip
    """Mean over traces of the mean over positions (Eqs. 12, 13)."""
    y = y + (y.clamp(LEAST, 1 - LEAST) - y).detach()  # as in the kernels, the slope at the end is that of the end
    yes = -alpha * (1 - y) ** gamma * y.log()
    no = -(1 - alpha) * y**gamma * (1 - y).log()
    there = tokens >= 0
    per_trace = (torch.where(refused, yes, no) * there).sum(dim=1) / there.sum(dim=1).clamp(min=1)
    return per_trace.mean()
