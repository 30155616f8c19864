"""Programs of several processes, put to PyTorch's gloo and to nanotorch.

Each is a function of ``torch``, the rank and the number of processes; its answer, one a rank, is
plain data. `scripts/golden/distributed.py` writes PyTorch's to `tests/golden/distributed.json`.
Sums are of whole numbers, so that the order of additions does not show.
"""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

SIZES = (2, 3, 4)
DTYPES = (
    "bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
OPS = ("SUM", "AVG", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR")


def programs() -> dict[str, Callable[[Any, int, int], Any]]:
    return {
        name: value
        for name, value in globals().items()
        if callable(value) and getattr(value, "__module__", "") == __name__
        and not name.startswith("_") and name != "programs" and not isinstance(value, type)
    }  # fmt: skip


def _error(call: Callable[[], Any]) -> str:
    """The type of an error, and its first sentence."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition('. ')[0].strip()}"
    return "no error"


def reductions(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist = torch.distributed
    for op, dtype in itertools.product(OPS, DTYPES):
        whole = dtype == "bool" or "int" in dtype
        if (op == "AVG" and whole) or (op.startswith("B") and not whole):
            continue
        x = torch.tensor([[0, 1, 2, 3], [rank, rank + 1, 2, 5]]).to(getattr(torch, dtype))
        dist.all_reduce(x, getattr(dist.ReduceOp, op))
        yield [op, dtype, x.tolist(), str(x.dtype)]


def large_sums(torch: Any, rank: int, size: int) -> list[Any]:
    """More than fits into one message: in pieces, of sizes that differ."""
    dist, answers = torch.distributed, []
    for count in (0, 1, 10_007, 100_003):
        x = torch.arange(count, dtype=torch.float64) * (rank + 1)
        dist.all_reduce(x)
        answers.append([x.sum().item(), x[-3:].tolist()])
    return answers


def copies(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist = torch.distributed
    for root in range(size):
        x = torch.arange(3) + 10 * rank
        dist.broadcast(x, root)
        yield x.tolist()
        x = torch.arange(3) + 10 * rank
        dist.reduce(x, root)
        yield x.tolist() if rank == root else None  # gloo leaves partial sums elsewhere
        parts = [torch.zeros(2) for _ in range(size)] if rank == root else None
        dist.gather(torch.ones(2) * rank, parts, root)
        yield None if parts is None else [p.tolist() for p in parts]
        parts = [torch.ones(2) * (10 * root + k) for k in range(size)] if rank == root else None
        x = torch.zeros(2)
        dist.scatter(x, parts, root)
        yield x.tolist()
    parts = [torch.zeros(2, 2, dtype=torch.bool) for _ in range(size)]
    dist.all_gather(parts, torch.tensor([[rank == 0, True], [False, rank == 1]]))
    yield [p.tolist() for p in parts]
    x = torch.zeros(2 * size)
    dist.all_gather_into_tensor(x, torch.tensor([1.0, rank]))
    yield x.tolist()
    dist.barrier()


def pieces(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist = torch.distributed
    own = torch.arange(2.0 * size).reshape(size, 2) * (rank + 1)
    x = torch.zeros(2)
    dist.reduce_scatter(x, list(own.clone()))
    yield x.tolist()
    dist.reduce_scatter_tensor(x, own.flatten(), op=dist.ReduceOp.MAX)
    yield x.tolist()
    out = torch.zeros(size, 2)
    dist.all_to_all_single(out, own)
    yield out.tolist()
    sent = [k + 1 for k in range(size)]  # rows to each rank
    out = torch.zeros(size * (rank + 1), 2)
    source = torch.arange(2.0 * sum(sent)).reshape(-1, 2) + 100 * rank
    dist.all_to_all_single(out, source, [rank + 1] * size, sent)
    yield out.tolist()


def dtypes(torch: Any, rank: int, size: int) -> Iterator[Any]:
    """The collectives that add up nothing exchange every dtype."""
    dist = torch.distributed
    for dtype in DTYPES:
        own = (torch.arange(2 * size) * (rank + 1) % 5).to(getattr(torch, dtype))
        x = own.clone()
        dist.broadcast(x, size - 1)
        yield [dtype, x.tolist()]
        parts = [torch.zeros_like(own) for _ in range(size)]
        dist.all_gather(parts, own)
        yield [p.tolist() for p in parts]
        dist.gather(own, parts if rank == 0 else None, 0)
        dist.scatter(x, parts if rank == 0 else None, 0)
        yield x.tolist()
        piece, whole = x[:2].clone(), torch.zeros_like(own)
        dist.all_gather_into_tensor(whole, own[:2].clone())
        yield whole.tolist()
        dist.all_to_all_single(whole, own)
        yield whole.tolist()
        dist.reduce_scatter_tensor(piece, own, op=dist.ReduceOp.MAX)
        yield piece.tolist()
        sent = dist.isend(own, (rank + 1) % size)
        dist.recv(x, (rank - 1) % size)
        sent.wait()
        yield x.tolist()


def messages(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist = torch.distributed
    following, before = (rank + 1) % size, (rank - 1) % size
    x = torch.zeros(3, dtype=torch.int32)
    if rank == 0:
        dist.send(torch.ones(3, dtype=torch.int32) * 7, 1)
    elif rank == 1:
        yield [dist.recv(x), x.tolist()]
    x = torch.zeros(2)
    works = [dist.isend(torch.ones(2) * rank, following, tag=3), dist.irecv(x, before, tag=3)]
    yield [[work.wait() for work in works], x.tolist()]
    x = torch.zeros(4)
    pairs = [(dist.isend, torch.ones(4) * rank, following), (dist.irecv, x, before)]
    yield [w.wait() for w in dist.batch_isend_irecv([dist.P2POp(*pair) for pair in pairs])]
    yield x.tolist()


def works(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist = torch.distributed
    tensors = [torch.ones(50) * (rank + k) for k in range(5)]
    started = [dist.all_reduce(x, async_op=True) for x in tensors]
    yield [work.wait() for work in reversed(started)]
    yield [[work.is_completed(), work.is_success()] for work in started]
    yield [x[0].item() for x in tensors]
    yield dist.all_reduce(torch.ones(1))


def objects(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist, own = torch.distributed, {"rank": rank, "t": (1, [None, 2.5]), "x": torch.ones(2) * rank}
    found: list[Any] = [None] * size
    dist.all_gather_object(found, own)
    yield str(found)
    found = [own, rank, "text"]
    dist.broadcast_object_list(found, size - 1)
    yield str(found)
    gathered = [None] * size if rank == 1 else None
    dist.gather_object(own, gathered, 1)
    yield str(gathered)
    found = [None]
    dist.scatter_object_list(found, list(range(size)) if rank == 0 else None, 0)
    yield found


def groups(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist = torch.distributed
    yield [dist.get_rank(), dist.get_world_size(), dist.is_initialized()]
    made = dist.new_group([size - 1, 0])
    yield [dist.get_rank(made), dist.get_world_size(made), dist.get_backend()]
    if rank in (0, size - 1):
        x = torch.ones(1) * rank
        dist.all_reduce(x, group=made)
        y = torch.ones(1) * rank
        dist.broadcast(y, size - 1, made)
        z = torch.ones(1) * rank
        dist.broadcast(z, group=made, group_src=1)
        yield [x.item(), y.item(), z.item(), dist.get_process_group_ranks(made)]
        yield [dist.get_global_rank(made, 1), dist.get_group_rank(made, size - 1)]
    yield dist.get_process_group_ranks(None)
    yield dist.new_group([0]) == dist.GroupMember.NON_GROUP_MEMBER


def mistakes(torch: Any, rank: int, size: int) -> Iterator[Any]:
    dist, x = torch.distributed, torch.ones(1)
    yield _error(lambda: dist.send(x, rank))
    yield _error(lambda: dist.all_reduce([1]))
    yield _error(lambda: dist.init_process_group("gloo"))
    yield _error(lambda: dist.all_reduce(torch.ones(1, dtype=torch.int64), dist.ReduceOp.AVG))
    yield _error(lambda: torch.nn.parallel.DistributedDataParallel(torch.nn.ReLU()))
    yield [repr(dist.ReduceOp.SUM), str(dist.ReduceOp.MAX), dist.ReduceOp.SUM == dist.ReduceOp.MAX]


def sampler(torch: Any, rank: int, size: int) -> Iterator[Any]:
    made = torch.utils.data.DistributedSampler
    for count, shuffle, drop, seed in itertools.product((10, 7, 1), (0, 1), (0, 1), (0, 3)):
        s = made(range(count), shuffle=bool(shuffle), drop_last=bool(drop), seed=seed)
        epochs = []
        for epoch in range(2):
            s.set_epoch(epoch)
            epochs.append(list(s))
        yield [len(s), epochs]


def _net(torch: Any, offset: float = 0.0) -> Any:
    """A network whose parameters are the same in each framework."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(3, 4, bias=False), nn.BatchNorm1d(4), nn.Tanh(), nn.Linear(4, 2))
    with torch.no_grad():
        for k, p in enumerate(net.parameters()):
            p.copy_((torch.arange(p.numel()).reshape(p.shape) * 0.37 + k + offset).sin())
    return net.double()


def _batch(torch: Any, rank: int) -> Any:
    return (torch.arange(15.0).double().reshape(5, 3) * (rank + 0.7)).cos()


def ddp(torch: Any, rank: int, size: int) -> Iterator[Any]:
    for options in (
        {},
        {"bucket_cap_mb": 1e-4},
        {"gradient_as_bucket_view": True, "broadcast_buffers": False},
        {"find_unused_parameters": True},
    ):
        net = _net(torch, rank)
        model = torch.nn.parallel.DistributedDataParallel(net, **options)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        losses = []
        for _ in range(3):
            optimizer.zero_grad()
            loss = model(_batch(torch, rank)).square().mean()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 0.05)
            optimizer.step()
            losses.append([loss.item(), norm.item()])
        yield [losses, [p.tolist() for p in net.parameters()], list(model.state_dict())]
        yield [b.tolist() for b in net.buffers()]


def ddp_accumulates(torch: Any, rank: int, size: int) -> Iterator[Any]:
    net = torch.nn.Linear(3, 2).double()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.arange(p.numel()).reshape(p.shape).cos())
    model = torch.nn.parallel.DistributedDataParallel(net)
    with model.no_sync():
        model(_batch(torch, rank)).sum().backward()
    yield net.weight.grad.tolist()
    model(_batch(torch, rank) * 2).sum().backward()
    yield net.weight.grad.tolist()
    model.eval()
    with torch.no_grad():
        yield model(_batch(torch, rank)).tolist()


