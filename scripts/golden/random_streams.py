"""Write `tests/golden/random_streams.json`: PyTorch's random numbers. Run it where torch is.

Each sequence is a seed and calls of `Generator` methods that follow one another, each with its
arguments, a digest of the result's bytes and the first few numbers. The calls are chosen from a
fixed seed, so another run writes the same file.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import math
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np

TARGET = Path(__file__).parents[2] / "tests" / "golden" / "random_streams.json"
FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64"]
SIZES = [0, 1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 100, 623, 624, 625, 1000]
Call = dict[str, Any]

TEN: Call = {"shape": 10, "dtype": "float32"}
HALVES, BYTES = {"dtype": "float16"}, {"dtype": "uint8"}
PLAIN: Call = {"mean": 0.0, "std": 1.0, "contiguous": True}
# Calls that torch refuses.
WRONG: list[tuple[str, Call]] = [
    ("uniform", {"low": 3.0, "high": 1.0}),
    ("uniform", {"low": -1e39, "high": 1.0}),
    ("uniform", {"low": 0.0, "high": math.inf}),
    ("uniform", {"low": -6e4, "high": 6e4} | HALVES),
    ("uniform", {"low": -3e38, "high": 3e38}),
    ("uniform", {"low": 0.0, "high": 1.0, "dtype": "int64"}),
    ("normal", PLAIN | {"std": -1.5}),
    ("normal", PLAIN | BYTES),
    ("integers", {"low": 5, "high": 5}),
    ("integers", {"low": 0, "high": 257} | BYTES),
    ("integers", {"low": -1, "high": 5} | BYTES),
    ("integers", {"low": 0, "high": 3, "dtype": "bool"}),
    ("integers", {"low": 0, "high": 70000} | HALVES),
    ("integers", {"low": 2999, "high": 3000} | HALVES),
    ("permutation", {"n": -1, "dtype": "int64"}),
    ("permutation", {"n": 257, "dtype": "uint8"}),
    ("permutation", {"n": 3000, "dtype": "float16"}),
    ("permutation", {"n": 2**24 + 2, "dtype": "float32"}),
    ("permutation", {"n": 3, "dtype": "bool"}),
    ("bernoulli", {"p": 1.5}),
    ("bernoulli", {"p": math.nan}),
    ("bernoulli", {"p": [1], "p_dtype": "int64"}),
    ("exponential", {"rate": 0.0}),
    ("exponential", {"rate": 1.0, "dtype": "int32"}),
]
WRONG_WEIGHTS: list[tuple[Any, int, bool]] = [
    ([[1.0, -1.0]], 1, False),
    ([[1.0, -1.0]], 2, True),
    ([[1.0, math.inf]], 2, True),
    ([[0.0, 0.0]], 2, False),
    ([1.0, 1.0], 3, False),
    ([1.0, 1.0], 0, False),
    ([[[1.0]]], 1, False),
]

torch: Any = importlib.import_module("torch")


def digest(data: bytes) -> str:
    """A short name for long bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def libm_probe() -> str:
    """A digest of the C library's functions, whose last bits differ between platforms."""
    points = [i / 1024.0 for i in range(1, 1024)]
    functions = (math.log, math.log1p, math.exp, math.cos, math.sin, math.tan)
    return digest(np.array([[f(x) for x in points] for f in functions]).tobytes())


def empty(call: Call) -> Any:
    """An uninitialised tensor of the call's shape and dtype."""
    return torch.empty(call["shape"], dtype=getattr(torch, call["dtype"]))


