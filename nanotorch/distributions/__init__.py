"""Probability distributions: samples, densities, and gradients through both.

constraints   what parameters and values may be
distribution   what all distributions have
normal, uniform, discrete, independent   the distributions
divergence   how far one is from another
"""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.distributions import constraints as constraints
from nanotorch.distributions.discrete import Bernoulli as Bernoulli
from nanotorch.distributions.discrete import Categorical as Categorical
from nanotorch.distributions.distribution import Distribution as Distribution
from nanotorch.distributions.divergence import kl_divergence as kl_divergence
from nanotorch.distributions.divergence import register_kl as register_kl
from nanotorch.distributions.independent import Independent as Independent
from nanotorch.distributions.normal import Normal as Normal
from nanotorch.distributions.uniform import Uniform as Uniform
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in

# The files of PyTorch's that have another name here.
for _file, _origin, _names in (
    ("bernoulli", "discrete", "Bernoulli"),
    ("categorical", "discrete", "Categorical"),
    ("kl", "divergence", "kl_divergence register_kl"),
):
    globals()[_file] = _stand_in(f"{__name__}.{_file}", {f"{__name__}.{_origin}": _names})

if not _TYPE_CHECKING:
    __getattr__, __dir__ = _on_demand(__name__)
