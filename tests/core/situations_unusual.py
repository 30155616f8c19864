"""Functions with unusual arguments: what comes of them, or what is said."""

from typing import Any

from tests.answers import raised


def names_of_no_complex_numbers(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(3, 2)
    return [
        torch.get_device(x), x.get_device(), torch.is_conj(x), torch.is_neg(x),
        torch.conj_physical_(x) is x, x.conj_physical_() is x, raised(torch.is_conj, 3),
    ]  # fmt: skip


def relaid_in_place(torch: Any) -> Any:
    x = torch.arange(6.0).reshape(3, 2)
    base = torch.arange(6.0)
    part = base[1:4]
    same = torch.as_strided_(base, (2, 2), (1, 2)) is base
    leaf = torch.ones(3, 2, requires_grad=True)
    made = leaf * 2
    made.as_strided_((2, 2), (1, 2), 1)
    node = type(made.grad_fn).__name__
    made.sum().backward()
    return [
        x.as_strided_((2, 2), (1, 2), 1), same, base, part, node, leaf.grad,
        raised(x.as_strided_, (9, 9), (1, 1)), raised(leaf.as_strided_, (2,), (1,)),
        torch.resize_as_(x, torch.zeros(1, 2)) is x, x.shape,
    ]  # fmt: skip


def anomaly_mode_by_its_other_name(torch: Any) -> Any:
    answers = []
    for given in ((True,), (True, False), (False,)):
        answers.append(torch.set_anomaly_enabled(*given))
        answers += [torch.is_anomaly_enabled(), torch.is_anomaly_check_nan_enabled()]
    torch.set_anomaly_enabled(False, True)
    return answers


def rows_of_a_table(torch: Any) -> Any:
    w = torch.arange(6.0).reshape(3, 2).requires_grad_()
    torch.embedding(w, torch.tensor([0, 2, 2]), 2).sum().backward()
    return [
        torch.embedding(w, torch.tensor([0, 2])), w.grad, raised(torch.embedding, w, [1]),
        torch.embedding(w, torch.tensor([0, 1]), padding_idx=-7),
        raised(torch.embedding, w, torch.tensor([5])),
        raised(torch.embedding, w, torch.tensor([0.5])),
    ]  # fmt: skip
