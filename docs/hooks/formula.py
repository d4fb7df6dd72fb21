"""Turn the plain-text formulas of the catalog into HTML with MathML, which browsers show without a script.

A definition such as ``sum t_k p_k / N^2 with the totals t_k`` mixes mathematics and words. `render` splits it into runs
of both, parses each run of mathematics, and writes fractions, roots, powers, subscripts and sums.

    expression = term (operator term)*
    term       = factor* ["/" factor]...          factors side by side are a product
    factor     = atom ["^" power]
    atom       = number | name | function group | "(" expression ")" | "[[" rows "]]"
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from mathml import BIG, SPACE, big, name, row, sign

__all__ = ["render"]

TOKEN = re.compile(
    r"""(?P<code>`[^`]*`|\w+="[^"]*")
      | (?P<word>[a-z]+(?:-[a-z]+)+)
      | (?P<name>[A-Za-z]+\d?'?(?:_(?:\{[^}]*\}|[A-Za-z0-9]+))?)
      | (?P<number>\d+(?:\.\d+)?)
      | (?P<operator><=|>=|\.\.\.|[-+=<>,;:|^/()\[\]])
      | (?P<space>\s+)
      | (?P<other>.)""",
    re.VERBOSE,
)
FUNCTIONS = {"sqrt", "abs", "ln", "det", "round"}
CONSTANTS = {"phi", "chi2", "statistic"}
OPTIONS = {"fpr", "max_fpr"}
INDICES = frozenset("ijkbn")
SAMPLE = "sample"  # what a sum without an index also runs over
OF_SAMPLES = {"q", "y"}
RELATIONS = {"=", "<", ">", "<=", ">="}


class Token(NamedTuple):
    """A piece of a definition: its kind (a group of `TOKEN`) and its text."""

    kind: str
    text: str


class Node(NamedTuple):
    """A piece of mathematics: its MathML, what it is, and the indices that no sum in it binds."""

    mathml: str
    kind: str = "atom"
    free: frozenset[str] = frozenset()
    inner: str = ""  # of a group in parentheses: the MathML without them
    binds: frozenset[str] = frozenset()  # of a sum: the indices that it runs over
    is_fraction: bool = False  # of a group: it is one fraction, which in a product needs no parentheses


def render(definition: str) -> str:
    """Return a definition as HTML: words, and MathML for the runs of mathematics between them."""
    pieces = []
    for is_math, tokens in _runs(_tokens(definition)):
        if is_math:
            math = _Parser(tokens).parse()
            pieces.append(f'<math display="inline" displaystyle="true">{math}</math>')
        else:
            pieces.append("".join(_word(token) for token in tokens))
    return "".join(pieces)


def _word(token: Token) -> str:
    if token.kind == "code":
        return f"<code>{escape(token.text.strip('`'))}</code>"
    return escape(token.text)


def _tokens(definition: str) -> list[Token]:
    return [Token(str(match.lastgroup), match.group()) for match in TOKEN.finditer(definition)]


def _is_math(token: Token, before: str) -> bool:
    """Tell whether a token is mathematics by itself; names are if they are short, in capitals, or have an index."""
    if token.kind in ("number", "operator"):
        return token.text not in (",", ";", ":")
    if token.kind != "name":
        return False
    stem = token.text.split("_")[0].rstrip("'")
    known = token.text in BIG.keys() | FUNCTIONS | CONSTANTS | OPTIONS or stem in BIG
    short = len(stem) == 1 and token.text != "a"
    return known or short or stem.isupper() or stem == "F1" or "_" in token.text or before in RELATIONS


