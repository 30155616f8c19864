"""The one place that imports tensorboardX, and only when something is written."""

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace


@functools.cache
def protos() -> SimpleNamespace:
    """Return the messages and builders of tensorboardX that this package uses."""
    with _without_torch():
        from tensorboardX import summary
        from tensorboardX.proto import (
            api_pb2,
            attr_value_pb2,
            event_pb2,
            graph_pb2,
            node_def_pb2,
            plugin_hparams_pb2,
            summary_pb2,
            tensor_pb2,
            tensor_shape_pb2,
            types_pb2,
            versions_pb2,
        )
    return SimpleNamespace(
        AttrValue=attr_value_pb2.AttrValue,
        DataType=types_pb2.DataType,
        Event=event_pb2.Event,
        Experiment=api_pb2.Experiment,
        GraphDef=graph_pb2.GraphDef,
        HParamInfo=api_pb2.HParamInfo,
        HParamType=api_pb2.DataType,
        HParamsPluginData=plugin_hparams_pb2.HParamsPluginData,
        MetricInfo=api_pb2.MetricInfo,
        MetricName=api_pb2.MetricName,
        NodeDef=node_def_pb2.NodeDef,
        SessionEndInfo=plugin_hparams_pb2.SessionEndInfo,
        SessionStartInfo=plugin_hparams_pb2.SessionStartInfo,
        SessionStatus=api_pb2.Status,
        SessionLog=event_pb2.SessionLog,
        Summary=summary_pb2.Summary,
        SummaryMetadata=summary_pb2.SummaryMetadata,
        TensorProto=tensor_pb2.TensorProto,
        TensorShapeProto=tensor_shape_pb2.TensorShapeProto,
        VersionDef=versions_pb2.VersionDef,
        summary=summary,
    )


@contextmanager
def _without_torch() -> Iterator[None]:
    # tensorboardX imports an installed PyTorch for the name of one type in its annotations,
    # which takes seconds. A None in sys.modules makes that import fail, and tensorboardX go on.
    if "torch" in sys.modules:
        yield
        return
    sys.modules["torch"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules["torch"]
