"""Any B-RASP program as a masked hard-attention transformer in PyTorch. Needs the extra `networks`.

The residual stream of a position is a row of coordinates, each 0 or 1. The forward pass is the same for every program;
only the weights differ:

    x ← E[w_i]                                           embedding: one coordinate for each symbol, all others 0
    x ← x + W₂·relu(W₁x + b)                             feed-forward block, several after each other
    x(i) ← x(i) + Σ_h O_h (V_h x(j_h) + c_h)             attention layer, heads in parallel, then feed-forward blocks
    P(i) = R x(i) + r                                    readout of every vector

Head h attends to the leftmost or rightmost position j_h with the highest score (Q_h x(i) + a_h)·(K_h x(j) + b_h) among
those that its mask allows; where it allows none, it adds 0.

*Formulas are ReLU layers.* A literal is a coordinate x or its complement 1 − x, an affine function. A conjunction of n
literals is one hidden unit, relu(l₁ + … + l_n − (n − 1)), exact on {0, 1}, that writes a fresh coordinate. A
disjunction is the complement of a conjunction of complements. So a formula of depth d takes d blocks, and all gates of
one depth share a block.

*Scores are dot products.* A score predicate S(i, j) depends on i and on j through formulas f_1 … f_l about i alone and
g_1 … g_m about j alone. With m ≤ l, S(i, j) = Σ_α S_α(i)·[g(j) = α] over α ∈ {0, 1}^m, where S_α is S with α in place
of g: queries S_α, keys [g = α], at most one product is 1. With l < m the roles are changed. Q_p(i) ∧ K_p(j) becomes the
single product Q_p(i)·K_p(j) of the STRIPS Transformer.

*Values and defaults.* A head brings the keys and the formulas about j alone in V(i, j) from j_h to i; the feed-forward
blocks then compute S(i, j_h), and P(i) := S ∧ V ∨ ¬S ∧ D. There is one attention layer for each attention depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor, nn

from trace2strips.brasp.evaluation import PADDING, Evaluation, pad
from trace2strips.brasp.language import (
    And,
    Attention,
    Choice,
    Constant,
    Formula,
    Mask,
    Not,
    Or,
    Pointwise,
    Program,
    Variable,
    initial_vector,
    variables,
)
from trace2strips.errors import BraspError

MOST_PARTS = 12  # 2^m products for a score with m independent parts about one position


# --- the program as a circuit ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Literal:
    """x_c, or 1 − x_c."""

    coordinate: int
    positive: bool = True


Signal = Literal | bool  # what a formula is, once the coordinates are known
Lookup = Callable[[str], Signal]


def complement(signal: Signal) -> Signal:
    return Literal(signal.coordinate, not signal.positive) if isinstance(signal, Literal) else not signal


@dataclass(frozen=True)
class Gate:
    """A coordinate that is the conjunction of some literals."""

    literals: frozenset[Literal]
    coordinate: int


@dataclass(frozen=True)
class Head:
    """What one attention head compares, and which signals it brings to which coordinates."""

    choice: Choice
    mask: Mask
    queries: tuple[Signal, ...]
    keys: tuple[Signal, ...]
    values: tuple[Signal, ...]
    targets: tuple[int, ...]


@dataclass
class Circuit:
    """Coordinates with their depth: after how many attention layers, and in which block after that, they are known."""

    depth: list[tuple[int, int]] = field(default_factory=list)
    gates: dict[frozenset[Literal], Gate] = field(default_factory=dict)
    heads: list[Head] = field(default_factory=list)

    def coordinate(self, layer: int, block: int) -> int:
        self.depth.append((layer, block))
        return len(self.depth) - 1

    def layer_of(self, signals: Iterable[Signal]) -> int:
        return max((self.depth[s.coordinate][0] for s in signals if isinstance(s, Literal)), default=0)

    def conjunction(self, signals: Iterable[Signal]) -> Signal:
        parts = set(signals)
        literals = frozenset(part for part in parts if isinstance(part, Literal))
        if False in parts or any(complement(literal) in literals for literal in literals):
            return False
        if len(literals) < 2:
            return next(iter(literals), True)
        if literals not in self.gates:
            known = max(self.depth[literal.coordinate] for literal in literals)
            self.gates[literals] = Gate(literals, self.coordinate(known[0], known[1] + 1))
        return Literal(self.gates[literals].coordinate)

    def disjunction(self, signals: Iterable[Signal]) -> Signal:
        return complement(self.conjunction(map(complement, signals)))

    def formula(
        self, formula: Formula, here: Lookup, there: Callable[[Formula], Signal | None] | None = None
    ) -> Signal:
        """`here` knows the vectors at i; `there`, asked first, the parts of the formula that are about j."""
        found = None if there is None else there(formula)
        if found is not None:
            return found
        match formula:
            case Constant(value):
                return value
            case Variable(vector):
                return here(vector)
            case Not(operand):
                return complement(self.formula(operand, here, there))
            case And(operands):
                return self.conjunction([self.formula(operand, here, there) for operand in operands])
            case Or(operands):
                return self.disjunction([self.formula(operand, here, there) for operand in operands])

    def attention(self, operation: Attention, here: Lookup) -> Signal:
        """Add a head; what it brings and what is known at i give P(i)."""
        terms = list(self.products(operation.score, here))
        default = self.formula(operation.default, here)
        if not terms:
            return default
        queries, keys = zip(*terms, strict=True)
        value = group(operation.value)
        far = {part: self.formula(part, here) for part in parts_about(value, "j")}
        values = tuple(dict.fromkeys([*keys, *far.values()]))
        layer = 1 + self.layer_of([*queries, *values])
        brought = {signal: self.coordinate(layer, 0) for signal in values}
        self.heads.append(Head(operation.choice, operation.mask, queries, keys, values, tuple(brought.values())))
        matched = self.disjunction([self.conjunction([query, Literal(brought[key])]) for query, key in terms])
        result = self.formula(value, here, lambda part: Literal(brought[far[part]]) if part in far else None)
        return self.disjunction([self.conjunction([matched, result]), self.conjunction([complement(matched), default])])

    def products(self, score: Formula, here: Lookup) -> Iterator[tuple[Signal, Signal]]:
        """S(i, j) as a sum of products of a query and a key, of which at most one is 1."""
        score = group(score)
        sides = {at: parts_about(score, at) for at in "ij"}
        few = "i" if len(sides["i"]) < len(sides["j"]) else "j"
        if len(sides[few]) > MOST_PARTS:
            raise BraspError(
                f"a score with {len(sides[few])} independent parts about each position",
                hint=f"at most {MOST_PARTS}: the transformer needs a product for each combination",
            )
        for values in product((False, True), repeat=len(sides[few])):
            chosen = dict(zip(sides[few], values, strict=True))
            other = self.formula(score, here, chosen.get)
            own = self.conjunction([self.formula(part if holds else Not(part), here) for part, holds in chosen.items()])
            if own is not False and other is not False:
                yield (own, other) if few == "i" else (other, own)


def sides_of(formula: Formula) -> frozenset[str]:
    return frozenset(variable.at for variable in variables(formula))


def group(formula: Formula) -> Formula:
    """The same formula; operands about one position alone stand together as one operand."""
    match formula:
        case Not(operand):
            return Not(group(operand))
        case And(operands) | Or(operands) if len(sides_of(formula)) > 1:
            kind = And if isinstance(formula, And) else Or
            kept: list[Formula] = []
            for at in "ij":
                alone = tuple(o for o in operands if sides_of(o) == {at})
                kept += [kind(alone)] if len(alone) > 1 else alone
            return kind((*kept, *(group(o) for o in operands if len(sides_of(o)) != 1)))
        case _:
            return formula


def parts_about(formula: Formula, at: str) -> list[Formula]:
    """The largest parts of a formula that are about one position alone, without the negations around them."""
    match formula:
        case Not(operand):
            return parts_about(operand, at)
        case Variable() | And() | Or() if sides_of(formula) == {at}:
            return [formula]
        case And(operands) | Or(operands):
            return list(dict.fromkeys(part for operand in operands for part in parts_about(operand, at)))
        case _:
            return []


# --- the transformer -------------------------------------------------------------------------------------------------


def affine(signals: Sequence[Signal], rows: int, width: int) -> tuple[Tensor, Tensor]:
    """W and b with (Wx + b)_r = signals[r]; rows beyond them are 0."""
    weight, bias = torch.zeros(rows, width), torch.zeros(rows)
    for row, signal in enumerate(signals):
        if isinstance(signal, Literal):
            weight[row, signal.coordinate] = 1 if signal.positive else -1
            bias[row] = 0 if signal.positive else 1
        else:
            bias[row] = float(signal)
    return weight, bias


class FeedForward(nn.Module):
    """x + W₂·relu(W₁x + b): one hidden unit for each gate."""

    into: Tensor
    bias: Tensor
    out: Tensor

    def __init__(self, gates: Sequence[Gate], width: int) -> None:
        super().__init__()
        into, bias, out = torch.zeros(len(gates), width), torch.zeros(len(gates)), torch.zeros(width, len(gates))
        for unit, gate in enumerate(gates):
            weight, constant = affine(list(gate.literals), len(gate.literals), width)
            into[unit], bias[unit] = weight.sum(dim=0), constant.sum() - (len(gate.literals) - 1)
            out[gate.coordinate, unit] = 1
        self.register_buffer("into", into)
        self.register_buffer("bias", bias)
        self.register_buffer("out", out)

    def forward(self, x: Float[Tensor, "batch time width"]) -> Float[Tensor, "batch time width"]:
        return x + torch.relu(x @ self.into.T + self.bias) @ self.out.T


class HardAttention(nn.Module):
    """x + Σ_h O_h (V_h x(j_h) + c_h), with j_h the leftmost or rightmost of the best positions that the mask allows."""

    query: Tensor
    query_bias: Tensor
    key: Tensor
    key_bias: Tensor
    value: Tensor
    value_bias: Tensor
    out: Tensor
    sees: Tensor
    rightmost: Tensor

    def __init__(self, heads: Sequence[Head], width: int) -> None:
        super().__init__()
        terms = max(len(head.queries) for head in heads)
        sizes = max(len(head.values) for head in heads)
        for name, rows, signals in (
            ("query", terms, [head.queries for head in heads]),
            ("key", terms, [head.keys for head in heads]),
            ("value", sizes, [head.values for head in heads]),
        ):
            weights, biases = zip(*(affine(some, rows, width) for some in signals), strict=True)
            self.register_buffer(name, torch.stack(weights))  # (heads, rows, width)
            self.register_buffer(f"{name}_bias", torch.stack(biases))
        out = torch.zeros(len(heads), sizes, width)
        for number, head in enumerate(heads):
            out[number, range(len(head.targets)), head.targets] = 1
        self.register_buffer("out", out)
        kinds = {Mask.FUTURE: (True, False, False), Mask.PAST: (False, False, True), Mask.NONE: (True, True, True)}
        self.register_buffer("sees", torch.tensor([kinds[head.mask] for head in heads]))  # earlier, same, later
        self.register_buffer("rightmost", torch.tensor([head.choice == Choice.RIGHTMOST for head in heads]))

    def forward(
        self, x: Float[Tensor, "batch time width"], there: Bool[Tensor, "batch time"]
    ) -> Float[Tensor, "batch time width"]:
        n = x.shape[1]
        if n == 0:
            return x
        q, k, v = (
            torch.einsum("btw,hrw->bhtr", x, weight) + bias[:, None, :]
            for weight, bias in (
                (self.query, self.query_bias), (self.key, self.key_bias), (self.value, self.value_bias)
            )
        )  # fmt: skip
        position = torch.arange(n, device=x.device)
        order = torch.sign(position[None, :] - position[:, None]) + 1  # j against i: 0 earlier, 1 same, 2 later
        allowed = self.sees[:, order] & there[:, None, None, :]  # (batch, heads, i, j)
        scores = (q @ k.transpose(-1, -2)).masked_fill(~allowed, -torch.inf)
        best = (scores == scores.amax(dim=-1, keepdim=True)) & allowed
        last = torch.where(best, position, -1).amax(dim=-1)
        first = torch.where(best, position, n).amin(dim=-1)
        chosen = torch.where(self.rightmost[:, None], last, first).clamp(0, n - 1)  # (batch, heads, i)
        brought = v.gather(2, chosen[..., None].expand(*chosen.shape, v.shape[-1])) * best.any(dim=-1)[..., None]
        return x + torch.einsum("bhtr,hrw->btw", brought, self.out)


class HardAttentionTransformer(nn.Module):
    """A compiled program: every vector of the program for batches of padded strings."""

    embedding: Tensor
    readout: Tensor
    readout_bias: Tensor

    def __init__(self, program: Program, circuit: Circuit, vectors: Sequence[Signal]) -> None:
        super().__init__()
        self.program = program
        width = len(circuit.depth)
        depth = max((layer for layer, _ in circuit.depth), default=0)

        def blocks(layer: int) -> nn.Sequential:
            gates: dict[int, list[Gate]] = {}
            for gate in circuit.gates.values():
                if circuit.depth[gate.coordinate][0] == layer:
                    gates.setdefault(circuit.depth[gate.coordinate][1], []).append(gate)
            return nn.Sequential(*(FeedForward(gates[block], width) for block in sorted(gates)))

        heads: list[list[Head]] = [[] for _ in range(depth)]
        for head in circuit.heads:
            heads[circuit.depth[head.targets[0]][0] - 1].append(head)
        self.heads = tuple(map(len, heads))  # of each attention layer
        self.attention = nn.ModuleList(HardAttention(some, width) for some in heads)
        self.feed_forward = nn.ModuleList(blocks(layer) for layer in range(depth + 1))
        self.register_buffer("embedding", torch.eye(len(program.alphabet) + 1, width))
        self.embedding[-1] = 0  # padding
        readout, bias = affine(vectors, len(vectors), width)
        self.register_buffer("readout", readout)
        self.register_buffer("readout_bias", bias)

    def forward(self, symbols: Int64[Tensor, "batch time"]) -> Float[Tensor, "batch time vectors"]:
        """The vectors in the order of `Program.vectors`. Padding is symbol −1; the vectors are 0 there."""
        there = symbols != PADDING
        x = self.feed_forward[0](self.embedding[symbols])  # (batch, time, width)
        for attention, feed_forward in zip(self.attention, self.feed_forward[1:], strict=True):
            x = feed_forward(attention(x, there))
        return (x @ self.readout.T + self.readout_bias) * there[..., None]

    @torch.no_grad()
    def evaluate(self, strings: Sequence[Sequence[str]]) -> Evaluation:
        """As `brasp.evaluate`, by the transformer."""
        symbols, lengths = pad(self.program, strings)
        found = self(torch.from_numpy(symbols).to(self.embedding.device)).cpu().numpy() > 0.5
        vectors = {name: found[:, :, number] for number, name in enumerate(self.program.vectors)}
        return Evaluation(self.program, lengths, vectors)


def compile_program(program: Program) -> HardAttentionTransformer:
    """The transformer whose readout is every vector of the program."""
    circuit = Circuit()
    signals: dict[str, Signal] = {
        initial_vector(symbol): Literal(circuit.coordinate(0, 0)) for symbol in program.alphabet
    }
    for definition in program.definitions:
        if isinstance(definition, Pointwise):
            signals[definition.name] = circuit.formula(definition.formula, signals.__getitem__)
        else:
            signals[definition.name] = circuit.attention(definition, signals.__getitem__)
    return HardAttentionTransformer(program, circuit, list(signals.values()))
