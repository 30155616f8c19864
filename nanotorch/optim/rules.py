"""Optimizers with one update rule, a few array operations, for each parameter."""

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import numpy as np

from nanotorch._core.call_site import current_site
from nanotorch._core.dtypes import get_default_dtype
from nanotorch._core.sums import HALF, SINGLE
from nanotorch._core.tensor import Tensor, wrap
from nanotorch.ops.arguments import require, require_value
from nanotorch.ops.elementwise import sign
from nanotorch.optim.flat_buffer import flat_group_of
from nanotorch.optim.optimizer import Closure, Group, Optimizer, evaluate

Array = np.ndarray
State = dict[str, Tensor]
Numbers = Sequence[Any]
Betas = tuple[float, float]

# Numbers for updates on bare arrays.


def number(option: Any) -> Any:
    """An option as a number; a tensor keeps its precision, as in PyTorch."""
    return option._array.reshape(())[()] if isinstance(option, Tensor) else option


@functools.lru_cache(maxsize=512)
def scalar(value: float, dtype: np.dtype) -> np.ndarray:
    """A number as a 0-d array, with which NumPy is faster than with a Python number.

    For half precision the array is single precision, so that the number keeps its digits.
    """
    return np.array(value, SINGLE if dtype == HALF else dtype)


def scalars(dtype: np.dtype, *values: float) -> list[np.ndarray]:
    """Numbers as 0-d arrays."""
    return [scalar(value, dtype) for value in values]


def factor(value: float, dtype: np.dtype) -> np.ndarray:
    """`scalar` for the factor of PyTorch's `add`, which rounds it to half precision first."""
    return scalar(dtype.type(value), dtype) if dtype == HALF else scalar(value, dtype)


def counter(value: float) -> Tensor:
    """A number for an optimizer's state: a 0-d tensor, float32 unless the default is float64."""
    kind = np.float64 if get_default_dtype().itemsize == 8 else np.float32
    return wrap(np.full((), float(value), kind))


# Checks of options, with PyTorch's messages.

# The values of options that a loaded state lacks, where not False.
NOT_FALSE = {"foreach": None, "fused": None, "momentum": 0}
# The upper limits of options; the lower limit is 0.
GREATEST = {"rho": 1.0} | dict.fromkeys(
    ("lr_decay", "lambd", "alpha", "eps", "momentum", "weight_decay", "momentum_decay",
     "initial_accumulator_value"), math.inf,
)  # fmt: skip


def check_one_number(lr: Any) -> None:
    """Refuse a learning rate with more or fewer elements than one."""
    require_value(not isinstance(lr, Tensor) or lr.numel() == 1, "Tensor lr must be 1-element")


def check_learning_rate(lr: Any) -> None:
    """Refuse a learning rate that is negative, nan, or not one number."""
    check_one_number(lr)
    if not 0.0 <= number(lr):  # noqa: SIM300 - the order that Python's message for a string shows
        raise ValueError(f"Invalid learning rate: {lr}")


# The base of the rules.


