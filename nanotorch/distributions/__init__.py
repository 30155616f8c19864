"""Probability distributions: samples, densities, and gradients through both.

constraints   what parameters and values may be
distribution   what all distributions have
normal, uniform, discrete, independent   the distributions
divergence   how far one is from another
"""

from nanotorch.distributions import constraints as constraints
from nanotorch.distributions.discrete import Bernoulli as Bernoulli
from nanotorch.distributions.discrete import Categorical as Categorical
from nanotorch.distributions.distribution import Distribution as Distribution
from nanotorch.distributions.divergence import kl_divergence as kl_divergence
from nanotorch.distributions.divergence import register_kl as register_kl
from nanotorch.distributions.independent import Independent as Independent
from nanotorch.distributions.normal import Normal as Normal
from nanotorch.distributions.uniform import Exponential as Exponential
from nanotorch.distributions.uniform import Uniform as Uniform
