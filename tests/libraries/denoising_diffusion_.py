"""denoising-diffusion-pytorch: A small diffusion model of pictures is trained, and samples."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

torch.manual_seed(0)
model = Unet(dim=8, dim_mults=(1, 2), flash_attn=False, channels=1)
diffusion = GaussianDiffusion(model, image_size=8, timesteps=10)
optimizer = torch.optim.Adam(diffusion.parameters(), lr=1e-3)
images = torch.rand(4, 1, 8, 8)
for step in range(3):
    optimizer.zero_grad()
    loss = diffusion(images)
    loss.backward()
    optimizer.step()
    print(step, f"{loss.item():.4f}")
print(diffusion.sample(batch_size=2).shape)
