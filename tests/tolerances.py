"""How far two machines may lie apart in the same number: the one place where that is decided.

It follows from the arithmetic, not from the bits of the machine at hand: BLAS and NumPy choose
other kernels for other processors, which add in another order. Bits are compared where both sides
run in one process, and where nothing is rounded twice: copies, integers, random streams.
"""

EPS = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
# In eps: sums of n terms, in any order, are off by about the root of n, and a layer consists of a
# few of them, forward and backward. So much covers sums of a thousand terms. Halves are added in
# single precision, and only the result is rounded.
LAYER = {"float16": 2, "float32": 64, "float64": 64}


def rounding(dtype: str, depth: float = 1) -> float:
    """The tolerance relative to the largest of the numbers that stand together; 0 for integers.

    Args:
        depth: how many layers, or steps of an optimizer, stand one upon another.
    """
    return depth * LAYER.get(dtype, 0) * EPS.get(dtype, 0.0)


# The samples of operations, ill-conditioned points among them, where roundings of the inputs are
# magnified. First derivatives get twice as much, second derivatives 16 times.
SINGLE, DOUBLE = rounding("float32", 4), rounding("float64", 4)
# Losses of whole trainings, in which Adam makes whole steps of gradients that are nothing but
# rounding, as of keys' biases.
TRAINING = 1e-3
# Random programs hold ill-conditioned operations among others.
PROGRAMS = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2}
