"""The training step, compiled where this saves time; the costs of a model and its steps."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch._core.graph import Node
from nanotorch._core.sums import sum_of_squares
from nanotorch.autograd.graph import reachable_nodes
from nanotorch.func.trees import tree_leaves
from nanotorch.nn.utils import clip_grad_norm_, clip_grad_value_, get_total_norm
from nanotorch.profiler import profile, record_function
from nanotorch.train.runs import ranks
from nanotorch.train.training.loop import Callback, Loop
from nanotorch.train.training.metrics import align_rows, with_prefix
from nanotorch.utils.tensorboard import graph

WORTHWHILE = 1500
"""The number of calls from which compiling saves time. The first three calls are watched, traced
and verified, which costs 20 to 200 ms; models with 2 to 80,000 weights regain it in 500 to 1,000
calls."""


class TrainingStep:
    """A step that is called many times; its results have the same bits, compiled or not.

    Args:
        function: takes tensors, returns the loss. Its closure holds the objects that it changes,
            where `nanotorch.compile` looks for them.
        optimizer: the optimizer that `function` uses.
        wanted: whether the configuration allows compiling.
        calls: the number of calls to come.
    """

    def __init__(
        self, function: Callable[..., Any], optimizer: optim.Optimizer, wanted: bool, calls: int
    ) -> None:
        monitoring = getattr(sys, "monitoring", None)  # `cProfile` uses it from Python 3.12 on
        tool = monitoring and monitoring.get_tool(monitoring.PROFILER_ID)
        self._reason = ""
        if not wanted:
            self._reason = "switched off"
        elif searches(optimizer):
            kind = type(optimizer).__name__
            self._reason = f"{kind} decides during a step how many losses it needs"
        elif sys.getprofile() is not None or tool is not None:
            self._reason = "a profiler is active, which needs to see the step itself"
        elif calls < WORTHWHILE:
            few = f"{calls} steps of one size are too few to save time"
            self._reason = f"{few}; it takes {WORTHWHILE}"
        self._compiled: Any = None if self._reason else torch.compile(function)
        self.plain = function
        self.call: Callable[..., Any] = self._compiled or function

    def record(self) -> Mapping[str, Any]:
        """Return the figures of each compiled variant, or the reason why none was compiled."""
        report = None if self._reason else self._compiled.report()
        reason = self._reason if report is None else report.problem
        if report is not None and not reason and report.plans:
            return {"compiled": True, "plans": [asdict(figures) for figures in report.plans]}
        return {"compiled": False, "reason": reason or "the run ended before"}


def define_fit(
    model: nn.Module,
    criterion: nn.Module,
    optimizer: optim.Optimizer,
    longest: float | None = None,
    largest: float | None = None,
    width: int = 2,
    size: int = 1,
    accumulate: int = 1,
) -> Callable[..., Any]:
    """Return the training step: from x, y, or x, y, x, y, ..., to the loss before the step.

    Every sample has the same weight, even if batches differ in size. Each of several processes
    computes its rows of every batch, and the gradients are summed. With bounds, the step returns
    the loss and the norm of the unclipped gradients. An optimizer that searches evaluates the loss
    and its gradients several times per step.

    Args:
        model, criterion, optimizer: the model, the loss and the optimizer.
        longest: the greatest norm of all gradients together; None for no bound.
        largest: the greatest absolute value of a gradient's element; None for no bound.
        width: the number of tensors in a batch: the inputs of the model and the targets.
        size: the number of samples in a batch, except the last.
        accumulate: the number of batches in a step, except the last.
    """
    parameters = list(model.parameters())
    several = ranks.size() > 1
    shared = several or accumulate > 1
    synchronized = several and any(isinstance(m, nn.SyncBatchNorm) for m in model.modules())

    def gradients(*tensors: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        if not shared:
            *inputs, y = tensors
            loss = criterion(model(*inputs), y)
            loss.backward()
            return loss
        samples, loss = sum(len(y) for y in tensors[width - 1 :: width]), torch.zeros(())
        tensors = ranks.drawing(tensors[0], ranks.BEFORE), *tensors[1:]
        for start in range(0, len(tensors), width):
            x, *others, y = ranks.share(tensors[start : start + width], size)
            if len(y):
                x = ranks.drawing(x, start // width * ranks.size() + ranks.rank())
                part = criterion(model(x, *others), y) * (len(y) / samples)
                part.backward()
                loss = loss + part.detach()
            elif synchronized:  # the other processes wait for its statistics, of no samples
                (model(x, *others).sum() * 0).backward()
        if several:
            loss = ranks.add_gradients(parameters, loss)
        return ranks.drawing(loss, ranks.AFTER)

    def training_step(*batches: torch.Tensor) -> Any:
        loss = gradients(*batches)
        if longest is None and largest is None:
            optimizer.step()
            return loss
        norm = get_total_norm([p.grad for p in parameters if p.grad is not None])
        if largest is not None:
            clip_grad_value_(parameters, largest)
        if longest is not None:
            clip_grad_norm_(parameters, longest)
        optimizer.step()
        return loss, norm

    def searching_step(*batches: torch.Tensor) -> torch.Tensor:
        return optimizer.step(lambda: gradients(*batches)).detach()

    return searching_step if searches(optimizer) else training_step


def searches(optimizer: optim.Optimizer) -> bool:
    """Return whether an optimizer evaluates the loss several times per step."""
    return isinstance(optimizer, optim.LBFGS)


def gradient_norm(parameters: Iterable[torch.Tensor]) -> float:
    """Return the norm of all gradients, as if they were one vector."""
    gradients = [p.grad.numpy().ravel() for p in parameters if p.grad is not None]
    return math.sqrt(sum([float(sum_of_squares(gradient)) for gradient in gradients]))


def compilation_text(record: Mapping[str, Any]) -> str:
    """Return a line for each compiled variant of the step; "" if there is none."""
    return "\n".join(
        f"compiled: {p['kernels']} of {p['traced']} kernels, {with_prefix(p['bytes'], 'B')};"
        f" {with_prefix(p['fresh'], 'B')} allocated per step, not "
        f"{with_prefix(p['eager_bytes'], 'B')}"
        for p in record.get("plans", ())
    )


# The arithmetic in the forward pass of a model, counted in its graph.


PRODUCTS = ("Mm", "Bmm", "Addmm", "Baddbmm", "Addbmm", "Mv", "Addmv", "Dot")
ATTENTION = "ScaledDotProductFlashAttentionForCpu"
# Operations that move numbers without computing any.
MOVES = (
    *("View", "UnsafeView", "ReshapeAlias", "Alias", "AsStrided", "T", "Transpose", "Permute"),
    *("Unsqueeze", "Squeeze", "Expand", "Slice", "Select", "Split", "SplitWithSizes", "Unbind"),
    *("Clone", "Copy", "ToCopy", "Cat", "Stack", "Repeat", "Flip", "Roll", "ConstantPadNd"),
    *("Embedding", "Index", "IndexSelect", "Gather"),
)
TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
RECURRENT = (nn.RNNBase, nn.RNNCellBase)


def operations(model: nn.Module, *example: torch.Tensor) -> Counter[nn.Module]:
    """Return the number of floating-point operations of each module, without its submodules.

    A multiplication and an addition count as two. Every operation other than products of matrices,
    convolutions and attention counts one per element of its result.

    Args:
        model: the model; it stays as it was.
        example: its inputs; the pass runs in evaluation mode.
    """
    counts: Counter[nn.Module] = Counter()

    def see(module: nn.Module, args: Any, output: Any) -> None:
        # A recurrent layer multiplies each element of a sequence by each of its matrices.
        result = output[0] if isinstance(output, tuple) else output
        matrices = sum(weight.numel() for weight in module.parameters() if weight.dim() > 1)
        places = result.numel() // result.shape[-1]
        counts[module] = int(2 * places * matrices + result.numel())

    recurrent = [module for module in model.modules() if isinstance(module, RECURRENT)]
    with ExitStack() as stack:
        for layer in recurrent:
            stack.callback(layer.register_forward_hook(see).remove)
        found = graph.trace(model, example)
    modules = {path: module for module, path in found.scopes.paths.items()}
    for node in reachable_nodes(node for (node, _), _ in found.outputs.values()):
        module = modules[found.scopes.at(node._sequence)]
        if module not in recurrent:
            counts[module] += of_node(node, isinstance(module, TRANSPOSED))
    return counts


def of_node(node: Node, transposed: bool) -> int:
    """Return the number of floating-point operations of a recorded operation.

    Args:
        node: the recorded operation.
        transposed: whether a convolution is a transposed one.
    """
    name = node.name().removesuffix("Backward0")
    shapes = [None if from_ is None else from_._outputs[k][0] for from_, k in node.next_functions]
    results = sum(math.prod(shape) for shape, _ in node._outputs)
    if not node.next_functions or name in MOVES:
        return 0
    if name in PRODUCTS:
        a, b = shapes[-2:]
        summed = a[-1] if a is not None else b[-2:][0] if b is not None else 0
        terms = math.prod(a[:1]) if name == "Addbmm" and a is not None else 1
        return 2 * results * summed * terms + (results if "dd" in name else 0)
    if name == "Convolution":
        x, weight, bias = (*shapes, None)[:3]
        meets = x if transposed and x is not None else node._outputs[0][0]
        each = math.prod(weight[1:]) if weight is not None else 0
        return 2 * math.prod(meets) * each + (results if bias is not None else 0)
    if name == ATTENTION and None not in shapes[:3]:
        queries, keys, values = (shape or () for shape in shapes[:3])
        scores = math.prod(queries[:-1]) * keys[-2]
        return scores * (2 * queries[-1] + 1 + 2 * values[-1])
    return results


# A model as a table: modules as a tree, with shapes, parameters, memory and arithmetic.


MOST_MODULES = 60


def summary(model: nn.Module, *example: torch.Tensor) -> str:
    """Return the table of a model.

    The shapes are those of a pass over `example`, in evaluation mode, with N for the number of
    samples. FLOPs are per sample and of the forward pass, as `operations` counts them.

    Args:
        model: the model; it stays as it was.
        example: its inputs, at least two samples.
    """
    shapes, samples = defaultdict[nn.Module, dict[str, None]](dict), len(example[0])
    kept = Counter[nn.Module]()

    def see(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        for tensor in tree_leaves(output):
            if isinstance(tensor, torch.Tensor):
                sizes = [*map(str, tensor.shape)]
                if sizes[:1] == [str(samples)]:
                    sizes[0] = "N"
                shapes[module][f"({', '.join(sizes)})"] = None
                kept[module] += tensor.nbytes

    with ExitStack() as stack, graph.evaluation(model), torch.no_grad():
        for module in model.modules():
            stack.callback(module.register_forward_hook(see).remove)
        model(*example)
    counts = operations(model, *example)
    lines = [["module", "output", "parameters", "memory", "FLOPs"]]
    for branch, module in tree(model):
        own = sum(parameter.numel() for parameter in module.parameters())
        memory = with_prefix(kept[module] / samples, "B") if kept[module] else ""
        flops = sum(counts[inner] for inner in module.modules()) // samples
        told = [f"{own:,}" if own else "", memory, with_prefix(flops) if shapes[module] else ""]
        lines.append([branch, " ".join(shapes[module]), *told])
    shown_lines = lines[:MOST_MODULES]
    if len(lines) > MOST_MODULES:
        shown_lines.append([f"and {len(lines) - MOST_MODULES} more", "", "", "", ""])
    parameters, buffers = list(model.parameters()), list(model.buffers())
    count = sum(parameter.numel() for parameter in parameters)
    frozen = sum(p.numel() for p in parameters if not p.requires_grad)
    size = sum(tensor.nbytes for tensor in [*parameters, *buffers])
    forward = sum(counts.values()) // samples
    leaves = sum(size for module, size in kept.items() if not list(module.children()))
    total = f"{count:,} parameters" + (f", {frozen:,} of them frozen" if frozen else "")
    total += f"; {with_prefix(size, 'B')} of weights and buffers"
    total += f"\nper sample: {with_prefix(leaves / samples, 'B')} of results"
    total += f", {with_prefix(forward)} FLOPs forward"
    return f"{align_rows(shown_lines, left=2)}\n{total}"


def tree(model: nn.Module, branch: str = "", indent: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Yield each module with its name at the end of a branch."""
    yield f"{branch}{type(model).__name__}", model
    children = list(model.named_children())
    for number, (name, module) in enumerate(children, 1):
        fork, more = ("├", "│ ") if number < len(children) else ("└", "  ")
        yield from tree(module, f"{indent}{fork} {name} ", indent + more)


