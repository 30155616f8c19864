"""transformers: Llama, T5, ViT, DistilBERT: losses and gradients; generation; Trainer; files."""

import tempfile

import torch
from transformers import (
    DistilBertConfig,
    DistilBertForMaskedLM,
    LlamaConfig,
    LlamaForCausalLM,
    PrinterCallback,
    T5Config,
    T5ForConditionalGeneration,
    Trainer,
    TrainingArguments,
    ViTConfig,
    ViTForImageClassification,
)

sizes = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64,
}  # fmt: skip
torch.manual_seed(0)
llama = LlamaForCausalLM(
    LlamaConfig(vocab_size=60, num_key_value_heads=2, eos_token_id=59, pad_token_id=0, **sizes)
)
t5 = T5ForConditionalGeneration(
    T5Config(
        vocab_size=60,
        d_model=32,
        d_kv=8,
        d_ff=64,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=0,
    )
)
vit = ViTForImageClassification(ViTConfig(image_size=32, patch_size=8, num_labels=3, **sizes))
distilbert = DistilBertForMaskedLM(
    DistilBertConfig(vocab_size=60, dim=32, n_layers=2, n_heads=4, hidden_dim=64)
)
ids, mask = torch.randint(2, 58, (3, 12)), torch.ones(3, 12, dtype=torch.long)
mask[1:, 9:] = 0
texts = {"input_ids": ids, "attention_mask": mask, "labels": ids}
pictures = {"pixel_values": torch.randn(3, 3, 32, 32), "labels": torch.arange(3)}
for model in (llama, t5, vit, distilbert):
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        model = type(model).from_pretrained(folder).eval()
    out = model(**(pictures if isinstance(model, ViTForImageClassification) else texts))
    out.loss.backward()
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    print(f"{type(model).__name__} {out.loss:.4f} {out.logits.abs().sum():.2f} {norm:.4f}")
for model in (llama.eval(), t5.eval()):
    for way in ({}, {"do_sample": True, "top_k": 20}, {"num_beams": 3}):
        torch.manual_seed(3)
        print(model.generate(ids[:1, :5], max_new_tokens=8, **way).tolist())
with tempfile.TemporaryDirectory() as folder:
    arguments = TrainingArguments(
        folder, max_steps=20, per_device_train_batch_size=4, logging_steps=5, report_to=[],
        save_strategy="no", seed=0, disable_tqdm=True, use_cpu=True, log_level="error",
    )  # fmt: skip
    rows = [{"input_ids": row, "labels": row} for row in torch.randint(2, 58, (40, 12))]
    trainer = Trainer(llama, arguments, train_dataset=rows)
    trainer.remove_callback(PrinterCallback)
    trainer.train()
    print([f"{entry['loss']:.4f}" for entry in trainer.state.log_history if "loss" in entry])
