"""Names of a module that are imported on first use, and errors for missing names."""

import dis
import importlib
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, ModuleType
from typing import Any, TypeVar

E = TypeVar("E", bound=Exception)
IMPORT_FROM = dis.opmap["IMPORT_FROM"]


def on_demand(
    module: str,
    origins: Mapping[str, str] | None = None,
    change: Callable[[str, str, Any], Any] | None = None,
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Give a module a ``__getattr__`` and a ``__dir__``; returns them.

    The assignment is invisible to type checkers, so these still report missing names.

    Args:
        module: the module's name. If it is not imported yet, only the return value counts.
        origins: names that the module imports on first use, separated by blanks, by the module that
            defines them. Names under the module's own name are its submodules.
        change: replaces each imported function, given the module, the name and the function.
    """
    made: dict[str, Any] = {}
    known = {name: origin for origin, names in (origins or {}).items() for name in names.split()}

    def __getattr__(name: str) -> Any:  # noqa: N807 - Python's name for it
        if name in made:
            return made[name]
        origin = known.get(name)
        if origin is None:
            if name == "__all__":
                return star_names(module)
            if name.startswith("__"):  # Python itself asks for names such as `__path__`
                raise missing(module, name)
            from nanotorch.names.scope import is_place, value_of  # few programs need it

            place = module.partition(".")[2]
            if is_place(f"{place}.{name}".lstrip(".")):
                return importlib.import_module(f"{module}.{name}")
            if (value := value_of(place, name)) is None:
                raise missing(module, name)
            made[name] = value  # a stand-in is no attribute, which `dir` would show
            return value
        if origin == module:
            return importlib.import_module(f"{module}.{name}")  # which sets the attribute
        value = getattr(importlib.import_module(origin), name)
        if change is not None and isinstance(value, FunctionType):
            value = change(module, name, value)
        setattr(sys.modules[module], name, value)
        return value

    def __dir__() -> list[str]:  # noqa: N807
        shown = sys.modules[module]
        return sorted({*vars(shown).get("__all__", vars(shown)), *known})

    if module in sys.modules:
        vars(sys.modules[module]).update(__getattr__=__getattr__, __dir__=__dir__)
    return __getattr__, __dir__


def star_names(module: str) -> list[str]:
    """What `from module import *` brings: the same names as in PyTorch, of those that are here."""
    from nanotorch.names.scope import marked_names

    shown = sys.modules[module]
    names = marked_names().get(module.partition(".")[2], dir(shown))
    return [name for name in names if name[0] not in "-_" and hasattr(shown, name)]


# Modules that `stand_in` has made, by name.
STAND_INS: dict[str, ModuleType] = {}


def stand_in(name: str, origins: Mapping[str, str]) -> ModuleType:
    """Make a module that PyTorch has, with names that other modules define: see `on_demand`.

    From then on it can be imported by its ``name``.
    """
    module: Any = ModuleType(name, "Names that are at home elsewhere, where PyTorch has them.")
    module.__getattr__, module.__dir__ = on_demand(name, origins)
    module.__path__ = []  # it may have submodules
    sys.modules[name] = STAND_INS[name] = module
    if sys.modules.get("torch") is sys.modules.get("nanotorch"):
        sys.modules[name.replace("nano", "", 1)] = module
    return module


def missing(module: str, name: str) -> Exception:
    """The error for a name that a module lacks: Python's, with the reason if there is one.

    ``from module import name`` hides the message of an AttributeError; it gets an ImportError.
    """
    place = module.removeprefix("nanotorch").removeprefix(".")
    shown = f"torch.{place}" if place else "torch"
    why = "" if name.startswith("__") else reason(place, name)
    frame = sys._getframe(2)
    if why and frame.f_code.co_code[frame.f_lasti] == IMPORT_FROM:
        return ImportError(f"cannot import name '{name}' from '{shown}'{why}", name=shown)
    return AttributeError(f"module '{shown}' has no attribute '{name}'{why}")


def advised(error: E, key: str, *facts: object) -> E:
    """The error with a last line in its traceback that says what to do: see `names/advice.py`.

    A caller that knows more than the function that raised the error replaces its advice.
    """
    from nanotorch.names.advice import ADVICE  # errors are few

    error.__notes__ = [f"Try: {ADVICE[key].format(*facts)}"]
    return error


def no_module(fullname: str) -> ModuleNotFoundError:
    """The error for a missing module: Python's, with the reason if there is one."""
    place, _, name = fullname.partition(".")[2].rpartition(".")
    return ModuleNotFoundError(f"No module named '{fullname}'{reason(place, name)}", name=fullname)


class InertModules:
    """Python's last finder: it finds modules of `TABLE` and `HOMES`, and explains missing ones."""

    @classmethod
    def find_spec(cls, fullname: str, path: object, target: object = None) -> Any:
        """The spec of a module of the tables; None for other modules.

        Raises:
            ModuleNotFoundError: for another module of nanotorch, if there is a reason.
        """
        above, _, place = fullname.partition(".")
        if above != "nanotorch":
            return None
        from importlib.machinery import ModuleSpec  # slow to import

        from nanotorch.names.scope import is_place

        if is_place(place):
            loader: Any = cls
            return ModuleSpec(fullname, loader, is_package=True)
        if ": " in str(error := no_module(fullname)):
            raise error
        return None

    @staticmethod
    def create_module(spec: object) -> None:
        """Let Python make the module."""

    @staticmethod
    def exec_module(module: Any) -> None:
        """Give the module its names, which are made on first use."""
        from nanotorch.names.scope import HOMES, row

        place = module.__name__.partition(".")[2]
        names = row(place)
        module.__getattr__, shown = on_demand(module.__name__, HOMES.get(place))
        module.__dir__ = lambda: sorted({*shown(), *names})


sys.meta_path.append(InertModules)


# The attributes of PyTorch's tensors that are out of scope.
NAMES_OF_TENSORS = """
    addbmm addbmm_ addmv addmv_ addr addr_ as_strided_ as_strided_scatter cauchy_ ccol_indices
    cdouble cfloat chalf cholesky_inverse coalesce col_indices conj_physical conj_physical_
    const_data_ptr crow_indices dense_dim dequantize diagonal_scatter eig eq_ float_power
    float_power_ fmax fmin frexp ge_ geometric_ geqrf grad_dtype greater_ greater_equal_ gt_
    hash_tensor i0 i0_ igamma igamma_ igammac igammac_ index
    index_reduce index_reduce_ indices int_repr ipu is_coalesced is_conj
    is_distributed is_neg is_set_to istft ldexp ldexp_ le_ less_ less_equal_ log_normal_
    lstsq lt_ lu lu_solve map2_ map_ mode module_load msort mtia
    mvlgamma mvlgamma_ name narrow_copy ne_ new_empty_strided nonzero_static
    not_equal_ orgqr ormqr polygamma polygamma_ q_per_channel_axis q_per_channel_scales
    q_per_channel_zero_points q_scale q_zero_point qr qscheme record_stream reinforce resize
    resize_as resize_as_sparse_ row_indices select_scatter set_ slice_inverse
    slice_scatter smm solve sparse_dim sparse_mask sparse_resize_ sparse_resize_and_clear_
    sspaddmm stft storage storage_type symeig to_mkldnn to_padded_tensor to_sparse
    to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr triangular_solve
    unsafe_chunk unsafe_split unsafe_split_with_sizes values volatile xlogy xlogy_ xpu
"""
OF_TENSORS = tuple(NAMES_OF_TENSORS.split())


class OutOfScope:
    """A missing attribute: its use raises the error with the reason.

    Args:
        place: the place of the type, as in `why_not`.
        name: the attribute's name.
    """

    __slots__ = ("name", "place")

    def __init__(self, place: str, name: str) -> None:
        self.place, self.name = place, name

    def __get__(self, value: object, kind: type) -> Any:
        raise missing_attribute(kind if value is None else value, self.place, self.name)


def missing_attribute(value: object, place: str, name: str) -> AttributeError:
    """The error for an attribute that an object lacks, with the reason if there is one.

    Args:
        place: the place of the object's type, as in `why_not`.
    """
    why = "" if name.startswith("_") else reason(place, name)
    owner = f"'{type(value).__name__}' object"
    if isinstance(value, type):
        owner = f"type object '{value.__name__}'"
    text = f"{owner} has no attribute '{name}'{why}"
    return AttributeError(text, name=name, obj=value)


def reason(place: str, name: str) -> str:
    """The reason for a missing name, as the end of an error's message; empty if there is none."""
    from nanotorch.names.scope import why_not

    why = why_not(place, name)
    return "" if why is None else f": {reason_text(why)}"


def reason_text(why: str) -> str:
    """A reason as the end of an error's message; no period, as Python may add a suggestion."""
    return f"out of scope. {why[0].upper()}{why[1:]}"
