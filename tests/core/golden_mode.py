"""Grad mode: context managers, decorators, generators, nesting, exceptions."""

from collections.abc import Iterator
from typing import Any

from tests.answers import raised


def exceptions(torch: Any) -> Any:
    for manager in (torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(True)):
        try:
            with manager:
                raise ValueError("inside")
        except ValueError:
            yield torch.is_grad_enabled()


def reused_objects(torch: Any) -> Any:
    """One object may be entered again, also inside itself."""
    on = torch.is_grad_enabled
    guard = torch.no_grad()
    for _ in range(2):
        with guard:
            yield on()
        yield on()


def refused_modes(torch: Any) -> Any:
    yield from [raised(lambda: torch.set_grad_enabled("yes")), raised(torch.set_grad_enabled)]
    yield torch.is_grad_enabled()


def decorators(torch: Any) -> Any:
    x = torch.ones(1, requires_grad=True)

    @torch.no_grad()
    def off(a: Any, b: int = 1) -> Any:
        """Its documentation."""
        return (a * b).requires_grad

    @torch.no_grad
    def bare(a: Any) -> Any:
        return (a * 2).requires_grad

    @torch.enable_grad()
    def on(a: Any) -> Any:
        return (a * 2).requires_grad

    @torch.set_grad_enabled(False)
    def switched(a: Any) -> Any:
        return (a * 2).requires_grad

    yield from [off(x), bare(x), on(x), switched(x), torch.is_grad_enabled()]
    with torch.no_grad():
        yield from [off(x, b=3), on(x), torch.is_grad_enabled()]
    yield from [off.__name__, off.__doc__]


def decorated_recursion(torch: Any) -> Any:
    seen = []

    @torch.no_grad()
    def count(n: int) -> None:
        seen.append(torch.is_grad_enabled())
        if n:
            count(n - 1)
        seen.append(torch.is_grad_enabled())

    count(3)
    return [seen, torch.is_grad_enabled()]


def generators_that_talk(torch: Any) -> Any:
    """`send`, `throw`, `close` and the returned value pass through the decorator."""
    log: list[Any] = []

    @torch.no_grad()
    def steps() -> Any:
        try:
            got = yield "first"
            log.append([got, torch.is_grad_enabled()])
            try:
                yield "second"
            except KeyError as error:
                log.append([str(error), torch.is_grad_enabled()])
                yield "third"
            return "result"
        finally:
            log.append(["closed", torch.is_grad_enabled()])

    talk = steps()
    answers = [next(talk), talk.send("hello"), talk.throw(KeyError("thrown"))]
    try:
        next(talk)
    except StopIteration as stop:
        answers.append(stop.value)
    left = steps()
    next(left)
    left.close()
    return [answers, log, torch.is_grad_enabled()]


def generator_errors(torch: Any) -> Any:
    @torch.no_grad()
    def steps() -> Iterator[int]:
        yield 1
        raise ValueError("inside")

    return [raised(lambda: list(steps())), torch.is_grad_enabled()]
