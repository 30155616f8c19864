"""`torch.onnx`: models as ONNX files, which other programs run.

exporter  runs of a model at different sizes, and the file that describes them
trace     the operations of a run, their arguments and their results
graph     the ONNX graph under construction
table     the mapping of each operation to ONNX
"""

import enum
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from nanotorch._core.tensor import Tensor, wrap
from nanotorch.names.lookup import on_demand
from nanotorch.onnx import errors
from nanotorch.onnx.errors import OnnxExporterError

__all__ = ["errors", "export", "is_in_onnx_export", "OnnxExporterError", "ONNXProgram"]

TrainingMode = enum.Enum("TrainingMode", "EVAL PRESERVE TRAINING", start=0)
OperatorExportTypes = enum.Enum("OperatorExportTypes", "ONNX", start=0)
OPSETS = range(20, 24)
LARGEST = 2**31 - 1  # bytes of one file
UNSUPPORTED = (
    "torch.onnx.export does not support custom_translation_table, custom_opsets, "
    "export_modules_as_functions and verify"
)
active: list[Any] = []  # the models that are being exported


def is_in_onnx_export() -> bool:
    """Whether a model runs to be exported."""
    return bool(active)


class ONNXProgram:
    """An exported model.

    Attributes:
        model_proto: the model as a message of the library `onnx`.
    """

    def __init__(self, model_proto: Any) -> None:
        self.model_proto = model_proto

    def save(self, destination: str | os.PathLike[str]) -> None:
        """Write the model to a file; if it is larger than 2 GB, the weights to ``<file>.data``."""
        import onnx

        large = self.model_proto.ByteSize() > LARGEST
        named = os.path.basename(destination) + ".data"  # noqa: PTH119
        onnx.save_model(self.model_proto, destination, save_as_external_data=large, location=named)

    def __call__(self, *args: Tensor) -> list[Tensor]:
        """The results of the library `onnxruntime` for these inputs."""
        import onnxruntime

        session = onnxruntime.InferenceSession(self.model_proto.SerializeToString())
        names = [given.name for given in session.get_inputs()]
        given = dict(zip(names, (x.detach().numpy() for x in args), strict=True))
        return [wrap(part) for part in session.run(None, given)]


@contextmanager
def exporting(model: Any, evaluate: bool) -> Iterator[None]:
    """A block in which a model is exported; if ``evaluate``, in evaluation mode."""
    modules = [*model.modules()] if evaluate and hasattr(model, "modules") else []
    before = [(module, module.training) for module in modules]
    active.append(model)
    try:
        for module in modules:
            module.training = False
        yield
    finally:
        active.pop()
        for module, training in before:
            module.training = training


def export(
    model: Any, args: Any = (), f: str | os.PathLike[str] | None = None, *,
    kwargs: dict[str, Any] | None = None, verbose: bool | None = None,
    input_names: Sequence[str] | None = None, output_names: Sequence[str] | None = None,
    opset_version: int | None = None, dynamo: bool = True, external_data: bool = True,
    dynamic_shapes: Any = None, custom_translation_table: Any = None, report: bool = False,
    optimize: bool = True, verify: bool = False, profile: bool = False,
    dump_exported_program: bool = False, artifacts_dir: Any = ".", export_params: bool = True,
    keep_initializers_as_inputs: bool = False, dynamic_axes: Mapping[str, Any] | None = None,
    training: Any = TrainingMode.EVAL, operator_export_type: Any = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True, custom_opsets: Any = None,
    export_modules_as_functions: Any = False, autograd_inlining: bool = True,
) -> ONNXProgram | None:  # fmt: skip
    """Write a model as ONNX, with its parameters and buffers under their names.

    The model runs three times in evaluation mode, later at other dynamic sizes and with other
    numbers. What differs between the runs must follow from the sizes.

    Args:
        model: a module, or a function of tensors.
        args: its arguments, a tuple or one tensor; lists, tuples and dicts of tensors may be in it.
        f: the file; None writes none.
        kwargs: arguments by name.
        input_names: the names of the tensors among the arguments. Default: the parameters' names.
        output_names: the names of the results. Default: ``output``, or ``output_0`` and so on.
        opset_version: the version of ONNX's operators, from 20 to 23. Default: 20.
        dynamic_shapes: for each argument, by name or in order, the sizes that stay open: a dict of
            dimensions and names, or a sequence of names. Equal names are equal sizes.
        dynamic_axes: the same by the names of inputs; without names, lists of dimensions.
        dynamo: False returns None. Default: True.
        export_params: whether the file has the parameters; otherwise they are inputs.
        keep_initializers_as_inputs: whether the parameters are inputs with default values.
        training: `TrainingMode.EVAL`; with another, the model keeps its mode.
        verbose, external_data, optimize, report, profile, dump_exported_program, artifacts_dir,
            operator_export_type, do_constant_folding, autograd_inlining: accepted, without effect.
        custom_translation_table, custom_opsets, export_modules_as_functions, verify: not supported.

    Raises:
        UnsupportedOperatorError: for an operation without a mapping; names it and its line.
        OnnxExporterError: if the operations depend on values, on chance, or on a dynamic size in a
            way that the graph cannot follow.
        ValueError: for another ``opset_version``, or an argument that is not supported.
        ModuleNotFoundError: without the library `onnx`.
    """
    from nanotorch.onnx.exporter import Export

    opset = OPSETS[0] if opset_version is None else opset_version
    if opset not in OPSETS:
        raise ValueError(f"opset_version must be from {OPSETS[0]} to {OPSETS[-1]}, not {opset}")
    if any((custom_translation_table, custom_opsets, export_modules_as_functions, verify)):
        raise ValueError(UNSUPPORTED)
    positional = (args,) if isinstance(args, Tensor) else tuple(args)
    specs = input_names or (), dynamic_shapes or {}, dynamic_axes or {}
    with exporting(model, training is TrainingMode.EVAL):
        task = Export(model, positional, kwargs or {}, *specs)
        task.make_graph(output_names or ())
    as_inputs = keep_initializers_as_inputs or not export_params
    program = ONNXProgram(task.model_proto(opset, export_params, as_inputs))
    if f is not None:
        program.save(f)
    return program if dynamo else None


on_demand(__name__)
