"""Jacobians, Hessians and products with them; `gradcheck` and `gradgradcheck`; `Variable`."""

import functools
import importlib
from types import ModuleType
from typing import Any

from tests.answers import raised, sessions
from tests.autograd.golden_function import leaf, make


def _names(torch: Any) -> dict[str, Any]:
    def leaf64(*values: Any) -> Any:
        return torch.tensor(values, dtype=torch.float64, requires_grad=True)

    def wrong_by(factor: float) -> Any:
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        return make(torch, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0] * factor).apply

    return {
        "jacobian": torch.autograd.functional.jacobian, "vjp": torch.autograd.functional.vjp,
        "jvp": torch.autograd.functional.jvp, "hvp": torch.autograd.functional.hvp,
        "vhp": torch.autograd.functional.vhp,
        "hessian": torch.autograd.functional.hessian, "check": torch.autograd.gradcheck,
        "check2": torch.autograd.gradgradcheck, "variable": torch.autograd.Variable,
        "leaf": functools.partial(leaf, torch), "make": functools.partial(make, torch),
        "leaf64": leaf64, "wrong_by": wrong_by, "x": leaf64(1.0, 2.0), "y": leaf64(3.0, 4.0),
        "m": torch.tensor([[1.0, 2.0], [3.0, 4.0]]), "a": torch.tensor([1.0, 2.0]),
        "b": torch.tensor([3.0, 4.0, 5.0]), "rows": lambda x: x.exp().sum(1),
        "cubes": lambda x: x.pow(3).sum(), "mixed": lambda x, y: (x.sum() * y.pow(2)).sum(),
        "two": lambda x, y: (x.sum() * y, x * 2), "one": torch.tensor(1.0),
        "F": torch.nn.functional,
    }  # fmt: skip


session = sessions(_names)

derivatives = session("""
jacobians
    jacobian(rows, m), jacobian(rows, m).shape, jacobian(lambda x, y: 2 * x + 3 * y, (a, a))
    jacobian(two, (a, b)), jacobian(rows, (m,)), jacobian(lambda x: (x * 2,), a)
    jacobian(cubes, a), jacobian(lambda x: x**2, torch.tensor(3.0))
    jacobian(lambda x, y: x * 2, (a, b)), jacobian(lambda x: torch.tensor([1.0, 2.0]), a)
    jacobian(lambda x: torch.tensor([1, 2]), a), jacobian(lambda x: x, a)
    jacobian(rows, m, vectorize=True)
hessians
    hessian(cubes, m), hessian(cubes, m).shape
    hessian(lambda x, y: (2 * x.pow(2) + 3 * y.pow(2)).sum(), (a, a)), hessian(mixed, (a, b))
    hessian(lambda x: x.sum(), a), hessian(lambda x: torch.tensor(1.0), a)
    hessian(lambda x: (x**2).sum().reshape(1), a), hessian(cubes, m, vectorize=True)
results are detached
    x = leaf(1.0, 2.0)
    jacobian(lambda x: x**3, x).requires_grad, hessian(cubes, x).requires_grad, x.grad
products with jacobians and hessians
    square = lambda x: x**2
    jvp(square, a, a), jvp(two, (a, b), (a, -b)), jvp(rows, m, m), jvp(square, one)
    jvp(cubes, b, b), jvp(lambda x: torch.tensor([1.0, 2.0]), a, a)
    jvp(lambda x, y: x * 2, (a, b), (a, b))
    for f in (hvp, vhp):
        f(cubes, a, a), f(cubes, m, m), f(mixed, (a, b), (a, b)), f(lambda x: x**3, one)
        f(lambda x: x.sum(), a, a), f(lambda x: torch.tensor(1.0), a, a)
        f(lambda x, y: cubes(x), (a, b), (a, b)), f(lambda x: cubes(x).reshape(1), a, a)
        f(square, a, a), f(two, (a, b), (a, b))
    x, v = leaf(1.0, 2.0), leaf(3.0, -1.0)
    for f in (jvp, hvp, vhp):
        value, product = f(cubes, x, v, create_graph=True)
        grads = torch.autograd.grad(product.sum(), (x, v), allow_unused=True)
        value.requires_grad, product.detach(), grads, [t.requires_grad for t in f(cubes, x, v)]
        f(cubes, a), f(cubes, a, b), f(mixed, (a, b), (a,))
what does not fit
    for f in (jacobian, hessian):
        f(rows, [m]), f(rows, 3.0), f(cubes, (a, 3.0)), f(lambda x: 3.0, one)
        f(lambda x: [x], one), f(lambda x: (x, 3.0), one)
    hessian(lambda x: x**2, a), hessian(lambda x: (x.sum(),), a)
products
    vjp(rows, m, torch.ones(2)), vjp(cubes, m), vjp(mixed, (a, b[:2]))[0].shape
    vjp(two, (a, b), (b, a)), vjp(lambda x: x * 2, a, a, create_graph=True)
    vjp(lambda x: x**2, leaf(1.0, 2.0), a, create_graph=True)
    vjp(lambda x: b, a, b), vjp(lambda x, y: x * 2, (a, b), a)
    vjp(rows, m, torch.ones(3)), vjp(two, (a, b), b)
    raised(vjp, rows, m).split(":")[0], raised(vjp, lambda x: 3, m).split(":")[0]
""")

