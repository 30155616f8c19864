"""skorch: A pipeline with early stopping, and GridSearchCV over learning rate and width."""

import numpy as np
import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from skorch import NeuralNetClassifier
from skorch.callbacks import EarlyStopping, EpochScoring
from torch import nn


class Net(nn.Module):
    def __init__(self, width: int = 10) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(30, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.softmax(self.layers(x), dim=-1)


x, y = load_breast_cancer(return_X_y=True)
x, y = x.astype(np.float32), y.astype(np.int64)
torch.manual_seed(0)
net = NeuralNetClassifier(
    Net,
    max_epochs=10,
    lr=0.1,
    iterator_train__shuffle=True,
    verbose=0,
    callbacks=[EpochScoring("roc_auc", lower_is_better=False), EarlyStopping(patience=5)],
)
pipe = Pipeline([("scale", StandardScaler()), ("net", net)])
pipe.fit(x, y)
for row in net.history[-3:, ("epoch", "train_loss", "valid_loss", "valid_acc", "roc_auc")]:
    print(*(f"{value:.4f}" if isinstance(value, float) else value for value in row))
print("accuracy", round(pipe.score(x, y), 4), pipe.predict_proba(x[:2]).round(4).tolist())

net.set_params(train_split=False, callbacks=None, max_epochs=5)
search = GridSearchCV(
    pipe, {"net__lr": [0.01, 0.1], "net__module__width": [5, 20]}, cv=3, scoring="accuracy"
)
search.fit(x, y)
print(search.best_params_, round(search.best_score_, 4))
print(search.cv_results_["mean_test_score"].round(4).tolist())
