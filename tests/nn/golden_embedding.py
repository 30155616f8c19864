"""Embeddings, bags of them, and classes as vectors."""

from typing import Any

from tests.answers import bits, name_of, numbers, raised, warned


def _table(torch: Any) -> Any:
    return torch.arange(15.0).reshape(5, 3)


def made(torch: Any) -> Any:
    nn = torch.nn
    torch.manual_seed(0)
    layers = [
        nn.Embedding(3, 4), nn.Embedding(3, 4, padding_idx=-1, dtype=torch.float64),
        nn.Embedding(3, 4, 0, 2.0, 1.0, True), nn.EmbeddingBag(3, 4),
        nn.EmbeddingBag(3, 4, 1.0, 3.0, True, "sum", include_last_offset=True, padding_idx=-1),
    ]  # fmt: skip
    given = [nn.Embedding.from_pretrained(_table(torch), padding_idx=1),
             nn.EmbeddingBag.from_pretrained(_table(torch), freeze=False, mode="max")]  # fmt: skip
    return [
        *[[layer, bits(layer.weight), list(layer.state_dict()), layer.padding_idx]
          for layer in layers + given],
        [layer.weight.requires_grad for layer in given],
    ]  # fmt: skip


def looked_up(torch: Any) -> Any:
    F = torch.nn.functional
    for padding in (None, 1, -2):
        for scale in (False, True):
            for indices in (
                [[1, 1], [3, 2]], 4, [], [[[0, 3, 3]]]
            ):  # fmt: skip
                weight = _table(torch).requires_grad_()
                index = torch.tensor(indices, dtype=torch.int64)
                out = F.embedding(index, weight, padding, scale_grad_by_freq=scale)
                (out**2).sum().backward()
                yield [numbers(out), numbers(weight.grad), name_of(out.grad_fn)]
    short = F.embedding(torch.tensor([1], dtype=torch.int32), _table(torch))
    weight = _table(torch).double().requires_grad_()
    out = F.embedding(torch.tensor([1, 1, 4]), weight, 4)
    (g,) = torch.autograd.grad((out**3).sum(), weight, create_graph=True)
    (g**2).sum().backward()
    yield from [short, numbers(weight.grad), name_of(g.grad_fn)]


def many(torch: Any) -> Any:
    weight = torch.zeros(100, 7, requires_grad=True)
    index = (torch.arange(5000) ** 2) % 101 % 100
    out = torch.nn.functional.embedding(index, weight)
    (out + torch.arange(35000.0).reshape(5000, 7).sin()).pow(2).sum().backward()
    return numbers(weight.grad)


def renormalized(torch: Any) -> Any:
    F = torch.nn.functional
    for norm in (1.0, 2.0, float("inf")):
        weight = _table(torch)
        F.embedding(torch.tensor([1, 1, 4]), weight, None, 5.0, norm)
        yield [numbers(weight), weight._version]
    weight = _table(torch)
    F.embedding_bag(torch.tensor([[1, 1, 4]]), weight, max_norm=5.0)
    layer = torch.nn.Embedding(4, 3, max_norm=0.5)
    layer(torch.tensor([0, 2])).sum().backward()
    yield from [numbers(weight), numbers(layer.weight), numbers(layer.weight.grad)]


def bags(torch: Any) -> Any:
    F, tensor = torch.nn.functional, torch.tensor
    for mode in ("sum", "mean", "max"):
        for padding in (None, 2):
            for scale in (False, True)[: 1 if mode == "max" else 2]:
                for weighted in (False, True)[: 2 if mode == "sum" else 1]:
                    weight = _table(torch).requires_grad_()
                    factors = tensor([0.5, 2.0, 3.0, 1.0], requires_grad=True) if weighted else None
                    out = F.embedding_bag(
                        tensor([1, 1, 3, 2]), weight, tensor([0, 0, 2]), scale_grad_by_freq=scale,
                        mode=mode, per_sample_weights=factors, padding_idx=padding,
                    )  # fmt: skip
                    (out**2).sum().backward()
                    grads = [weight.grad, factors.grad if weighted else None]
                    yield [numbers(out), *numbers(grads), name_of(out.grad_fn)]
    weight = _table(torch)
    some = tensor([1, 2])
    yield from [
        F.embedding_bag(tensor([[1, 2], [3, 3]]), weight),
        F.embedding_bag(some, weight, tensor([0, 0, 2]), mode="max"),
        F.embedding_bag(some, weight, tensor([0, 2]), include_last_offset=True, mode="sum"),
        F.embedding_bag(some, weight, tensor([0]), include_last_offset=True).shape,
        F.embedding_bag(tensor([1]), weight, tensor([], dtype=torch.int64)).shape,
        F.embedding_bag(some[:0], weight, tensor([0, 0])),
        F.embedding_bag(some.int(), weight, tensor([0]).int()),
        F.embedding_bag(weight, some, tensor([0])),
        warned(lambda: F.embedding_bag(weight, some, tensor([0]))),
        torch.nn.EmbeddingBag.from_pretrained(weight, mode="sum")(some, tensor([0, 1]), some / 2),
    ]  # fmt: skip


