"""Pruning: what is chosen, how it is kept, applied again, removed and refused."""

import importlib
from typing import Any

from tests.answers import numbers, raised


def _prune(torch: Any) -> Any:
    return importlib.import_module(f"{torch.__name__}.nn.utils.prune")


def _linear(torch: Any, *sizes: int) -> Any:
    torch.manual_seed(1)
    return torch.nn.Linear(*(sizes or (4, 3)))


def elements(torch: Any) -> Any:
    P = _prune(torch)
    layer = _linear(torch)
    same = P.l1_unstructured(layer, "weight", 0.5) is layer
    answers = [
        same, list(layer.state_dict()), [n for n, _ in layer.named_parameters()],
        [n for n, _ in layer.named_buffers()], numbers(layer.weight), layer.weight_mask,
        P.is_pruned(layer), isinstance(layer.weight, torch.nn.Parameter),
        type(layer.weight.grad_fn).__name__,
    ]  # fmt: skip
    out = layer(torch.ones(1, 4))
    out.sum().backward()
    answers += [numbers(out), numbers(layer.weight_orig.grad)]
    P.l1_unstructured(layer, "weight", 2)
    P.random_unstructured(layer, "weight", 0.3)
    P.ln_structured(layer, "weight", 1, n=2, dim=0)
    kinds = [type(hook).__name__ for hook in layer._forward_pre_hooks.values()]
    (hook,) = layer._forward_pre_hooks.values()
    answers += [layer.weight_mask, kinds, [type(method).__name__ for method in hook], len(hook)]
    P.remove(layer, "weight")
    return [*answers, list(layer.state_dict()), P.is_pruned(layer), layer.weight]


def ways(torch: Any) -> Any:
    P = _prune(torch)
    calls = [
        lambda m: P.random_unstructured(m, "weight", 3),
        lambda m: P.random_unstructured(m, "weight", 0.4),
        lambda m: P.random_structured(m, "weight", 0.5, dim=1),
        lambda m: P.random_structured(m, "weight", 1, dim=-2),
        lambda m: P.ln_structured(m, "weight", 2, 1, -1),
        lambda m: P.ln_structured(m, "weight", 0.3, float("inf"), 0),
        lambda m: P.identity(m, "weight"),
        lambda m: P.l1_unstructured(m, "weight", 0),
        lambda m: P.l1_unstructured(m, "weight", 12),
        lambda m: P.l1_unstructured(m, "weight", 0.5, torch.arange(12.0).reshape(3, 4)),
    ]
    answers = []
    for call in calls:
        layer = _linear(torch)
        call(layer)
        answers.append(layer.weight_mask)
    layer = _linear(torch)
    P.custom_from_mask(layer, "bias", torch.tensor([1.0, 0.0, 1.0]))
    return [*answers, numbers(layer.bias), layer.bias_mask, torch.rand(2)]


def over_several(torch: Any) -> Any:
    P = _prune(torch)
    a, b = _linear(torch, 3, 2), _linear(torch, 2, 2)
    pairs = [(a, "weight"), (b, "weight"), (b, "bias")]
    P.global_unstructured(pairs, pruning_method=P.L1Unstructured, amount=0.4)
    first = [a.weight_mask, b.weight_mask, b.bias_mask]
    P.global_unstructured(pairs, pruning_method=P.RandomUnstructured, amount=2)
    return [first, a.weight_mask, b.weight_mask, b.bias_mask, P.is_pruned(torch.nn.Sequential(a))]


def own_methods(torch: Any) -> Any:
    P = _prune(torch)

    def compute_mask(self: Any, t: Any, default_mask: Any) -> Any:
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask

    members = {"PRUNING_TYPE": "unstructured", "compute_mask": compute_mask}
    every = type("Every", (P.BasePruningMethod,), members)
    layer = _linear(torch)
    every.apply(layer, "bias")
    first = layer.bias_mask
    every.apply(layer, "bias")
    method = P.L1Unstructured(0.5)
    return [first, layer.bias_mask, method.prune(torch.arange(6.0)), method.PRUNING_TYPE,
            method.compute_mask(torch.arange(6.0), torch.ones(6))]  # fmt: skip


def refusals(torch: Any) -> Any:
    P = _prune(torch)
    layer = _linear(torch)
    unstructured = P.l1_unstructured
    return [
        *[raised(unstructured, layer, "weight", n) for n in (1.5, -1, 13, "a", -0.5)],
        raised(P.ln_structured, layer, "weight", 1, 2, 5),
        raised(P.ln_structured, layer, "bias", 1, 2, 0),
        raised(P.random_structured, layer, "weight", 9, 0),
        raised(P.random_structured, layer, "bias", 1, dim=0),
        raised(unstructured, layer, "nothing", 1), raised(P.remove, layer, "weight"),
        raised(P.global_unstructured, 3, pruning_method=P.L1Unstructured, amount=0.4),
        list(layer.state_dict()), raised(layer, torch.ones(1, 3)).split("\n")[0],
    ]  # fmt: skip
