"""Classes that print as PyTorch's, as scripts that print ``type(x)`` expect."""


class Shown(type):
    """The type of classes that are shown by what stands in ``_shown``; their subclasses are not."""

    def __repr__(cls) -> str:
        name = vars(cls).get("_shown")
        return type.__repr__(cls) if name is None else f"<class '{name}'>"
