"""The table: for every operation, what to call it with.

One row per operation, one line per sample. The table knows no framework: `scripts/golden/ops.py`
calls it with PyTorch, the tests with nanotorch.
"""

from tests.ops.samples_activation import ACTIVATIONS
from tests.ops.samples_comparison import COMPARISON
from tests.ops.samples_elementwise import CREATION, ELEMENTWISE
from tests.ops.samples_factors import FACTORS
from tests.ops.samples_indexing import INDEXING, WRITES
from tests.ops.samples_linalg import LINALG
from tests.ops.samples_loss import LOSSES
from tests.ops.samples_nn import NN
from tests.ops.samples_norm import DISTANCES, NORMS
from tests.ops.samples_placing import PLACING, PLACING_WRITES, SIGN_WRITES, SIGNS
from tests.ops.samples_reduction import REDUCTION, SORTING, STATISTICS
from tests.ops.samples_shape import COMBINING, SHAPE
from tests.ops.samples_solving import SOLVING
from tests.ops.samples_special import MORE_SPECIAL, SPECIAL_FUNCTIONS, SPECIAL_WRITES
from tests.ops.samples_windows import SEQUENCES, WINDOWS
from tests.ops.sampling import Table

TABLE: Table = {
    **CREATION, **ELEMENTWISE, **COMPARISON, **REDUCTION, **SHAPE, **INDEXING, **WRITES, **LINALG,
    **FACTORS, **COMBINING, **NN, **SEQUENCES, **ACTIVATIONS, **NORMS, **DISTANCES, **LOSSES,
    **SORTING, **STATISTICS, **SPECIAL_FUNCTIONS, **SPECIAL_WRITES, **WINDOWS, **SIGNS,
    **SIGN_WRITES, **PLACING, **PLACING_WRITES, **SOLVING, **MORE_SPECIAL,
}  # fmt: skip
