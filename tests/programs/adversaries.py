"""A generator learns a normal distribution from a discriminator that learns to tell it apart."""

import torch
import torch.nn as nn

MEAN, DEVIATION = 4.0, 1.25


def moments(samples):
    """What the discriminator looks at: mean, deviation, skew and kurtosis of a set of numbers."""
    mean = samples.mean(1, keepdim=True)
    centred = samples - mean
    deviation = centred.pow(2).mean(1, keepdim=True).sqrt()
    scores = centred / deviation
    skew = scores.pow(3.0).mean(1, keepdim=True)
    return torch.cat([mean, deviation, skew, scores.pow(4.0).mean(1, keepdim=True) - 3.0], 1)


def network(inputs, hidden, outputs, activation):
    return nn.Sequential(
        nn.Linear(inputs, hidden), activation, nn.Linear(hidden, hidden), activation,
        nn.Linear(hidden, outputs),
    )  # fmt: skip


def initialise(module):
    if isinstance(module, nn.Linear):
        nn.init.xavier_normal_(module.weight)
        nn.init.zeros_(module.bias)


if __name__ == "__main__":
    torch.manual_seed(7)
    G = network(1, 8, 1, nn.Tanh()).apply(initialise)
    D = network(4, 16, 1, nn.LeakyReLU(0.2)).apply(initialise)
    criterion = nn.BCEWithLogitsLoss()
    d_optimizer = torch.optim.Adam(D.parameters(), lr=2e-3, betas=(0.5, 0.999))
    g_optimizer = torch.optim.Adam(G.parameters(), lr=5e-3, betas=(0.5, 0.999))
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)
    for epoch in range(121):
        for _ in range(2):
            real = torch.normal(MEAN, DEVIATION, (16, 64))
            fake = G(torch.rand(16, 64, 1)).squeeze(-1).detach()
            d_real = criterion(D(moments(real)), ones)
            d_fake = criterion(D(moments(fake)), zeros)
            D.zero_grad()
            (d_real + d_fake).backward()
            d_optimizer.step()
        made = G(torch.rand(16, 64, 1)).squeeze(-1)
        g_loss = criterion(D(moments(made)), ones)
        G.zero_grad()
        g_loss.backward()
        g_optimizer.step()
        if epoch % 20 == 0:
            print(
                f"Epoch {epoch}: D ({d_real.item():.4f} real, {d_fake.item():.4f} fake) "
                f"G {g_loss.item():.4f}; mean {made.mean().item():.3f}, std {made.std().item():.3f}"
            )
