"""Probability distributions: samples, densities, and gradients through both."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.distributions import constraints as constraints
from nanotorch.distributions.distribution import Bernoulli as Bernoulli
from nanotorch.distributions.distribution import Categorical as Categorical
from nanotorch.distributions.distribution import Distribution as Distribution
from nanotorch.distributions.distribution import Independent as Independent
from nanotorch.distributions.distribution import Normal as Normal
from nanotorch.distributions.distribution import Uniform as Uniform
from nanotorch.distributions.kl import kl_divergence as kl_divergence
from nanotorch.distributions.kl import register_kl as register_kl
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in

# PyTorch has a file for each distribution.
for _name in ("Bernoulli", "Categorical", "Independent", "Normal", "Uniform"):
    globals()[_name.lower()] = _stand_in(
        f"{__name__}.{_name.lower()}", {f"{__name__}.distribution": _name}
    )

if not _TYPE_CHECKING:
    __getattr__, __dir__ = _on_demand(__name__)
