"""torch-geometric: Graph convolutions tell two clubs apart."""

import torch
import torch.nn.functional as F
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, SAGEConv, global_mean_pool

torch.manual_seed(0)
pairs = [(i, j) for i in range(20) for j in range(20) if i != j and i // 10 == j // 10]
edges = [(i, j) for i, j in pairs if (i * 7 + j * 3) % 4 == 0] + [(0, 19), (19, 0)]
clubs = (torch.arange(20) >= 10).long()
data = Data(x=torch.randn(20, 4), edge_index=torch.tensor(edges).t().contiguous(), y=clubs)
print(data)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = GCNConv(4, 8), SAGEConv(8, 2)

    def forward(self, data):
        x = F.relu(self.first(data.x, data.edge_index))
        return self.second(F.dropout(x, training=self.training), data.edge_index)


model = Net()
print(model)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05, weight_decay=5e-4)
for epoch in range(30):
    optimizer.zero_grad()
    loss = F.cross_entropy(model(data), data.y)
    loss.backward()
    optimizer.step()
    if epoch % 10 == 0:
        print(epoch, f"{loss.item():.4f}")
model.eval()
print((model(data).argmax(1) == data.y).float().mean(), global_mean_pool(data.x, data.y).shape)