class Rule(Optimizer):
    """The base of optimizers whose step is a few array operations for every parameter.

    A subclass declares its options as the arguments of ``__init__``, which passes its `locals` to
    this base. It defines the formulas: `_begin`, `_numbers` and `_update`. This base checks
    options, counts steps, negates gradients for ``maximize`` and decays weights.

    Attributes:
        _options: the names of the options in the order of `defaults`.
        _state: the names of the state arrays of a parameter's shape, initially zeros.
        _later: the options that newer versions of PyTorch added; older saved states lack them.
        _counters: the names of the state with one number per parameter.
        _writes: the number of writes to a parameter in `_update`, by PyTorch's count.
        _decaying: whether this optimizer has weight decay.
    """

    _options: ClassVar[str]
    _state: ClassVar[str] = ""
    _later: ClassVar[str] = "foreach maximize differentiable capturable"
    _counters: ClassVar[tuple[str, ...]] = ("step",)
    _writes: ClassVar[int] = 1
    _decaying: ClassVar[bool] = True

    def __init__(self, params: Iterable[Any], given: dict[str, Any]) -> None:
        self._check(given)
        super().__init__(params, {name: given[name] for name in self._options.split()})
        differentiable, fused = given["differentiable"], given.get("fused")
        require(not (fused and differentiable), "`fused` does not support `differentiable`")
        if differentiable:
            raise NotImplementedError("steps are not recorded: differentiable must be False")
        both = fused and given["foreach"]
        require(not both, "`fused` and `foreach` cannot be `True` together.")

    def _check(self, given: dict[str, Any]) -> None:
        """Refuse options that are out of range."""
        check_learning_rate(given["lr"])
        last = "eps" if "eps" in given else "betas"
        for name, value in given.items():
            if name in GREATEST and not 0.0 <= number(value) <= GREATEST[name]:
                label = "epsilon" if name == "eps" else name
                raise ValueError(f"Invalid {label} value: {value}")
            if name == last:  # the check of betas follows that of epsilon, as in PyTorch
                for position, beta in enumerate(given.get("betas", ())[:2]):
                    if not 0.0 <= number(beta) < 1.0:
                        raise ValueError(f"Invalid beta parameter at index {position}: {beta}")

    def _begin(self, p: Array, group: Group) -> State:
        """The initial state of a parameter, without the step count."""
        return zeros(p, *self._state.split())

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        """The numbers in the formulas at step t, as 0-d arrays of the parameters' dtype."""
        raise NotImplementedError

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        """Update the parameter ``p`` in place by its gradient ``g``, without a change of ``g``."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name in self._later.split():
                group.setdefault(name, NOT_FALSE.get(name, False))
            for p in group["params"]:
                held = self.state.get(p) or {}
                for name in self._counters:
                    if name in held and not isinstance(held[name], Tensor):
                        held[name] = counter(held[name])

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters with a gradient; see `Optimizer.step`."""
        loss = None if closure is None else evaluate(closure)
        writer = (f"{type(self).__name__}.step", current_site())
        for group in self.param_groups:
            key: Any = None  # the step and the dtype of `numbers`
            numbers: Numbers = ()
            alike = self._counters == ("step",) and not group.get("capturable")
            flat = flat_group_of(self, group) if alike else None
            if flat is not None and flat.counts:
                numbers = self._numbers(group, flat.count(), flat.array.dtype)
                times = self._apply(flat.array, flat.grad, flat.state, group, numbers)
                flat.note(group["params"], times, writer)
                continue
            for p in group["params"]:
                if p._grad is None:
                    continue
                state = self.state[p] or self._start(p, group)
                if group.get("capturable"):
                    raise AssertionError("capturable=True is for parameters on accelerators")
                count, dtype = state["step"]._array, p._array.dtype
                t = count.item() + 1
                count[()] = t
                if key != (t, dtype):
                    key, numbers = (t, dtype), self._numbers(group, t, dtype)
                p._cell[0] += self._apply(p._array, p._grad._array, state, group, numbers)
                p._cell[1] = writer
        return loss

    def _apply(self, p: Array, g: Array, state: State, group: Group, numbers: Numbers) -> int:
        """Update ``p`` in place, with decay; returns the number of writes by PyTorch's count."""
        decay = number(group.get("weight_decay", 0)) if self._decaying else 0
        decoupled = bool(decay and group.get("decoupled_weight_decay"))
        if group["maximize"]:
            g = -g
        if decoupled:
            p *= scalar(1 - number(group["lr"]) * decay, p.dtype)
        elif decay:
            g = g + p * scalar(decay, p.dtype)
        self._update(p, g, state, numbers)
        return self._writes + decoupled

    def _start(self, p: Tensor, group: Group) -> State:
        """Create the state of a parameter, in one write so that Ctrl-C leaves all or nothing."""
        self.state[p] = {"step": counter(0.0), **self._begin(p._array, group)}
        return self.state[p]


