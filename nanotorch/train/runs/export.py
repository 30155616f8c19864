"""A trained run as one ONNX file: its preprocessing, its model and its predictions."""

import argparse
import sys
from collections.abc import Sequence, Set
from typing import Any

import nanotorch as torch
from nanotorch import nn
from nanotorch.onnx import export as export_model
from nanotorch.onnx.errors import OnnxExporterError
from nanotorch.train.commands import CommandError, import_components
from nanotorch.train.config.build import Characters, Kind, Numbers, TwoClasses
from nanotorch.train.data.dataset import Column, Preprocessing
from nanotorch.train.runs.predict import (
    Trained,
    check_output,
    load_trained,
    say_which,
    write_output,
)
from nanotorch.train.training.metrics import wrap_to_screen

# Names that no column has.
FEATURES, CHOSEN, NAMES = "preprocessing/features", "classes/chosen", "classes/names"


class Served(nn.Module):
    """From features in double precision to the columns that `nanotorch predict` prints.

    A class is its number; for text, the result are the scores.
    """

    def __init__(self, trained: Trained) -> None:
        super().__init__()
        self.model, self.kind = trained.model, trained.kind
        self.preprocessing = trained.dataset.preprocessing
        for name in ("mean", "scale", "fill"):
            tensor = torch.from_numpy(getattr(self.preprocessing, name))
            self.register_buffer(f"preprocessing_{name}", tensor)

    def forward(self, features: Any) -> Any:
        """The columns, each (samples,)."""
        kind, preprocessing = self.kind, self.preprocessing
        if isinstance(kind, Characters):
            return self.model(features)
        if preprocessing.missing:
            features = torch.where(features.isnan(), self.preprocessing_fill, features)
        rows = (features - self.preprocessing_mean) / self.preprocessing_scale
        outputs = self.model(rows.float().reshape(len(rows), *preprocessing.shape))
        if isinstance(kind, Numbers):
            found = kind.prediction(outputs).reshape(-1)
            if (preprocessing.target_mean, preprocessing.target_scale) == (0, 1):
                return found
            return found.double() * preprocessing.target_scale + preprocessing.target_mean
        probability = kind.prediction(outputs.double())
        if isinstance(kind, TwoClasses):
            probability = probability.reshape(-1)
            return (probability >= 0.5).long(), probability
        return probability.argmax(1), *probability.unbind(1)


def output_names(kind: Kind, preprocessing: Preprocessing) -> list[str]:
    """Return the names of the results of `Served`."""
    names = list(preprocessing.classes or ())
    if isinstance(kind, Characters):
        return ["scores"]
    if isinstance(kind, Numbers):
        return [preprocessing.target]
    return [CHOSEN, *(f"p({n})" for n in (names[1:] if isinstance(kind, TwoClasses) else names))]


def exported(trained: Trained) -> Any:
    """Return a trained run as a model of the library `onnx`.

    A table has one input for each column, (samples, 1), numbers in double precision or texts; an
    array is one input, ``x``, in double precision. The outputs are the columns of predictions.

    Raises:
        OnnxExporterError: if the model has no form in ONNX.
    """
    from onnx import checker, helper

    kind, preprocessing = trained.kind, trained.dataset.preprocessing
    example: Any = torch.zeros(2, len(preprocessing.mean), dtype=torch.float64)
    dynamic: dict[int, str] = {0: "samples"}
    name = FEATURES if preprocessing.columns else "x"
    if isinstance(kind, Characters):
        name, example = "codes", torch.from_numpy(trained.dataset.parts["train"].x)
        dynamic[1] = "length"
    elif name == "x":
        example = example.reshape(2, *preprocessing.shape)
    names: Any = {"input_names": [name], "output_names": output_names(kind, preprocessing)}
    program: Any = export_model(Served(trained), (example,), **names, dynamic_axes={name: dynamic})
    proto = program.model_proto
    graph = proto.graph
    if isinstance(kind, Characters):
        helper.set_model_props(proto, {"characters": "".join(trained.dataset.classes or ())})
    elif not isinstance(kind, Numbers):
        name_classes(graph, preprocessing)
    if preprocessing.columns:
        add_columns(graph, preprocessing.columns)
    checker.check_model(proto, full_check=True)
    return proto


def name_classes(graph: Any, preprocessing: Preprocessing) -> None:
    """Replace the number of the chosen class by its name."""
    from onnx import TensorProto, helper

    rename_inside(graph, {preprocessing.target})
    names, target = list(preprocessing.classes or ()), preprocessing.target
    values: Any = [name.encode() for name in names]
    held = helper.make_tensor(NAMES, TensorProto.STRING, [len(names)], values)
    graph.initializer.append(held)
    graph.node.append(helper.make_node("Gather", [NAMES, CHOSEN], [target], axis=0))
    graph.output[0].CopyFrom(helper.make_tensor_value_info(target, TensorProto.STRING, ["samples"]))


def add_columns(graph: Any, columns: Sequence[Column]) -> None:
    """Replace the input of features by the columns of a table."""
    from onnx import TensorProto, helper

    rename_inside(graph, {column.name for column in columns})
    del graph.input[:]
    nodes, parts = [], []
    for number, column in enumerate(columns):
        text, name = column.categories is not None, column.name
        kind = TensorProto.STRING if text else TensorProto.DOUBLE
        graph.input.append(helper.make_tensor_value_info(name, kind, ["samples", 1]))
        if column.categories is not None:
            names, same = f"preprocessing/values_{number}", f"preprocessing/same_{number}"
            name = f"preprocessing/column_{number}"
            values: Any = [category.encode() for category in column.categories]
            held = helper.make_tensor(names, TensorProto.STRING, [1, len(values)], values)
            graph.initializer.append(held)
            nodes.append(helper.make_node("Equal", [column.name, names], [same]))
            nodes.append(helper.make_node("Cast", [same], [name], to=TensorProto.DOUBLE))
        parts.append(name)
    nodes.append(helper.make_node("Concat", parts, [FEATURES], axis=1))
    rest = [*graph.node]
    del graph.node[:]
    graph.node.extend([*nodes, *rest])


def rename_inside(graph: Any, taken: Set[str]) -> None:
    """Rename the values inside that have names of columns."""
    for initializer in graph.initializer:
        if initializer.name in taken:
            initializer.name = f"model/{initializer.name}"
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [f"model/{name}" if name in taken else name for name in names]


def export(options: argparse.Namespace) -> int:
    """Run `nanotorch export` with its parsed options; return the exit code."""
    import_components(options.imports)
    trained = load_trained(options.run)
    say_which(options.run, trained)
    check_output("FILE", options.file)
    try:
        proto = exported(trained)
    except ModuleNotFoundError as error:
        raise CommandError(f"{error}; install it: pip install 'nanotorch-numpy[onnx]'") from None
    except OnnxExporterError as error:
        raise CommandError(str(error)) from None
    write_output("FILE", options.file, proto.SerializeToString())
    graph = proto.graph
    inputs, outputs = ([value.name for value in side] for side in (graph.input, graph.output))
    said = f"{options.file}: from {', '.join(inputs)} to {', '.join(outputs)}"
    print(wrap_to_screen(said), file=sys.stderr)
    return 0
