"""transformers: A small BERT classifier and a small GPT-2 are trained, and the latter generates."""

import torch
from transformers import BertConfig, BertForSequenceClassification, GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
sizes = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
}
bert = BertForSequenceClassification(BertConfig(vocab_size=50, num_labels=3, **sizes))
ids, mask = torch.randint(50, (8, 12)), torch.ones(8, 12, dtype=torch.long)
mask[:, 9:] = 0
labels = torch.arange(8) % 3
optimizer = torch.optim.AdamW(bert.parameters(), lr=1e-3)
for step in range(4):
    loss = bert(input_ids=ids, attention_mask=mask, labels=labels).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print("BERT", step, f"{loss.item():.4f}")
config = GPT2Config(
    vocab_size=30, n_positions=32, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=29
)
gpt = GPT2LMHeadModel(config)
ids = torch.arange(24).view(2, 12)
optimizer = torch.optim.AdamW(gpt.parameters(), lr=1e-2)
for _ in range(20):
    loss = gpt(ids, labels=ids).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("GPT-2", f"{loss.item():.3f}")
gpt.eval()
print(
    gpt.generate(
        ids[:1, :4],
        attention_mask=torch.ones(1, 4, dtype=torch.long),
        max_new_tokens=6,
        do_sample=False,
        pad_token_id=0,
    ).tolist()
)
