"""Switches, mixed precision, tensor types and comparisons, as scripts use them."""

from typing import Any

import numpy as np

from tests.answers import sessions


def _names(torch: Any) -> dict[str, Any]:
    def deterministic() -> list[bool]:
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        return [torch.are_deterministic_algorithms_enabled(), warns]

    weight = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    return {
        "np": np, "deterministic": deterministic, "x": torch.zeros(2), "weight": weight,
        "optimizer": torch.optim.SGD([weight], lr=0.1), "close": torch.testing.assert_close,
        "o": torch.ones(2, 2), "two": torch.ones(2), "nan": float("nan"),
    }  # fmt: skip


session = sessions(_names)

switches = session("""
precision
    torch.get_float32_matmul_precision(), torch.set_float32_matmul_precision("high")
    torch.get_float32_matmul_precision()
    warned(lambda: torch.set_float32_matmul_precision("exact"))
    torch.set_float32_matmul_precision(3), torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("highest")
determinism
    deterministic()
    for mode, warn_only in ((True, False), (True, True), (False, True)):
        torch.use_deterministic_algorithms(mode, warn_only=warn_only), deterministic()
    torch.use_deterministic_algorithms(False), torch.use_deterministic_algorithms(1)
devices
    torch.set_default_device("cpu"), torch.get_default_device(), torch.zeros(2).device
    torch.set_default_device(None), torch.is_warn_always_enabled(), torch.cuda.is_available()
    torch.cuda.device_count(), torch.set_default_device("nope")
    for name in ("is_initialized", "memory_allocated", "set_device", "seed"):
        getattr(torch.cuda, name).__name__, getattr(torch.cuda, name).__qualname__
the default tensor type
    for kind in ("torch.DoubleTensor", torch.FloatTensor, "torch.DoubleTensor"):
        torch.set_default_tensor_type(kind), torch.tensor(1.0).dtype
    torch.set_default_dtype(torch.float32), torch.set_default_tensor_type(torch.LongTensor)
constants
    [torch.pi, torch.e], torch.inf, -torch.inf, str(torch.nan), torch.newaxis
    x[torch.newaxis].shape, torch.backends.cudnn.deterministic
one device
    model = torch.nn.Linear(2, 2)
    wrapped = torch.nn.DataParallel(model)
    wrapped, list(wrapped.state_dict()), wrapped.device_ids, torch.equal(wrapped(x), model(x))
    raised(torch.nn.parallel.DistributedDataParallel, model).partition(" (")[0]
    with torch.device("cpu") as device:
        device, torch.zeros(2).device
    torch.distributed.is_initialized(), torch.xpu.is_available()
compiling
    torch.compiler.is_compiling(), torch.compiler.is_dynamo_compiling()
    torch.compiler.is_exporting(), callable(torch.compiler.compile)
    torch.compiler.zork, torch.serialization.loda
""")

tensors = session("""
types
    torch.FloatTensor, torch.FloatTensor([1, 2]), torch.LongTensor([[1.5, 2]])
    torch.LongTensor(2, 3).shape, torch.FloatTensor(torch.Size([4])).shape
    torch.DoubleTensor(np.arange(3.0)), torch.ByteTensor((1, 2)), torch.BoolTensor([1, 0])
    torch.FloatTensor(), torch.FloatTensor(x).data_ptr() == x.data_ptr()
    isinstance(x, torch.FloatTensor), isinstance(x, torch.LongTensor)
    isinstance(torch.nn.Parameter(x), torch.FloatTensor), torch.ShortTensor.dtype
    torch.FloatTensor(3.5), torch.LongTensor("a")
    raised(torch.FloatTensor, x.long()).partition(":")[0]
    x.type(), x.type("torch.LongTensor"), x.type(torch.IntTensor), x.type(torch.int)
    x.type("nothing")
new ones
    two.new(2, 3).shape, two.new([1, 2]), two.new(), two.new(torch.Size([2])).shape
    two.long().new([1.5]), two.new(two).data_ptr() == two.data_ptr(), two.new(3.5)
""")

mixed = session("""
a scaler, turned off
    scaler = torch.amp.GradScaler(enabled=False)
    _ = scaler.scale((weight**2).sum()).backward()
    scaler.unscale_(optimizer), scaler.step(optimizer), scaler.update()
    weight, scaler.get_scale(), scaler.is_enabled(), scaler.state_dict()
    warned(lambda: torch.amp.GradScaler()), warned(lambda: torch.cuda.amp.GradScaler())
    warned(lambda: torch.cuda.amp.autocast())
a scaler
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=2)
    scaler.update()
    for factor in (1.0, 1.0, float("inf"), 1.0):
        optimizer.zero_grad()
        loss = (weight**2).sum() * factor
        scaler.scale(loss).backward(), scaler.unscale_(optimizer), weight.grad
        scaler.unscale_(optimizer), scaler.step(optimizer), scaler.update()
        weight, scaler.get_scale(), scaler.state_dict()
    other = torch.amp.GradScaler("cpu")
    other.load_state_dict(scaler.state_dict()), scaler.update(3.0), other.state_dict()
    scaler.scale([loss.detach(), (loss.detach(),)]), scaler.get_scale(), scaler.scale(3)
    other.load_state_dict({}), scaler.step(optimizer, closure=lambda: 0)
    torch.amp.GradScaler("cpu", growth_factor=1.0)
""")

comparisons = session("""
of tensors
    part = torch.tensor([[1.0, 1.5], [0.0, 3.0]])
    close(o, o + 1e-6), close(o, o * 1.1), close(o, part), close(part, o), close(o, two)
    close(o, o.double()), close(o, o.double(), check_dtype=False), close(o * nan, o * nan)
    close(o * nan, o * nan, equal_nan=True), close(o.long(), o.long() * 2)
    close(o.bool(), ~o.bool()), close(torch.tensor(1.0), torch.tensor(2.0))
    close(torch.tensor(1), torch.tensor(2)), close(o.half(), o.half() * 1.01)
    close(o.double(), o.double() + 1e-6), close(o, torch.nn.Parameter(o))
    close(torch.zeros(2, 3).t(), torch.zeros(3, 2), check_stride=True)
    raised(close, o, torch.nn.Parameter(o), allow_subclasses=False).partition(" of type")[0]
    close(torch.zeros(0, 2), torch.zeros(0, 2))
of other values
    close(1.0, 1.1), close(1.0, 1.0 + 1e-9), close(1, 2), close(1, 1.0), close(True, False)
    close(1, 1.0, check_dtype=False), close(None, None), close("a", "a")
    close(np.ones(2), np.ones(2) * 2), close([two, two], [two, two * 2])
    close((two, [two, {"k": two}]), (two, [two, {"k": two + 1}])), close({"a": two}, {"b": two})
    close([two], [two, two]), close(two, two * 2, rtol=1.0, atol=1.0)
    close(two, two * 2, rtol=0.0, atol=0.1), close(two, two, rtol=1.0), close(two, two, atol=1.0)
    close(two, two * 2, msg="differs"), close(two, two * 2, msg=lambda text: f"Look: {text}")
""")
