"""Devices: any of PyTorch's can be named, but tensors live on the CPU only."""

from typing import Any

from nanotorch._core.arguments import as_int, combination, refused
from nanotorch._core.shown import Shown

TYPES = (
    "cpu", "cuda", "ipu", "xpu", "mkldnn", "opengl", "opencl", "ideep", "hip", "ve", "fpga", "maia",
    "xla", "lazy", "vulkan", "mps", "meta", "hpu", "mtia", "privateuseone",
)  # fmt: skip
FORMS = "torch.device device", "str type, int index = -1"
# What PyTorch says of the places that its builds for the CPU do not have.
ABSENT: dict[str, tuple[type[Exception], str]] = {
    "cuda": (AssertionError, "Torch not compiled with CUDA enabled"),
    "xpu": (AssertionError, "Torch not compiled with XPU enabled"),
    "mps": (RuntimeError, "PyTorch is not linked with support for mps devices"),
}


class device(metaclass=Shown):  # noqa: N801 - PyTorch's name
    """Where a tensor lives: ``device("cuda:1")``, ``device("cuda", 1)``, ``device(1)``.

    Args:
        type: one of PyTorch's types of devices, with ``:index`` or without; or the index of a
            "cuda" device; or a device.
        index: which of several.

    Raises:
        RuntimeError: for a type that PyTorch does not know, or an index that is none.
        TypeError: for anything but a text, an integer, a device.
    """

    _shown = "torch.device"
    __slots__ = ("index", "type")

    def __init__(self, type: Any = None, index: Any = None) -> None:
        self.type: str
        self.index: int | None
        if isinstance(type, device) and index is None:
            self.type, self.index = type.type, type.index
        elif isinstance(type, str):
            self.type, self.index = parsed(type)
            if index is not None:
                if self.index is not None:
                    raise RuntimeError(
                        "type (string) must not include an index because index was passed "
                        f"explicitly: {type}"
                    )
                self.index = as_int(index)
                if self.index < 0:
                    raise RuntimeError("Device index must not be negative")
        elif index is None and isinstance(type, int) and not isinstance(type, bool):
            self.type, self.index = "cuda", type
        else:
            raise combination("device", () if type is None else (type,), FORMS)

    def __repr__(self) -> str:
        index = "" if self.index is None else f", index={self.index}"
        return f"device(type='{self.type}'{index})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, device):
            return NotImplemented
        return (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[Any, ...]:
        return (device, (self.type, self.index))

    def __enter__(self) -> "device":
        """A block whose tensors are made on this device, which must be the CPU.

        Raises:
            AssertionError, RuntimeError: for another device.
        """
        require_cpu(self)
        return self

    def __exit__(self, *error: Any) -> None:
        pass


def parsed(text: str) -> tuple[str, int | None]:
    """The type and the index in a text such as ``cuda:1``.

    Raises:
        RuntimeError: for anything else.
    """
    if not text:
        raise RuntimeError("Device string must not be empty")
    kind, colon, number = text.partition(":")
    if colon and (not number.isdecimal() or number != str(int(number))):
        raise RuntimeError(f"Invalid device string: '{text}'")
    if kind not in TYPES:
        raise RuntimeError(
            f"Expected one of {', '.join(TYPES)} device type at start of device string: {kind}"
        )
    return kind, int(number) if colon else None


CPU = device("cpu")


def require_cpu(where: Any) -> None:
    """Refuse to put a tensor anywhere but on the CPU; None stands for it.

    Raises:
        AssertionError, RuntimeError: PyTorch's, for the device in question.
        TypeError: for what is no device.
    """
    if where is None or where is CPU:
        return
    if isinstance(where, bool) or not isinstance(where, (str, int, device)):
        raise refused(where, "torch.device")
    kind = device(where).type
    if kind != "cpu":
        raise absent(kind)


def absent(kind: str) -> Exception:
    """The error for the use of a type of devices that is not there."""
    error, text = ABSENT.get(kind) or (
        RuntimeError,
        f"nanotorch runs on the CPU only; there is no device '{kind}'",
    )
    return error(text)
