"""The errors of `torch.onnx`."""

__all__ = ["OnnxExporterWarning", "UnsupportedOperatorError"]


class OnnxExporterError(RuntimeError):
    """The error for a model that cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """The error for an operation without a mapping to ONNX."""


class OnnxExporterWarning(UserWarning):
    """The warning for a model whose export may compute something else."""
