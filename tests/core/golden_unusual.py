"""Functions with unusual arguments: what comes of them, or what is said."""

from typing import Any

from tests.answers import raised


def names_of_no_complex_numbers(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(3, 2)
    return [
        torch.get_device(x), x.get_device(),
    ]  # fmt: skip


def relaid_in_place(torch: Any) -> Any:
    x, base = torch.arange(6.0).reshape(3, 2), torch.arange(6.0)
    part = base[1:4]
    base.resize_(2, 2)
    return [
        base, part,
        torch.resize_as_(x, torch.zeros(1, 2)) is x, x.shape,
    ]  # fmt: skip


def anomaly_mode_by_its_other_name(torch: Any) -> Any:
    for given in ((True,), (True, False), (False,)):
        yield torch.set_anomaly_enabled(*given)
        yield from [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    torch.set_anomaly_enabled(False, True)


def a_flag_that_is_no_bool(torch: Any) -> Any:
    x = torch.ones(2)
    made = [
        (torch.zeros, 2), (torch.ones, 2), (torch.empty, 2), (torch.tensor, [1.0]),
        (torch.full, (2,), 1.0), (torch.zeros_like, x), (torch.full_like, x, 1),
        (x.new_zeros, 2), (x.new_tensor, [1.0]), (x.new_full, (2,), 1.0),
    ]  # fmt: skip
    told = [raised(f, *args, requires_grad=flag) for f, *args in made for flag in (1, "x")]

    def given(flag: Any) -> None:
        torch.ones(2).requires_grad = flag

    return [
        *told, torch.zeros(2, requires_grad=None), raised(x.requires_grad_, 1),
        raised(x.requires_grad_, None), raised(given, 1), raised(given, None),
        raised(torch.nn.Parameter, x, 1), raised(torch.nn.Parameter, x, requires_grad=None),
        *(raised(f, 2, requires_grad=1).split("(")[0] for f in (torch.rand, torch.eye)),
    ]  # fmt: skip


def dropout_of_integers(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.tensor([1, 2, 3])
    return [
        raised(f.dropout, x, 0.5), f.dropout(x, 0.5, training=False), f.dropout(x, 0.0),
        f.dropout(x, 1.0), raised(f.dropout, x > 1, 0.5), raised(f.dropout, x, 0.5, inplace=True),
    ]  # fmt: skip


def tolerances_below_zero(torch: Any) -> Any:
    check, x = torch.autograd.gradcheck, torch.ones(2, dtype=torch.float64, requires_grad=True)
    return [
        raised(check, torch.sin, (x,), atol=-1.0), raised(check, torch.sin, (x,), rtol=-1e-3),
        raised(check, torch.sin, (x,), atol=float("nan")),
        raised(check, torch.sin, (x,), atol=-1.0, raise_exception=False),
        raised(torch.autograd.gradgradcheck, torch.sin, (x,), atol=-1.0),
    ]  # fmt: skip


def a_word_that_no_checkpoint_knows(torch: Any) -> Any:
    checkpoint, x = torch.utils.checkpoint.checkpoint, torch.ones(2, requires_grad=True)
    return [
        raised(checkpoint, torch.sin, x, use_reentrant=False, determinism_check=word)
        for word in ("none", "default", "x", 3)
    ]
