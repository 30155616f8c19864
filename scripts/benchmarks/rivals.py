"""Other libraries that differentiate: how each does a step of the `losses`.

A library that is not installed, or does not work with this NumPy, is left out. Each runs as its
users run it for speed: JAX and tinygrad compile the step, and MyGrad's memory guard is off.
"""

import importlib
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.problems import MOMENTUM, Array, Step

Arrays = Sequence[Array]
Loss = Callable[..., Any]  # (rival, parameters, *data) -> loss


class Rival:
    """A library: its own names for the mathematics, and its way to train.

    Attributes:
        name: the name in the tables.
        module: the module to import.
        before_import: code that must run before the import.
        longest: the longest chain of operations that it compiles within seconds; 0: no compiler.
    """

    name = ""
    module = ""
    before_import = ""
    longest = 0

    def __init__(self) -> None:
        self.lib: Any = importlib.import_module(self.module)

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        """An affine map; the weight has shape (in, out)."""
        return x @ weight + bias

    def tanh(self, x: Any) -> Any:
        return self.lib.tanh(x)

    def relu(self, x: Any) -> Any:
        return self.lib.maximum(x, 0)

    def sum(self, x: Any) -> Any:
        return self.lib.sum(x)

    def mse(self, z: Any, y: Any) -> Any:
        return self.lib.mean((z - y) ** 2)

    def bce(self, z: Any, y: Any) -> Any:
        """Binary cross entropy of logits."""
        return self.lib.mean(self.lib.logaddexp(0.0, z) - z * y)

    def cross_entropy(self, z: Any, hot: Any) -> Any:
        """Softmax cross entropy with one-hot targets."""
        shifted = z - self.lib.max(z, axis=1, keepdims=True)
        logs = self.lib.log(self.lib.sum(self.lib.exp(shifted), axis=1))
        return self.lib.mean(logs - self.lib.sum(shifted * hot, axis=1))

    def step(self, loss: Loss, parameters: Arrays, data: Arrays, lr: float) -> Step:
        """A function that does one step and returns the loss."""
        raise NotImplementedError


class Updates:
    """SGD with momentum on NumPy arrays, in place, for libraries without an optimizer."""

    def __init__(self, parameters: Arrays, lr: float) -> None:
        self.parameters = parameters
        self.velocities = [np.zeros_like(p) for p in parameters]
        self.momentum, self.lr = np.float32(MOMENTUM), np.float32(lr)

    def __call__(self, gradients: Arrays) -> None:
        for p, v, g in zip(self.parameters, self.velocities, gradients, strict=True):
            v *= self.momentum
            v += g
            p -= self.lr * v


class Autograd(Rival):
    name = "autograd"
    module = "autograd.numpy"

    def step(self, loss: Loss, parameters: Arrays, data: Arrays, lr: float) -> Step:
        autograd = importlib.import_module("autograd")
        own = list(parameters)
        gradient = autograd.value_and_grad(lambda p: loss(self, p, *data))
        update = Updates(own, lr)

        def step() -> Any:
            value, gradients = gradient(own)
            update(gradients)
            return value

        return step


class Jax(Rival):
    name = "JAX jit"
    module = "jax.numpy"
    longest = 1000

    def __init__(self) -> None:
        with one_processor():
            super().__init__()
            self.jax = importlib.import_module("jax")
            self.jax.devices()

    def step(self, loss: Loss, parameters: Arrays, data: Arrays, lr: float) -> Step:
        jax, arrays = self.jax, [self.lib.asarray(array) for array in data]

        def update(p: list[Any], v: list[Any], *arrays: Any) -> Any:
            value, gradients = jax.value_and_grad(lambda q: loss(self, q, *arrays))(p)
            v = [MOMENTUM * b + g for b, g in zip(v, gradients, strict=True)]
            return value, [q - lr * b for q, b in zip(p, v, strict=True)], v

        compiled = jax.jit(update, donate_argnums=(0, 1))
        p = [self.lib.asarray(array) for array in parameters]
        state = [p, [self.lib.zeros_like(q) for q in p]]

        def step() -> Any:
            value, *state[:] = compiled(*state, *arrays)
            return value.block_until_ready()

        return step


@contextmanager
def one_processor() -> Any:
    """A block that sees one processor, if OPENBLAS_NUM_THREADS is 1.

    XLA starts a thread for each processor that the process may run on, and has no option for it.
    """
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1" or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


