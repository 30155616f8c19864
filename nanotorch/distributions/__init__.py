"""Probability distributions: samples and densities, both differentiable."""

from re import sub as _sub
from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.distributions import constraints as constraints
from nanotorch.distributions.distribution import Distribution as Distribution
from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in

if _TYPE_CHECKING:
    from nanotorch.distributions.distribution import *  # noqa: F403
    from nanotorch.distributions.families import *  # noqa: F403
    from nanotorch.distributions.transforms import *  # noqa: F403

_HOMES = {
    "distribution": "Independent kl_divergence register_kl",
    "families": "Bernoulli Beta Binomial Categorical Dirichlet Exponential Gamma Gumbel Laplace "
    "MixtureSameFamily Multinomial MultivariateNormal Normal OneHotCategorical Poisson StudentT "
    "Uniform",
    "transforms": "AffineTransform ComposeTransform ExpTransform IndependentTransform LogNormal "
    "PowerTransform SigmoidTransform SoftmaxTransform SoftplusTransform StickBreakingTransform "
    "TanhTransform Transform TransformedDistribution biject_to identity_transform transform_to",
}
# PyTorch has a module for each distribution.
for _name in f"{_HOMES['families']} Independent LogNormal TransformedDistribution".split():
    _file = {"StudentT": "studentT"}.get(_name) or _sub(r"\B([A-Z])", r"_\1", _name).lower()
    _more = "_precision_to_scale_tril" if _name == "MultivariateNormal" else ""
    globals()[_file] = _stand_in(
        f"{__name__}.{_file}",
        {__name__: f"{_name} Distribution", f"{__name__}.families": _more},
    )
for _file, _home, _names in (
    ("kl", "distribution", "kl_divergence register_kl"),
    ("constraint_registry", "transforms", "ConstraintRegistry biject_to transform_to"),
    ("utils", "distribution", "_standard_normal broadcast_all lazy_property"),
):
    globals()[_file] = _stand_in(f"{__name__}.{_file}", {f"{__name__}.{_home}": _names})

_ORIGINS = {f"{__name__}.{_home}": _names for _home, _names in _HOMES.items()}
_on_demand("nanotorch.distributions.distribution")
_on_demand(__name__, {__name__: "transforms", **_ORIGINS})
