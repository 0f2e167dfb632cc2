"""Small B-RASP programs, each with the star-free language that it accepts. Imports nothing of this package."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A program's text, what it accepts in words and as a regular expression; no program accepts the empty string."""

    name: str
    says: str
    language: str
    text: str


EXAMPLES: dict[str, Example] = {
    example.name: example
    for example in (
        Example(
            "alternating", "a and b in turn, from a to b", "(ab)+",
            """
alphabet { a, b }
after_a(i) := rightmost j [j < i, 1] I_a(j) : 0      # is the symbol before this one an a?
wrong(i)   := I_a(i) & after_a(i) | I_b(i) & !after_a(i)
right(i)   := leftmost j [1, wrong(j)] 0 : 1         # nowhere wrong
Z(i)       := right(i) & I_b(i)
""",
        ),
        Example(
            "sorted", "no a after a b", "a+b*|b+",
            """
alphabet { a, b }
late(i) := leftmost j [j < i, I_b(j)] I_a(i) : 0     # an a with a b somewhere before it
Z(i)    := rightmost j [1, late(j)] 0 : 1
""",
        ),
        Example(
            "contains-aba", "a b a stands in it, side by side", "[abc]*aba[abc]*",
            """
alphabet { a, b, c }
after_a(i)  := rightmost j [j < i, 1] I_a(j) : 0
ab(i)       := I_b(i) & after_a(i)
after_ab(i) := rightmost j [j < i, 1] ab(j) : 0
Z(i)        := leftmost j [1, I_a(j) & after_ab(j)] 1 : 0
""",
        ),
        Example(
            "first-is-last", "it ends with the symbol with which it starts",
            "[abc]|a[abc]*a|b[abc]*b|c[abc]*c",
            """
alphabet { a, b, c }
Z(i) := leftmost j [1, 1] I_a(i) & I_a(j) | I_b(i) & I_b(j) | I_c(i) & I_c(j) : 0
""",
        ),
        Example(
            "answered", "after every a there comes a b", "([bc]|a[ac]*b)+",
            """
alphabet { a, b, c }
open(i) := leftmost j [j > i, I_b(j)] 0 : I_a(i)     # an a, and no b in what follows
Z(i)    := leftmost j [1, open(j)] 0 : 1
""",
        ),
        Example(
            "locked", "between two bs there is a c", "(?=.)([ac]|ba*c)*(ba*)?",
            """
alphabet { a, b, c }
held(i) := rightmost j [j < i, I_b(j) | I_c(j)] I_b(j) : 0
Z(i)    := leftmost j [1, I_b(j) & held(j)] 0 : 1
""",
        ),
        Example(
            "brackets", "balanced brackets l and r, at most two deep", "(l(lr)*r)+",
            """
alphabet { l, r }
after_l(i)  := rightmost j [j < i, 1] I_l(j) : 0
before_r(i) := leftmost j [j > i, 1] I_r(j) : 0
L(i)        := I_l(i) & !before_r(i)                 # what is left without the innermost pairs
R(i)        := I_r(i) & !after_l(i)
after_L(i)  := rightmost j [j < i, L(j) | R(j)] L(j) : 0
before_R(i) := leftmost j [j > i, L(j) | R(j)] R(j) : 0
wrong(i)    := L(i) & !before_R(i) | R(i) & !after_L(i)
Z(i)        := leftmost j [1, wrong(j)] 0 : 1
""",
        ),
    )
}  # fmt: skip
