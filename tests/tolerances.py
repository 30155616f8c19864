"""How far two machines may lie apart in the same number: the one place where that is decided.

It follows from the arithmetic, not from the bits of the machine at hand: BLAS and NumPy choose
other kernels for other processors, which add in another order. Bits are compared where both sides
run in one process, and where nothing is rounded twice: copies, integers, random streams.
"""

EPS = {"float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
TERMS = 1000  # of the sums in a layer


def rounding(dtype: str, depth: float = 1, terms: int = TERMS) -> float:
    """The tolerance relative to the largest of the numbers that stand together; 0 for integers.

    A sum, in any order, is off by about the root of the number of its terms, in eps. A layer
    consists of a few sums, forward and backward, whose errors add up to twice that of one. Halves
    are added in single precision, and only the result is rounded, up or down.

    Args:
        depth: how many layers stand one upon another, or how much a problem magnifies roundings.
            Those of n steps of an optimizer add up like terms, to the root of n.
        terms: of the longest sum.
    """
    eps = EPS.get(dtype, 0.0)
    return depth * eps * (1.0 if dtype == "float16" else 2 * terms**0.5)


# The samples of operations, ill-conditioned points among them, where roundings of the inputs are
# magnified. First derivatives get twice as much, second derivatives 16 times.
SINGLE, DOUBLE = rounding("float32", 4), rounding("float64", 4)
# Losses of whole trainings, in which Adam makes whole steps of gradients that are nothing but
# rounding, as of keys' biases.
TRAINING = 1e-3
# Random programs hold ill-conditioned operations among others.
PROGRAMS = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2}
