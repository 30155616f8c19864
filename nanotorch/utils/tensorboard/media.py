"""Pictures, figures, hyperparameters and text for TensorBoard."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard.files import array_of, metadata, number_of, protos

if TYPE_CHECKING:
    from nanotorch.utils.tensorboard.files import Values


# Pictures.


def pixels_of(image: "Values", dataformats: str) -> Any:
    """Pixels as bytes: what are no bytes are numbers from 0 to 1; others are clipped.

    Args:
        dataformats: the meaning of the dimensions: letters of `NCHW` or of a part of it.
    """
    pixels, order = array_of(image), dataformats.upper()
    if len(set(order)) == pixels.ndim:  # what else there may be, tensorboardX refuses
        if set(order) not in map(set, ("NCHW", "CHW", "HW")):
            raise ValueError(f"dataformats={dataformats!r} is not an order of NCHW, CHW or HW")
        if "N" in order and pixels.shape[order.index("C")] not in (1, 3, 4):
            raise AssertionError(
                f"Input should be a 4D numpy array with 3 channels, got shape {pixels.shape}"
            )
    if pixels.dtype == np.uint8:
        return pixels
    return (pixels.astype(np.float32) * 255).clip(0, 255).astype(np.uint8)


# Summaries for TensorBoard's table of hyperparameters and metrics.


Value = bool | float | str
TYPES = {bool: "BOOL", float: "FLOAT64", str: "STRING"}
FIELDS = {bool: "bool_value", float: "number_value", str: "string_value"}


def plain(value: Any) -> Value:
    """A hyperparameter as the table can hold it: a bool, a number, or else a text."""
    if isinstance(value, bool | str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, Tensor) and value.numel() == 1:
        return number_of(value)
    return str(value)


def hparams(
    values: Mapping[str, Any], metrics: Iterable[str], domains: Mapping[str, Any] | None = None
) -> list[Any]:
    """The summaries of a row: of the experiment, of its start and of its end.

    Args:
        values: the hyperparameters; None is left out.
        metrics: the tags of the curves whose last values are shown.
        domains: all values that a hyperparameter may take, for the page's filters.
    """
    p = protos()
    start, infos = p.SessionStartInfo(), []
    for name, domain in (domains or {}).items():
        if not (
            name in values
            and isinstance(domain, list)
            and all(isinstance(value, type(values[name])) for value in domain)
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )
    for name, given in values.items():
        if given is None:
            continue
        value = plain(given)
        kind = type(value)
        setattr(start.hparams[name], FIELDS[kind], value)
        info = p.HParamInfo(name=name, type=p.HParamType.Value(f"DATA_TYPE_{TYPES[kind]}"))
        for other in (domains or {}).get(name, ()):
            setattr(info.domain_discrete.values.add(), FIELDS[kind], plain(other))
        infos.append(info)
    told = [p.MetricInfo(name=p.MetricName(tag=tag)) for tag in metrics]
    experiment = p.Experiment(hparam_infos=infos, metric_infos=told)
    end = p.SessionEndInfo(status=p.SessionStatus.Value("STATUS_SUCCESS"))
    parts = {"experiment": experiment, "session_start_info": start, "session_end_info": end}
    return [summary(name, p.HParamsPluginData(**{name: part})) for name, part in parts.items()]


def summary(name: str, content: Any) -> Any:
    """One of the summaries of a row."""
    p = protos()
    data = metadata("hparams", content.SerializeToString())
    return p.Summary(value=[p.Summary.Value(tag=f"_hparams_/{name}", metadata=data)])
