"""A variational autoencoder of small pictures of bars."""

import torch
import torch.utils.data
from torch import nn, optim
from torch.nn import functional as F


def bars(count):
    """Pictures of 6 x 6 with a few rows and columns lit."""
    rows = torch.rand(count, 6, 1) < 0.25
    columns = torch.rand(count, 1, 6) < 0.25
    return (rows | columns).float().view(count, 1, 6, 6)


class VAE(nn.Module):
    """Encodes a picture as a normal distribution of 3 numbers."""

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(36, 32)
        self.fc21 = nn.Linear(32, 3)
        self.fc22 = nn.Linear(32, 3)
        self.fc3 = nn.Linear(3, 32)
        self.fc4 = nn.Linear(32, 36)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 36))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def loss_function(recon_x, x, mu, logvar):
    """The evidence's lower bound: how well pictures come back, how normal their codes are."""
    bce = F.binary_cross_entropy(recon_x, x.view(-1, 36), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    return bce + kld


if __name__ == "__main__":
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    pictures, others = bars(512), bars(128)
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(pictures), batch_size=64, shuffle=True
    )
    model = VAE().to(device)
    optimizer = optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(1, 7):
        model.train()
        train_loss = 0.0
        for batch_idx, (data,) in enumerate(loader):
            data = data.to(device)
            optimizer.zero_grad()
            recon_batch, mu, logvar = model(data)
            loss = loss_function(recon_batch, data, mu, logvar)
            loss.backward()
            train_loss += loss.item()
            optimizer.step()
            if batch_idx == 0:
                print(f"Epoch {epoch} [{len(data)}/{len(loader.dataset)}] {loss.item() / 64:.4f}")
        model.eval()
        with torch.no_grad():
            recon, mu, logvar = model(others.to(device))
            test_loss = loss_function(recon, others, mu, logvar).item()
        print(f"Average {train_loss / 512:.4f}, test {test_loss / 128:.4f}")
    with torch.no_grad():
        sample = model.decode(torch.randn(2, 3).to(device)).cpu()
    print((sample.view(2, 6, 6) > 0.5).int())
