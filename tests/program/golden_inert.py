"""What libraries decorate with, ask and compare with, though there may be nothing behind it."""

import importlib
from typing import Any

from nanotorch.names.scope import TABLE, row
from tests.answers import sessions


def every_name_is_pytorchs(torch: Any) -> Any:
    """Which of the table's names and modules are not there."""
    missing = []
    for place in TABLE:
        try:
            name = f"{torch.__name__}.{place}".rstrip(".")
            module = importlib.import_module(name)
        except ImportError:
            missing.append(place)
            continue
        missing += [f"{place}.{n}" for n in row(place) if not hasattr(module, n)]
    return missing


def _names(torch: Any) -> dict[str, Any]:
    @torch.jit.script
    def twice(x: int) -> int:
        return x * 2

    @torch.jit.ignore(drop=False)
    def thrice(x: int) -> int:
        return x * 3

    @torch.jit.unused
    def none(x: int) -> int:
        return 0

    @torch._dynamo.disable(recursive=False)
    def same(x: int) -> int:
        return x

    return {
        "layer": torch.nn.Linear(2, 1), "one": torch.ones(1, 2), "twice": twice, "thrice": thrice,
        "none": none, "same": same,
    }  # fmt: skip


used = sessions(_names)("""
decorators
    twice(2), thrice(2), none(2), same(2), torch.jit.annotate(int, 3), torch.jit.is_scripting()
    torch.jit.is_tracing(), torch.equal(torch.jit.trace(layer, one)(one), layer(one))
    torch.compiler.allow_in_graph(len)([1]), torch._dynamo.is_compiling()
    isinstance(layer, torch.jit.ScriptModule), isinstance(layer, torch.fx.GraphModule)
    torch.jit.script(obj=layer) is not None, torch.compiler.allow_in_graph(fn=len)([1])
    torch._assert(True, "x"), torch._assert(1 > 2, "too large")
    isinstance(3, torch.SymInt), torch.onnx.is_in_onnx_export()
questions
    torch.cuda.get_rng_state_all(), torch.cuda.set_rng_state_all([])
    torch.cuda.memory_reserved(), dict(torch.cuda.memory_stats()), torch.cuda.seed_all()
    raised(torch.cuda.mem_get_info).split(":")[0].replace("NotImplemented", "Runtime")
    torch.xpu.get_rng_state_all(), torch.xpu.memory_allocated(), torch.xpu.is_bf16_supported()
    torch.mps.is_available(), torch.mps.device_count(), torch.mps.manual_seed(1)
    torch.mtia.is_available(), torch.accelerator.empty_cache()
    torch._C._log_api_usage_once("x"), torch._C._get_tracing_state()
backends
    backend, ops = torch.distributed.Backend, torch.distributed.ReduceOp
    backend.NCCL, backend("GLOO"), type(backend("mpi")).__name__, backend.UNDEFINED
    isinstance(ops.SUM, ops.RedOpType), "cpu" in backend.default_device_backend_map
schedules
    def plan(**options):
        return [torch.profiler.schedule(**options)(step).name for step in range(9)]
    plan(wait=1, warmup=1, active=2, repeat=1, skip_first=1), plan(wait=0, warmup=1, active=2)
    plan(wait=2, warmup=0, active=1), plan(wait=-1, warmup=0, active=1)
    plan(wait=1, warmup=0, active=0)
""")