class MyGrad(Rival):
    name = "MyGrad"
    module = "mygrad"

    def __init__(self) -> None:
        super().__init__()
        self.lib.turn_memory_guarding_off()
        self.losses = importlib.import_module("mygrad.nnet.losses")
        self.activations = importlib.import_module("mygrad.nnet.activations")

    def relu(self, x: Any) -> Any:
        return self.activations.relu(x)

    def cross_entropy(self, z: Any, hot: Any) -> Any:
        return self.losses.softmax_crossentropy(z, hot.argmax(1))

    def step(self, loss: Loss, parameters: Arrays, data: Arrays, lr: float) -> Step:
        tensors = [self.lib.tensor(array, copy=False) for array in parameters]
        update = Updates([t.data for t in tensors], lr)

        def step() -> Any:
            value = loss(self, tensors, *data)
            value.backward()
            update([t.grad for t in tensors])
            return value

        return step


class DeZero(Rival):
    name = "DeZero"
    module = "dezero.functions"
    before_import = "import numpy; numpy.int = int"  # NumPy had this name until 1.23

    def __init__(self) -> None:
        vars(np)["int"] = int
        try:
            super().__init__()
        finally:
            del vars(np)["int"]

    def linear(self, x: Any, weight: Any, bias: Any) -> Any:
        return self.lib.linear(x, weight, bias)

    def relu(self, x: Any) -> Any:
        return self.lib.relu(x)

    def mse(self, z: Any, y: Any) -> Any:
        return self.lib.mean_squared_error(z, y)

    def bce(self, z: Any, y: Any) -> Any:
        """Binary cross entropy of probabilities: DeZero has no stable form for logits."""
        return self.lib.binary_cross_entropy(self.lib.sigmoid(z), y)

    def cross_entropy(self, z: Any, hot: Any) -> Any:
        return self.lib.softmax_cross_entropy(z, hot.argmax(1))

    def step(self, loss: Loss, parameters: Arrays, data: Arrays, lr: float) -> Step:
        dezero = importlib.import_module("dezero")
        variables = [dezero.Parameter(array) for array in parameters]
        optimizer = importlib.import_module("dezero.optimizers").MomentumSGD(lr, MOMENTUM)
        layer = dezero.Layer()
        for i, variable in enumerate(variables):
            setattr(layer, f"p{i}", variable)
        optimizer.setup(layer)

        def step() -> Any:
            layer.cleargrads()
            value = loss(self, variables, *data)
            value.backward()
            optimizer.update()
            return value

        return step


class Tinygrad(Rival):
    name = "tinygrad"
    module = "tinygrad"
    longest = 100

    def __init__(self) -> None:
        if not shutil.which(os.environ.get("CC", "clang")):
            raise ImportError("tinygrad computes on the CPU with clang only")
        threads = os.environ.get("OPENBLAS_NUM_THREADS", "1")
        os.environ.update(DEV="CPU", TRAINING="1", NUM_CPU_THREADS=threads)
        super().__init__()

    def tanh(self, x: Any) -> Any:
        return x.tanh()

    def relu(self, x: Any) -> Any:
        return x.relu()

    def sum(self, x: Any) -> Any:
        return x.sum()

    def mse(self, z: Any, y: Any) -> Any:
        return ((z - y) ** 2).mean()

    def bce(self, z: Any, y: Any) -> Any:
        return z.binary_crossentropy_logits(y)

    def cross_entropy(self, z: Any, hot: Any) -> Any:
        return z.cross_entropy(hot)

    def step(self, loss: Loss, parameters: Arrays, data: Arrays, lr: float) -> Step:
        tensor, lib = self.lib.Tensor, self.lib
        own = [tensor(array).realize() for array in parameters]
        arrays = [tensor(array).realize() for array in data]
        optimizer = importlib.import_module("tinygrad.nn.optim").SGD(own, lr, MOMENTUM)
        device = lib.Device[lib.Device.DEFAULT]

        def update() -> Any:
            optimizer.zero_grad()
            value = loss(self, own, *arrays).backward()
            return value.realize(*optimizer.schedule_step())

        compiled = lib.TinyJit(update)

        def step() -> Any:
            value = compiled()
            device.synchronize()
            return value

        return step


RIVALS: tuple[type[Rival], ...] = (Autograd, MyGrad, DeZero, Jax, Tinygrad)


def installed() -> list[Rival]:
    """The rivals that can be imported."""
    found = []
    for kind in RIVALS:
        try:
            found.append(kind())
        except ImportError:
            continue
    return found