def draw(method: str, call: Call, g: Any) -> Any:
    """PyTorch's result for nanotorch's `Generator.method(**call)`."""
    if method == "uniform":
        return empty(call).uniform_(call["low"], call["high"], generator=g)
    if method == "normal":
        if call["contiguous"]:
            return empty(call).normal_(call["mean"], call["std"], generator=g)
        wide = empty(call | {"shape": 2 * call["shape"]})
        return wide[::2].normal_(call["mean"], call["std"], generator=g).clone()
    if method == "integers":
        return empty(call).random_(call["low"], call["high"], generator=g)
    if method == "naturals":
        return empty(call).random_(generator=g)
    if method == "permutation":
        return torch.randperm(call["n"], dtype=getattr(torch, call["dtype"]), generator=g)
    if method == "bernoulli":
        p = call["p"]
        if isinstance(p, list):
            p = torch.tensor(p, dtype=getattr(torch, call["p_dtype"]))
        return empty(call).bernoulli_(p, generator=g)
    if method == "exponential":
        return empty(call).exponential_(call["rate"], generator=g)
    weights = torch.tensor(call["weights"], dtype=getattr(torch, call["weights_dtype"]))
    return torch.multinomial(weights, call["num_samples"], call["replacement"], generator=g)


def choose_floats(rng: random.Random) -> tuple[str, Call]:
    """A call that draws from a continuous distribution."""
    call: Call = {"shape": rng.choice(SIZES), "dtype": rng.choice(FLOATS)}
    method = rng.choice(["uniform", "normal", "normal", "normal", "exponential"])
    usual = rng.random() < 0.5
    middle, width = round(rng.uniform(-3, 3), 3), round(rng.uniform(0.1, 4), 3)
    if method == "uniform":
        low, high = (0.0, 1.0) if usual else (middle - width, middle)
        return method, call | {"low": low, "high": high}
    if method == "normal":
        mean, std = (0.0, 1.0) if usual else (middle, width)
        return method, call | {"mean": mean, "std": std, "contiguous": rng.random() < 0.8}
    return method, call | {"rate": 1.0 if usual else width}


