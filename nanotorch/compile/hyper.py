"""Numbers of an optimizer that may change between steps: its options and its step counts.

During a traced `step` of an optimizer these numbers are `Hyper` objects: floats that remember the
expression they came from, so that a replay computes them anew. What the optimizer asks of one (is
the weight decay zero?) becomes a condition that a replay checks.
"""

from typing import Any


class Leaf:
    """Where a number comes from: ``container[key]``, or the value of a 0-d array.

    Attributes:
        late: of an array: whether the step itself has written it before.
    """

    __slots__ = ("container", "key", "late")

    def __init__(self, container: Any, key: Any = None, late: bool = False) -> None:
        self.container, self.key, self.late = container, key, late


# An expression: a `Leaf`, a Python number, or `(format, operands...)`.
Expression = Any


class Conditions:
    """What was asked of numbers while tracing: ``(expression, answer)``."""

    def __init__(self) -> None:
        self.asked: list[tuple[Expression, Any]] = []


class Hyper(float):
    """A number with the expression it came from."""

    __slots__ = ("conditions", "expression")
    expression: Expression
    conditions: Conditions

    @classmethod
    def of(cls, value: float, expression: Expression, conditions: Conditions) -> "Hyper":
        """A number with its origin; always a float here, in replays what it is then."""
        self = cls(value)
        self.expression, self.conditions = expression, conditions
        return self

    def __bool__(self) -> bool:
        answer = float(self) != 0.0
        self.conditions.asked.append((("bool({})", self.expression), answer))
        return answer

    __hash__ = float.__hash__


def expression_of(value: Any) -> Expression:
    """The expression of an operand."""
    return value.expression if isinstance(value, Hyper) else value


def arithmetic(name: str, pattern: str) -> None:
    """Let an operator give a `Hyper`."""
    plain = getattr(float, f"__{name}__")

    def forward(self: Hyper, other: Any) -> Any:
        result = plain(self, other)
        if result is NotImplemented:
            return result
        expression = (pattern, self.expression, expression_of(other))
        return Hyper.of(result, expression, self.conditions)

    setattr(Hyper, f"__{name}__", forward)
    if hasattr(float, f"__r{name}__"):
        reverse = getattr(float, f"__r{name}__")

        def reflected(self: Hyper, other: Any) -> Any:
            result = reverse(self, other)
            if result is NotImplemented:
                return result
            expression = (pattern, expression_of(other), self.expression)
            return Hyper.of(result, expression, self.conditions)

        setattr(Hyper, f"__r{name}__", reflected)


def comparison(name: str, pattern: str) -> None:
    """Let a comparison become a condition."""
    plain = getattr(float, f"__{name}__")

    def compare(self: Hyper, other: Any) -> Any:
        answer = plain(self, other)
        if answer is not NotImplemented:
            expression = (pattern, self.expression, expression_of(other))
            self.conditions.asked.append((expression, answer))
        return answer

    setattr(Hyper, f"__{name}__", compare)


for _name, _pattern in {
    "add": "({} + {})", "sub": "({} - {})", "mul": "({} * {})", "truediv": "({} / {})",
    "pow": "({} ** {})",
}.items():  # fmt: skip
    arithmetic(_name, _pattern)
for _name, _pattern in {
    "lt": "({} < {})", "le": "({} <= {})", "gt": "({} > {})", "ge": "({} >= {})",
    "eq": "({} == {})", "ne": "({} != {})",
}.items():  # fmt: skip
    comparison(_name, _pattern)


def negative(self: Hyper) -> Hyper:
    """``-x``."""
    return Hyper.of(-float(self), ("(-{})", self.expression), self.conditions)


Hyper.__neg__ = negative  # type: ignore[assignment,method-assign]


def leaves(expression: Expression) -> list[Leaf]:
    """The leaves of an expression, in order."""
    if isinstance(expression, Leaf):
        return [expression]
    if isinstance(expression, tuple):
        return [leaf for part in expression[1:] for leaf in leaves(part)]
    return []


def text(expression: Expression, name_of: Any) -> str:
    """An expression as Python source.

    Args:
        name_of: gives the name of a leaf, or of a Python number.
    """
    if isinstance(expression, tuple):
        return expression[0].format(*[text(part, name_of) for part in expression[1:]])
    return str(name_of(expression))
