"""Samples of what recurrent layers, packed sequences, embeddings and attention are made of."""

from tests.ops.sampling import Table, rows, s, x

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

SEQUENCES: Table = {**RECURRENT}