def choose_integers(rng: random.Random) -> Call:
    """A range that may be as wide as the dtype, or wider than a float counts."""
    dtype = rng.choice(INTEGERS + FLOATS)
    limits = np.finfo(dtype) if dtype in FLOATS else np.iinfo(dtype)
    first, last = max(int(limits.min) // 2, -(2**63)), min(int(limits.max) // 2, 2**62)
    low = rng.randint(first, last - 1)
    # Wide enough that a float of this size has a number in the range.
    high = min(low + abs(low) // 1000 + int(10 ** rng.uniform(0.6, 18)), last)
    call = {"low": low, "high": high, "shape": rng.choice(SIZES), "dtype": dtype}
    return call | {"high": None, "low": 1} if rng.random() < 0.2 else call


def choose_discrete(rng: random.Random) -> tuple[str, Call]:
    """A call that draws integers, truths or indices."""
    method = rng.choice(
        [
            "integers",
            "naturals",
            "permutation",
            "bernoulli",
            "bernoulli",
            "multinomial",
        ]
    )
    call: Call = {"shape": rng.choice(SIZES), "dtype": rng.choice(INTEGERS + FLOATS)}
    if method == "integers":
        return method, choose_integers(rng)
    if method == "permutation":
        return method, {"n": rng.choice([0, 1, 2, 50, 128]), "dtype": call["dtype"]}
    if method == "bernoulli":
        if rng.random() < 0.5:
            return method, call | {"p": rng.choice([0.0, 1.0, 0.5, 0.3])}
        p = [round(rng.random(), 2) for _ in range(5)]
        return method, call | {"shape": 5, "p": p, "p_dtype": rng.choice(FLOATS)}
    if method == "multinomial":
        weights = [[rng.randint(1, 9) / 4 for _ in range(6)] for _ in range(2)]
        dtype, count = rng.choice(FLOATS[1:]), rng.randint(1, 6)
        replacement = rng.random() < 0.5
        return method, {
            "weights": weights,
            "weights_dtype": dtype,
            "num_samples": count,
            "replacement": replacement,
        }
    return method, call


def sequence(seed: int, rng: random.Random, length: int) -> dict[str, Any]:
    """Calls one after another on one generator; the state after them in short."""
    generator = torch.Generator().manual_seed(seed)
    calls = []
    for _ in range(length):
        method, call = choose_floats(rng) if rng.random() < 0.6 else choose_discrete(rng)
        result = draw(method, call, generator).numpy()
        first = [float(str(x)) if result.dtype.kind == "f" else int(x) for x in result.flat[:3]]
        calls.append([method, call, digest(result.tobytes()), first])
    state = digest(generator.get_state().numpy().tobytes())
    return {"seed": seed, "calls": calls, "state": state}


def stretch(seed: int, rng: random.Random, length: int) -> dict[str, Any]:
    """Many draws without the C library's functions; all numbers and the state after them in short.

    Most are small, so that the twister runs ahead of them; a few are long, or put the others out of
    step.
    """
    generator = torch.Generator().manual_seed(seed)
    calls, numbers = [], hashlib.sha256()
    for _ in range(length):
        method = rng.choice(["normal", "normal", "normal", "uniform", "bernoulli", "naturals"])
        sizes = [16, 16, 16, 64, 100, 1000, 4096] if method == "normal" else [1, 16, 32, 33]
        size = 6000 if rng.random() < 0.01 else rng.choice(sizes)
        call = TEN | {"shape": size, "p": 0.5, "low": 0.0, "high": 1.0} | PLAIN
        calls.append([method, size])
        numbers.update(draw(method, call, generator).numpy().tobytes())
    state = digest(generator.get_state().numpy().tobytes())
    return {"seed": seed, "calls": calls, "numbers": numbers.hexdigest()[:16], "state": state}


def layouts() -> list[dict[str, Any]]:
    """Fills in place of arrays whose axes were permuted and thinned."""
    cases = []
    for shape, axes, step in (((3, 4), [1, 0], 1), ((2, 3, 8), [2, 0, 1], 2), ((5, 6), [0, 1], 2)):
        for method in ("uniform_", "normal_"):
            array = torch.zeros(shape).permute(axes)[..., ::step]
            getattr(array, method)(generator=torch.Generator().manual_seed(0))
            case = {"shape": shape, "axes": axes, "step": step, "method": method[:-1]}
            cases.append(case | {"digest": digest(array.numpy().tobytes())})
    return cases


def errors() -> list[Any]:
    """PyTorch's errors for the calls that it refuses."""
    wrong = [(method, call if method == "permutation" else TEN | call) for method, call in WRONG]
    for weights, count, replacement in WRONG_WEIGHTS:
        call = {"weights": weights, "num_samples": count, "replacement": replacement}
        wrong.append(("multinomial", call | {"weights_dtype": "float32"}))
    found = []
    for method, call in wrong:
        try:
            draw(method, call, None)
        except (RuntimeError, NotImplementedError) as error:
            found.append([method, call, type(error).__name__, str(error)])
    assert len(found) == len(wrong)
    return found


def exchange() -> dict[str, Any]:
    """A full state, with a spare normal in it, and PyTorch's draws from there."""
    generator = torch.Generator().manual_seed(2**64 - 5)
    torch.randn(701, generator=generator)
    torch.randn(3, generator=generator)
    state = base64.b64encode(generator.get_state().numpy().tobytes()).decode()
    return {"state": state, "randn": torch.randn(5, generator=generator).tolist()}


def main() -> None:
    """Write everything."""
    warnings.simplefilter("ignore")  # torch warns of integers that floats cannot tell apart.
    rng = random.Random(0)
    seeds = [0, 1, 42, 2**32, 2**63, 2**64 - 1, -1, -(2**63), *(rng.getrandbits(64) for _ in "12")]
    sequences = [sequence(seed, rng, 40) for seed in seeds]
    parts = {"libm": libm_probe(), "exchange": exchange(), "layouts": layouts(), "errors": errors()}
    parts["stretches"] = [stretch(seed, rng, 400) for seed in (0, 1)]
    lines = [f'"{name}":{json.dumps(part)}' for name, part in parts.items()]
    body = ",\n".join(json.dumps(one, separators=(",", ":")) for one in sequences)
    TARGET.write_text("{" + ",\n".join(lines) + f',\n"sequences":[\n{body}\n]}}\n', "utf-8")
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
