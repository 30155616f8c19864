"""torchmetrics: Metrics of classification and regression, a collection, one of one's own."""

import torch
import torchmetrics
from torchmetrics import Metric, MetricCollection
from torchmetrics.classification import (
    MulticlassAccuracy,
    MulticlassAUROC,
    MulticlassConfusionMatrix,
    MulticlassF1Score,
)
from torchmetrics.regression import MeanSquaredError, PearsonCorrCoef, R2Score

torch.manual_seed(0)
metrics = MetricCollection(
    [
        MulticlassAccuracy(num_classes=4),
        MulticlassF1Score(num_classes=4),
        MulticlassAUROC(num_classes=4),
        MulticlassConfusionMatrix(num_classes=4),
    ]
)
for _ in range(5):
    metrics.update(torch.randn(20, 4).softmax(-1), torch.randint(4, (20,)))
for name, value in metrics.compute().items():
    print(name, value.tolist() if value.ndim else f"{value.item():.5f}")
metrics.reset()

x = torch.randn(50)
y = 2 * x + 0.1 * torch.randn(50)
for metric in (MeanSquaredError(), R2Score(), PearsonCorrCoef()):
    print(type(metric).__name__, f"{metric(2 * x, y).item():.5f}")
print("functional", f"{torchmetrics.functional.mean_absolute_error(x, y).item():.5f}")


class Largest(Metric):
    def __init__(self) -> None:
        super().__init__()
        self.add_state("largest", torch.tensor(-torch.inf), dist_reduce_fx="max")

    def update(self, values: torch.Tensor) -> None:
        self.largest = torch.maximum(self.largest, values.max())

    def compute(self) -> torch.Tensor:
        return self.largest


largest = Largest()
print([f"{largest(x[k : k + 25]).item():.4f}" for k in (0, 25)], f"{largest.compute().item():.4f}")
