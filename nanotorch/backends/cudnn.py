"""cuDNN, which is not there; its flags can be read and set, as scripts do to be reproducible."""

enabled = True
benchmark = False
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """Always False."""
    return False


def version() -> None:
    """Always None."""
