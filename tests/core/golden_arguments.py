"""Arguments of the wrong kind: what the errors say, or where PyTorch's go on at length, their type.

The texts of calls are expressions over `torch`, `np`, a matrix `x` and indices `i`.
"""

from typing import Any

import numpy as np

from tests.answers import tables


def _names(torch: Any) -> dict[str, Any]:
    return {"np": np, "x": torch.ones(2, 3), "i": torch.tensor([0, 1])}


table = tables(_names)
# A shape is integers, given one by one or as one sequence.
sizes = table("""
torch.zeros('a')|torch.zeros(('a',))|torch.zeros(2, 'a')|torch.zeros((2, 'a'))|torch.zeros(True)
torch.zeros(2, True)|torch.zeros(None)|torch.zeros([2, None])|torch.zeros(2.0)|torch.zeros()
torch.zeros(torch.tensor(2))|torch.zeros(2, torch.tensor(3))|torch.zeros(np.array([2, 3]))
torch.zeros(np.int64(2))|torch.full('a', 1)|torch.randn('a')|torch.ones(2, 1.5)
x.view(6, 'a')|x.view((6, 1.5))|x.view((6, True))|x.view(torch.tensor(6))|x.view(np.array(6))
x.expand((2, 'a'))|x.permute('a')|x.permute(0, 'a')|x.permute((0, 'a'))|x.reshape('a')
x.reshape(6, 'a')|x.repeat('a')|x.repeat(1, 'a')|x.flip('a')|x.flip(0, 'a')|x.roll('a')
x.roll(1, 'a')|x.roll(1.5)|x.tile('a')|x.tile((2, 'a'))
""")
# A dimension is an integer: no bool, no float, but a 0-d tensor of integers.
dimensions = table("""
x.sum((0, 'a'))|x.sum(torch.tensor(0))|x.sum(np.int64(0))|x.sum(None)|x.sum(dim=(0, 'a'))
x.softmax('a')|torch.softmax(x, 'a')|torch.softmax(x, 1.5)|torch.softmax(x, True)
torch.softmax(x, torch.tensor(0))|torch.softmax(x, torch.tensor([0]))|torch.softmax(x, None)
x.softmax(0, 'a')|x.unsqueeze('a')|x.unsqueeze(1.5)|x.unsqueeze(True)|x.transpose(0, 'a')
torch.transpose(x, 0, 'a')|x.argmax('a')|x.cumsum('a')|x.amax('a')|torch.amax(x, 'a')
x.amax(('a',))|x.unbind('a')|x.squeeze((0, 'a'))|x.select('a', 0)|x.select(0, 'a')|x.size('a')
x.stride('a')|torch.cat([x, x], 'a')|torch.stack([x, x], 1.5)|x.chunk('a')|x.flatten('a')
x.diagonal('a')|x.tril('a')|torch.tril(x, 1.5)|x.rot90(1.5)|x.as_strided('a', (1,))
""")
# What must be a tensor, or a sequence of them.
tensors = table("""
torch.cat(x)|torch.cat(1)|torch.cat([1, 2])|torch.cat([x, 1])|torch.stack('a')|x.equal(1)
x.expand_as(1)|x.view_as(1)|x.reshape_as(None)|x.type_as(1)|x.inner(1)|torch.inner(x, 1)
torch.kron(x, np.ones(2))|torch.cross(x, 1)|torch.outer(x[0], 1)|torch.atleast_1d(x, 1)
torch.broadcast_tensors(x, 1)|torch.meshgrid(1)|torch.ones_like(1)|torch.zeros_like('a')
torch.nn.functional.linear(np.ones((2, 3)), x)|torch.nn.functional.linear([1.0], x)
torch.nn.functional.linear(x, None)|torch.nn.Linear(3, 2)(np.ones((2, 3)))
torch.nn.functional.mse_loss(x, np.ones((2, 3)))|torch.nn.functional.mse_loss(x, [1.0])
torch.nn.functional.mse_loss(np.ones((2, 3)), x)|torch.nn.functional.l1_loss(x, 1.0)
torch.nn.functional.binary_cross_entropy(x, np.ones((2, 3)))
torch.take_along_dim(x, 1)
""")
numbers = table("""
torch.full((2,), 'a')|torch.eye('a')|torch.eye(1.5)|torch.full((2,), x)
torch.full((2,), torch.tensor(3.0))|torch.arange(torch.tensor(2))|torch.eye(np.int64(2))
x.masked_fill(x > 0, np.float32(2))|x.repeat_interleave(np.int64(2))|x.narrow(0, np.int64(0), 1)
""")
# Errors name what users have called: methods in place and their kin, put together of others.
inner = table("""
x.index_copy_(0, i, 1)|x.index_copy_(1, i, 1)|x.index_copy_(1, 1, x)|x.index_copy(1, i, 1)
x.index_add_(0, i, 1)|x.index_add_(1, i, 1)|x.index_add(1, 1, x)
x.scatter_add_(0, i, 1)|x.scatter_add_(1, i, 1)|x.scatter_add(1, 1, x)
x.scatter_reduce_(1, i, 1, 'sum')|x.index_select(1, 1)
x.gather(1, 1)|x.addcmul_(x, 1)
x.addmm(x, 1, beta=1)|torch.maximum(x, 1)
""")
# What PyTorch answers with a list of all forms of the function, or from inside another.
at_length = tables(_names, lambda answer: answer.split(":")[0])("""
x.view('a')|x.view(True)|x.view(None)|x.view()|x.expand('a', 2)|x.sum('a')|x.sum(1.5)|x.sum(True)
x.sum(torch.ones(2))|torch.sum(x, torch.ones(2))|x.sum({})|x.sum(dim='a')|x.max('a')|x.mean('a')
x.split('a')|x.split(['a'])|x.squeeze('a')|x.narrow('a', 0, 1)|x.narrow(0, 1.5, 1)
x.movedim('a', 0)|x.var('a')|x.repeat_interleave('a')|x.clamp('a')|x.clamp(0, x)|x.clamp_(x, 0)
torch.where(x > 0, x, 'a')|torch.where(1, x, x)|torch.linspace('a', 1, 2)|torch.arange('a')
torch.arange(x)|x.fill_('a')|x.masked_fill(x > 0, 'a')|x.masked_fill('a', 1)|x.norm(x)
x.tensor_split('a')|x.transpose_(0, 'a')
""")
