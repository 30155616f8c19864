"""Random programs: generated statement by statement while PyTorch runs them, compared, shrunk."""

import random
import re
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import Any

from fuzzing import accepted, effects, families, grammar
from fuzzing.grammar import Rule
from fuzzing.scene import Scene
from tests.core.programs import Machine, attempt, close, difference
from tests.tolerances import PROGRAMS

RULES: dict[Rule, float] = {
    grammar.leaf: 4,
    grammar.unary: 8,
    grammar.binary: 10,
    grammar.ternary: 3,
    grammar.reduction: 4,
    grammar.along: 5,
    grammar.view: 14,
    grammar.views: 2,
    grammar.indexed: 4,
    grammar.product: 4,
    grammar.linear: 3,
    grammar.joined: 3,
    effects.write_unary: 5,
    effects.write_binary: 9,
    effects.augmented: 5,
    effects.augmented_part: 3,
    effects.assignment: 7,
    effects.write_other: 4,
    effects.flag: 9,
    effects.hook: 9,
    effects.looked: 2,
    effects.backward: 8,
    effects.differentiated: 4,
    families.method: 8,
    families.function: 5,
    families.network: 5,
    families.change: 6,
    families.written: 4,
    families.transform: 3,
    families.custom: 2,
    families.train: 4,
    families.drawn: 1,
}
# Errors that PyTorch raises while it writes. Its backward passes run nodes without a derivative
# first, so that leaves have smaller gradients than here when both stop.
LATE = (
    "is out of bounds",
    "index out of range in self",
    "ZeroDivisionError",
    "Number of elements of source",
    "derivative for aten::",
    "not implemented for",
    "does not match input dtype",
    "a view of a leaf Variable that requires grad",  # after a user's function has run
)


@dataclass
class Found:
    """A program after whose last statement the frameworks differ."""

    seed: int
    statements: list[str]
    text: str = ""
    quiet: bool = False


