"""Switches, mixed precision and tensor types, as scripts use them."""

from typing import Any

import numpy as np

from tests.answers import raised, told, warned


def precision(torch: Any) -> Any:
    first = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    second = torch.get_float32_matmul_precision()
    wrong = [
        warned(lambda: torch.set_float32_matmul_precision("exact")),
        raised(torch.set_float32_matmul_precision, 3),
        torch.get_float32_matmul_precision(),
    ]
    torch.set_float32_matmul_precision("highest")
    return [first, second, wrong]


def determinism(torch: Any) -> Any:
    def state() -> Any:
        return [
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ]

    found = [state()]
    for mode, warn_only in ((True, False), (True, True), (False, True)):
        torch.use_deterministic_algorithms(mode, warn_only=warn_only)
        found.append(state())
    torch.use_deterministic_algorithms(False)
    return [found, raised(torch.use_deterministic_algorithms, 1)]


def devices(torch: Any) -> Any:
    torch.set_default_device("cpu")
    found = [torch.get_default_device(), torch.zeros(2).device]
    torch.set_default_device(None)
    return [
        found, torch.is_warn_always_enabled(), torch.cuda.is_available(), torch.cuda.device_count(),
        raised(torch.set_default_device, "nope"),
    ]  # fmt: skip


def default_tensor_type(torch: Any) -> Any:
    found = []
    for kind in ("torch.DoubleTensor", torch.FloatTensor, "torch.DoubleTensor"):
        torch.set_default_tensor_type(kind)
        found.append(torch.tensor(1.0).dtype)
    torch.set_default_dtype(torch.float32)
    return [found, raised(torch.set_default_tensor_type, torch.LongTensor)]


def tensor_types(torch: Any) -> Any:
    x, array = torch.zeros(2), np.arange(3.0)
    return [
        torch.FloatTensor, torch.FloatTensor([1, 2]), torch.LongTensor([[1.5, 2]]),
        torch.LongTensor(2, 3).shape, torch.FloatTensor(torch.Size([4])).shape,
        torch.DoubleTensor(array), torch.ByteTensor((1, 2)), torch.BoolTensor([1, 0]),
        torch.FloatTensor(), torch.FloatTensor(x).data_ptr() == x.data_ptr(),
        [isinstance(x, torch.FloatTensor), isinstance(x, torch.LongTensor)],
        isinstance(torch.nn.Parameter(x), torch.FloatTensor), torch.ShortTensor.dtype,
        [raised(torch.FloatTensor, 3.5), raised(torch.LongTensor, "a")],
        raised(torch.FloatTensor, torch.zeros(2).long()).partition(":")[0],
        [x.type(), x.type("torch.LongTensor"), x.type(torch.IntTensor), x.type(torch.int)],
        raised(x.type, "nothing"),
    ]  # fmt: skip


def autocast_off(torch: Any) -> Any:
    x = torch.ones(2, 2)
    with torch.autocast("cpu", enabled=False), torch.autocast(device_type="cuda", enabled=False):
        inner = (x @ x).dtype

    @torch.autocast("cpu", enabled=False)
    def product(a: Any) -> Any:
        return a @ a

    return [
        inner, product(x), torch.is_autocast_enabled(), warned(lambda: torch.autocast("cuda")),
        raised(torch.autocast, "nope"), raised(torch.autocast, 3),
    ]  # fmt: skip


def scaler_off(torch: Any) -> Any:
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler(enabled=False)
    loss = (weight**2).sum()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return [
        weight, scaler.get_scale(), scaler.is_enabled(), scaler.state_dict(),
        warned(lambda: torch.amp.GradScaler()), warned(lambda: torch.cuda.amp.GradScaler()),
        warned(lambda: torch.cuda.amp.autocast()),
    ]  # fmt: skip


def scaler_on(torch: Any) -> Any:
    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    yield raised(scaler.update)
    for factor in (1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        loss = (weight**2).sum() * factor
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        yield [weight.grad, raised(scaler.unscale_, optimizer)]
        scaler.step(optimizer)
        scaler.update()
        yield [weight.detach().clone(), scaler.get_scale(), scaler.state_dict()]
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict())
    scaler.update(3.0)
    yield from [
        other.state_dict(), told(scaler.scale([loss.detach(), (loss.detach(),)])),
        scaler.get_scale(), raised(scaler.scale, 3), raised(other.load_state_dict, {}),
        raised(scaler.step, optimizer, closure=lambda: 0),
        raised(torch.amp.GradScaler, "cpu", growth_factor=1.0),
    ]  # fmt: skip


def constants(torch: Any) -> Any:
    values = [torch.pi, torch.e, torch.inf, -torch.inf, str(torch.nan), torch.newaxis]
    return [values, torch.zeros(2)[torch.newaxis].shape, torch.backends.cudnn.deterministic]


def one_device(torch: Any) -> Any:
    model = torch.nn.Linear(2, 2)
    wrapped = torch.nn.DataParallel(model)
    x = torch.ones(2)
    with torch.device("cpu") as device:
        made = torch.zeros(2)

    return [
        [wrapped, list(wrapped.state_dict()), wrapped.device_ids],
        torch.equal(wrapped(x), model(x)),
        raised(torch.nn.parallel.DistributedDataParallel, model).partition(" (")[0],
        [device, made.device],
        [torch.distributed.is_initialized(), torch.xpu.is_available()],
    ]


def new(torch: Any) -> Any:
    x = torch.ones(2)
    return [
        [x.new(2, 3).shape, x.new([1, 2]), x.new(), x.new(torch.Size([2])).shape],
        [x.long().new([1.5]), x.new(x).data_ptr() == x.data_ptr()],
        raised(x.new, 3.5),
    ]


def compiling(torch: Any) -> Any:
    return [
        torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling(),
        torch.compiler.is_exporting(), callable(torch.compiler.compile),
        raised(getattr, torch.compiler, "zork").split(":")[0],
    ]  # fmt: skip
