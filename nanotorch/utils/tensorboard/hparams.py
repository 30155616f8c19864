"""Summaries for TensorBoard's table of hyperparameters and metrics."""

from collections.abc import Iterable, Mapping
from typing import Any

from nanotorch._core.tensor import Tensor
from nanotorch.utils.tensorboard.output import metadata, number_of
from nanotorch.utils.tensorboard.protos import protos

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
    values: Mapping[str, Any],
    metrics: Iterable[str],
    domains: Mapping[str, Any] | None = None,
) -> list[Any]:
    """The summaries of a row: of the experiment, of its start and of its end.

    Args:
        values: the hyperparameters; None is left out.
        metrics: the tags of the curves whose last values are shown.
        domains: all values that a hyperparameter may take, for the page's filters.

    Raises:
        TypeError: for a domain that is no list of values like the hyperparameter's.
    """
    p = protos()
    start, infos = p.SessionStartInfo(), []
    check_domains(values, domains or {})
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


def check_domains(values: Mapping[str, Any], domains: Mapping[str, Any]) -> None:
    """Refuse domains that do not fit the hyperparameters."""
    for name, domain in domains.items():
        kind = type(values.get(name))
        if name not in values or not isinstance(domain, list):
            fits = False
        else:
            fits = all(isinstance(value, kind) for value in domain)
        if not fits:
            raise TypeError(
                f"parameter: hparam_domain_discrete[{name}] should be a list of same type as "
                f"hparam_dict[{name}]."
            )


def summary(name: str, content: Any) -> Any:
    """One of the summaries of a row."""
    p = protos()
    data = metadata("hparams", content.SerializeToString())
    return p.Summary(value=[p.Summary.Value(tag=f"_hparams_/{name}", metadata=data)])