checks = session("""
passing
    constant = torch.tensor([1.0, 2.0], dtype=torch.float64)
    check(lambda x: x**2, x), check(lambda x, y: x * y, (x, y))
    check(lambda x, y: (x * y, x + y), [x, y]), check(lambda x, k: x * k, (x, 3.0))
    check(lambda x, i: x * i, (x, torch.tensor([1, 2]))), check(lambda c, x: c * x, (constant, x))
    check(lambda x: (x * 2, torch.tensor([1, 2])), x), check(lambda x: (torch.ones(2), x * 2), x)
    check(lambda x: torch.ones(2), x), check(lambda x: x.clone().mul_(2), x)
    check(lambda x: x * 2, x * 3), check(lambda x: x * 2, leaf64())
    check(lambda x: x * 2, x[0].detach().requires_grad_()), check(lambda x: x**2, x, fast_mode=True)
    check(torch.nn.Linear(2, 3).double(), x.reshape(1, 2)), check(wrong_by(1.0), x)
failing
    wrong = wrong_by(1.01)
    check(wrong, x), check(wrong, x, raise_exception=False)
    check(lambda x, y: (x + y, x * wrong(y)), (x, y)), check(lambda x: x.detach(), x)
    check(lambda x: x.sqrt(), leaf64(-1.0)), check(lambda x: 1 / 0, x)
    check(lambda x: x.mul_(2), x), check(make(lambda ctx, x: x * 2, lambda ctx, g: None).apply, x)
    check(make(lambda ctx, x: x * 2, lambda ctx, g: g * 0 + 2).apply, x, atol=10)
wrong by a tenth of a percent: less than the usual tolerance
    def slope(ctx, x, g, factor):
        ctx.save_for_backward(x, g)
        ctx.factor = factor
        return 3 * x * x * g
    def of_slope(ctx, h):
        x, g = ctx.saved_tensors
        return 6 * x * g * h * ctx.factor, 3 * x * x * h, None
    def cube(ctx, x, first, second):
        ctx.save_for_backward(x)
        ctx.factors = first, second
        return x * x * x
    def of_cube(ctx, g):
        (x,), (first, second) = ctx.saved_tensors, ctx.factors
        return slopes.apply(x, g * first, second), None, None
    x, tight, off = leaf64(0.5, -1.0, 2.0), {"atol": 1e-7, "rtol": 1e-5}, 1.001
    slopes, cubes = make(slope, of_slope), make(cube, of_cube).apply
    check(cubes, (x, 1.0, 1.0), **tight), check2(cubes, (x, 1.0, 1.0), **tight)
    check(cubes, (x, off, 1.0), **tight), check(cubes, (x, off, 1.0))
    check(cubes, (x, off, 1.0), raise_exception=False, **tight), check(cubes, (x, 1.01, 1.0))
    check(cubes, (x, 1.0, off), **tight)
    raised(check2, cubes, (x, 1.0, off), **tight).split("\\n")[0]
    x, factors = torch.arange(15.0).double().reshape(5, 3), torch.full((5, 3), 2.0).double()
    factors[3, 1] *= off
    check(make(lambda ctx, x: x * 2, lambda ctx, g: g * factors).apply, x.requires_grad_(), **tight)
a backward that varies; inputs stay as they were
    calls = iter(range(100))
    moody = make(lambda ctx, x: x * 2, lambda ctx, g: g * (2 + 1e-9 * next(calls))).apply
    raised(check, moody, x).split("reentrant")[0], check(moody, x, nondet_tol=1e-6)
    check(lambda x: x.exp(), x), x, x._version, x.grad
where no gradient arrives, none may be made up
    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return x * 2
    def inventing(ctx, g):
        return torch.ones(2, dtype=torch.float64) if g is None else g * 2
    for f in (make(forward, inventing).apply, make(forward, lambda ctx, g: g * 2).apply):
        check(f, x), check(f, x, check_undefined_grad=False)
unfit inputs
    single = leaf(1.0, 2.0)
    wide = torch.ones(1, dtype=torch.float64, requires_grad=True).expand(3)
    check(lambda x: x**2, torch.ones(2, dtype=torch.float64)), check(lambda x: x, 3)
    check(lambda x: x * 2, wide), check(lambda x: x, leaf64(1.0), check_backward_ad=False)
    warned(lambda: check(lambda x: x**2, single, eps=1e-2, atol=1e-1, rtol=1e-1))
second order
    check2(lambda x: x**3, x), check2(lambda x, y: x**3 * y, (x, y))
    check2(lambda x, y: x**3, (x, y)), check2(lambda x: x * 2, x)
    check2(lambda x: x**3, x, leaf64(1.0, 2.0)), check2(lambda x, y: (x * y, x.exp()), (x, y))
    check2(lambda x: x**3, x, gen_non_contig_grad_outputs=True)
    check2(lambda x: x**3, torch.ones(2, dtype=torch.float64))
outputs that depend on values
    x = leaf64(0.0, 1.0, 2.0)
    check(lambda x: x if x[0] > 0 else x[:2], x)
    check(lambda x: x * 2 if x[0] > 0 else (x * 2)[None], x)
    check(lambda x: (x * 2, (x if x[0] > 0 else x[:2]).detach()), x)
    check(lambda x: (x * 2, (x > 0).nonzero()), x), check(lambda x: (x * 2, x.argmax()), x)
    check(lambda x: x * 2 if x[0] > 0 else (x * 2).float(), x)
several outputs
    x = leaf64([3.0, 1.0], [0.5, 2.0])
    functions = [torch.std_mean, lambda x: torch.var_mean(x, 1), torch.aminmax, torch.linalg.qr]
    functions += [torch.linalg.slogdet, lambda x: x.unbind(), lambda x: x.split(1)]
    for f in (*functions, lambda x: torch.linalg.eigh(x @ x.mT)[0]):
        check(f, x), check2(f, x)
empty batches
    x, y = leaf64([1.0, 1.0])[:0], torch.ones(3, 2, dtype=torch.float64, requires_grad=True)
    picture = torch.ones(0, 2, 3, 3, dtype=torch.float64, requires_grad=True)
    kernel = torch.ones(3, 2, 2, 2, dtype=torch.float64, requires_grad=True)
    for f in (check, check2):
        f(lambda x: x * x, x), f(F.linear, (x, y)), f(F.conv2d, (picture, kernel))
""")

