"""The table: for every operation, what to call it with.

One row per operation, one line per sample. The table knows no framework: `scripts/golden/ops.py`
calls it with PyTorch, the tests with nanotorch.
"""

from tests.ops.samples_elementwise import COMPARISON, CREATION, ELEMENTWISE
from tests.ops.samples_indexing import INDEXING, PLACING, SIGN_WRITES, SIGNS, WRITES
from tests.ops.samples_linalg import FACTORS, LINALG, SOLVING
from tests.ops.samples_nn import ACTIVATIONS, DISTANCES, LOSSES, NN, NORMS
from tests.ops.samples_reduction import REDUCTION, SORTING, STATISTICS
from tests.ops.samples_shape import COMBINING, SHAPE
from tests.ops.samples_special import MORE_SPECIAL, SPECIAL_FUNCTIONS, SPECIAL_WRITES
from tests.ops.samples_windows import SEQUENCES, WINDOWS
from tests.ops.sampling import Table

TABLE: Table = {
    **CREATION, **ELEMENTWISE, **COMPARISON, **REDUCTION, **SHAPE, **INDEXING, **WRITES, **LINALG,
    **FACTORS, **COMBINING, **NN, **SEQUENCES, **ACTIVATIONS, **NORMS, **DISTANCES, **LOSSES,
    **SORTING, **STATISTICS, **SPECIAL_FUNCTIONS, **SPECIAL_WRITES, **WINDOWS, **SIGNS,
    **SIGN_WRITES, **PLACING, **SOLVING, **MORE_SPECIAL,
}  # fmt: skip
