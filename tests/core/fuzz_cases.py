"""Programs on which nanotorch once differed from PyTorch, as the fuzzer found and shortened them.

They share the tensors `x` (a leaf of shape (2, 3)) and `y = x * 1`, called `t0` and `t1`.
"""

from tests.core.fuzz_graph import GRAPH
from tests.core.fuzz_operations import OPERATIONS

BEGIN = (
    "t0 = torch.tensor([[1.0, -2.0, 0.5], [0.25, 3.0, -0.75]], dtype=torch.float64,"
    " requires_grad=True)",
    "t1 = t0 * 1",
)
CASES = GRAPH | OPERATIONS
