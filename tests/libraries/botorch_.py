"""botorch: A Gaussian process is fitted, and Sobol points are judged by expected improvement."""

import warnings

import torch
from botorch.acquisition import ExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch.quasirandom import SobolEngine

warnings.simplefilter("ignore")
x = SobolEngine(2, scramble=True, seed=0).draw(12, dtype=torch.float64)
y = (x * 6).sin().sum(-1, keepdim=True)
model = SingleTaskGP(x, y)
fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
found = model.posterior(x[:3] + 0.05)
print([f"{v:.3f}" for v in found.mean.flatten().tolist()])
points = SobolEngine(2).draw(5, dtype=torch.float64).unsqueeze(1)
print([f"{v:.3f}" for v in ExpectedImprovement(model, best_f=y.mean())(points).tolist()])
