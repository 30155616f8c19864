"""Programs on which nanotorch once differed from PyTorch, as the fuzzer found and shortened them.

In `texts/graph.txt` are those about histories, views, writes, hooks and backward passes, in
`texts/operations.txt` those about what operations compute and refuse: a line with a name, and
below it the statements. They share the tensors `x` (a leaf of shape (2, 3)) and `y = x * 1`,
called `t0` and `t1`.
"""

from pathlib import Path

BEGIN = (
    "t0 = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -0.75]], dtype=torch.float64,"
    " requires_grad=True)",
    "t1 = t0 * 1",
)
CASES: dict[str, tuple[str, ...]] = {}
for name in ("graph", "operations"):
    text = (Path(__file__).parent / "texts" / f"{name}.txt").read_text("utf-8")
    for program in text.replace("\n    ", "\0").splitlines():
        title, *statements = program.split("\0")
        CASES[title] = tuple(statements)
