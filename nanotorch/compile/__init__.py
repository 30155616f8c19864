"""`nanotorch.compile`: capture a step once, or a forward with its gradients, and replay it.

compiler   the whole replay as source; which plan a call uses, if any; `OptimizedModule`
guards     the Python objects that the step runs and reaches, and the checks before a replay
tracing    one run of the step under trace: its replacements, the step's effects, and the
           comparison of the first replay with the step itself
recorder   traced arrays and symbolic numbers, which record every operation on them
tape       the recorded NumPy calls: their reduction, and the memory of their results
codegen    these calls as source; the rollback after an error
joint      the gradients of a step whose results go backward outside it
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
    """Capture the NumPy calls of a training step and replay them, without graph or allocation.

    The step may contain any part of a training step: `zero_grad`, a forward, `backward`, the step
    of any optimizer but `LBFGS`. The first call runs uncompiled and is watched. The second is
    traced. The third runs both the step and its first replay, and compares them. Later calls are
    replays only if every bit is the same. So a replay has the same bits as the step itself.

    A replay first checks what the step depends on: the shapes, dtypes and strides of its arguments;
    the tensors, modules, attributes, numbers and functions that it reaches; training and grad mode;
    autocast. If something has changed, the step is captured again. An optimizer's options, such as
    a scheduled learning rate, are read at every call. Some steps cannot be replayed: Python that
    depends on the values of tensors, prints, bfloat16, random numbers of other libraries, variables
    that the step changes. Such a function runs uncompiled in this grad mode and autocast, with one
    warning that names the line. In anomaly mode and under `saved_tensors_hooks`, every
    function runs uncompiled.

    After an error in the middle of a replay, the memory that was written is restored. Then the step
    runs uncompiled and raises its own error.

    The results of a function or module may go backward outside: their gradients are captured, too.
    The results then share one node, a ``CompiledFunctionBackward``, which replays the gradients.
    Any number of such graphs may exist at a time, and several passes may run through one. As usual,
    a pass refuses tensors that were written to since. If gradients arrive at other results than
    before, or are differentiated themselves, the step runs again, as it was. After second
    derivatives, the function runs uncompiled.

    A tensor that a replay returns has the usual values and ``requires_grad``. If the step itself
    goes backward, the tensor's ``grad_fn`` belongs to a graph that is used up.

    Args:
        model: a function or a module; None to decorate: ``@compile(fullgraph=True)``.
        fullgraph: whether a call that cannot be compiled raises an error instead of running
            uncompiled.
        dynamic, options, name: ignored.
        mode: one of PyTorch's modes; it has no effect.
        backend: "inductor", the default, is this compiler; "eager" and "aot_eager" return
            ``model``.
        disable: whether to return ``model`` itself.
        recompile_limit: the largest number of variants of the step that are kept; default: 8.

    Returns:
        A function with two methods: ``report()`` says what was compiled, or why nothing was;
        ``source()`` is the replay as Python source. For a module, an `OptimizedModule`.

    Raises:
        RuntimeError: for an unknown backend or mode, or for both ``mode`` and ``options``; with
            ``fullgraph``, if the step cannot be compiled.
        TypeError: if ``model`` is not callable.
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
    # The compiler is loaded only when it is used.
    from nanotorch.compile.compiler import LIMIT, Compiler, compiled_function, compiled_module
    from nanotorch.nn.module import Module

    limit = recompile_limit or LIMIT
    if isinstance(model, Module):
        return compiled_module(model, fullgraph, limit)
    return compiled_function(Compiler(model, fullgraph, limit))
