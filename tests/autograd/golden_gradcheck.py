"""`gradcheck` and `gradgradcheck`: what passes, what fails, and with which words."""

import importlib
from types import ModuleType
from typing import Any

from tests.answers import raised, warned
from tests.autograd.golden_function import make


def leaf64(torch: Any, *values: float) -> Any:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


def square_wrong_by(torch: Any, factor: float) -> Any:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    return make(torch, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0] * factor).apply


def passing(torch: Any) -> Any:
    check, x, y = torch.autograd.gradcheck, leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    constant = torch.tensor([1.0, 2.0], dtype=torch.float64)
    return [
        check(lambda x: x**2, x), check(lambda x, y: x * y, (x, y)),
        check(lambda x, y: (x * y, x + y), [x, y]), check(lambda x, k: x * k, (x, 3.0)),
        check(lambda x, i: x * i, (x, torch.tensor([1, 2]))),
        check(lambda x: (x * 2, torch.tensor([1, 2])), x), check(lambda c, x: c * x, (constant, x)),
        check(lambda x: (torch.ones(2), x * 2), x), check(lambda x: torch.ones(2), x),
        check(lambda x: x.clone().mul_(2), x), check(lambda x: x * 2, x * 3),
        check(lambda x: x * 2, leaf64(torch)),
        check(lambda x: x * 2, torch.tensor(2.0, dtype=torch.float64, requires_grad=True)),
        check(lambda x: x**2, x, fast_mode=True),
        check(torch.nn.Linear(2, 3).double(), x.reshape(1, 2)),
        check(square_wrong_by(torch, 1.0), x),
    ]  # fmt: skip


def failing(torch: Any) -> Any:
    check, x, y = torch.autograd.gradcheck, leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    wrong = square_wrong_by(torch, 1.01)
    return [
        raised(check, wrong, x),
        check(wrong, x, raise_exception=False),
        raised(check, lambda x, y: (x + y, x * wrong(y)), (x, y)),
        raised(check, lambda x: x.detach(), x),
        raised(check, lambda x: x.sqrt(), leaf64(torch, -1.0)),
        raised(check, make(torch, lambda ctx, x: x * 2, lambda ctx, g: None).apply, x),
        raised(
            check, make(torch, lambda ctx, x: x * 2, lambda ctx, g: g * 0 + 2).apply, x, atol=10
        ),
        raised(check, lambda x: 1 / 0, x),
        raised(check, lambda x: x.mul_(2), x),
    ]  # fmt: skip


def undefined_gradients(torch: Any) -> Any:
    """Where no gradient arrives, none may be made up."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_materialize_grads(False)
        return x * 2

    def inventing(ctx: Any, g: Any) -> Any:
        return torch.ones(2, dtype=torch.float64) if g is None else g * 2

    check, x = torch.autograd.gradcheck, leaf64(torch, 1.0, 2.0)
    function = make(torch, forward, inventing).apply
    failing = make(torch, forward, lambda ctx, g: g * 2).apply
    return [
        raised(check, function, x), check(function, x, check_undefined_grad=False),
        raised(check, failing, x), check(failing, x, check_undefined_grad=False),
    ]  # fmt: skip


def unfit_inputs(torch: Any) -> Any:
    check, single = torch.autograd.gradcheck, torch.tensor([1.0, 2.0], requires_grad=True)
    wide = torch.ones(1, dtype=torch.float64, requires_grad=True).expand(3)

    def imprecise() -> None:
        check(lambda x: x**2, single, eps=1e-2, atol=1e-1, rtol=1e-1)

    return [
        raised(check, lambda x: x**2, torch.ones(2, dtype=torch.float64)),
        raised(check, lambda x: x, 3), raised(check, lambda x: x * 2, wide), warned(imprecise),
        raised(check, lambda x: x, leaf64(torch, 1.0), check_backward_ad=False),
    ]  # fmt: skip


def second_order(torch: Any) -> Any:
    check, x, y = torch.autograd.gradgradcheck, leaf64(torch, 1.0, 2.0), leaf64(torch, 3.0, 4.0)
    return [
        check(lambda x: x**3, x), check(lambda x, y: x**3 * y, (x, y)),
        check(lambda x, y: x**3, (x, y)), check(lambda x: x * 2, x),
        check(lambda x: x**3, x, leaf64(torch, 1.0, 2.0)),
        check(lambda x: x**3, x, gen_non_contig_grad_outputs=True),
        check(lambda x, y: (x * y, x.exp()), (x, y)),
        raised(check, lambda x: x**3, torch.ones(2, dtype=torch.float64)),
    ]  # fmt: skip


def outputs_that_depend_on_values(torch: Any) -> Any:
    check, x = torch.autograd.gradcheck, leaf64(torch, 0.0, 1.0, 2.0)
    functions = [
        lambda x: x if x[0] > 0 else x[:2], lambda x: x * 2 if x[0] > 0 else (x * 2)[None],
        lambda x: (x * 2, (x if x[0] > 0 else x[:2]).detach()),
        lambda x: (x * 2, (x > 0).nonzero()), lambda x: x * 2 if x[0] > 0 else (x * 2).float(),
        lambda x: (x * 2, x.argmax()),
    ]  # fmt: skip
    return [raised(check, f, x) for f in functions]


def several_outputs(torch: Any) -> Any:
    def x() -> Any:
        return torch.tensor([[3.0, 1.0], [0.5, 2.0]], dtype=torch.float64, requires_grad=True)

    functions = [
        torch.std_mean, lambda x: torch.var_mean(x, 1), torch.aminmax, torch.linalg.slogdet,
        torch.linalg.qr, lambda x: x.unbind(), lambda x: x.split(1),
        lambda x: torch.linalg.eigh(x @ x.mT)[0],
    ]  # fmt: skip
    checks = (torch.autograd.gradcheck, torch.autograd.gradgradcheck)
    return [check(f, x()) for f in functions for check in checks]


def empty_batches(torch: Any) -> Any:
    def leaf(*shape: int) -> Any:
        return torch.ones(*shape, dtype=torch.float64, requires_grad=True)

    functional = torch.nn.functional
    return [
        check(f, tuple([leaf(*shape) for shape in shapes]))
        for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck)
        for f, *shapes in (
            (lambda x: x * x, (0, 2)),
            (functional.linear, (0, 2), (3, 2)),
            (functional.conv2d, (0, 2, 3, 3), (3, 2, 2, 2)),
        )
    ]


def names_of_functions_and_files(torch: Any) -> Any:
    for name in ("gradcheck", "variable", "grad_mode"):
        importlib.import_module(f"{torch.__name__}.autograd.{name}")
    autograd = torch.autograd
    kinds = [type(getattr(autograd, name)).__name__ for name in ("gradcheck", "variable")]
    file = "module" if isinstance(autograd.grad_mode, ModuleType) else "something else"
    return [kinds, file, raised(autograd.variable, torch.ones(1))]
