"""A convolutional network tells crosses, frames and discs apart."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, Dataset, random_split


class Shapes(Dataset):
    """Noisy pictures of 12 x 12, made when they are asked for."""

    def __init__(self, count):
        generator = torch.Generator().manual_seed(5)
        self.noise = torch.rand(count, 1, 12, 12, generator=generator)
        self.places = torch.randint(3, 9, (count, 2), generator=generator)
        grid = torch.arange(12)
        self.rows, self.columns = torch.meshgrid(grid, grid, indexing="ij")

    def __len__(self):
        return len(self.noise)

    def __getitem__(self, index):
        dy = (self.rows - self.places[index, 0]).abs()
        dx = (self.columns - self.places[index, 1]).abs()
        kind = index % 3
        inside = torch.maximum(dx, dy)
        drawn = [(dx == dy) & (inside < 4), inside == 2, dx**2 + dy**2 < 6][kind]
        return self.noise[index] * 0.7 + drawn.float(), kind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 3, 1)
        self.conv2 = nn.Conv2d(6, 12, 3, 1, padding=1)
        self.norm = nn.BatchNorm2d(12)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(12 * 5 * 5, 32)
        self.fc2 = nn.Linear(32, 3)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.norm(self.conv2(x))), 2)
        x = torch.flatten(self.dropout(x), 1)
        return F.log_softmax(self.fc2(F.relu(self.fc1(x))), dim=1)


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        loss = F.nll_loss(model(data), target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            done = 100.0 * batch_idx / len(train_loader)
            print(f"Train Epoch: {epoch} ({done:.0f}%)\tLoss: {loss.item():.5f}")


@torch.no_grad()
def test(model, device, test_loader):
    model.eval()
    test_loss, correct = 0.0, 0
    for data, target in test_loader:
        output = model(data.to(device))
        test_loss += F.nll_loss(output, target.to(device), reduction="sum").item()
        pred = output.argmax(dim=1, keepdim=True)
        correct += pred.eq(target.view_as(pred)).sum().item()
    count = len(test_loader.dataset)
    print(f"Test set: Average loss: {test_loss / count:.4f}, Accuracy: {correct}/{count}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1.0)
    parser.add_argument("--log-interval", type=int, default=4)
    parser.add_argument("--no-cuda", action="store_true")
    args = parser.parse_args()
    use_cuda = not args.no_cuda and torch.cuda.is_available()
    device = torch.device("cuda" if use_cuda else "cpu")
    kwargs = {"num_workers": 1, "pin_memory": True} if use_cuda else {}
    torch.manual_seed(1)
    train_set, test_set = random_split(Shapes(240), [192, 48])
    train_loader = DataLoader(train_set, batch_size=16, shuffle=True, **kwargs)
    test_loader = DataLoader(test_set, batch_size=48, **kwargs)
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=args.lr)
    scheduler = StepLR(optimizer, step_size=1, gamma=0.7)
    for epoch in range(1, args.epochs + 1):
        train(args, model, device, train_loader, optimizer, epoch)
        test(model, device, test_loader)
        scheduler.step()