@dataclass
class Both:
    """The same program in both frameworks.

    Args:
        quiet: compare states only at the end, as a look at views brings them up to date.
    """

    torch: Any
    nanotorch: Any
    quiet: bool = False
    statements: list[str] = field(default_factory=list)
    accepted: str | None = None
    through: float = 0.0
    pairs: list[tuple[str, str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.theirs, self.ours = Machine(self.torch), Machine(self.nanotorch)
        self.ahead: dict[str, tuple[Any, int]] = {}
        for framework in (self.torch, self.nanotorch):
            framework.set_grad_enabled(True)

    def step(self, statement: str) -> str | None:
        """Run one more statement; returns the difference after it, or None."""
        self.statements.append(statement)
        kinds = self.kinds(statement)
        theirs, ours = self.theirs.run(statement), self.ours.run(statement)
        self.count()
        if theirs != ours:
            reason = accepted.why(self.statements, theirs, ours) or self.of_memory(theirs, ours)
            if reason is None:
                return f"error: {theirs} but {ours}"
            if theirs is None or ours is None:
                self.accepted = reason
                return None
            self.pairs.append((reason, statement, theirs, ours))
        late = theirs and accepted.WRITES.search(statement) and any(t in theirs for t in LATE)
        if late and self.compare():
            self.accepted = "PyTorch has written a part before it finds an error"
            return None
        kinds |= self.kinds(statement)
        self.through = max([PROGRAMS.get(kind, 0.0) for kind in kinds], default=0.0)
        if "_norm(" in statement:  # it magnifies the rounding of nearly equal numbers
            self.through *= 10
        if self.quiet:
            self.equalise()
            return None
        found = self.compare()
        self.accepted = self.why(found) if found else None
        return None if self.accepted else found

    def why(self, found: str) -> str | None:
        """The reason why this difference of states is accepted, if it is."""
        at = re.match(r"state (t\d+) (?:is_view|base|grad_fn): ", found)
        told = rf"\b{at[1]} = .*\b(ravel|reshape|flatten|contiguous)\(" if at else r"\Z."
        if re.match(r"state t\d+ values: ", found):
            # Numbers drawn in the order of the memory, or writes to a possible copy.
            told = r"manual_seed\(|\b(ravel|reshape|flatten|contiguous)\("
        for statement in self.statements:
            if re.search(told, statement):
                if self.lie_otherwise(statement, plain=False):
                    return accepted.LAYOUT
                if self.transformed and self.lie_otherwise(statement, plain=True):
                    return accepted.TRANSFORM
        return accepted.why_state(self.statements, found)

    @property
    def transformed(self) -> bool:
        """Whether there was a transform of a function."""
        return any(".func" in statement for statement in self.statements)

    def of_memory(self, theirs: str | None, ours: str | None) -> str | None:
        """The reason why a refusal by one framework is accepted for the tensors' layouts."""
        statement, text = self.statements[-1], theirs or ours or ""
        if "view size is not compatible" in text and self.lie_otherwise(
            statement, plain=theirs is None
        ):
            if ours is None:
                return accepted.LAYOUT
            return accepted.TRANSFORM if self.transformed else None
        written = re.fullmatch(r"(?:with [^:]*: )?(.+?)(?: = | \W= |\.\w+_\()(t\d+)\b.*", statement)
        if ours is None and written and "unsupported operation: some elements" in text:
            with self.torch.no_grad():  # so that no view needs its history
                parts = [attempt(partial(eval, p, self.theirs.names)) for p in written.groups()]
            places = [(t.data_ptr(), t.numel()) for t in parts if hasattr(t, "data_ptr")]
            if len(places) == 2 and places[0] == places[1]:
                return accepted.STRIDES
        return None

    def lie_otherwise(self, statement: str, *, plain: bool) -> bool:
        """Whether a tensor in a statement owns memory that is in order in one framework only.

        Args:
            plain: whether in PyTorch; if not, in nanotorch.
        """
        for name in re.findall(r"\bt\d+\b", statement):
            pair = [m.tensors()[name] for m in (self.theirs, self.ours) if name in m.tensors()]
            pair = [t.data if t._base is None else t._base.data for t in pair]
            apart = self.transformed and plain and len({t.stride() for t in pair}) == 2
            if apart or [t.is_contiguous() for t in pair] == [plain, not plain]:
                return True
        return False

    def kinds(self, statement: str) -> set[str]:
        """The dtypes to which a statement's results were rounded.

        Half precision is computed in single, but gradients are passed on in half.
        """
        tensors = self.theirs.tensors()
        if accepted.PASS.search(statement):
            return {str(t.dtype).removeprefix("torch.") for t in tensors.values()}
        named = [tensors[n] for n in re.findall(r"\bt\d+\b", statement) if n in tensors]
        kinds = {str(t.dtype).removeprefix("torch.") for t in named}
        return {kind.replace("float16", "float32") for kind in kinds}

    def count(self) -> None:
        """Note the differences of new tensors' versions: how often a kernel wrote its result."""
        ours = self.ours.tensors()
        for name, t in self.theirs.tensors().items():
            known = name in self.ahead and self.ahead[name][0] is t
            if not known and name in ours and not (t.is_inference() or ours[name].is_inference()):
                self.ahead[name] = (t, t._version - ours[name]._version)

    def compare(self) -> str | None:
        """The difference of the states; if there is none, make the numbers equal."""
        theirs, ours = self.theirs.state(), self.ours.state()
        for name, (_, ahead) in self.ahead.items():
            if name in ours and isinstance(ours[name]["version"], int):
                ours[name]["version"] += ahead
        found = difference(theirs, ours, "state", self.through)
        if found is None:
            self.equalise()
        return found

    def equalise(self) -> None:
        """Let both frameworks continue with the same numbers."""
        ours = self.ours.tensors()
        for name, t in self.theirs.tensors().items():
            if name not in ours:
                continue
            equalise(t, ours[name], self.through)
            grad, own = (attempt(partial(getattr, x, "grad")) for x in (t, ours[name]))
            if hasattr(grad, "detach") and hasattr(own, "detach"):
                equalise(grad, own, self.through)


def equalise(theirs: Any, ours: Any, through: float) -> None:
    """Write PyTorch's rounding into nanotorch's memory, so that it does not add up."""
    array = ours.detach().numpy()
    values = theirs.detach().clone().numpy()
    if (
        array.shape != values.shape
        or array.dtype != values.dtype
        or not close(values, array, through)
    ):
        return
    if array.flags.writeable and array.tobytes() != values.tobytes():
        array[...] = values


def run(torch: ModuleType, nanotorch: ModuleType, statements: list[str], quiet: bool) -> Both | str:
    """Run a program anew; returns the difference as text, or else both states."""
    both = Both(torch, nanotorch, quiet)
    for statement in statements:
        found = both.step(statement)
        if found:
            return found
        if both.accepted:
            return both
    found = both.compare()
    return both if found is None or both.why(found) else found


def write(torch: Any, nanotorch: Any, seed: int, length: int) -> tuple[Both, str | None]:
    """Generate and run the program of a seed until its end or the first difference."""
    rng = random.Random(seed)
    both = Both(torch, nanotorch, quiet=rng.random() < 0.4)
    scene = Scene(rng, both.theirs)
    rules, weights = list(RULES), list(RULES.values())
    for number in range(rng.randrange(4, length)):
        rule = grammar.leaf if number < 2 else rng.choices(rules, weights)[0]
        try:
            statement = rule(scene)
        except LookupError:
            continue
        if number >= 2 and rng.random() < 0.08:
            mode = rng.choice(["no_grad()"] * 6 + ["enable_grad()"])
            statement = f"with torch.{mode}: {statement}"
        found = both.step(statement)
        if found or both.accepted:
            return both, found
    found = both.compare()
    both.accepted = both.why(found) if found else None
    return both, None if both.accepted else found


def kind_of(found: str) -> str:
    """The kind of a difference, so that shrinking keeps the same one."""
    return "error" if found.startswith("error") else "state"


def shrink(torch: Any, nanotorch: Any, program: Found) -> Found:
    """The program without the statements that its difference does not need."""
    statements, text = list(program.statements), program.text
    changed = True
    while changed:
        changed = False
        for position in reversed(range(len(statements))):
            fewer = statements[:position] + statements[position + 1 :]
            found = run(torch, nanotorch, fewer, program.quiet)
            if isinstance(found, str) and kind_of(found) == kind_of(text):
                statements, text, changed = fewer, found, True
    return Found(program.seed, statements, text, program.quiet)
