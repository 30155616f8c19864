"""Golden cases: functions of the framework, and PyTorch's answers to them.

A case returns or yields what it saw: texts, numbers, lists and dicts of them. Each is a public
function of ``torch`` alone in some `tests/*/golden_*.py`. `scripts/golden/cases.py` puts it to
PyTorch and `tests/test_golden.py` to nanotorch. Tensors answer by their `repr`; `bits` gives their
exact content, `numbers` their values to be compared up to rounding.
"""

import ast
import functools
import hashlib
import importlib
import inspect
import json
import math
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from tests.tolerances import TERMS, rounding

Case = Callable[[Any], Any]
GOLDEN = Path(__file__).parent / "golden"
# Where a class stands differs; its name does not.
QUALIFIED = re.compile(r"\b(?:nano)?torch\.(?:nn|optim|utils|_core|autograd|ops)[\w.]*\.(\w+)")
ADDRESS = re.compile(r" at 0x[0-9a-f]+")
# What nanotorch tells after PyTorch's text; tests of their own look at it.
BEYOND = re.compile(r"\n\nWhere:.*", re.DOTALL)


class Raised(str):
    """The type and text of an error."""


def files() -> dict[str, Path]:
    """The files of golden cases, by the names of the files of answers: `nn_loss`."""
    paths = sorted(Path(__file__).parent.rglob("golden_*.py"))
    return {f"{path.parent.name}_{path.stem.removeprefix('golden_')}": path for path in paths}


def module(name: str) -> ModuleType:
    """The module of golden cases of that name."""
    path = files()[name].relative_to(Path(__file__).parents[1])
    return importlib.import_module(".".join(path.with_suffix("").parts))


def cases(name: str) -> dict[str, Case]:
    """The golden cases of a file: its public functions of nothing but the framework."""
    return {
        key: value
        for key, value in vars(module(name)).items()
        if inspect.isfunction(value)
        and not key.startswith("_")
        and value.__module__ == module(name).__name__
        and list(inspect.signature(value).parameters) == ["torch"]
    }


def golden(name: str) -> dict[str, Any]:
    answers: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))
    return answers


def told(value: Any) -> Any:
    """An answer as the golden file holds it; what a case yields is told after its last line."""
    if inspect.isgenerator(value):
        value = list(value)
    if isinstance(value, dict):
        return {str(k): told(v) for k, v in value.items()}
    if isinstance(value, list) or type(value) is tuple:
        return [told(v) for v in value]
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = value if isinstance(value, str) else repr(value)
    return QUALIFIED.sub(r"<\1>", ADDRESS.sub("", BEYOND.sub("", text)))


def outcome(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the call returns, or the type and text of the error that it raises."""
    try:
        return call(*args, **kwargs)
    except Exception as error:
        text = BEYOND.sub("", str(error))
        # PyTorch lists all signatures of a function after the first line.
        first = text.partition("\n")[0]
        text = first if first.endswith("expected one of:") else text
        return Raised(f"{type(error).__name__}: {text}")


def raised(call: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The type and text of the error that the call raises."""
    result = outcome(call, *args, **kwargs)
    return result if type(result) is Raised else f"no error, but {told(result)}"


def seen_by(look: Callable[..., Any]) -> Callable[[Case], Case]:
    """A decorator of programs: the case is what ``look``, `raised` for one, sees in a run."""

    def made(program: Case) -> Case:
        @functools.wraps(program)
        def case(torch: Any) -> Any:
            return look(lambda: program(torch))

        return case

    return made


def warned(call: Callable[[], Any]) -> list[str]:
    """The texts of the warnings that the call gives."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        call()
    # PyTorch adds the line of its own source to some.
    return [f"{w.category.__name__}: {str(w.message).split(' (Triggered')[0]}" for w in caught]


def expressions(text: str) -> list[str]:
    """The expressions of a table: `|` and the ends of lines part them."""
    return text.strip().replace("\n", "|").split("|")


def tables(
    names: Callable[[Any], dict[str, Any]], shown: Callable[[str], str] = str
) -> Callable[[str], Case]:
    """What makes cases of tables of expressions: what each gives or raises.

    Args:
        names: what the expressions know besides ``torch``, made anew for each.
        shown: the part of an answer that counts.
    """

    def table(text: str) -> Case:
        def case(torch: Any) -> Any:
            with warnings.catch_warnings(action="ignore"):
                return {
                    call: shown(raised(eval, call, {"torch": torch} | names(torch)))
                    for call in expressions(text)
                }

        case.__module__ = names.__module__
        return case

    return table


def given(torch: Any, *functions: Callable[..., Any], **more: Any) -> dict[str, Any]:
    """Names of a session: functions without their first argument, ``torch``, and others."""
    return {f.__name__: functools.partial(f, torch) for f in functions} | more


class Telling(ast.NodeTransformer):
    """Has every expression that is a statement told, but for those inside of functions."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        return node

    def visit_Expr(self, node: ast.Expr) -> list[ast.stmt]:
        parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        return ast.parse("\n".join(f"tell(lambda: {ast.unparse(part)})" for part in parts)).body


def sessions(
    names: Callable[[Any], dict[str, Any]], shown: Callable[[Any], Any] = lambda answer: answer
) -> Callable[[str], Case]:
    """What makes cases of sessions: lines with a title, and below each of them statements.

    The answer is told at once of every statement that is an expression, or of each part of one with
    commas: what it gives or raises. An expression after ``_ =`` is only evaluated. Each session
    begins with the seed 0.

    Args:
        names: what the statements know besides ``torch``, ``nn``, ``F`` and this file, made anew
            for each session.
        shown: what of an answer is told.
    """

    def session(torch: Any, statements: str) -> list[Any]:
        answers: list[Any] = []
        torch.manual_seed(0)
        tell = {"tell": lambda part: answers.append(told(shown(outcome(part))))}
        tree = Telling().visit(ast.parse(textwrap.dedent(statements)))
        known = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional} | names(torch) | tell
        exec(compile(tree, "<session>", "exec"), globals() | known)
        return answers

    def group(text: str) -> Case:
        def case(torch: Any) -> Any:
            parts = [part.partition("\n") for part in re.split(r"\n(?=\S)", text.strip())]
            return {title: session(torch, statements) for title, _, statements in parts}

        case.__module__ = names.__module__
        return case

    return group


