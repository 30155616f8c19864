"""What a new user gets wrong, or wishes for, in the first hour: it works, or one line helps."""

from pathlib import Path

import pytest

from tests.train.examples import MINIMIZATION, mistake, said

HOUSES = "size,rooms,city,price\n" + "".join(
    f"{50 + 7 * i % 90},{1 + i % 5},{'ABC'[i % 3]},{1000 * (50 + 7 * i % 90) + 500 * (i % 5)}\n"
    for i in range(40)
)
PETS = "weight,age,kind\n" + "".join(
    f"{3 + i % 7 + 9 * (i % 2)},{i * 3 % 40},{['cat', 'dog'][i % 2]}\n" for i in range(40)
)
HOUSE = """\
experiment: regression
data:
  csv: houses.csv
  target: price
  categorical: [city]
model:
  layers:
    - {name: Linear, out_features: 8}
    - ReLU
    - {name: Linear, out_features: 1}
loss: MSELoss
optimizer:
  name: SGD
  lr: 0.01
  momentum: 0.9
train:
  epochs: 2
log: {tensorboard: false, plots: false}
"""
PET = """\
experiment: classification
data:
  csv: pets.csv
  target: kind
  positive: dog
model: {layers: [{name: Linear, out_features: 8}, ReLU, {name: Linear, out_features: 1}]}
loss: BCEWithLogitsLoss
optimizer: {name: Adam, lr: 0.01}
train: {epochs: 2}
log: {tensorboard: false, plots: false}
"""
TEXTS = {"house.yaml": HOUSE, "pet.yaml": PET, "valley.yaml": MINIMIZATION}
TEXTS |= {"houses.csv": HOUSES, "pets.csv": PETS}


@pytest.fixture(autouse=True)
def _files() -> None:
    for name, text in TEXTS.items():
        Path(name).write_text(text, "utf-8")


# What replaces what in the file: the line that is printed, or how it begins.
IN_A_FILE = {
    ("lr: 0.01", "learning_rate: 0.01"): "house.yaml:14:3: optimizer.learning_rate: unknown key "
    "of SGD; did you mean 'lr'?",
    ("name: SGD", "name: Adam"): "house.yaml:15:3: optimizer.momentum: unknown key of Adam; known: "
    "name, lr, betas, eps, weight_decay, amsgrad, maximize, decoupled_weight_decay, groups",
    ("lr: 0.01", "lr: 0,01"): "house.yaml:14:7: optimizer.lr: expected a number, got '0,01' "
    "(text); write a decimal point, not a comma",
    ("train:\n  epochs: 2", "train: 2"): "house.yaml:16:8: train: expected a mapping, got 2 (an "
    "integer); its keys are epochs",
    ("[city]", "city"): "house.yaml:5:16: data.categorical: expected a list of texts, got "
    "'city' (text); write it in []",
    ("houses.csv", "data/houses.csv"): "house.yaml:3:8: data.csv: cannot read 'data/houses.csv': "
    "No such file or directory; did you mean 'houses.csv'?",
    ("price\n  categorical: [city]", "city"): "house.yaml:4:11: data.target: "
    "column 'city' holds names, such as 'A'; experiment: classification predicts names",
    ("- ReLU", "- Wavelet"): "house.yaml:9:7: model.layers[1].name: 'Wavelet' is not known; "
    "--list layers shows all, --import FILE adds your own",
    ("name: Linear, out_features: 8", "name: Dense, out_features: 8"): "house.yaml:8:14: "
    "model.layers[0].name: 'Dense' is not known; did you mean 'Linear'?",
    ("{name: Linear, out_features: 8}", "Linear: {out_features: 8}"): "house.yaml:8:7: "
    "model.layers[0].name: missing; write {name: Linear, ...}",
    ("name: Linear, out_features: 8", "name: nn.Linear, out_features: 8"): "house.yaml:8:14: "
    "model.layers[0].name: 'nn.Linear' is not known; did you mean 'Linear'?",
    ("experiment:", "device: cuda\nexperiment:"): "house.yaml:1:1: device: unknown key: nanotorch "
    "runs on the CPU only; remove it",
}


