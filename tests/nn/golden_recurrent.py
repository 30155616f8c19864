"""Recurrent layers and cells, and packed sequences."""

import pickle
from typing import Any

from tests.answers import given, name_of, numbers, sessions
from tests.nn.golden_attention import wave


def _layers(torch: Any) -> list[Any]:
    nn = torch.nn
    return [nn.RNN, nn.LSTM, nn.GRU]


def _outcome(torch: Any, layer: Any, x: Any, hx: Any = None) -> list[Any]:
    """Outputs, states and all gradients; all outputs have a part in the loss."""
    leaves = [x, *(hx if isinstance(hx, tuple) else [] if hx is None else [hx])]
    for leaf in leaves:
        leaf.requires_grad_()
    layer.zero_grad()
    output, state = layer(x) if hx is None else layer(x, hx)
    states = state if isinstance(state, tuple) else (state,)
    total = sum((out * wave(torch, *out.shape).to(out.dtype)).sum() for out in (output, *states))
    total.backward()
    nodes = [name_of(out.grad_fn) for out in states]
    grads = [leaf.grad for leaf in (*leaves, *layer.parameters())]
    return [*numbers((output, *states)), *numbers(grads), nodes]


OPTIONS: dict[str, dict[str, Any]] = {
    "one": {},
    "two layers": {"num_layers": 2},
    "no bias": {"bias": False},
    "batch first": {"batch_first": True},
    "bidirectional": {"bidirectional": True},
    "two layers, bidirectional, batch first": {
        "num_layers": 2, "bidirectional": True, "batch_first": True
    },
}  # fmt: skip