def _runs(tokens: list[Token]) -> Iterator[tuple[bool, list[Token]]]:
    """Yield runs of mathematics and of words; whatever is in brackets belongs to the mathematics before it."""
    run: list[Token] = []
    math, depth, before = False, 0, ""
    for token in tokens:
        if token.kind == "space":
            run.append(token)
            continue
        now = depth > 0 or _is_math(token, before)
        if now != math and run:
            spaces = [run.pop()] if run[-1].kind == "space" else []
            if math:
                yield True, [item for item in run if item.kind != "space"]
                run = spaces
            else:
                yield False, run + spaces
                run = []
        math, before = now, token.text
        depth += (token.text in "([") - (token.text in ")]")
        run.append(token)
    if run:
        yield math, [item for item in run if item.kind != "space"] if math else run


class _Parser:
    """Recursive descent over the tokens of one run."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0

    def parse(self) -> str:
        """Return the MathML of the whole run."""
        math = self.expression("").mathml
        if self.at != len(self.tokens):
            raise ValueError(f"Expected a formula, but got {self.tokens[self.at].text!r} at token {self.at}")
        return math

    def peek(self) -> str:
        """Return the text of the next token, "" at the end."""
        return self.tokens[self.at].text if self.at < len(self.tokens) else ""

    def take(self) -> Token:
        """Return the next token and go past it."""
        self.at += 1
        return self.tokens[self.at - 1]

    def expression(self, end: str) -> Node:
        """Read terms and the operators between them, up to a closing bracket."""
        parts: list[str] = []
        free: frozenset[str] = frozenset()
        terms = 0
        last = Node("")
        while self.peek() and self.peek() != end:
            if self.peek() in ("+", "-", "=", "<", ">", "<=", ">=", ",", "|", "..."):
                text = self.take().text
                is_first = text == "-" and (not parts or parts[-1].endswith("</mo>"))
                parts.append(sign(text, "prefix" if is_first else ""))
            else:
                last = self.term()
                parts.append(last.mathml)
                free |= last.free
                terms += 1
        kind = last.kind if terms == len(parts) == 1 else "sum"
        return Node(row("".join(parts)), kind, free)

    def term(self) -> Node:
        """Read a product, and fractions of products."""
        factors: list[Node] = []
        while self.starts_factor():
            factors.append(self.factor())
            if self.peek() == "/":
                self.take()
                factors = self.fraction(factors)
        if not factors:
            raise ValueError(f"Expected a factor, but got {self.peek()!r} at token {self.at}")
        kind = factors[0].kind if len(factors) == 1 else "product"
        return Node(_product(factors), kind, _free(factors))

    def fraction(self, factors: list[Node]) -> list[Node]:
        """Put factors over the next one; a sum stays before the fraction if it also runs over what is below."""
        below = [self.factor()]
        if below[0].kind == "big":
            while self.starts_factor():
                below.append(self.factor())
        free = _free(below)
        outside: list[Node] = []
        starts = [at for at, factor in enumerate(factors) if factor.kind == "big"]
        if starts and starts[0] < len(factors) - 1 and (free or self.starts_factor()):
            outside, factors = factors[: starts[0] + 1], factors[starts[0] + 1 :]
        mathml = f"<mfrac>{_stripped(factors)}{_stripped(below)}</mfrac>"
        return [*outside, Node(mathml, "fraction", free | _free(factors))]

    def starts_factor(self) -> bool:
        """Tell whether the next token begins a factor."""
        text = self.peek()
        return bool(text) and (text in ("(", "[") or self.tokens[self.at].kind in ("name", "number"))

    def factor(self) -> Node:
        """Read an atom and its power."""
        base = self.atom()
        if self.peek() != "^":
            return base
        self.take()
        minus = sign(self.take().text) if self.peek() == "-" else ""
        start = self.at
        power = self.atom()
        if power.kind == "group":  # a fraction in a power is easier to read on one line
            power = Node(row("".join(_flat(token) for token in self.tokens[start + 1 : self.at - 1])))
        return Node(f"<msup>{row(base.mathml)}{row(minus + power.mathml)}</msup>", "power", base.free)

    def atom(self) -> Node:
        """Read a number, a name, a function with its argument, a group or a matrix."""
        token = self.take()
        if token.kind == "number":
            return Node(f"<mn>{token.text}</mn>")
        if token.text == "[" and self.peek() == "[":
            return self.matrix()
        if token.text in ("(", "["):
            return self.group(token.text)
        stem, _, index = token.text.partition("_")
        if token.text in OPTIONS:
            return Node(f"<mtext>{token.text}</mtext>")
        if stem in BIG:
            index = index.strip("{}")
            binds = INDICES & set(index) if index else INDICES | {SAMPLE}
            return Node(big(stem, index, self.peek() == "("), "big", binds=binds)
        if stem in FUNCTIONS:
            return self.function(stem)
        free = INDICES & set(index) | ({SAMPLE} if stem in OF_SAMPLES else set())
        node = Node(name(stem, index.strip("{}")), "atom", free)
        if self.peek() in ("(", "[") and stem in ("P", "A", "S", "phi"):
            group = self.group(self.take().text)
            return Node(node.mathml + group.mathml, "call", node.free | group.free)
        return node

    def group(self, opening: str) -> Node:
        """Read up to the bracket that closes."""
        closing = ")" if opening == "(" else "]"
        inside = self.expression(closing)
        if self.take().text != closing:
            raise ValueError(f"Expected {closing!r} at token {self.at}")
        tall = any(tag in inside.mathml for tag in ("<mfrac", "<munder", "∑", "∏"))
        stretch = "" if tall else ' stretchy="false"'
        mathml = f"<mrow><mo{stretch}>{opening}</mo>{inside.mathml}<mo{stretch}>{closing}</mo></mrow>"
        return Node(mathml, "group", inside.free, inside.mathml, is_fraction=inside.kind == "fraction")

    def function(self, function: str) -> Node:
        """Read what a function is of: a group, or the next factor."""
        argument = self.group(self.take().text) if self.peek() == "(" else self.factor()
        inner = argument.inner or argument.mathml
        if function == "sqrt":
            return Node(f"<msqrt>{inner}</msqrt>", "root", argument.free)
        if function == "abs":
            return Node(f"<mrow><mo>|</mo>{inner}<mo>|</mo></mrow>", "abs", argument.free)
        gap = "" if argument.kind == "group" else SPACE
        return Node(f"<mrow><mi>{function}</mi>{gap}{argument.mathml}</mrow>", "call", argument.free)

    def matrix(self) -> Node:
        """Read rows of cells."""
        rows = []
        while self.peek() == "[":
            self.take()
            cells = []
            while True:
                cells.append(f"<mtd>{self.term().mathml}</mtd>")
                if self.take().text == "]":
                    break
            rows.append(f"<mtr>{''.join(cells)}</mtr>")
            if self.peek() == ",":
                self.take()
        self.take()
        return Node(f"<mrow><mo>(</mo><mtable>{''.join(rows)}</mtable><mo>)</mo></mrow>", "matrix")


def _flat(token: Token) -> str:
    """Return a token of a power on one line."""
    if token.kind == "name":
        return name(*token.text.partition("_")[::2])
    return f"<mn>{token.text}</mn>" if token.kind == "number" else sign(token.text)


def _free(factors: list[Node]) -> frozenset[str]:
    """Return the indices of a product that no sum in it binds."""
    bound: frozenset[str] = frozenset()
    free: frozenset[str] = frozenset()
    for factor in factors:
        bound |= factor.binds
        free |= factor.free - bound
    return free


def _product(factors: list[Node]) -> str:
    """Return factors side by side; an operator such as ∑ brings its own space, a fraction needs no brackets."""
    parts = []
    for before, factor in zip([None, *factors], factors, strict=False):
        parts.append("" if before is None or before.kind == "big" else SPACE)
        parts.append(factor.inner if factor.is_fraction else factor.mathml)
    return "".join(parts)


def _stripped(factors: list[Node]) -> str:
    """Return the factors above or below the line of a fraction, where a lone group needs no brackets."""
    if len(factors) == 1 and factors[0].kind == "group":
        return row(factors[0].inner)
    return row(_product(factors))