@pytest.mark.parametrize("case", IN_A_FILE, ids=lambda case: case[1].strip()[:40])
def test_a_mistake_in_a_file(case: tuple[str, str]) -> None:
    assert case[0] in HOUSE
    Path("house.yaml").write_text(HOUSE.replace(*case, 1), "utf-8")
    check("--config house.yaml", IN_A_FILE[case])


def check(command: str, expected: str) -> None:
    """One line, that begins as expected, exit code 2, and nothing is left behind."""
    (line,) = mistake(f"train {command}").splitlines()
    assert line.startswith(expected)
    assert {path.name for path in Path().iterdir()} == {*TEXTS}


# The command: the line that is printed, or how it begins.
ON_THE_COMMAND_LINE = {
    "": "scripts/train.py: error: one of the arguments --config --resume",
    "house.yaml": "scripts/train.py: error: write --config house.yaml; see --help",
    "-c house.yaml": "scripts/train.py: error: write --config house.yaml",
    "--config house.yaml --resume latest": "scripts/train.py: error: argument --resume: not "
    "allowed with argument --config",
    "--config a --config b": "scripts/train.py: error: --config is given twice: 'a' and 'b'; "
    "see --help",
    "houses.csv": "scripts/train.py: error: write --config FILE data.csv=houses.csv, where FILE "
    "describes the model",
    "--config house.yml": "house.yml: cannot be read: No such file or directory; did you mean "
    "'house.yaml'?",
    "--config house": "house: there is no such file or configuration; did you mean 'house.yaml'?",
    "--config moons": "moons: there is no such file or configuration; did you mean 'two_moons'?",
    "--config .": ".: cannot be read: Is a directory",
    "--config house.yaml --epochs=5": "scripts/train.py: error: --epochs is not an option; write "
    "train.epochs=5; see --help",
    "--config house.yaml --learning-rate 0.1": "scripts/train.py: error: --learning-rate is not "
    "an option; write optimizer.lr=VALUE",
    "--config house.yaml --verbose": "scripts/train.py: error: --verbose is not an option; see "
    "--help",
    "--config house.yaml --chek": "scripts/train.py: error: --chek is not an option; did you mean "
    "--check?; see --help",
    "--config house.yaml --mps": "scripts/train.py: error: --mps is not an option: nanotorch runs "
    "on the CPU only; remove it; see --help",
    "--config house.yaml --epoch 3": "scripts/train.py: error: --epoch is not an option; write "
    "train.epochs=VALUE; see --help",
    "--config house.yaml lr=0.1": "command line: lr=0.1: unknown key; did you mean 'optimizer.lr'?",
    "--config house.yaml train.epochs = 5": "command line: train.epochs = 5: write key=value "
    "without spaces",
    "--config house.yaml train.epochs:5": "command line: train.epochs:5: expected key=value, as "
    "in train.epochs=5",
    "--config house.yaml 'optimizer={name:'": "command line: optimizer={name:: not valid YAML: "
    "the value is missing or incomplete; quote the whole argument for the shell",
    "--config house.yaml optimizer.name=adam": "command line: optimizer.name=adam: 'adam' is not "
    "known; did you mean 'Adam'?",
    "--config house.yaml loss=mae": "command line: loss=mae: loss.name: 'mae' is not known; did "
    "you mean 'L1Loss'?",
    "--config house.yaml scheduler=cosine": "command line: scheduler=cosine: scheduler.name: "
    "'cosine' is not known; did you mean 'CosineAnnealingLR'?",
    "--config house.yaml scheduler=Foo": "command line: scheduler=Foo: scheduler.name: 'Foo' is "
    "not known; known: StepLR, ",
    "--config house.yaml train.epochs=1e3": "command line: train.epochs=1e3: expected an integer, "
    "got 1000.0 (a number); write 1000",
    "--config house.yaml train.batch_size=None": "command line: train.batch_size=None: expected "
    "an integer, got 'None' (text); write null",
    "--config house.yaml optimizer.nesterov=yes": "command line: optimizer.nesterov=yes: expected "
    "true or false, got 'yes' (text); write true",
    "--config house.yaml early_stopping=none": "command line: early_stopping=none: expected a "
    "mapping, got 'none' (text); write null",
    "--config pet.yaml data.positive=Dog": "command line: data.positive=Dog: column 'kind' has no "
    "such value; did you mean 'dog'?",
    "--config house.yaml log.profile=true": "command line: log.profile=true: expected an integer, "
    "got True (a boolean); write a number",
    "--config valley.yaml function.start=5,5": "command line: function.start=5,5: expected a list",
    "--config house.yaml --import layers": "command line: --import layers: no module 'layers' in "
    "this directory or on Python's path",
    "--resume latest": "error: runs/latest.txt: is missing: no run yet; train one: ",
    "--resume house.yaml": "error: house.yaml: is not the directory of a run: it has no "
    "config.yaml; train it: ",
    "--resume two_moons": "error: two_moons: has no run yet; train it: ",
    "--config house.yaml train.epochs=1 train.epochs=2": "command line: train.epochs=1 "
    "train.epochs=2: the key is given twice; remove one of the two",
    "--config two_moons loss=CrossEntropyLoss": "command line: loss=CrossEntropyLoss: loss.name: "
    "the model outputs 1 number, but there are 2 classes; change model.layers[4].out_features to "
    "2, or the loss to BCEWithLogitsLoss",
    "--resume runs/my": "error: runs/my: there is no such run",
}


