"""Random counts are PyTorch's, from the same seed, and take as many numbers of the stream."""

import json
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch

GOLDEN: list[Any] = json.loads(
    (Path(__file__).parents[1] / "golden" / "counts.json").read_text("utf-8")
)


@pytest.mark.parametrize(
    "entry", GOLDEN, ids=lambda e: f"{e[1]}-{e[0]}-{'-'.join(str(v) for v in e[2])}"
)
def test_as_pytorch(entry: Any) -> None:
    kind, name, parameters, drawn, following = entry
    torch.manual_seed(7)
    shape = (len(drawn),)
    given = [torch.full(shape, value, dtype=getattr(torch, kind)) for value in parameters]
    out = getattr(torch, name)(*given)
    assert out.dtype is getattr(torch, kind)
    assert out.tolist() == drawn
    assert torch.rand(1).item() == following


def test_a_generator_of_its_own() -> None:
    generator = torch.Generator().manual_seed(3)
    rates = torch.full((5,), 4.0)
    state = torch.get_rng_state()
    first = torch.poisson(rates, generator=generator)
    assert torch.equal(state, torch.get_rng_state())
    assert torch.equal(first, torch.poisson(rates, generator=generator.manual_seed(3)))


def test_rates_get_zeros_for_a_gradient() -> None:
    rates = torch.full((3,), 2.0, requires_grad=True)
    out = torch.poisson(rates)
    assert type(out.grad_fn).__name__ == "PoissonBackward0"
    out.sum().backward()
    assert rates.grad.tolist() == [0.0, 0.0, 0.0]


def test_errors() -> None:
    with pytest.raises(RuntimeError, match=r"^invalid Poisson rate, expected rate to be non-neg"):
        torch.poisson(torch.tensor([-1.0]))
    with pytest.raises(NotImplementedError, match=r"poisson_cpu.*'Long'"):
        torch.poisson(torch.tensor([1]))
    with pytest.raises(ValueError, match="binomial only supports floating-point dtypes for count"):
        torch.binomial(torch.tensor([1]), torch.tensor([0.5]))
    with pytest.raises(RuntimeError, match="Found dtype Double but expected Float"):
        torch.binomial(torch.tensor([1.0]), torch.tensor([0.5], dtype=torch.float64))
