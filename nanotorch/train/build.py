"""A checked configuration into a model."""

from nanotorch import nn

from .components import LAYERS
from .problems import Origins
from .schema import Model

LARGEST_LAYER = 50_000_000
"""Weights in one layer; more is a slip of the finger, and would take the machine's memory."""


def build_model(model: Model, inputs: int, outputs: int, origins: Origins) -> nn.Sequential:
    """Return the layers, each made for the number of features that the one before it gives.

    Raises:
        ConfigError: if they do not fit together, or one refuses its arguments.
    """
    width = inputs
    built = []
    for index, layer in enumerate(model.layers):
        path = f"model.layers[{index}]"
        inferred = {}
        if argument := LAYERS.inferred.get(layer.name):
            given = layer.arguments.get(argument)
            if given is not None and given != width:
                before = "the data has" if index == 0 else "the layers before give"
                raise origins.error(f"{path}.{argument}", f"is {given}, but {before} {width}")
            inferred[argument] = width
        following = layer.arguments.get("out_features", width)
        if following * (width if "out_features" in layer.arguments else 1) > LARGEST_LAYER:
            message = f"{width} x {following} weights are more than {LARGEST_LAYER:,}"
            raise origins.error(f"{path}.out_features", message)
        width = following
        built.append(LAYERS.build(layer, path, origins, **inferred))
    if width != outputs:
        last = max(
            (i for i, layer in enumerate(model.layers) if "out_features" in layer.arguments),
            default=None,
        )
        path = "model.layers" if last is None else f"model.layers[{last}].out_features"
        raise origins.error(path, f"the model gives {width} numbers, but there is 1 to predict")
    return nn.Sequential(*built)
