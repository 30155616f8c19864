"""Differences between errors that are accepted, each with its reason."""

import re

# (pattern of PyTorch's error, pattern of nanotorch's, reason)
ACCEPTED: list[tuple[str, str, str]] = [
    (
        r"TypeError: .*received an invalid combination of arguments.*",
        r"TypeError: .*",
        "PyTorch lists the signatures of its overloads, of which nanotorch has one",
    ),
    (
        r"RuntimeError: .*INTERNAL ASSERT FAILED.*",
        r".*",
        "a bug of PyTorch's, as its own text says",
    ),
    (
        r".*",
        r"RuntimeError: Inplace update to inference tensor.*",
        "PyTorch refuses to write to an inference tensor after it has done so",
    ),
    (
        r"no error",
        r"IndexError: index .* is out of bounds for dimension .*",
        "PyTorch does not check indices where the result has no elements",
    ),
]


def why(statement: str, theirs: str | None, ours: str | None) -> str | None:
    """The reason why this difference is accepted, if it is."""
    for their_pattern, our_pattern, reason in ACCEPTED:
        if re.fullmatch(their_pattern, theirs or "no error") and re.fullmatch(
            our_pattern, ours or "no error"
        ):
            return reason
    return None