variables = session("""
wrapping
    leaf_of = variable(a, requires_grad=True)
    with torch.no_grad():
        _ = leaf_of.fill_(7)
    inner = variable(leaf(1.0) * 2)
    leaf_of, a, leaf_of is a, variable(leaf_of).requires_grad, inner, inner.is_leaf
    variable(a, True).requires_grad, variable(), isinstance(a, variable)
    isinstance(3, variable), type(variable(a)) is torch.Tensor
refusals
    variable([1.0, 2.0]), variable(torch.tensor([1]), requires_grad=True)
    warned(lambda: variable(torch.ones(1), volatile=True))
""")


def names_of_functions_and_files(torch: Any) -> Any:
    for name in ("gradcheck", "variable", "grad_mode"):
        importlib.import_module(f"{torch.__name__}.autograd.{name}")
    autograd = torch.autograd
    kinds = [type(getattr(autograd, name)).__name__ for name in ("gradcheck", "variable")]
    file = "module" if isinstance(autograd.grad_mode, ModuleType) else "something else"
    return [kinds, file, raised(autograd.variable, torch.ones(1))]


def strictly(torch: Any) -> Any:
    """What ``strict`` refuses, and what it takes."""
    one, two = torch.ones(2), (torch.ones(2), torch.full((2,), 2.0))
    f, answers = torch.autograd.functional, {}
    functions = {
        "constant": (lambda x: torch.ones(2), one), "detached": (lambda x: x.detach() * 2, one),
        "linear": (lambda x: x * 2, one), "square": (lambda x: x * x, one),
        "of one": (lambda x, y: x * 2, two), "of both": (lambda x, y: x**2 * y**2, two),
        "in part": (lambda x: (x * x, torch.ones(2)), one),
        "square of one": (lambda x, y: x * x, two), "cube": (lambda x: x**3, one),
        "cut": (lambda x: cut(x) * 1, one), "cut twice": (lambda x: cut(x * x), one),
    }  # fmt: skip
    cut = make(torch, lambda ctx, x: x * 2, lambda ctx, g: g.detach() * 2).apply
    for name, (function, inputs) in functions.items():
        for options in ({}, {"create_graph": True}):
            key = f"{name} {options}"
            strict = {"strict": True, **options}
            answers[f"jacobian {key}"] = raised(f.jacobian, function, inputs, **strict)
            if name != "in part":
                total = lambda *x, function=function: function(*x).sum()  # noqa: E731
                answers[f"hessian {key}"] = raised(f.hessian, total, inputs, **strict)
                answers[f"vjp {key}"] = raised(f.vjp, function, inputs, one, **strict)
                for product in (f.jvp, f.hvp, f.vhp):
                    of = function if product is f.jvp else total
                    answer = raised(product, of, inputs, inputs, **strict)
                    answers[f"{product.__name__} {key}"] = answer
        for product in (f.hvp, f.vhp) if name == "in part" else ():
            answers[f"{product.__name__} {key}"] = raised(product, function, one, one, strict=True)
    linear = functions["linear"][0]
    answers["vectorized"] = raised(f.jacobian, linear, one, strict=True, vectorize=True)
    answers["forward"] = raised(f.jacobian, linear, one, strict=True, strategy="forward-mode")
    return answers


def weights_of_outputs(torch: Any) -> Any:
    """The random weights that `gradgradcheck` draws, as the backward pass sees them."""
    for shape in ((2, 3), (3,), (1,), ()):
        for in_steps in (False, True):
            seen = []

            def cube(x: Any, seen: Any = seen) -> Any:
                y = x**3
                y.register_hook(lambda g: seen.append(g.detach().clone()))
                return y

            torch.manual_seed(0)
            x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
            check = torch.autograd.gradgradcheck
            yield check(cube, (x,), gen_non_contig_grad_outputs=in_steps)
            yield seen[0], torch.rand(1)
