"""Small configurations and tables for the tests of the trainer."""

from pathlib import Path

REGRESSION = """\
experiment: regression
data:
  csv: table.csv
  target: y
model:
  layers:
    - {name: Linear, out_features: 1}
loss: {name: MSELoss}
optimizer: {name: SGD, lr: 0.1}
train: {epochs: 2, batch_size: 4}
log: {tensorboard: false, plots: false, every: 1}
"""

CLASSIFICATION = """\
experiment: classification
data:
  generator: {name: moons, samples: 40}
model:
  layers: [{name: Linear, out_features: 4}, ReLU, {name: Linear, out_features: 1}]
loss: BCEWithLogitsLoss
optimizer: {name: Adam, lr: 0.01}
train: {steps: 5, batch_size: 8}
log: {tensorboard: false, plots: false, every: 1}
"""

MINIMIZATION = """\
experiment: minimization
function:
  expression: x[0]**2 + (x[1] - 1)**2
  start: [1, 2]
  iterations: 3
optimizer: {name: SGD, lr: 1, momentum: 0.5}
log: {tensorboard: false, plots: false}
"""

TABLE = "a,b,y\n" + "".join(f"{i},{i * i % 7},{3 * i + 1}\n" for i in range(20))


def write_example(directory: Path, text: str = REGRESSION, table: str = TABLE) -> Path:
    """Write `x.yaml` and the table it may name; return the configuration's path."""
    (directory / "table.csv").write_text(table, "utf-8")
    path = directory / "x.yaml"
    path.write_text(text, "utf-8")
    return path
