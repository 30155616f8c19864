"""What nanotorch promises beyond PyTorch, checked by each of several processes."""

import contextlib
import copy
import gc
import importlib
import io
import pickle
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import numpy as np
import pytest

import nanotorch as torch
from nanotorch import distributed as dist
from nanotorch import nn
from nanotorch.distributed.collectives import SMALL, shared_sum
from nanotorch.distributed.group import Work
from nanotorch.nn.parallel import DistributedDataParallel
from tests.tolerances import rounding

group: Any = importlib.import_module("nanotorch.distributed.group")
SIZES = (1, SMALL // 4 + 1, 3 * SMALL)


def checks() -> dict[str, Callable[[int, int], None]]:
    """The checks by name; each takes the rank and the number of processes."""
    return {k: v for k, v in globals().items() if k.startswith("check_")}


def numbers(rank: int, count: int, dtype: Any = torch.float32) -> torch.Tensor:
    """What a rank adds: numbers of many magnitudes, whose sum depends on the order."""
    made = np.random.default_rng(rank).standard_normal(count)
    return torch.tensor(made * 10.0 ** (np.arange(count) % 6)).to(dtype)


def check_sums_have_the_bits_of_one_process_in_rank_order(rank: int, size: int) -> None:
    for dtype in (torch.float16, torch.float32, torch.float64):
        for count in SIZES:
            x, *rest = [numbers(k, count).sinh().tanh().to(dtype) for k in (rank, *range(size))]
            expected, y = sum(rest[1:], rest[0]), x.clone()
            dist.all_reduce(x)  # on one host in shared memory
            dist.all_reduce(y, async_op=True).wait()
            assert torch.equal(x, expected), (dtype, count)
            assert torch.equal(y, expected), (dtype, count)


def check_the_fast_sum_is_within_what_it_promises(rank: int, size: int) -> None:
    home: Any = dist.group.WORLD
    former, home.reduction = home.reduction, "fast"
    try:
        for op, dtype in ((dist.ReduceOp.SUM, torch.float32), (dist.ReduceOp.AVG, torch.float64)):
            x = numbers(rank, 10_007, dtype)
            dist.all_reduce(x, op, async_op=True).wait()
            each = np.stack([numbers(k, 10_007, dtype).numpy() for k in range(size)])
            expected = each.astype(np.longdouble).sum(0)
            limit = (size - 1) * np.finfo(each.dtype).eps * np.abs(each).sum(0)
            if op is dist.ReduceOp.AVG:
                expected, limit = expected / size, limit / size + np.finfo(each.dtype).eps
            assert (np.abs(x.numpy() - expected) <= limit).all()
        for dtype in (torch.bool, torch.float16, torch.int16):
            x = torch.ones(3).to(dtype)
            dist.all_reduce(x)
            assert x[0] == (True if dtype is torch.bool else size)
    finally:
        home.reduction = former


def check_tensors_that_are_not_contiguous(rank: int, size: int) -> None:
    whole = torch.zeros(4, 6)
    part = whole.t()[::2]
    part += rank + 1
    dist.all_reduce(part)
    assert torch.equal(part, torch.full((3, 4), size * (size + 1) / 2))
    assert whole[:, 1::2].sum() == 0
    pieces = [torch.zeros(2, 2).t() for _ in range(size)]
    dist.all_gather(pieces, torch.arange(4.0).reshape(2, 2) + rank)
    assert torch.equal(pieces[-1], torch.arange(4.0).reshape(2, 2) + size - 1)
    dist.broadcast(part, 0)


def raised(call: Callable[[], Any]) -> str:
    with pytest.raises(RuntimeError) as caught:
        call()
    return str(caught.value)


def check_mismatches_are_found_before_the_call_hangs(rank: int, size: int) -> None:
    last = rank == size - 1
    x, op = torch.ones(2), dist.ReduceOp
    for told, calls in {
        "float32[3]": (lambda: dist.all_reduce(x), lambda: dist.all_reduce(torch.ones(3))),
        "float64[2]": (lambda: dist.all_reduce(x), lambda: dist.all_reduce(x.double())),
        "RedOpType.MAX": (lambda: dist.all_reduce(x), lambda: dist.all_reduce(x, op.MAX)),
        "broadcast(": (lambda: dist.all_reduce(x), lambda: dist.broadcast(x, 0)),
        "src=1": (lambda: dist.broadcast(x, 0), lambda: dist.broadcast(x, 1)),
        "barrier()": (lambda: dist.all_reduce(x), dist.barrier),
    }.items():
        text = raised(calls[last])
        assert told in text
        assert f"Rank {rank} is" in text
        assert f"Rank {0 if last else size - 1} is" in text or last
    text = raised(lambda: DistributedDataParallel(nn.Linear(2 if last else 3, 1)))
    assert "weight=torch.float32[1, 2]" in text
    dist.set_debug_level(dist.DebugLevel.OFF)
    assert "tensors differ" in raised(lambda: dist.all_reduce(torch.ones(SMALL + 64 * rank)))
    dist.set_debug_level(dist.DebugLevel.DETAIL)
    dist.all_reduce(x)  # the group is as good as before
    assert x[0] == size


def check_a_long_wait_names_who_is_waited_for(rank: int, size: int) -> None:
    last, x, told = size - 1, torch.ones(9), io.StringIO()
    former, group.LONG = group.LONG, 0.05
    dist.set_debug_level(dist.DebugLevel.OFF)  # which has all ranks wait before
    if rank == last:
        time.sleep(0.6)
    work: Any = dist.all_reduce(x, async_op=True)
    with contextlib.redirect_stderr(told):
        if rank != last:
            text = f"timed out after 0.1 s without an answer from rank {last}"
            assert text in raised(lambda: work.wait(timedelta(seconds=0.1)))
        work.wait()
    assert (f"s for rank {last}\n" in told.getvalue()) == (rank == 0)
    group.LONG = former
    dist.set_debug_level(dist.DebugLevel.DETAIL)


def check_pieces_of_wrong_sizes_are_refused(rank: int, size: int) -> None:
    x = torch.ones(2)
    assert "expected" in raised(lambda: dist.all_gather([torch.ones(3)] * size, x))
    assert "one a rank" in raised(lambda: dist.all_gather([x] * (size + 1), x))
    assert "5 elements" in raised(lambda: dist.all_to_all_single(torch.ones(5), torch.ones(5)))
    wrong = torch.ones(1)
    assert "output_tensor has" in raised(lambda: dist.all_gather_into_tensor(wrong, x))
    assert "input has" in raised(lambda: dist.reduce_scatter_tensor(x, wrong))


def check_a_group_without_this_process_does_nothing(rank: int, size: int) -> None:
    made = dist.new_group([0])
    x = torch.ones(1)
    if rank:
        with pytest.warns(UserWarning, match=f"global rank {rank} which does not belong"):
            dist.all_reduce(x, group=made)
    else:
        dist.all_reduce(x, group=made)
    assert x == 1


class Own(nn.Module):
    """A class of a program."""


def check_only_plain_data_travels(rank: int, size: int) -> None:
    with pytest.raises(pickle.UnpicklingError, match="Own, which was not an allowed global"):
        dist.all_gather_object([None] * size, Own())
    with pytest.raises(TypeError, match="cannot save"):
        dist.all_gather_object([None] * size, lambda: None)


def network() -> Any:
    """A network of several buckets."""
    return nn.Sequential(
        nn.Linear(5, 90), nn.Tanh(), nn.Linear(90, 90), nn.ReLU(), nn.Linear(90, 2)
    )


def check_a_step_has_the_bits_of_one_process_that_accumulates(rank: int, size: int) -> None:
    batch = numbers(7, 40 * size).reshape(-1, 5).tanh()
    torch.manual_seed(0)
    alone = network()
    home: Any = dist.group.WORLD
    models: list[Any] = []
    for _ in range(2):
        torch.manual_seed(rank)  # parameters come from rank 0
        models += [DistributedDataParallel(network(), bucket_cap_mb=0.01)]
        home.shared_memory = lambda size: None  # as between hosts
    del home.shared_memory
    assert [len(m._buckets) > 2 for m in models] == [True, True]
    assert [m._buckets[0].shared is None for m in models] == [False, True]
    optimizers = [torch.optim.Adam(m.parameters(), lr=0.01) for m in (*models, alone)]
    for _ in range(3):
        for optimizer in optimizers:
            optimizer.zero_grad()
        for model in models:
            model(batch[8 * rank : 8 * rank + 8]).square().mean().backward()
        shards = []
        for k in range(size):
            gradients = torch.autograd.grad(
                alone(batch[8 * k : 8 * k + 8]).square().mean(), list(alone.parameters())
            )
            shards.append([g / size for g in gradients])
        for p, first, *rest in zip(alone.parameters(), *shards, strict=True):
            p.grad = first.clone()
            for part in rest:
                p.grad += part
        for optimizer in optimizers:
            optimizer.step()
    for p, *others in zip(*(m.parameters() for m in (alone, *models)), strict=True):
        assert [torch.equal(p, q) for q in others] == [True, True]


def check_shared_sums_have_the_bits_of_one_process_in_rank_order(rank: int, size: int) -> None:
    home: Any = dist.group.WORLD
    for count in (0, 1, 10_007):
        made: Any = shared_sum(home, count, np.dtype(np.float32))
        for turn in range(30):
            parts = [numbers(turn + k, count).sinh().tanh() for k in range(size)]
            if (turn + rank) % 5 == 0:
                time.sleep(1e-3)  # others are not waited for, or waited for too long
            made.own[:] = parts[rank].numpy()
            Work(made.steps(), "a sum", home).wait()
            assert np.array_equal(made.total, sum(parts[1:], parts[0]).numpy())


def check_each_wait_lets_all_communications_go_on(rank: int, size: int) -> None:
    for count in (10_007, 10_009):
        x, y = torch.ones(count), torch.ones(count)
        dist.set_debug_level(dist.DebugLevel.OFF)  # which waits for all ranks
        work = dist.all_reduce(x, async_op=True)
        if rank:
            work.wait()
        dist.all_reduce(y)
        work.wait()
        dist.set_debug_level(dist.DebugLevel.DETAIL)
        assert x.sum() == y.sum() == size * count


def check_shared_memory_is_freed(rank: int, size: int) -> None:
    home: Any = dist.group.WORLD
    counts = []
    for _ in range(3):
        gc.collect()
        model = DistributedDataParallel(nn.Linear(2, 1))
        counts.append(len(home._windows))
        del model
    assert counts == [counts[0]] * 3


def check_synchronized_normalization_is_that_of_the_whole_batch(rank: int, size: int) -> None:
    torch.manual_seed(0)
    alone = nn.Sequential(nn.Conv2d(2, 3, 3, bias=False), nn.BatchNorm2d(3), nn.Flatten()).double()
    nn.init.normal_(alone[1].weight)
    made = nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(alone))
    assert type(made[1]) is nn.SyncBatchNorm
    whole = numbers(3, (2 + size) * 50, torch.float64).reshape(-1, 2, 5, 5).tanh()
    shares = [whole[:3], *(whole[k + 2 : k + 3] for k in range(1, size))]  # rank 0 has more
    batch = shares[rank]
    out = made(batch)
    out.exp().sum().backward()
    expected = alone(whole)
    expected.exp().sum().backward()
    offset = sum(len(s) for s in shares[:rank])
    limit = rounding("float64", 8)
    assert torch.allclose(out, expected[offset : offset + len(batch)], limit, limit)
    for p, q in zip(made.parameters(), alone.parameters(), strict=True):
        dist.all_reduce(p.grad)
        assert torch.allclose(p.grad, q.grad, limit, limit * float(q.grad.abs().max()))
    for p, q in zip(made.buffers(), alone.buffers(), strict=True):
        assert torch.allclose(p.double(), q.double(), limit, limit)
    made.eval()
    alone.eval()
    assert torch.allclose(made(batch), alone(batch), limit, limit)


def check_hooks_of_the_module_are_kept(rank: int, size: int) -> None:
    seen: list[str] = []
    inner = nn.Linear(2, 1)
    inner.register_forward_hook(lambda *_: seen.append("forward"))
    inner.weight.register_hook(lambda g: g * 2)
    model = DistributedDataParallel(inner)
    model(torch.ones(1, 2)).sum().backward()
    assert seen == ["forward"]
    assert torch.equal(inner.weight.grad, torch.full((1, 2), 2.0))
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def check_gradients_may_lie_in_the_buckets(rank: int, size: int) -> None:
    model = DistributedDataParallel(nn.Linear(2, 1), gradient_as_bucket_view=True)
    for _ in range(2):  # the second pass adds to what lies there
        model(torch.ones(1, 2)).sum().backward()
    grad = model.module.weight.grad
    assert np.shares_memory(grad.numpy(), model._buckets[0].flat)
    assert torch.equal(grad, torch.full((1, 2), 2.0))
