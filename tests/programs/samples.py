"""Gradients of every sample, an ensemble run at once, and curvature, by transforms of functions."""

import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacrev, stack_module_state, vmap

torch.set_default_dtype(torch.float64)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.SiLU(), nn.Linear(8, 3))

    def forward(self, x):
        return self.body(x)


if __name__ == "__main__":
    torch.manual_seed(0)
    model = Net()
    inputs, targets = torch.randn(6, 4), torch.randint(0, 3, (6,))
    params = {name: p.detach() for name, p in model.named_parameters()}

    def compute_loss(params, sample, target):
        predictions = functional_call(model, params, (sample.unsqueeze(0),))
        return nn.functional.cross_entropy(predictions, target.unsqueeze(0))

    each = vmap(grad(compute_loss), in_dims=(None, 0, 0))(params, inputs, targets)
    for name, g in each.items():
        print(name, tuple(g.shape), f"{g.flatten(1).norm(dim=1).mean().item():.8f}")
    mean = {name: g.mean(0) for name, g in each.items()}
    nn.functional.cross_entropy(model(inputs), targets).backward()
    print(all(torch.allclose(p.grad, mean[name]) for name, p in model.named_parameters()))

    models = [Net() for _ in range(3)]
    stacked, buffers = stack_module_state(models)
    votes = vmap(lambda p, b, x: functional_call(models[0], (p, b), (x,)), in_dims=(0, 0, None))
    together = votes(stacked, buffers, inputs)
    apart = torch.stack([m(inputs) for m in models])
    print(together.shape, torch.allclose(together, apart), f"{together.sum().item():.8f}")

    print(vmap(jacrev(model))(inputs).shape, f"{jacrev(model)(inputs[0]).sum().item():.8f}")
    curvature = hessian(lambda x: compute_loss(params, x, targets[0]))(inputs[0])
    print(torch.linalg.eigvalsh(curvature))
    print(torch.allclose(curvature, curvature.T))
