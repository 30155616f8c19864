"""Averages of weights, and batch statistics for them."""

from typing import Any

from tests.answers import numbers, raised


def _model_of(torch: Any) -> Any:
    torch.manual_seed(0)
    nn = torch.nn
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 1)).double()


def train(torch: Any, model: Any, averages: list[Any], steps: int = 5) -> None:
    """Steps after each of which the averages take the model in."""
    g = torch.Generator().manual_seed(1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        x = torch.randn(8, 3, generator=g, dtype=torch.float64)
        optimizer.zero_grad()
        (model(x) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
        for average in averages:
            average.update_parameters(model)


def averages(torch: Any) -> Any:
    u = torch.optim.swa_utils
    made: list[dict[str, Any]] = [
        {}, {"use_buffers": True}, {"avg_fn": u.get_swa_avg_fn()},
        {"avg_fn": u.get_ema_avg_fn(0.9), "use_buffers": True},
        {"multi_avg_fn": u.get_ema_multi_avg_fn(0.9), "use_buffers": True},
        {"multi_avg_fn": u.get_ema_multi_avg_fn(0.25)},
        {"multi_avg_fn": u.get_swa_multi_avg_fn()}, {"device": "cpu"},
        {"avg_fn": lambda average, current, n: average * n / (n + 2) + current / (n + 2)},
    ]  # fmt: skip
    model = _model_of(torch)
    several = [u.AveragedModel(model, **options) for options in made]
    train(torch, model, several)
    x = torch.ones(2, 3, dtype=torch.float64)
    return [
        [numbers(average.state_dict().values()), average.n_averaged,
         numbers(average.eval()(x)), [t._version for t in average.parameters()]]
        for average in several
    ]  # fmt: skip


def functions(torch: Any) -> Any:
    """The functions by themselves, with numbers and tensors for the count; integers."""
    u, old, new = torch.optim.swa_utils, torch.tensor([1.0, 2.0]), torch.tensor([3.0, -2.0])
    few, many = torch.tensor([1, 2]), torch.tensor([7, 9])
    for count in (1, 3, torch.tensor(3)):
        yield from [u.get_swa_avg_fn()(old, new, count), u.get_ema_avg_fn(0.75)(old, new, count)]
        for function in (u.get_swa_multi_avg_fn(), u.get_ema_multi_avg_fn(0.75)):
            kept = [old.clone(), new.clone()]
            function(kept, [new, old], count)
            yield kept
    kept = [few.clone()]
    u.get_ema_multi_avg_fn(0.5)(kept, [many], 1)
    error = raised(u.get_swa_multi_avg_fn(), [few.clone()], [many], torch.tensor(1))
    yield from [
        kept, error.split(",")[0], raised(u.get_ema_avg_fn, 1.5),
        raised(u.get_ema_multi_avg_fn, -0.5),
        raised(u.AveragedModel, _model_of(torch), None, abs, abs),
    ]  # fmt: skip


def batch_statistics(torch: Any) -> Any:
    u, g = torch.optim.swa_utils, torch.Generator().manual_seed(2)
    batches = [torch.randn(n, 3, generator=g, dtype=torch.float64) for n in (4, 6, 5)]
    for loader in (batches, [(b, 1) for b in batches], [[b] for b in batches]):
        model = _model_of(torch)
        train(torch, model, [], 2)
        model.eval()
        u.update_bn(loader, model, device="cpu")
        layer = model[1]
        yield [numbers(layer.running_mean), numbers(layer.running_var),
               layer.num_batches_tracked, layer.momentum, model.training,
               layer.running_mean.requires_grad]  # fmt: skip
    plain = torch.nn.Linear(3, 1)
    yield u.update_bn([1, 2], plain)
