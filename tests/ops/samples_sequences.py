"""Samples of what recurrent layers, packed sequences, embeddings and attention are made of."""

from typing import Any

import numpy as np

from tests.ops.sampling import Table, fixed, given, kink, rows, s, x

EVEN, FALLING = (2, 2), (3, 2, 1)


RECURRENT: Table = {
    "lstm_steps": rows(
        s(x(2, 2, 8), x(2, 2), x(2, 2), x(8, 2), None, EVEN, False),
        s(x(2, 2, 8), x(2, 2), x(2, 2), x(8, 2), None, EVEN, True),
        s(x(6, 8), x(3, 2), x(3, 2), x(8, 2), None, FALLING, False),
        s(x(6, 8), x(3, 2), x(3, 2), x(8, 2), None, FALLING, True),
        s(x(4, 8), x(2, 1), x(2, 2), x(8, 1), x(1, 2), EVEN, False),
        s(x(6, 8), x(3, 1), x(3, 2), x(8, 1), x(1, 2), FALLING, True),
        torch=None,
    ),
    "sweep_back": rows(
        s(x(4, 2), None, x(4, 8), x(4, 2), x(4, 2), x(8, 2), EVEN, False),
        s(x(4, 2), x(4, 2), x(4, 8), x(4, 2), x(4, 2), x(8, 2), EVEN, True),
        torch=None,
    ),
    "gru_steps": rows(
        s(x(2, 2, 6), x(2, 2), x(6, 2), x(6), EVEN, False),
        s(x(2, 2, 6), x(2, 2), x(6, 2), None, EVEN, True),
        s(x(6, 6), x(3, 2), x(6, 2), x(6), FALLING, False),
        s(x(6, 6), x(3, 2), x(6, 2), None, FALLING, True),
        torch=None,
    ),
    "elman_steps": rows(
        s(x(2, 2, 2), x(2, 2), x(2, 2), "tanh", EVEN, False),
        s(x(2, 2, 2), x(2, 2), x(2, 2), "relu", EVEN, True),
        s(x(6, 2), x(3, 2), x(2, 2), "tanh", FALLING, False),
        s(x(6, 2), x(3, 2), x(2, 2), "tanh", FALLING, True),
        torch=None,
    ),
    "pack_rows": rows(s(x(3, 3, 2), FALLING), s(x(4, 3), FALLING), torch=None),
    "pad_rows": rows(s(x(6, 2), FALLING, 3, 0.0), s(x(6), FALLING, 5, -1.0), torch=None),
}

INDICES = given([[1, 1], [3, 0]])
SOME, BAGS = np.array([1, 1, 3, 0]), np.array([0, 0, 2, 2])
FILLED = np.array([[True], [False], [True]])

EMBEDDING: Table = {
    "embedding_rows": rows(
        s(x(4, 3), INDICES, -1, False),
        s(x(4, 3), given(2), -1, False),
        s(x(4, 3), given([]), -1, False),
        torch=None,
    ),
    "embedding_dense_backward": rows(
        s(x(2, 2, 3), INDICES, 4, -1, False),
        s(x(2, 2, 3), INDICES, 4, 1, True),
        s(x(0, 3), given([]), 4, -1, False),
        torch=None,
    ),
    "embedding_taken": rows(
        s(x(4, 3), INDICES, -1, False), s(x(4, 3), INDICES, 1, True), torch=None
    ),
    "bag_sums": rows(
        s(x(4, 3), None, SOME, BAGS, 3, False),
        s(x(4, 3), x(4), SOME, BAGS, 3, False),
        torch=None,
    ),
    "bag_maxima": rows(s(x(4, 3), SOME, BAGS, FILLED), torch=None),
    "one_hot_rows": rows(s(INDICES, 5), torch=None),
}

MASK = fixed([0.0, -np.inf, 0.0], [-np.inf, 0.5, -np.inf])


def attended(torch: Any, query: Any, key: Any, value: Any, mask: Any, *options: Any) -> Any:
    """The means alone: of what else the operation gives, single derivatives mean nothing."""
    causal, scale = options
    function = torch.nn.functional.scaled_dot_product_attention
    return function(query, key, value, mask, 0.0, causal, scale=scale)


ATTENTION: Table = {
    "scaled_dot_product_attention": rows(
        s(x(2, 1, 2, 2), x(2, 1, 3, 2), x(2, 1, 3, 2), None, False, 0.7),
        s(x(1, 2, 3, 2), x(1, 2, 3, 2), x(1, 2, 3, 2), None, True, 0.7),
        s(x(1, 2, 2, 2), x(1, 2, 3, 2), x(1, 2, 3, 2), MASK, False, -0.7),
        torch=None,
        call=attended,
    ),
    "safe_softmax": rows(
        s(x(2, 3)), s(x(2, 0)), kink(fixed([0.0, 1.0], [-np.inf, -np.inf])), torch=None
    ),
}

SEQUENCES: Table = {**RECURRENT, **EMBEDDING, **ATTENTION}