# The time of training steps, operation by operation.


MOST_ROWS = 20


class OperationProfile(Callback):
    """Times the operations of the first steps; these steps run uncompiled.

    Args:
        optimizer: its step counts as one operation, unless it evaluates losses in between.
        steps: the number of steps to time.
    """

    def __init__(self, optimizer: optim.Optimizer, steps: int) -> None:
        self._optimizer, self._left, self._timed = optimizer, steps, 0
        self._costs = defaultdict[str, list[tuple[int, float]]](list)
        """Of each operation, its calls and microseconds in each step that has it."""

    def on_start(self, loop: Loop) -> None:
        if self._left > self._timed and sys.getprofile() is None:
            loop.task.trace = self.recording

    on_step = on_start

    @contextmanager
    def recording(self, model: nn.Module) -> Iterator[None]:
        """Time the operations in the block, which is one step."""
        with ExitStack() as stack:
            measured = stack.enter_context(profile())
            block = record_function(f"{type(self._optimizer).__name__}.step")
            hook = sys.getprofile()

            def begin(*args: Any) -> None:
                block.__enter__()
                sys.setprofile(None)  # which would double the time of the update

            def end(*args: Any) -> None:
                sys.setprofile(hook)
                block.__exit__()

            if not searches(self._optimizer):
                stack.callback(self._optimizer.register_step_pre_hook(begin).remove)
                stack.callback(self._optimizer.register_step_post_hook(end).remove)
            yield
        self._timed += 1
        for average in measured.key_averages():
            self._costs[average.key].append((average.count, average.self_cpu_time_total))

    def text(self) -> str:
        """Return a table of the costliest operations; "" if no step was timed."""
        if not self._timed:
            return ""
        # Medians: the first step also loads modules and makes the optimizer's state.
        costs = {name: np.median(found, axis=0).tolist() for name, found in self._costs.items()}
        whole = sum(spent for _, spent in costs.values())
        rows = [["operation", "calls", "µs", "share"]]
        for name, (calls, spent) in sorted(costs.items(), key=lambda c: -c[1][1])[:MOST_ROWS]:
            rows.append([name, f"{calls:g}", f"{spent:,.1f}", f"{100 * spent / whole:.1f} %"])
        head = f"{self._timed} steps, timed operation by operation, which slows them down"
        return f"{head}; medians of a step\n\n{align_rows(rows)}"
