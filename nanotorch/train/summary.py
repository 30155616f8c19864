"""A model as a table: modules as a tree, with shapes, parameters, memory and arithmetic."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import nanotorch as torch
from nanotorch import nn

from .arithmetic import operations
from .report import aligned

MOST_ROWS = 60


@dataclass
class Row:
    """What was seen of a module."""

    shapes: list[tuple[int, ...]] = field(default_factory=list)
    """Of its results."""
    bytes: int = 0
    """Of its results."""
    operations: int = 0
    """Floating-point operations, without those of its submodules."""


def summary(model: nn.Module, example: torch.Tensor) -> str:
    """Return the table of a model.

    The shapes are those of a pass over `example`, in evaluation mode, with N for the number of
    samples. FLOPs are per sample and of the forward pass, as `operations` counts them.

    Args:
        model: what to describe; it is left as it was.
        example: at least two samples.
    """
    rows = observed(model, example)
    samples = len(example)
    lines = [["module", "output", "parameters", "memory / sample", "FLOPs / sample"]]
    for label, module in tree(model):
        row = rows[module]
        within = [rows[inner] for inner in module.modules()]
        own = sum(parameter.numel() for parameter in module.parameters())
        lines.append(
            [
                label,
                " ".join(shown(shape, samples) for shape in dict.fromkeys(row.shapes)),
                f"{own:,}" if own else "",
                size_text(row.bytes / samples) if row.bytes else "",
                f"{sum(r.operations for r in within) // samples:,}" if row.shapes else "",
            ]
        )
    shown_lines = lines[:MOST_ROWS]
    if len(lines) > MOST_ROWS:
        shown_lines.append([f"and {len(lines) - MOST_ROWS} more", "", "", "", ""])
    return f"{aligned(shown_lines, left=2)}\n{totals(model, rows, samples)}"


def totals(model: nn.Module, rows: dict[nn.Module, Row], samples: int) -> str:
    """Return the line below the table."""
    parameters = list(model.parameters())
    count = sum(parameter.numel() for parameter in parameters)
    frozen = sum(p.numel() for p in parameters if not p.requires_grad)
    size = sum(p.numel() * p.element_size() for p in parameters)
    size += sum(buffer.numel() * buffer.element_size() for buffer in model.buffers())
    kept = sum(rows[module].bytes for module in model.modules() if not list(module.children()))
    parts = [f"{count:,} parameters" + (f", {frozen:,} of them frozen" if frozen else "")]
    parts += [f"{size_text(size)} of weights and buffers"]
    parts += [f"{size_text(kept / samples)} of results per sample"]
    return "; ".join(parts)


def observed(model: nn.Module, example: torch.Tensor) -> dict[nn.Module, Row]:
    """Return what a pass shows of each module."""
    rows = {module: Row() for module in model.modules()}

    def see(module: nn.Module, args: tuple[Any, ...], output: Any) -> None:
        found = [t for t in flat(output) if isinstance(t, torch.Tensor)]
        row = rows[module]
        row.shapes += [tuple(tensor.shape) for tensor in found]
        row.bytes += sum(tensor.numel() * tensor.element_size() for tensor in found)

    before = [(module, module.training) for module in rows]
    hooks = [module.register_forward_hook(see) for module in rows]
    try:
        model.eval()
        with torch.no_grad():
            model(example)
    finally:
        for hook in hooks:
            hook.remove()
        for module, training in before:
            module.training = training
    for module, count in operations(model, example).items():
        rows[module].operations = count
    return rows


def size_text(size: float) -> str:
    """Return a number of bytes as people say it."""
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.4g} {unit}"
        size /= 1000
    return f"{size:,.4g} GB"


def flat(value: Any) -> Iterator[Any]:
    """Yield what is in nested containers."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from flat(item)
    else:
        yield value


def tree(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Yield each module with its name at the end of a branch."""
    yield type(model).__name__, model
    waiting = [(iter(list(model.named_children())), "")]
    while waiting:
        children, indent = waiting[-1]
        entry = next(children, None)
        if entry is None:
            waiting.pop()
            continue
        name, module = entry
        rest = list(children)
        waiting[-1] = iter(rest), indent
        yield f"{indent}{'├─' if rest else '└─'} {name} {type(module).__name__}", module
        waiting.append((iter(list(module.named_children())), indent + ("│  " if rest else "   ")))


def shown(shape: tuple[int, ...], samples: int) -> str:
    """Return a shape, with N for the number of samples where it comes first."""
    sizes = ["N" if i == 0 and size == samples else str(size) for i, size in enumerate(shape)]
    return f"({', '.join(sizes)})"
