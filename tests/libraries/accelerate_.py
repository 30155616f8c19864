"""accelerate: Accelerator: prepare, accumulate, clip, gather, save and load the state."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(5)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
x = torch.rand(64, 3)
data = DataLoader(TensorDataset(x, (x**2).sum(1, keepdim=True)), batch_size=8, shuffle=True)
model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20)
model, optimizer, data, scheduler = accelerator.prepare(model, optimizer, data, scheduler)
for epoch in range(5):
    for inputs, targets in data:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(inputs), targets)
            accelerator.backward(loss)
            if accelerator.sync_gradients:
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    print(epoch, f"{accelerator.gather(loss.detach()).item():.5f}", scheduler.get_last_lr())
with tempfile.TemporaryDirectory() as folder:
    accelerator.save_state(folder)
    before = accelerator.unwrap_model(model)[0].weight.detach().clone()
    with torch.no_grad():
        model[0].weight.zero_()
    accelerator.load_state(folder)
    print("loaded", torch.equal(accelerator.unwrap_model(model)[0].weight, before))
print(accelerator.num_processes, accelerator.device, accelerator.is_main_process)