@pytest.mark.parametrize("case", ON_THE_COMMAND_LINE)
def test_a_mistake_on_the_command_line(case: str) -> None:
    check(case, ON_THE_COMMAND_LINE[case])


def test_mistakes_that_two_places_make() -> None:
    """The mistake stands in the file, and the command line makes it one."""
    assert mistake("train --config pet.yaml loss=BCELoss") == (
        "pet.yaml:6:64: model.layers[2].name: BCELoss needs Sigmoid as the last layer: add it, or "
        "use BCEWithLogitsLoss, which includes it\n"
        "command line: loss=BCELoss: the file alone is valid; this causes the mistakes above\n"
    )
    assert mistake("train --config pet.yaml data.positive=null --check") == (
        "pet.yaml:4:11: data.target: column 'kind' holds 'cat' and 'dog'; write data.positive: "
        "'dog' to make that class 1\ncommand line: data.positive=null: the file alone is valid; "
        "this causes the mistakes above\n"
    )
    Path("pets.csv").write_text(PETS.replace("cat", "0.0").replace("dog", "1.0"))
    check("--config pet.yaml", "pet.yaml:5:13: data.positive: column 'kind' has no such value; "
          "known: 0.0, 1.0")  # fmt: skip
    Path("pets.csv").write_bytes(b"PK\3\4\xff")
    check("--config pet.yaml", "pets.csv:1:5: is an archive or a spreadsheet, not text; export it")


# The command: what is said, and lines of the run's config.yaml.
WISHES: dict[str, tuple[str, set[str]]] = {
    "house.yaml optimizer=Adam": (
        "optimizer: Adam keeps lr and drops momentum of SGD\n", {"name: Adam", "lr: 0.01"}
    ),
    'house.yaml \'optimizer={"name":"Adam","lr":1e-2}\'': ("", {"name: Adam", "lr: 0.01"}),
    "house.yaml scheduler=CosineAnnealingLR": ("", {"name: CosineAnnealingLR"}),
    "house.yaml 'model.layers[-2]=Tanh'": ("", {"- name: Tanh"}),
    "pet.yaml loss=BCELoss model.layers.3=Sigmoid": ("", {"name: BCELoss", "- name: Sigmoid"}),
    "house.yaml train.batch_size=1000": ("", {"batch_size: 1000"}),
    "pet.yaml loss=CrossEntropyLoss model.layers.-1.out_features=2": (
        "", {"name: CrossEntropyLoss"}
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WISHES)
def test_a_wish(case: str) -> None:
    note, settings = WISHES[case]
    code, _, told = said(f"train --config {case}")
    assert (code, told) == (0, note)
    (used,) = Path("runs").glob("*/*/config.yaml")
    written = [line.partition("#")[0].strip() for line in used.read_text("utf-8").splitlines()]
    assert settings <= {*written}
