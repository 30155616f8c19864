"""One forward and backward pass, to find out before a training what would end it at once."""

from typing import Any

import numpy as np

import nanotorch as torch

from .functions import evaluated
from .minimization import Minimization
from .problems import Origins
from .supervised import Supervised


@np.errstate(all="ignore")  # what is not finite is told
def rehearse(experiment: Any, origins: Origins) -> str:
    """Return what became of one forward and backward pass; nothing is written.

    Raises:
        ConfigError: if the loss or a gradient is not finite.
    """
    if isinstance(experiment, Minimization):
        value = evaluated(experiment.function, experiment.x)
        (value.sum() if value.dim() else value).backward()
        gradients = {"x": experiment.x.grad}
        said, loss = "at the start", float(value.detach().numpy().min())
        blamed = "function", "function"
    else:
        assert isinstance(experiment, Supervised)
        x, y = next(experiment.batches(0))[:2]
        output: torch.Tensor = experiment.loss(experiment.model(x), y)
        output.backward()
        named = experiment.model.named_parameters()
        gradients = {name: p.grad for name, p in named if p.requires_grad}
        said, loss = f"a batch of {len(x)} samples", output.item()
        blamed = "loss", "model"
    if not np.isfinite(loss):
        raise origins.error(blamed[0], f"{said}: the loss is {loss}")
    for name, gradient in gradients.items():
        if gradient is not None and not np.isfinite(gradient.numpy()).all():
            raise origins.error(blamed[1], f"{said}: the gradient of {name} is not finite")
    unused = [name for name, gradient in gradients.items() if gradient is None]
    text = f"{said}: loss {loss:.6g}, all gradients are finite"
    return f"{text}; without gradient: {', '.join(unused)}" if unused else text
