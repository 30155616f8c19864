"""Common mistakes in calls of tensor functions, and spellings that PyTorch takes besides its own.

Of messages the first line counts.
"""

from typing import Any

from tests.answers import bits, raised


def by_numpys_names(torch: Any) -> Any:
    x = torch.tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    names = (
        "sum", "mean", "prod", "max", "min", "argmax", "argmin", "amax", "amin", "std", "var",
        "median", "logsumexp", "all", "any", "nansum", "nanmean",
    )  # fmt: skip
    pairs = [(getattr(torch, name), getattr(torch.Tensor, name)) for name in names]
    return [
        [[f(x, axis=0), f(x, axis=-1, keepdims=True)] for pair in pairs for f in pair],
        [torch.cumsum(x, axis=1), x.cumsum(axis=0), x.cumprod(axis=1), x.sort(axis=1).indices],
        [x.argsort(axis=0), x.topk(1, axis=1).values, x.softmax(axis=1), torch.sort(x, axis=0)],
        [torch.stack([x, x], axis=1).shape, torch.cat([x, x], axis=1).shape, x.diff(axis=0)],
        [torch.var_mean(x, axis=0), torch.std_mean(x, axis=1), x.quantile(0.5, axis=1)],
        x[None].squeeze(axis=0), raised(torch.argmax, x, axis=5), raised(x.max, axis=-3),
    ]  # fmt: skip


def dtypes_of_python(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return [
        x.sum(dtype=float), x.mean(dtype=float), torch.prod(x, dtype=int), x.cumsum(0, dtype=float),
        torch.sum(x, 0, dtype=bool), torch.rand_like(x, dtype=float).dtype, x.norm(dtype=float),
        torch.randperm(3, dtype=None).dtype, raised(x.mean, dtype=torch.int64),
        raised(torch.mean, x, 0, dtype=int), raised(x.nanmean, dtype=torch.int32),
    ]  # fmt: skip


def close_to_what_is_of_another_dtype(torch: Any) -> Any:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0], dtype=torch.float64)
    return [
        raised(torch.isclose, x, y), raised(torch.allclose, x, y), raised(x.allclose, x.int()),
        raised(torch.isclose, x, x, rtol=-1), raised(torch.allclose, x, x, atol=-0.5),
        raised(torch.allclose, x, x, 1e-5, float("nan")), torch.isclose(x, x + 1e-9),
        raised(torch.isclose, x, 1.0), torch.isclose(x, x * float("nan"), equal_nan=True),
    ]  # fmt: skip


def arguments_in_their_former_order(torch: Any) -> Any:
    x, y, z = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), torch.tensor([5.0, 6.0])
    w = torch.tensor([1.0, 2.0], requires_grad=True)
    (w * 1).add_(0.5, y).mul_(w).addcmul_(2, w, z).sum().backward()
    return [
        x.add(2, y), torch.add(x, 2, y), x.clone().add_(-0.1, y), x.sub(2, y),
        x.clone().sub_(2, y), x.addcmul(2, y, z), x.clone().addcmul_(0.5, y, z),
        torch.addcmul(x, 2, y, z), x.addcdiv(2, y, z), x.clone().addcdiv_(-0.5, y, z),
        torch.addcdiv(x, 2, y, z), torch.add(x, 2, y, out=torch.empty(2)), w.grad,
        raised(x.add, y, 3), raised(x.mul, y, 2).split(":")[0],
    ]  # fmt: skip


