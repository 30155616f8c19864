"""torch-optimizer: Steps of nine of its optimizers on Rosenbrock's function."""

import torch
import torch_optimizer as optim


def rosenbrock(p):
    return (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2


for name in (
    "AdaBelief",
    "AdamP",
    "DiffGrad",
    "Lamb",
    "RAdam",
    "SGDP",
    "Yogi",
    "NovoGrad",
    "QHAdam",
):
    p = torch.tensor([-1.5, 1.0], requires_grad=True)
    optimizer = getattr(optim, name)([p], lr=1e-2)
    for _ in range(50):
        optimizer.zero_grad()
        rosenbrock(p).backward()
        optimizer.step()
    print(name, [round(v, 4) for v in p.tolist()])
ahead = optim.Lookahead(optim.Yogi([p], lr=1e-2), k=5)
for _ in range(10):
    ahead.zero_grad()
    rosenbrock(p).backward()
    ahead.step()
print("Lookahead", [round(v, 4) for v in p.tolist()])
