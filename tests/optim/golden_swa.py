"""Averages of weights, and batch statistics for them."""

from typing import Any

from tests.answers import given, sessions


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


session = sessions(lambda torch: given(torch, _model_of, train, u=torch.optim.swa_utils))
averages = session("""
of models
    swa, ema, several = u.get_swa_avg_fn(), u.get_ema_multi_avg_fn, u.get_swa_multi_avg_fn()
    mine = lambda average, current, n: average * n / (n + 2) + current / (n + 2)
    made = [{}, {"use_buffers": True}, {"avg_fn": swa}, {"multi_avg_fn": several}, {"avg_fn": mine}]
    made += [{"avg_fn": u.get_ema_avg_fn(0.9), "use_buffers": True}, {"multi_avg_fn": ema(0.25)}]
    made += [{"multi_avg_fn": ema(0.9), "use_buffers": True}, {"device": "cpu"}]
    model, x = _model_of(), torch.ones(2, 3, dtype=torch.float64)
    made = [u.AveragedModel(model, **options) for options in made]
    _ = train(model, made)
    for average in made:
        numbers(average.state_dict().values()), average.n_averaged
        numbers(average.eval()(x)), [t._version for t in average.parameters()]
    u.AveragedModel(model, None, abs, abs)
functions
    # By themselves, with numbers and tensors for the count; integers.
    old, new = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -2.0])
    few, many = torch.tensor([1, 2]), torch.tensor([7, 9])
    for count in (1, 3, torch.tensor(3)):
        u.get_swa_avg_fn()(old, new, count), u.get_ema_avg_fn(0.75)(old, new, count)
        for function in (u.get_swa_multi_avg_fn(), u.get_ema_multi_avg_fn(0.75)):
            kept = [old.clone(), new.clone()]
            function(kept, [new, old], count), kept
    kept = [few.clone()]
    u.get_ema_multi_avg_fn(0.5)(kept, [many], 1), kept
    raised(u.get_swa_multi_avg_fn(), [few.clone()], [many], torch.tensor(1)).split(",")[0]
    u.get_ema_avg_fn(1.5), u.get_ema_multi_avg_fn(-0.5)
batch statistics
    batches = [torch.randn(n, 3, dtype=torch.float64) for n in (4, 6, 5)]
    for loader in (batches, [(b, 1) for b in batches], [[b] for b in batches]):
        model = _model_of()
        _ = train(model, [], 2), model.eval(), u.update_bn(loader, model, device="cpu")
        layer = model[1]
        numbers(layer.running_mean), numbers(layer.running_var), layer.num_batches_tracked
        layer.momentum, model.training, layer.running_mean.requires_grad
    u.update_bn([1, 2], nn.Linear(3, 1))
""")
