"""`nanotorch.compile`: capture a step once, or a forward with its gradients, and replay it.

compiler   the whole replay as source; which plan a call takes, or none; `OptimizedModule`
guards     which Python the step runs and reaches, and what to compare before a replay
tracing    the step runs once under trace: what that replaces meanwhile, the step's effects, and
           the first replay beside the step itself
recorder   traced arrays and symbolic numbers, which write down what is done with them
tape       the calls of NumPy that they noted, made fewer, and where their results lie
codegen    these calls as source; what an error in the middle puts back
joint      the gradients of a step whose results are still to go backward
"""

import functools
from typing import Any

BACKENDS = ("inductor", "eager", "aot_eager")  # of PyTorch's; the last two compile nothing
MODES = (
    "default", "lite", "reduce-overhead", "max-autotune-no-cudagraphs", "max-autotune",
)  # fmt: skip


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = None,
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    name: str | None = None,
    disable: bool = False,
    recompile_limit: int | None = None,
) -> Any:
    """Capture what a training step does to tensors and replay it, without graph or allocation.

    The step may do everything a training step does: `zero_grad`, forward, `backward`, the step of
    any optimizer but `LBFGS`, without any of them too. The first call runs as it is and is watched,
    the second is traced, the third runs beside its first replay, and only if every bit is the same
    do replays take over. They give the very bits of the step itself.

    A replay first checks what the step depends on: shapes, dtypes and strides of its arguments,
    which tensors, modules, attributes, numbers and functions it reaches, training and grad mode.
    Where something has changed, the step is captured anew. An optimizer's options (a learning rate
    that is scheduled) are read at every call. What cannot be replayed - Python that depends on the
    values of tensors, prints, random numbers of others, variables that the step changes - makes the
    function run as it is in this grad mode, with one warning that names the line. In anomaly mode
    and under `saved_tensors_hooks` it runs as it is for that time.

    An error in the middle of a replay is the step's own: what has been written is put back, and the
    step runs as it is up to it.

    What a function or a module returns may go backward outside: its gradients are captured with it.
    Its results then have one node in common, a ``CompiledFunctionBackward``, which replays them.
    There may be any number of such graphs at a time, and several passes through one; tensors that
    have been written to in between are refused as always. Where gradients come to other results
    than before or are to be differentiated themselves, the step is made once more, as it was. A
    function of which gradients of gradients are asked for runs as it is from then on.

    A tensor that a replay returns has values and ``requires_grad`` as always; where the step has
    gone backward itself, its ``grad_fn`` is one of a graph that is used up.

    Args:
        model: a function or a module; None to decorate: ``@compile(fullgraph=True)``.
        fullgraph: raise an error instead of running uncompiled, at every such call.
        dynamic, mode, options, name: accepted for PyTorch's sake.
        backend: "inductor", which here means this compiler, or "eager", which means none.
        disable: return ``model`` as it is.
        recompile_limit: how many variants of the step are kept. Default: 8.

    Returns:
        A function with ``report()``, which tells what was compiled or why not, and ``source()``,
        the replay as Python source; an `OptimizedModule` for a module.

    Raises:
        RuntimeError: for an unknown backend or mode; with ``fullgraph``, where the step cannot
            be compiled.
        TypeError: if ``model`` cannot be called.
    """
    if backend is not None and backend not in BACKENDS:
        raise RuntimeError(f"Invalid backend: {backend!r}. There are {', '.join(BACKENDS)}.")
    if mode is not None and options is not None:
        raise RuntimeError(
            "Either mode or options can be specified, but both can't be specified at the same time."
        )
    if mode is not None and mode not in MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(MODES)}")
    if model is None:
        return functools.partial(
            compile, fullgraph=fullgraph, backend=backend, mode=mode, options=options, name=name,
            disable=disable, recompile_limit=recompile_limit,
        )  # fmt: skip
    if not callable(model):
        raise TypeError(f"A callable function is expected, but {type(model)} is provided.")
    if disable or backend in ("eager", "aot_eager"):
        return model
    # Only who compiles pays for loading the compiler.
    from nanotorch.compile.compiler import LIMIT, Compiler, compiled_function, compiled_module
    from nanotorch.nn.module import Module

    limit = recompile_limit or LIMIT
    if isinstance(model, Module):
        return compiled_module(model, fullgraph, limit)
    return compiled_function(Compiler(model, fullgraph, limit))