def zeros(p: Array, *names: str) -> State:
    """State of the shape and memory order of ``p``, all zeros."""
    return {name: wrap(np.zeros_like(p)) for name in names}


def accumulate(average: Array, g: Array, keep: Array, gain: Array) -> None:
    """``average ← keep · average + gain · g²``, in place."""
    average *= keep
    scaled = g * gain
    scaled *= g
    average += scaled


def approach_factor(gain: float, dtype: np.dtype) -> tuple[bool, Array]:
    """The ``gain`` for `approach`: whether the average is the start, and a factor."""
    near = gain < 0.5
    return near, scalar(gain if near else 1 - gain, dtype)


def approach(average: Array, g: Array, gain: tuple[bool, Array]) -> None:
    """``average ← average + gain · (g - average)``, in place, from the end with less rounding."""
    near, share = gain
    difference = g - average
    difference *= share
    if near:
        average += difference
    else:
        np.subtract(g, difference, average)


# The rules.


class SGD(Rule):
    """Stochastic gradient descent, with optional momentum.

    For the gradient g of a parameter p, each step computes

        g ← g + weight_decay · p
        b ← momentum · b + (1 - dampening) · g      (b ← g in the first step)
        p ← p - lr · b                              (nesterov: p ← p - lr · (g + momentum · b))

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        momentum: the weight of the old buffer b, at least 0. Default: 0.
        dampening: the part of the gradient that b leaves out. Default: 0.
        nesterov: step along the gradient plus momentum; needs momentum, no dampening.

    Reference:
        Sutskever, Martens, Dahl and Hinton, On the importance of initialization and momentum in
        deep learning, ICML 2013; the momentum here is not multiplied by the learning rate.
    """

    _options = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
    _later = "nesterov maximize foreach differentiable"

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, momentum: float = 0,
        dampening: float = 0, weight_decay: float | Tensor = 0, nesterov: bool = False, *,
        maximize: bool = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _check(self, given: dict[str, Any]) -> None:  # nan passes, as in PyTorch
        check_one_number(given["lr"])
        if number(given["lr"]) < 0.0:
            raise ValueError(f"Invalid learning rate: {given['lr']}")
        for name in ("momentum", "weight_decay"):
            if given[name] < 0.0:
                raise ValueError(f"Invalid {name} value: {given[name]}")
        if given["nesterov"] and (given["momentum"] <= 0 or given["dampening"] != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("fused", False)  # not None, as in PyTorch

    def step(self, closure: Closure | None = None) -> Any:
        """Update the parameters with a gradient; see `Optimizer.step`."""
        loss = None if closure is None else evaluate(closure)
        writer = ("SGD.step", current_site())
        for group in self.param_groups:
            lr, momentum = group["lr"], group["momentum"]
            if isinstance(lr, Tensor):
                lr = number(lr)
            kind = rate = None  # the dtype of the learning rate as an array, and this array
            plain = not (momentum or group["weight_decay"] or group["maximize"])
            flat = None if plain else flat_group_of(self, group)
            if flat is not None and (not momentum or "momentum_buffer" in flat.state):
                g = step_direction(flat.array, flat.grad, flat.state, group)
                np.multiply(g, factor(lr, g.dtype), flat.grad)
                np.subtract(flat.array, flat.grad, flat.array)
                flat.note(group["params"], 1, writer)
                continue
            for p in group["params"]:
                if p._grad is not None:
                    array, g = p._array, p._grad._array
                    if not plain:
                        g = step_direction(array, g, self.state[p] if momentum else {}, group)
                    if rate is None or array.dtype != kind:
                        kind, rate = array.dtype, factor(lr, array.dtype)
                    np.subtract(array, g * rate, array)
                    cell = p._writes or p._cell
                    cell[0] += 1
                    cell[1] = writer
        return loss


def step_direction(p: Array, g: Array, state: dict[str, Any], group: Group) -> Array:
    """The direction of a step of ``p``: its gradient ``g`` with decay and momentum."""
    dtype, momentum, dampening = p.dtype, group["momentum"], group["dampening"]
    decay = number(group["weight_decay"])
    if group["maximize"]:
        g = -g
    if decay:
        g = (g + p * factor(decay, dtype)).astype(dtype, copy=False)
    if not momentum:
        return g
    if state.get("momentum_buffer") is None:
        state["momentum_buffer"] = wrap(np.array(g))
        held = state["momentum_buffer"]._array
    else:
        held = state["momentum_buffer"]._array
        held *= scalar(momentum, dtype)
        held += g * factor(1 - dampening, dtype) if dampening else g
    if not group["nesterov"]:
        return held
    return (g + held * factor(momentum, dtype)).astype(dtype, copy=False)


class Adam(Rule):
    """Adam: steps in units of the gradient's running mean over its running root mean square.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p          (decoupled: p ← p - lr · weight_decay · p instead)
        m ← β₁ m + (1 - β₁) g
        v ← β₂ v + (1 - β₂) g²            (amsgrad: below, v is the greatest v so far)
        p ← p - lr / (1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + eps)

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        betas: the weights β₁ and β₂ of the old averages, in [0, 1). Default: (0.9, 0.999).
        eps: added to the denominator, at least 0. Default: 1e-8.
        amsgrad: divide by the greatest v so far. Default: False.

    Reference:
        Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1;
        Reddi, Kale and Kumar, On the Convergence of Adam and Beyond, ICLR 2018 (amsgrad).
    """

    _options = (
        "lr betas eps weight_decay amsgrad maximize foreach capturable differentiable fused"
        " decoupled_weight_decay"
    )
    _later = "amsgrad maximize foreach capturable differentiable decoupled_weight_decay fused"

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _check(self, given: dict[str, Any]) -> None:
        super()._check(given)
        betas = given["betas"]
        fits = not isinstance(given["lr"], Tensor) or not given["foreach"] or given["capturable"]
        message = "lr as a Tensor is not supported for capturable=False and foreach=True"
        require_value(fits, message)
        alike = any(all(isinstance(beta, kind) for beta in betas) for kind in (float, Tensor))
        require_value(alike, "betas must be either both floats or both Tensors")
        for position, beta in enumerate(betas):
            one = not isinstance(beta, Tensor) or beta.numel() == 1
            require_value(one, "Tensor betas[{}] must be 1-element", position)

    def _begin(self, p: Array, group: Group) -> State:
        return zeros(p, "exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else []))

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        lr, (beta1, beta2) = group["lr"], group["betas"]
        tensors = isinstance(beta1, Tensor)
        if tensors or isinstance(lr, Tensor) or isinstance(beta2, Tensor):
            lr, beta1, beta2 = number(lr), number(beta1), number(beta2)
        if tensors:  # which PyTorch rounds in other places
            power1, power2 = (b * b * b if t == 3 else b**t for b in (beta1, beta2))
            first, rate = beta1.astype(dtype), 1 / (1 - power1) * -lr
        else:
            first, power2, rate = beta1, beta2**t, -lr / (1 - beta1**t)
        return (
            scalar(1 - first, dtype), scalar(beta2, dtype), scalar(1 - beta2, dtype),
            scalar(group["eps"], dtype), np.array((1 - power2) ** 0.5, dtype),
            np.array(rate, dtype), group["amsgrad"],
        )  # fmt: skip

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain1, beta2, gain2, eps, root, step, amsgrad = numbers
        m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
        m += (g - m) * gain1
        v *= beta2
        v += g * gain2 * g
        if amsgrad:
            greatest = state["max_exp_avg_sq"]._array
            v = np.maximum(greatest, v, out=greatest)
        scale = np.sqrt(v)
        scale /= root
        scale += eps
        p += m * step / scale


class AdamW(Adam):
    """Adam with decoupled weight decay, which affects the parameters but not the moments.

    The arguments are those of `Adam`; ``weight_decay`` is 1e-2 by default.

    Reference:
        Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2.
    """

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        Rule.__init__(self, params, {**locals(), "decoupled_weight_decay": True})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:  # the state may be one of Adam's
            group["decoupled_weight_decay"] = True


class Adadelta(Rule):
    """Adadelta: steps in units of past steps over past gradients, which need no learning rate.

    For the gradient g of a parameter p, each step computes

        g ← g + weight_decay · p
        v ← rho · v + (1 - rho) g²
        d ← √(u + eps) / √(v + eps) · g
        u ← rho · u + (1 - rho) d²
        p ← p - lr · d

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        rho: the weight of the old running averages, in [0, 1]. Default: 0.9.
        eps: added to the denominator, at least 0. Default: 1e-6.

    Reference:
        Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012.
    """

    _options = "lr rho eps weight_decay maximize capturable foreach differentiable"
    _state = "square_avg acc_delta"

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6,
        weight_decay: float = 0, foreach: bool | None = None, *, capturable: bool = False,
        maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        rho = group["rho"]
        return scalars(dtype, rho, 1 - rho, group["eps"], -number(group["lr"]))

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        rho, gain, eps, step = numbers
        v, u = state["square_avg"]._array, state["acc_delta"]._array
        accumulate(v, g, rho, gain)
        d = np.sqrt(u + eps)
        d /= np.sqrt(v + eps)
        d *= g
        accumulate(u, d, rho, gain)
        d *= step
        p += d


class Adagrad(Rule):
    """Adagrad: steps in units of the root of the sum of all squared gradients.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p
        s ← s + g²
        p ← p - lr / (1 + (t - 1) lr_decay) · g / (√s + eps)

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        lr_decay: the strength of the learning rate's decay, at least 0. Default: 0.
        initial_accumulator_value: the initial value of the sum s, at least 0. Default: 0.
        eps: added to the denominator, at least 0. Default: 1e-10.

    Reference:
        Duchi, Hazan and Singer, Adaptive Subgradient Methods for Online Learning and Stochastic
        Optimization, JMLR 12, 2011.
    """

    _options = (
        "lr lr_decay eps weight_decay initial_accumulator_value foreach maximize differentiable"
        " fused"
    )
    _later = "foreach maximize differentiable fused"

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, lr_decay: float = 0,
        weight_decay: float = 0, initial_accumulator_value: float = 0, eps: float = 1e-10,
        foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())
        for group in self.param_groups:  # before there are gradients, as in PyTorch
            for p in group["params"]:
                self._start(p, group)

    def _begin(self, p: Array, group: Group) -> State:
        return {"sum": wrap(np.full_like(p, self.defaults["initial_accumulator_value"]))}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        step = -number(group["lr"]) / (1 + (t - 1) * group["lr_decay"])
        return scalars(dtype, group["eps"], step)

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        eps, step = numbers
        total = state["sum"]._array
        total += g * g
        scale = np.sqrt(total)
        scale += eps
        p += g * step / scale


class Adamax(Rule):
    """Adamax: Adam with the greatest decayed gradient instead of the root mean square.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p
        m ← β₁ m + (1 - β₁) g
        u ← max(β₂ u, |g| + eps)
        p ← p - lr / (1 - β₁ᵗ) · m / u

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        betas: the weights β₁ and β₂ of the old averages, in [0, 1). Default: (0.9, 0.999).
        eps: added to the denominator, at least 0. Default: 1e-8.

    Reference:
        Kingma and Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 2.
    """

    _options = "lr betas eps weight_decay foreach maximize differentiable capturable"
    _state = "exp_avg exp_inf"

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 2e-3,
        betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        foreach: bool | None = None, *, maximize: bool = False, differentiable: bool = False,
        capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        beta1, beta2 = map(number, group["betas"])
        step = -number(group["lr"]) / (1 - beta1**t)
        return approach_factor(1 - beta1, dtype), *scalars(dtype, beta2, group["eps"], step)

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain, beta2, eps, step = numbers
        m, u = state["exp_avg"]._array, state["exp_inf"]._array
        approach(m, g, gain)
        u *= beta2
        magnitude = np.abs(g)
        magnitude += eps
        np.maximum(u, magnitude, out=u)
        p += m * step / u


class ASGD(Rule):
    """Averaged stochastic gradient descent.

    The state ``ax`` holds the average of the parameter since step ``t0``. For the gradient g of a
    parameter p, step t computes

        g ← g + weight_decay · p
        p ← p - lambd · η · p - η · g           (η is lr in the first step)
        a ← a + μ (p - a)                       (μ is 1 in the first step)
        η ← lr / (1 + lambd · lr · t)^alpha
        μ ← 1 / max(1, t - t0)

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        lambd: the strength of the decay, at least 0. Default: 1e-4.
        alpha: the power in the learning rate's decay, at least 0. Default: 0.75.
        t0: the step where averaging begins. Default: 1e6.

    Reference:
        Polyak and Juditsky, Acceleration of Stochastic Approximation by Averaging, SIAM Journal
        on Control and Optimization 30, 1992.
    """

    _options = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
    _counters = ("step", "eta", "mu")
    _writes = 2

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, lambd: float = 1e-4,
        alpha: float = 0.75, t0: float = 1e6, weight_decay: float = 0, foreach: bool | None = None,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _begin(self, p: Array, group: Group) -> State:
        return {"eta": counter(number(group["lr"])), "mu": counter(1.0), **zeros(p, "ax")}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        lr, lambd = number(group["lr"]), group["lambd"]
        eta = lr / (1 + lambd * lr * t) ** group["alpha"]
        return lambd, eta, 1 / max(1, t - group["t0"])

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        lambd, next_eta, next_mu = numbers
        eta, mu, average = (state[name]._array for name in ("eta", "mu", "ax"))
        step = eta.item()
        p *= scalar(1 - lambd * step, p.dtype)
        p -= g * scalar(step, p.dtype)
        if mu.item() == 1:
            np.copyto(average, p)
        else:
            average += (p - average) * mu.astype(p.dtype)
        eta[()] = next_eta
        mu[()] = next_mu


class NAdam(Rule):
    """NAdam: Adam with Nesterov's momentum, which also looks ahead along the gradient.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p        (decoupled: p ← p - lr · weight_decay · p instead)
        μ ← β₁ (1 - ½ 0.96^(t · momentum_decay)),  μ' ← the same for t + 1
        Π ← Π μ
        m ← β₁ m + (1 - β₁) g
        v ← β₂ v + (1 - β₂) g²
        d ← √(v / (1 - β₂ᵗ)) + eps
        p ← p - lr (1 - μ) / (1 - Π) · g / d - lr μ' / (1 - Π μ') · m / d

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        betas: the weights β₁ and β₂ of the old averages, in [0, 1). Default: (0.9, 0.999).
        eps: added to the denominator, at least 0. Default: 1e-8.
        momentum_decay: the strength of the momentum's schedule, at least 0. Default: 4e-3.

    Reference:
        Dozat, Incorporating Nesterov Momentum into Adam, ICLR 2016 workshop.
    """

    _options = (
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay maximize foreach"
        " capturable differentiable"
    )
    _later = "maximize foreach capturable differentiable decoupled_weight_decay"
    _counters = ("step", "mu_product")
    _writes = 2

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 2e-3,
        betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _begin(self, p: Array, group: Group) -> State:
        return {"mu_product": counter(1.0), **zeros(p, "exp_avg", "exp_avg_sq")}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        beta1, beta2 = map(number, group["betas"])
        decay = group["momentum_decay"]
        mus = [beta1 * (1.0 - 0.5 * 0.96 ** (n * decay)) for n in (t, t + 1)]
        fixed = scalars(dtype, beta2, 1 - beta2, 1 - beta2**t, group["eps"])
        return approach_factor(1 - beta1, dtype), *fixed, *mus, number(group["lr"])

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain1, beta2, gain2, correction, eps, mu, next_mu, lr = numbers
        m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
        approach(m, g, gain1)
        accumulate(v, g, beta2, gain2)
        d = np.sqrt(v / correction)
        d += eps
        products = state["mu_product"]._array
        products *= scalar(mu, products.dtype)
        product = products.item()  # per parameter, because betas may change between steps
        p += g * scalar(-lr * (1.0 - mu) / (1.0 - product), p.dtype) / d
        p += m * scalar(-lr * next_mu / (1.0 - product * next_mu), p.dtype) / d


class RAdam(Rule):
    """RAdam: Adam whose first steps are plain momentum, until the variance estimate is reliable.

    For the gradient g of a parameter p, step t computes

        g ← g + weight_decay · p        (decoupled: p ← p - lr · weight_decay · p instead)
        m ← β₁ m + (1 - β₁) g
        v ← β₂ v + (1 - β₂) g²
        N ← 2 / (1 - β₂) - 1,  n ← N - 2 t β₂ᵗ / (1 - β₂ᵗ)
        r ← √((n - 4)(n - 2) N / ((N - 4)(N - 2) n))
        p ← p - lr · m / (1 - β₁ᵗ) · r √(1 - β₂ᵗ) / (√v + eps)      (if n > 5; else
        p ← p - lr · m / (1 - β₁ᵗ))

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        betas: the weights β₁ and β₂ of the old averages, in [0, 1). Default: (0.9, 0.999).
        eps: added to the denominator, at least 0. Default: 1e-8.

    Reference:
        Liu, Jiang, He, Chen, Liu, Gao and Han, On the Variance of the Adaptive Learning Rate and
        Beyond, ICLR 2020, algorithm 2; the threshold is 5, not 4.
    """

    _options = (
        "lr betas eps weight_decay maximize foreach capturable decoupled_weight_decay"
        " differentiable"
    )
    _state = "exp_avg exp_avg_sq"
    _later = "foreach maximize differentiable decoupled_weight_decay capturable"

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3,
        betas: Betas = (0.9, 0.999), eps: float = 1e-8, weight_decay: float = 0,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        beta1, beta2 = map(number, group["betas"])
        correction = 1 - beta2**t
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * t * beta2**t / correction
        known = length > 5.0
        rectified = (length - 4) * (length - 2) * longest if known else 0.0
        rectified /= (longest - 4) * (longest - 2) * length if known else 1.0
        return (
            approach_factor(1 - beta1, dtype),
            *scalars(dtype, beta2, 1 - beta2, group["eps"], 1 - beta1**t, -number(group["lr"])),
            scalar((correction * rectified) ** 0.5, dtype) if known else None,
        )

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        gain1, beta2, gain2, eps, correction, lr, scale = numbers
        m, v = state["exp_avg"]._array, state["exp_avg_sq"]._array
        approach(m, g, gain1)
        accumulate(v, g, beta2, gain2)
        step = m / correction
        step *= lr
        if scale is not None:
            d = np.sqrt(v)
            d += eps
            step *= scale / d
        p += step


class RMSprop(Rule):
    """RMSprop: steps in units of the gradient's running root mean square.

    For the gradient g of a parameter p, each step computes

        g ← g + weight_decay · p
        v ← alpha · v + (1 - alpha) g²
        m ← alpha · m + (1 - alpha) g               (centered: below, v is v - m²)
        b ← momentum · b + g / (√v + eps)           (without momentum: b ← g / (√v + eps))
        p ← p - lr · b

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        alpha: the weight of the old running averages, at least 0. Default: 0.99.
        eps: added to the denominator, at least 0. Default: 1e-8.
        momentum: the weight of the old buffer b, at least 0. Default: 0.
        centered: divide by the standard deviation instead. Default: False.

    Reference:
        Tieleman and Hinton, Lecture 6.5, COURSERA: Neural Networks for Machine Learning, 2012;
        Graves, Generating Sequences With Recurrent Neural Networks, 2013 (centered).
    """

    _options = (
        "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    )
    _later = "momentum centered foreach maximize differentiable capturable"

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, alpha: float = 0.99,
        eps: float = 1e-8, weight_decay: float = 0, momentum: float = 0, centered: bool = False,
        capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _check(self, given: dict[str, Any]) -> None:
        order = ("lr", "eps", "momentum", "weight_decay", "alpha")
        super()._check({name: given[name] for name in order})

    def _begin(self, p: Array, group: Group) -> State:
        momentum = ["momentum_buffer"] if group["momentum"] > 0 else []
        return zeros(p, "square_avg", *momentum, *(["grad_avg"] if group["centered"] else []))

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        alpha, momentum = group["alpha"], group["momentum"]
        alphas = scalars(dtype, alpha, 1 - alpha)
        centering = approach_factor(1 - alpha, dtype) if group["centered"] else None
        eps, step = scalars(dtype, group["eps"], -number(group["lr"]))
        return *alphas, centering, eps, scalar(momentum, dtype) if momentum > 0 else None, step

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        alpha, gain, centering, eps, momentum, step = numbers
        v = state["square_avg"]._array
        accumulate(v, g, alpha, gain)
        if centering is not None:
            m = state["grad_avg"]._array
            approach(m, g, centering)
            v = v - np.where(v == np.inf, np.abs(m), m * m)  # no inf - inf for a finite m
        scale = np.sqrt(v)
        scale += eps
        if momentum is None:
            p += g * step / scale
            return
        b = state["momentum_buffer"]._array
        b *= momentum
        b += g / scale
        p += b * step


class Rprop(Rule):
    """Resilient backpropagation: a step size per element, and only the signs of the gradient.

    For the gradient g of a parameter p, each step computes

        s ← η⁺ s  where g has the sign of the previous gradient,  η⁻ s  where it has the other;
            clamped to [least step size, greatest step size]
        g ← 0     where it has the other sign
        p ← p - sign(g) · s

    Args:
        params, lr, weight_decay and other options: see `Optimizer`.
        etas: η⁻ and η⁺, 0 < η⁻ < 1 < η⁺. Default: (0.5, 1.2).
        step_sizes: the least and the greatest step size. Default: (1e-6, 50).

    Reference:
        Riedmiller and Braun, A Direct Adaptive Method for Faster Backpropagation Learning: The
        RPROP Algorithm, ICNN 1993.
    """

    _options = "lr etas step_sizes foreach maximize differentiable capturable"
    _decaying = False

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2), step_sizes: tuple[float, float] = (1e-6, 50), *,
        capturable: bool = False, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, locals())

    def _check(self, given: dict[str, Any]) -> None:
        super()._check(given)
        low, high = given["etas"][:2]
        require_value(0.0 < low < 1.0 < high, "Invalid eta values: {}, {}", low, high)

    def _begin(self, p: Array, group: Group) -> State:
        return {**zeros(p, "prev"), "step_size": wrap(np.full_like(p, number(group["lr"])))}

    def _numbers(self, group: Group, t: float, dtype: np.dtype) -> Numbers:
        return scalars(dtype, *group["etas"], *group["step_sizes"], 1.0)

    def _update(self, p: Array, g: Array, state: State, numbers: Numbers) -> None:
        shrink, grow, least, greatest, same = numbers
        before, size = state["prev"]._array, state["step_size"]._array
        agreement = g * before
        turned = agreement < 0
        size *= np.where(turned, shrink, np.where(agreement > 0, grow, same))
        np.maximum(size, least, out=size)
        np.minimum(size, greatest, out=size)
        np.copyto(before, g)
        before[turned] = 0
        p -= sign(before) * size
