"""What PyTorch says but once."""

import warnings

warned: set[str] = set()


def warn_once(text: str, above: int) -> None:
    """Warn, if this has not been said yet, of the line ``above`` calls away from the caller."""
    if text not in warned:
        warned.add(text)
        warnings.warn(text, UserWarning, stacklevel=above + 2)
