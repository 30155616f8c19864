"""peft: LoRA adapters of a small GPT-2 are trained, and merged."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=60, n_positions=64, n_embd=32, n_layer=2, n_head=4))
config = LoraConfig(
    r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True, task_type="CAUSAL_LM"
)
model.eval()
adapted = get_peft_model(model, config)
adapted.print_trainable_parameters()
ids = torch.arange(24).view(2, 12)
adapters = [p for p in adapted.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(adapters, lr=1e-2)
for _ in range(10):
    loss = adapted(ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"{loss.item():.4f} {adapted.merge_and_unload()(ids, labels=ids).loss.item():.4f}")
