"""diffusers: A small UNet with attention learns to remove noise, and samples in five steps."""

import torch
from diffusers import DDPMScheduler, UNet2DModel

torch.manual_seed(0)
unet = UNet2DModel(
    sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, block_out_channels=(16, 32),
    norm_num_groups=8, down_block_types=("DownBlock2D", "AttnDownBlock2D"),
    up_block_types=("AttnUpBlock2D", "UpBlock2D"),
)  # fmt: skip
scheduler, pictures = DDPMScheduler(50), torch.randn(4, 1, 8, 8)
optimizer = torch.optim.AdamW(unet.parameters(), 1e-3)
for _ in range(4):
    noise, steps = torch.randn_like(pictures), torch.randint(0, 50, (4,))
    noisy = scheduler.add_noise(pictures, noise, steps)
    loss = torch.nn.functional.mse_loss(unet(noisy, steps).sample, noise)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(f"{loss.item():.4f}")
scheduler.set_timesteps(5)
sample = torch.randn(1, 1, 8, 8)
with torch.no_grad():
    for step in scheduler.timesteps:
        sample = scheduler.step(unet(sample, step).sample, step, sample).prev_sample
print(f"{sample.sum().item():.2f}")
