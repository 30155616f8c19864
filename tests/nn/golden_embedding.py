"""Embeddings, bags of them, and classes as vectors."""

from typing import Any

from tests.answers import given, sessions


def _table(torch: Any) -> Any:
    return torch.arange(15.0).reshape(5, 3)


session = sessions(lambda torch: given(torch, _table))
embeddings = session("""
made
    _ = torch.manual_seed(0)
    layers = [
        nn.Embedding(3, 4), nn.Embedding(3, 4, padding_idx=-1, dtype=torch.float64),
        nn.Embedding(3, 4, 0, 2.0, 1.0, True), nn.EmbeddingBag(3, 4),
        nn.EmbeddingBag(3, 4, 1.0, 3.0, True, "sum", include_last_offset=True, padding_idx=-1),
    ]
    given = [
        nn.Embedding.from_pretrained(_table(), padding_idx=1),
        nn.EmbeddingBag.from_pretrained(_table(), freeze=False, mode="max"),
    ]
    [
        [layer, bits(layer.weight), list(layer.state_dict()), layer.padding_idx]
        for layer in layers + given
    ]
    [layer.weight.requires_grad for layer in given]
looked up
    for padding in (None, 1, -2):
        for scale in (False, True):
            for indices in ([[1, 1], [3, 2]], 4, [], [[[0, 3, 3]]]):
                weight = _table().requires_grad_()
                index = torch.tensor(indices, dtype=torch.int64)
                out = F.embedding(index, weight, padding, scale_grad_by_freq=scale)
                _ = (out**2).sum().backward()
                numbers(out), numbers(weight.grad), name_of(out.grad_fn)
    short = F.embedding(torch.tensor([1], dtype=torch.int32), _table())
    weight = _table().double().requires_grad_()
    out = F.embedding(torch.tensor([1, 1, 4]), weight, 4)
    (g,) = torch.autograd.grad((out**3).sum(), weight, create_graph=True)
    _ = (g**2).sum().backward()
    short, numbers(weight.grad), name_of(g.grad_fn)
many
    weight = torch.zeros(100, 7, requires_grad=True)
    index = (torch.arange(5000) ** 2) % 101 % 100
    out = F.embedding(index, weight)
    _ = (out + torch.arange(35000.0).reshape(5000, 7).sin()).pow(2).sum().backward()
    numbers(weight.grad)
renormalized
    for norm in (1.0, 2.0, float("inf")):
        weight = _table()
        _ = F.embedding(torch.tensor([1, 1, 4]), weight, None, 5.0, norm)
        numbers(weight), weight._version
    weight = _table()
    _ = F.embedding_bag(torch.tensor([[1, 1, 4]]), weight, max_norm=5.0)
    layer = nn.Embedding(4, 3, max_norm=0.5)
    _ = layer(torch.tensor([0, 2])).sum().backward()
    numbers(weight), numbers(layer.weight), numbers(layer.weight.grad)
bags
    tensor = torch.tensor
    for mode in ("sum", "mean", "max"):
        for padding in (None, 2):
            for scale in (False, True)[: 1 if mode == "max" else 2]:
                for weighted in (False, True)[: 2 if mode == "sum" else 1]:
                    weight = _table().requires_grad_()
                    factors = tensor([0.5, 2.0, 3.0, 1.0], requires_grad=True) if weighted else None
                    out = F.embedding_bag(
                        tensor([1, 1, 3, 2]), weight, tensor([0, 0, 2]), scale_grad_by_freq=scale,
                        mode=mode, per_sample_weights=factors, padding_idx=padding,
                    )
                    _ = (out**2).sum().backward()
                    grads = [weight.grad, factors.grad if weighted else None]
                    numbers(out), numbers(grads), name_of(out.grad_fn)
    weight = _table()
    some = tensor([1, 2])
    F.embedding_bag(tensor([[1, 2], [3, 3]]), weight)
    F.embedding_bag(some, weight, tensor([0, 0, 2]), mode="max")
    F.embedding_bag(some, weight, tensor([0, 2]), include_last_offset=True, mode="sum")
    F.embedding_bag(some, weight, tensor([0]), include_last_offset=True).shape
    F.embedding_bag(tensor([1]), weight, tensor([], dtype=torch.int64)).shape
    F.embedding_bag(some[:0], weight, tensor([0, 0]))
    F.embedding_bag(some.int(), weight, tensor([0]).int())
    F.embedding_bag(weight, some, tensor([0]))
    warned(lambda: F.embedding_bag(weight, some, tensor([0])))
    nn.EmbeddingBag.from_pretrained(weight, mode="sum")(some, tensor([0, 1]), some / 2)
one hot
    tensor = torch.tensor
    empty = tensor([], dtype=torch.int64)
    F.one_hot(tensor([1, 2])), F.one_hot(tensor([[0, 2]]), 4), F.one_hot(tensor(1))
    F.one_hot(empty, 3).shape, F.one_hot(tensor([1, -2])), F.one_hot(tensor([1, 5]), 3)
    F.one_hot(tensor([1.0])), F.one_hot(empty), F.one_hot(tensor([1]), 0)
    F.one_hot(tensor([1]), -2), F.one_hot(tensor([1]), 2.0), F.one_hot(tensor([1]).int())
errors
    tensor, ones = torch.tensor, torch.ones
    weight = _table()
    F.embedding(tensor([5]), weight), F.embedding(tensor([-1]), weight)
    F.embedding(tensor([1.0]), weight), F.embedding(tensor([1]), weight[0])
    F.embedding(tensor([1]).short(), weight), F.embedding([1], weight)
    F.embedding(tensor([1]), weight, 5), F.embedding(tensor([1]), weight, -6)
    F.embedding(tensor([1]), [1]), nn.Embedding(3, 4, 3), nn.Embedding(3, 4, -4)
    nn.Embedding(3, 4, _weight=ones(2, 2)), nn.Embedding.from_pretrained(ones(3))
    nn.Embedding(-1, 2), nn.EmbeddingBag(3, 4, padding_idx=7), nn.EmbeddingBag(3, 4, mode="x")
    nn.EmbeddingBag.from_pretrained(ones(2)), nn.EmbeddingBag(3, 4, _weight=ones(2, 2))
    nn.EmbeddingBag(3, 4)(tensor([1]), tensor([0]), ones(1))
errors of bags
    tensor, ones, bag = torch.tensor, torch.ones, F.embedding_bag
    weight, two, zero = _table(), torch.tensor([1, 2]), torch.tensor([0])
    none = tensor([], dtype=torch.int64)
    bag(two, weight), bag(two, weight, tensor([1])), bag(two, weight, tensor([[0]]))
    bag(two, weight, tensor([0, 3])), bag(two, weight, zero, mode="x"), bag(tensor([[[1]]]), weight)
    bag(two, weight, zero, per_sample_weights=ones(2))
    bag(two, weight, zero, mode="sum", per_sample_weights=ones(3))
    bag(two, weight, zero, mode="sum", per_sample_weights=ones(2).double())
    bag(tensor([1, 9]), weight, zero), bag(tensor([1, -1]), weight, zero)
    bag(tensor([1.0]), weight, zero), bag(two, weight, tensor([0.0]))
    bag(two, weight, zero, mode="max", scale_grad_by_freq=True)
    bag(two, weight, zero, mode="max", sparse=True)
    bag(two, weight, none, include_last_offset=True), bag(two, weight, zero, padding_idx=7)
    bag(two, weight, zero, padding_idx=-7)
""")
