"""torchsde: The drift of a stochastic equation is fitted, with and without the adjoint method."""

import torch
import torchsde


class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Linear(3, 3)
        self.width = torch.nn.Parameter(torch.full((3,), 0.1))

    def f(self, t, y):
        return torch.tanh(self.drift(y))

    def g(self, t, y):
        return self.width.expand_as(y)


torch.manual_seed(0)
equation, times, start = Equation(), torch.linspace(0, 1, 5), torch.full((4, 3), 0.1)
motion = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=7)
for solve in (torchsde.sdeint, torchsde.sdeint_adjoint):
    optimizer = torch.optim.Adam(equation.parameters(), lr=0.05)
    for step in range(3):
        optimizer.zero_grad()
        path = solve(equation, start, times, bm=motion, dt=0.1, method="euler")
        loss = (path[-1] - 1).square().mean()
        loss.backward()
        optimizer.step()
        print(solve.__name__, step, path.shape, f"{loss.item():.5f}")