session = sessions(
    lambda torch: given(
        torch, _layers, _outcome, wave, OPTIONS=OPTIONS, pickle=pickle, rnn=torch.nn.utils.rnn
    )
)
recurrent = session("""
made
    # Names, shapes, first values, and how the layers print.
    for kind in _layers():
        for options in OPTIONS.values():
            _ = torch.manual_seed(1)
            layer = kind(3, 4, **options)
            layer, digests(layer)
    _ = torch.manual_seed(1)
    projected = nn.LSTM(3, 4, 2, proj_size=2, bidirectional=True, dtype=torch.float64)
    projected, digests(projected), [len(w) for w in projected.all_weights]
    projected._flat_weights_names, projected.flatten_parameters()
    nn.RNN(3, 4, 2, "relu", False, True).mode, nn.RNN(3, 4, nonlinearity="relu").nonlinearity
computed
    for kind in _layers():
        for name, options in OPTIONS.items():
            _ = torch.manual_seed(2)
            layer = kind(3, 4, **options)
            _outcome(layer, wave(5, 2, 3))
    _ = torch.manual_seed(2)
    layer = nn.RNN(3, 4, nonlinearity="relu", dtype=torch.float64)
    _outcome(layer, wave(5, 2, 3, dtype="float64"))
projections
    for bidirectional in (False, True):
        _ = torch.manual_seed(4)
        layer = nn.LSTM(3, 4, 2, proj_size=2, bidirectional=bidirectional)
        count = 4 if bidirectional else 2
        hx = (wave(count, 2, 2), wave(count, 2, 4))
        _outcome(layer, wave(3, 2, 3)), _outcome(layer, wave(3, 2, 3), hx)
single sequences
    # Without a dimension of the batch.
    for kind in _layers():
        for batch_first in (False, True):
            _ = torch.manual_seed(5)
            layer = kind(3, 4, batch_first=batch_first)
            state = wave(1, 4)
            hx = (state, wave(1, 4)) if kind is nn.LSTM else state
            output, _ = layer(wave(5, 3))
            _outcome(layer, wave(5, 3)), name_of(output.grad_fn), _outcome(layer, wave(5, 3), hx)
twice
    # Gradients of gradients.
    for kind in _layers():
        _ = torch.manual_seed(7)
        layer = kind(2, 3, bidirectional=True, dtype=torch.float64)
        x = wave(3, 2, 2, dtype="float64").requires_grad_()
        output, _ = layer(x)
        (g,) = torch.autograd.grad((output**2).sum(), x, create_graph=True)
        _ = (g**2).sum().backward()
        numbers(g), numbers(x.grad), slopes(layer.parameters())
packed
    # Sequences of different lengths through the layers.
    for kind in _layers():
        for options in (
            {}, {"num_layers": 2, "bidirectional": True}, {"num_layers": 2, "dropout": 0.5}
        ):
            for lengths, ordered in (([4, 2, 1], True), ([2, 4, 1], False), ([3, 3, 3], True)):
                _ = torch.manual_seed(8)
                layer = kind(2, 3, dtype=torch.float64, **options)
                x = wave(4, 3, 2, dtype="float64").requires_grad_()
                sequence = rnn.pack_padded_sequence(x, lengths, enforce_sorted=ordered)
                output, state = layer(sequence)
                padded, counts = rnn.pad_packed_sequence(output)
                states = state if isinstance(state, tuple) else (state,)
                parts = (padded, *states)
                _ = sum((p * wave(*p.shape)).sum() for p in parts).backward()
                grads = [x.grad, *[p.grad for p in layer.parameters()]]
                numbers(parts), counts, numbers(grads)
    _ = torch.manual_seed(9)
    layer = nn.LSTM(2, 3, proj_size=2, bidirectional=True, dtype=torch.float64)
    hx = (wave(2, 3, 2, dtype="float64"), wave(2, 3, 3, dtype="float64"))
    sequence = rnn.pack_padded_sequence(
        wave(4, 3, 2, dtype="float64"), [1, 4, 2], enforce_sorted=False
    )
    output, (h, c) = layer(sequence, hx)
    numbers(output.data), output.batch_sizes, numbers(h), numbers(c)
packing
    x = torch.arange(24.0).reshape(4, 3, 2)
    leaf = x.clone().requires_grad_()
    fixed = rnn.pack_padded_sequence(leaf, [4, 2, 1])
    _ = (fixed.data**2).sum().backward()
    fixed, leaf.grad, name_of(fixed.data.grad_fn)
    free = rnn.pack_padded_sequence(x, torch.tensor([2, 4, 1]), enforce_sorted=False)
    first = rnn.pack_padded_sequence(x, [3, 2, 2, 1], batch_first=True)
    free, first, first.data.shape, rnn.pad_packed_sequence(free)
    rnn.pad_packed_sequence(free, True, -1.0, 6), free.batch_sizes.dtype
    leaf = torch.ones(7, requires_grad=True)
    padded, _ = rnn.pad_packed_sequence(rnn.PackedSequence(leaf, torch.tensor([3, 2, 1, 1])))
    _ = (padded * torch.arange(12.0).reshape(4, 3)).sum().backward()
    leaf.grad, name_of(padded.grad_fn)
    tensors = [torch.ones(2, 2, requires_grad=True), torch.ones(3, 2) * 2, torch.ones(1, 2) * 3]
    [rnn.pad_sequence(tensors, *how) for how in ((), (True, -1.0), (True, 9.0, "left"))]
    _ = rnn.pad_sequence(tensors).sum().backward()
    unpacked = rnn.unpad_sequence(rnn.pad_sequence(tensors[1:], True), torch.tensor([3, 1]), True)
    short = [torch.ones(2), torch.ones(3)]
    packed = rnn.pack_sequence(short, enforce_sorted=False)
    tensors[0].grad, unpacked, packed, rnn.unpack_sequence(packed)
    rnn.invert_permutation(torch.tensor([2, 0, 1])), rnn.invert_permutation(None)
    rnn.PackedSequence(torch.ones(3), torch.tensor([2, 1]), torch.tensor([1, 0]))
    packed.double().data.dtype, packed.to(torch.float64).data.dtype, packed.cpu() is packed
    packed.float() is packed, packed.is_cuda, packed.is_pinned(), len(packed), packed._fields
    pickle.loads(pickle.dumps(packed)), packed.long().data, packed.half().data.dtype
    [packed.int().data.dtype, packed.short().data.dtype, packed.char().data.dtype]
    packed.byte().data.dtype, rnn.pad_sequence(torch.ones(2, 3))
packing errors
    x = torch.ones(4, 3)
    pack, pad = rnn.pack_padded_sequence, rnn.pad_sequence
    packed = pack(x, [4, 2, 1])
    ones = torch.ones
    pack(x, [2, 4, 1]), pack(x, [4, 2, 0]), pack(x, [4, 2]), pack(x, [4, 2, 1], batch_first=True)
    pack(x, torch.ones(1, 3).long()), pack(x[:0], [1, 1, 1]), pack(x, [])
    rnn.pad_packed_sequence(packed, total_length=2)
    list(rnn.pad_packed_sequence(packed, total_length=4)[0].shape), pad([])
    pad([ones(2, 2), ones(3, 3)]), pad(3), pad("ab"), pad([ones(2)], False, 0.0, "up"), pad([1, 2])
    rnn.pack_sequence([ones(2), ones(3)]), rnn.PackedSequence(ones(3))
errors
    ones = torch.ones
    for kind in _layers():
        pair = kind is nn.LSTM
        def state(*shape, pair=pair):
            return (ones(*shape), ones(*shape)) if pair else ones(*shape)
        layer = kind(3, 4, 2)
        kind(), kind(3), kind(3, 4, dropout=1.5), kind(3, 0), kind(3, 4, dropout=True)
        kind(3, 4, dropout="a"), kind(0, 4), warned(lambda kind=kind: kind(3, 4, dropout=0.5))
        kind(3.0, 4), kind(3, 4.0), kind(3, 4, 0), kind(3, 4, num_layers=1.5)
        kind(3, 4, proj_size=-1), kind(3, 4, proj_size=4), kind(3, 4, foo=1), kind(3, 4, 2, "x")
        kind(3, -4), layer(ones(2, 3, 4)), layer(ones(3)), layer(ones(1, 2, 3, 4))
        layer(ones(2, 5, 3), state(1, 5, 4)), layer(ones(0, 5, 3))
        layer(ones(2, 5, 3), state(2, 4)), layer(ones(2, 3), state(2, 5, 4))
        layer(ones(2, 5, 3).double()), layer(ones(2, 5, 3).long())
    layer = nn.LSTM(3, 4, 2)
    nn.RNN(3, 4, nonlinearity="x"), nn.RNN(3, 4, proj_size=0), nn.GRU(3, 4, nonlinearity="tanh")
    nn.RNN(3, 4, proj_size=None), nn.GRU(3, 4, proj_size=None)
    layer(ones(2, 5, 3), (ones(2, 5, 4), ones(2, 4, 4)))
    layer(ones(2, 5, 3), (ones(2, 5, 4), ones(2, 4)))
    layer(ones(2, 3), (ones(2, 4), ones(2, 5, 4)))
    nn.LSTM(3, 4, proj_size=2)(ones(2, 5, 3), (ones(1, 5, 4), ones(1, 5, 4)))
    nn.RNNBase("GRU", 3, 4, proj_size=0).proj_size, nn.RNNBase("X", 3, 4)
cells
    for kind, options in (
        (nn.RNNCell, {}), (nn.RNNCell, {"nonlinearity": "relu"}), (nn.LSTMCell, {}),
        (nn.GRUCell, {}), (nn.GRUCell, {"bias": False}),
    ):
        _ = torch.manual_seed(10)
        cell = kind(3, 4, **options)
        cell, digests(cell)
        for shape, width in (((2, 3), (2, 4)), ((3,), (4,))):
            state = wave(*width)
            for hx in (None, (state, state * 2) if kind is nn.LSTMCell else state):
                x = wave(*shape).requires_grad_()
                _ = cell.zero_grad()
                out = cell(x) if hx is None else cell(x, hx)
                outs = out if isinstance(out, tuple) else (out,)
                _ = sum((o * wave(*o.shape)).sum() for o in outs).backward()
                grads = [x.grad, *[p.grad for p in cell.parameters()]]
                numbers(outs), numbers(grads), [name_of(o.grad_fn) for o in outs]
errors of cells
    ones = torch.ones
    for kind in (nn.RNNCell, nn.LSTMCell, nn.GRUCell):
        pair = kind is nn.LSTMCell
        def state(*shape, pair=pair):
            return (ones(*shape), ones(*shape)) if pair else ones(*shape)
        cell = kind(3, 4)
        kind(3, -1), cell(ones(2, 4)), cell(ones(1, 2, 3)), cell(ones(2, 3), state(2, 3))
        cell(ones(2, 3), state(3, 4)), cell(ones(2, 3), state(4)), cell(ones(3), state(2, 4))
        cell(ones(2, 3), state(1, 2, 4)), cell(ones(2, 3).double())
    strange = nn.RNNCell(3, 4, nonlinearity="x")
    strange, strange(ones(2, 3)), kind(3, 0)
""")