def bits(tensor: Any) -> str:
    """The dtype, shape and exact values of a tensor, in short."""
    array = tensor.detach().numpy()
    content = hashlib.md5(array.tobytes(), usedforsecurity=False).hexdigest()
    return f"{array.dtype} {array.shape} {content[:12]}"


def digests(module: Any) -> dict[str, str]:
    """The exact content of a module's state."""
    return {name: bits(tensor) for name, tensor in module.state_dict().items()}


def numbers(tensors: Any) -> Any:
    """The values of a tensor or of several, which need to agree up to rounding only."""
    if tensors is None:
        return None
    if not hasattr(tensors, "detach"):
        return [numbers(tensor) for tensor in tensors]
    array = tensors.detach().numpy()
    return {
        "dtype": str(array.dtype),
        "shape": list(array.shape),
        "numbers": array.ravel().tolist(),
    }


def slopes(leaves: Iterable[Any]) -> Any:
    """The gradients of tensors, as numbers."""
    return numbers(leaf.grad for leaf in leaves)


@functools.cache
def own_words() -> dict[str, list[str]]:
    """Rare refusals that nanotorch words itself, by PyTorch's text."""
    words: dict[str, list[str]] = json.loads((GOLDEN / "own_words.json").read_text("utf-8"))
    return words


def in_pytorchs_words(answer: Any, expected: Any) -> Any:
    """The answer with PyTorch's text where nanotorch has words of its own for that refusal."""
    if isinstance(answer, str) and isinstance(expected, str):
        kind, _, text = expected.partition(": ")
        own = own_words().get(expected, []) + [f"{kind}: {o}" for o in own_words().get(text, [])]
        return expected if answer in own else answer
    if isinstance(answer, dict) and isinstance(expected, dict):
        return {k: in_pytorchs_words(v, expected.get(k)) for k, v in answer.items()}
    if isinstance(answer, list) and isinstance(expected, list) and len(answer) == len(expected):
        return [in_pytorchs_words(*pair) for pair in zip(answer, expected, strict=True)]
    return answer


def assert_same(
    answer: Any, expected: Any, where: str = "", depth: float = 1, terms: int = TERMS
) -> None:
    """The answers agree: numbers up to rounding, everything else exactly.

    Args:
        depth, terms: of the network, as `rounding` takes them. Numbers that do not tell their
            dtype are taken for single precision.
    """
    if isinstance(expected, dict) and "numbers" in expected:
        assert (answer["dtype"], answer["shape"]) == (expected["dtype"], expected["shape"]), where
        tolerance = rounding(expected["dtype"], depth, terms)
        assert_close(answer["numbers"], expected["numbers"], tolerance, where)
    elif isinstance(expected, dict):
        assert list(answer) == list(expected), where
        for key, value in expected.items():
            assert_same(answer[key], value, f"{where}.{key}", depth, terms)
    elif isinstance(expected, list):
        assert isinstance(answer, list), where
        assert len(answer) == len(expected), f"{where}: {answer} is not {expected}"
        if expected and all(type(value) is float for value in expected):
            assert_close(answer, expected, rounding("float32", depth, terms), where)
            return
        for position, value in enumerate(expected):
            assert_same(answer[position], value, f"{where}[{position}]", depth, terms)
    elif isinstance(expected, float):
        assert_close([answer], [expected], rounding("float32", depth, terms), where)
    else:
        assert answer == expected, where
        assert type(answer) is type(expected), where


def assert_close(actual: list[float], expected: list[float], relative: float, where: str) -> None:
    """Equal but for ``relative`` times the largest expected value; NaN and infinity in place."""
    finite = [abs(e) for e in expected if math.isfinite(e)]
    tolerance = relative * max(finite, default=0.0)
    for a, e in zip(actual, expected, strict=True):
        assert type(a) is type(e), f"{where}: {actual} is not {expected}"
        if math.isfinite(e):
            assert abs(a - e) <= tolerance, f"{where}: {actual} is not {expected}"
        else:
            assert a == e or (math.isnan(a) and math.isnan(e)), where


def leaves(value: Any) -> Iterator[Any]:
    """The single answers inside an answer, for counting them."""
    if isinstance(value, dict) and "numbers" not in value:
        value = list(value.values())
    if isinstance(value, list):
        for entry in value:
            yield from leaves(entry)
    else:
        yield value


# How cases describe graphs.


def name_of(node: Any) -> str | None:
    """A node by its class."""
    return None if node is None else type(node).__name__


def tree(node: Any) -> Any:
    """A node with everything it leads to, as nested lists of names."""
    if node is None:
        return None
    return [name_of(node), [[tree(n), k] for n, k in node.next_functions]]


class Log(list[Any]):
    """Hooks that note their name and the gradient they saw."""

    def hook(self, name: str, result: Any = None) -> Callable[[Any], Any]:
        """A tensor hook that returns ``result``, called with the gradient if it is a function."""

        def note(g: Any) -> Any:
            self.append([name, told(g)])
            return result(g) if callable(result) else result

        return note

    def name(self, name: str) -> Callable[..., None]:
        """A hook of any kind that notes only that it was called."""

        def note(*_: Any) -> None:
            self.append(name)

        return note
