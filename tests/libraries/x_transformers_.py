"""x-transformers: A decoder with rotary positions is trained, and generates."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=30,
        max_seq_len=32,
        attn_layers=Decoder(dim=32, depth=2, heads=4, attn_dim_head=8, rotary_pos_emb=True),
    )
)
ids = torch.arange(26).view(2, 13)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(20):
    loss = model(ids)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 5 == 0:
        print(step, f"{loss.item():.3f}")
print(model.generate(ids[:1, :4], 6, temperature=0.0).tolist())
