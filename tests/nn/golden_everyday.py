"""Everyday code that goes wrong, and what types are called."""

import re

from tests.answers import sessions

session = sessions(lambda torch: {"re": re})
everyday = session("""
half norms
    # Gradients of the parameters are in their precision.
    layer = nn.LayerNorm(4)
    x = torch.linspace(-1, 2, 8).reshape(2, 4).half().requires_grad_()
    out = layer(x)
    _ = out.float().pow(2).sum().backward()
    [str(t.dtype) for t in (out, x.grad, layer.weight.grad)] + [numbers(out)]
classes
    # Weights of another dtype; samples that do not count have no gradient, not minus none.
    x = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, 0.5]], requires_grad=True)
    target = torch.tensor([1, 0])
    for kind in (torch.float64, torch.float16, torch.int64):
        for loss in (F.nll_loss, F.cross_entropy):
            loss(x, target, torch.ones(3, dtype=kind))
    F.nll_loss(torch.tensor(1.0), target)
    _ = F.nll_loss(x, target, ignore_index=0).backward()
    told(x.grad)
    _ = F.nll_loss(x, target, torch.tensor([0.0, 1.0, 1.0])).backward()
    told(x.grad)
convolutions
    x, w = torch.ones(1, 3, 4, 4), torch.ones(1, 3, 2, 2)
    F.conv2d(x, torch.ones(1, 3, 2)), F.conv2d(x, torch.ones(3))
    F.conv2d(x[0], torch.ones(1, 3, 2)), F.conv1d(x[0], w), F.conv2d(x, w, dilation=0)
    F.conv2d(x, w, dilation=(1, 0)), F.conv1d(x[0], torch.ones(1, 4, 2), dilation=0)
    F.conv2d(x, w, stride=0), F.conv_transpose2d(x, torch.ones(3, 3, 2))
    raised(F.conv_transpose1d, torch.ones(1, 1, 2), torch.ones(1, 1, 1), padding=1).split(":")[0]
    F.conv2d(x, w, stride=(1, 1, 1)), F.conv2d(x, w, stride=(2,))
    F.conv1d(x[0], torch.ones(1, 4, 2), padding="same")
rows and steps
    # Tables, cells and heads that get what does not fit.
    cell, pair = nn.LSTMCell(3, 4), torch.ones(2, 4)
    heads = nn.MultiheadAttention(8, 2, batch_first=True)
    x = torch.ones(2, 3, 8)
    F.embedding(torch.tensor([True]), torch.ones(2, 2))
    F.embedding(torch.ones(2, 2), torch.tensor([1]))
    F.embedding(torch.tensor([1.0]), torch.ones(2, 2)), cell(torch.ones(2, 3), pair)
    cell(torch.ones(2, 3), 3), cell(torch.ones(2, 3), (pair,)), cell(torch.ones(2, 3), (pair,) * 3)
    heads(x, x[:1], x[:1]), heads(x, x[:1], x), heads(x[:1], x, x, need_weights=False)
    list(heads(x, x[:, :1], x[:, :1])[0].shape), F.adaptive_avg_pool2d(torch.ones(3), 1)
    F.adaptive_avg_pool3d(torch.ones(3), 1), nn.GELU()(3), nn.GELU("tanh")(3), F.selu(3)
    F.softmax(torch.ones(2, 3).long(), 0), F.softmax(torch.arange(3), 0)
    F.log_softmax(torch.ones(2, 3).long(), 0), F.layer_norm(3, (3,))
    F.log_softmax(torch.ones(2, 3).long(), -1), F.rms_norm([1.0], (1,))
random integers
    # Of no dimensions too; common mistakes.
    randint = torch.randint
    randint(9, ()), randint(2, 9, []), randint(9, size=()), randint(2, high=9, size=(2,))
    torch.normal(0.0, 1.0, ()), torch.normal(0.0, 1.0, size=[]), randint(0, 2), randint(2.0, (2,))
    randint(1, 2, 3), randint(2, (1.0,)), randint(torch.tensor(2.0), (1,))
    randint(3, torch.tensor([1, 2])), randint(1.0, 2, (3,)), randint(2, size=3), randint()
    randint(2, (-1,))
names of types
    # What ``print(type(x))`` writes.
    x = torch.ones(2)
    kinds = [type(x), type(x.shape), type(x.dtype), type(x.device), type(nn.Parameter(x))]
    generator = re.sub("0x[0-9a-f]+", "", repr(torch.Generator()))
    class Mine(torch.Tensor):
        pass
    [repr(kind) for kind in kinds], generator, "Mine" in repr(Mine)
""")