def neither_tensors_nor_numbers(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    along = [torch.amax, torch.argmin, torch.logsumexp, torch.cumprod]
    functions = [torch.sin, torch.abs, torch.relu, torch.positive, torch.exp, torch.floor]
    pairs = [torch.pow, torch.copysign]
    return [
        *(raised(f, given, 0) for f in along for given in ([1.0], "a", None)),
        *(raised(f, [1.0, 2.0]) for f in functions), *(raised(f, x, None) for f in pairs),
        *(raised(f, x, "a") for f in pairs), raised(torch.pow, [1.0], x), raised(x.pow_, None),
        raised(x.copysign_, "a"),
        raised(torch.column_stack, (x, 1)), raised(torch.rand, 2, generator=3).split(":")[0],
        raised(torch.bernoulli, x / 2, generator=3).split(":")[0],
    ]  # fmt: skip


def factors_that_are_no_numbers(torch: Any) -> Any:
    m = torch.ones(2, 2)
    return [
        raised(torch.add, m, m, alpha="a"),
        raised(m.addmm_, m, m, alpha="a"),
    ]  # fmt: skip


def dtypes_as_what_they_are_not(torch: Any) -> Any:
    kind, size, device = torch.float32, torch.ones(2).shape, torch.device("cpu")
    return [
        raised(lambda: kind()), raised(lambda: kind + 1), raised(lambda: torch.ones(2) + kind),
        raised(lambda: kind < kind), raised(lambda: kind.nope), raised(lambda: size.nope),
        raised(lambda: device[0]), raised(torch.promote_types, kind, "x"),
        raised(torch.promote_types, 1, kind), torch.promote_types(type1=kind, type2=torch.int64),
        raised(torch.tensor, [1], dtype=1), raised(torch.full, (2,), 1, dtype=1),
        [torch.Size.__name__, torch.dtype.__qualname__, type(device).__name__],
    ]  # fmt: skip


def grids_of_what_is_no_axis(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0])
    return [
        raised(torch.meshgrid, torch.ones(2, 2), x, indexing="ij").split(" got:")[0],
        raised(torch.meshgrid, x, x.int(), indexing="ij"),
        raised(torch.meshgrid, x, x, indexing="a"), raised(torch.meshgrid, indexing="ij"),
        raised(torch.cartesian_prod, x, x.int()), raised(torch.meshgrid, [], indexing="ij"),
    ]  # fmt: skip


def flags_that_are_dimensions(torch: Any) -> Any:
    x = torch.tensor([[1, 1], [0, 2]])
    return [
        raised(torch.unique, x, 0), raised(x.unique, True, 1), raised(x.unique, True, False, 1),
        raised(torch.unique, x, True, 1, dim=0), raised(torch.unique_consecutive, x, 0),
    ]  # fmt: skip


def one_tensor_for_several_results(torch: Any) -> Any:
    x, out = torch.tensor([[1.0, 2.0], [0.0, 3.0]]), torch.empty(0)
    calls = [(torch.median, 0), (torch.kthvalue, 1)]
    return [
        *(raised(f, x, n, out=out) for f, n in calls), raised(torch.sum, x, 0, out=(out, out)),
    ]  # fmt: skip


def sizes_that_do_not_fit(torch: Any) -> Any:
    x, s = torch.arange(6.0).reshape(2, 3), torch.tensor(1.0)
    return [
        raised(x.view, torch.float64), raised(x.t().view, torch.float64),
        raised(x.t().view, torch.int16), raised(s.view, torch.int64), x.view(torch.int16).shape,
        x.double().view(torch.float32).shape, raised(x.rot90, 1, [0, 5]),
        raised(x.repeat_interleave, torch.tensor([1, -2]), 0), x.flatten().split(torch.tensor(4)),
        raised(s.quantile, 0.5, dim=2), raised(x.reshape, torch.float64),
    ]  # fmt: skip


def values_at_the_edge(torch: Any) -> Any:
    nan = torch.tensor([[float("nan"), 1.0], [1.0, 2.0]])
    half = torch.tensor([0.25, 2.0, 3.0], dtype=torch.float16)
    return [
        raised(torch.linalg.cholesky, nan), torch.linalg.cholesky_ex(nan).info, half.sinc(),
        torch.digamma(torch.tensor([-1e-30, -0.25, -2.25])), torch.Size([2]).__radd__((1,)),
        raised(torch.tensor([1, 2]).softmax, 0), raised(torch.tensor([[1, 2]]).softmax, 0),
        raised(torch.tensor([[1, 2]]).log_softmax, 0), raised(torch.fmod, nan > 1, nan > 1),
        torch.multinomial(torch.ones(2, 3), 2).stride(), bits(torch.sinc(torch.ones(3).double())),
    ]  # fmt: skip