def one_hot(torch: Any) -> Any:
    F, tensor = torch.nn.functional, torch.tensor
    empty = tensor([], dtype=torch.int64)
    return [
        F.one_hot(tensor([1, 2])), F.one_hot(tensor([[0, 2]]), 4), F.one_hot(tensor(1)),
        F.one_hot(empty, 3).shape, raised(F.one_hot, tensor([1, -2])),
        raised(F.one_hot, tensor([1, 5]), 3), raised(F.one_hot, tensor([1.0])),
        raised(F.one_hot, empty), raised(F.one_hot, tensor([1]), 0),
        raised(F.one_hot, tensor([1]), -2), raised(F.one_hot, tensor([1]), 2.0),
        raised(F.one_hot, tensor([1]).int()),
    ]  # fmt: skip


def errors(torch: Any) -> Any:
    nn, tensor, ones = torch.nn, torch.tensor, torch.ones
    F, weight = nn.functional, _table(torch)
    return [
        raised(F.embedding, tensor([5]), weight), raised(F.embedding, tensor([-1]), weight),
        raised(F.embedding, tensor([1.0]), weight), raised(F.embedding, tensor([1]), weight[0]),
        raised(F.embedding, tensor([1]).short(), weight), raised(F.embedding, [1], weight),
        raised(F.embedding, tensor([1]), weight, 5), raised(F.embedding, tensor([1]), weight, -6),
        raised(F.embedding, tensor([1]), [1]), raised(nn.Embedding, 3, 4, 3),
        raised(nn.Embedding, 3, 4, -4), raised(nn.Embedding, 3, 4, _weight=ones(2, 2)),
        raised(nn.Embedding.from_pretrained, ones(3)), raised(nn.Embedding, -1, 2),
        raised(nn.EmbeddingBag, 3, 4, padding_idx=7), nn.EmbeddingBag(3, 4, mode="x"),
        raised(nn.EmbeddingBag.from_pretrained, ones(2)),
        raised(nn.EmbeddingBag, 3, 4, _weight=ones(2, 2)),
        raised(nn.EmbeddingBag(3, 4), tensor([1]), tensor([0]), ones(1)),
    ]  # fmt: skip


def errors_of_bags(torch: Any) -> Any:
    tensor, ones, bag = torch.tensor, torch.ones, torch.nn.functional.embedding_bag
    weight, two, zero = _table(torch), torch.tensor([1, 2]), torch.tensor([0])
    none = tensor([], dtype=torch.int64)
    return [
        raised(bag, two, weight), raised(bag, two, weight, tensor([1])),
        raised(bag, two, weight, tensor([[0]])), raised(bag, two, weight, tensor([0, 3])),
        raised(bag, two, weight, zero, mode="x"), raised(bag, tensor([[[1]]]), weight),
        raised(bag, two, weight, zero, per_sample_weights=ones(2)),
        raised(bag, two, weight, zero, mode="sum", per_sample_weights=ones(3)),
        raised(bag, two, weight, zero, mode="sum", per_sample_weights=ones(2).double()),
        raised(bag, tensor([1, 9]), weight, zero), raised(bag, tensor([1, -1]), weight, zero),
        raised(bag, tensor([1.0]), weight, zero), raised(bag, two, weight, tensor([0.0])),
        raised(bag, two, weight, zero, mode="max", scale_grad_by_freq=True),
        raised(bag, two, weight, zero, mode="max", sparse=True),
        raised(bag, two, weight, none, include_last_offset=True),
        raised(bag, two, weight, zero, padding_idx=7),
        raised(bag, two, weight, zero, padding_idx=-7),
    ]  # fmt: skip