def ddp_unused(torch: Any, rank: int, size: int) -> Iterator[Any]:
    class Branches(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = torch.nn.ModuleList(torch.nn.Linear(1, 1, bias=False) for _ in range(3))

        def forward(self, x: Any) -> Any:
            return self.parts[0](x) + self.parts[1](x) if rank else self.parts[0](x)

    wrapped = torch.nn.parallel.DistributedDataParallel
    model = wrapped(Branches(), find_unused_parameters=True)
    for _ in range(2):
        model(torch.ones(1, 1) * 6).sum().backward()
        yield [None if p.grad is None else p.grad.item() for p in model.parameters()]
    model = wrapped(Branches())
    model(torch.ones(1, 1)).sum().backward()
    yield _error(lambda: model(torch.ones(1, 1)))


def zero(torch: Any, rank: int, size: int) -> Iterator[Any]:
    made = __import__(f"{torch.__name__}.distributed.optim", fromlist=["x"])
    net = _net(torch)
    options = {"lr": 0.1, "weight_decay": 0.01}
    optimizer = made.ZeroRedundancyOptimizer(net.parameters(), torch.optim.AdamW, **options)
    yield _error(optimizer.state_dict)
    for _ in range(2):
        optimizer.zero_grad()
        net(_batch(torch, 0)).square().mean().backward()
        optimizer.step()
    yield [p.tolist() for p in net.parameters()]
    optimizer.consolidate_state_dict(1)
    if rank == 1:
        state = optimizer.state_dict()
        yield [[n, s["exp_avg"].tolist(), s["step"].item()] for n, s in state["state"].items()]
        yield [group["params"] for group in state["param_groups"]]
