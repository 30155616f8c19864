"""deepxde: A network learns the solution of a differential equation."""

import contextlib
import io
import os

os.environ["DDE_BACKEND"] = "pytorch"
with contextlib.redirect_stderr(io.StringIO()):
    import deepxde as dde
import numpy as np
import torch

dde.config.set_random_seed(0)
data = dde.data.PDE(
    dde.geometry.TimeDomain(0, 1),
    lambda x, y: dde.grad.jacobian(y, x) - torch.cos(x),
    dde.icbc.IC(dde.geometry.TimeDomain(0, 1), lambda x: 0, lambda _, initial: initial),
    num_domain=16, num_boundary=2, train_distribution="uniform", solution=np.sin, num_test=20,
)  # fmt: skip
model = dde.Model(data, dde.nn.FNN([1, 16, 16, 1], "tanh", "Glorot uniform"))
with contextlib.redirect_stdout(io.StringIO()):  # which tells times
    model.compile("adam", lr=0.01, metrics=["l2 relative error"])
    history, _ = model.train(iterations=100, display_every=50)
print(history.steps, [[f"{loss:.4f}" for loss in pair] for pair in history.loss_train])
print(model.predict(np.linspace(0, 1, 3)[:, None]).round(3).tolist())
