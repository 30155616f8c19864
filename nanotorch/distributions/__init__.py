"""Probability distributions: samples, densities, and gradients through both."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.distributions import constraints as constraints
from nanotorch.distributions.distribution import Distribution as Distribution
from nanotorch.distributions.kl import kl_divergence as kl_divergence
from nanotorch.distributions.kl import register_kl as register_kl
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in

if _TYPE_CHECKING:
    from nanotorch.distributions.distribution import *  # noqa: F403
    from nanotorch.distributions.families import *  # noqa: F403

_HOMES = {
    "distribution": "Bernoulli Categorical Independent Normal Uniform",
    "families": "Beta Dirichlet Exponential Gamma Laplace Multinomial MultivariateNormal Poisson",
}
# PyTorch has a file for each distribution.
_FILES = {
    "multivariate_normal": ("families", "MultivariateNormal"),
    "utils": ("distribution", "broadcast_all lazy_property"),
}
for _home in ("distribution", "families"):
    _FILES |= {_name.lower(): (_home, _name) for _name in _HOMES[_home].split()}
for _file, (_home, _names) in _FILES.items():
    if _file != "multivariatenormal":
        globals()[_file] = _stand_in(f"{__name__}.{_file}", {f"{__name__}.{_home}": _names})

if not _TYPE_CHECKING:
    __getattr__, __dir__ = _on_demand(
        __name__, {f"{__name__}.{_home}": _names for _home, _names in _HOMES.items()}
    )
