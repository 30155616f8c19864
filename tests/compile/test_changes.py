"""What a replay depends on may change between calls; it then does what the step would do."""

import importlib
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn, optim
from nanotorch.compile.tape import holders
from nanotorch.nn import functional as F
from tests.compile.beside import array, behind, caught, compare, flat, usual
from tests.several import uncollected

SCALE = 2.0


def small() -> Any:
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.2), nn.BatchNorm1d(8), nn.Linear(8, 2))
    optimizer = optim.Adam(model.parameters(), lr=0.01)
    return usual(model, optimizer, lambda x, y: F.mse_loss(model(x), y))


def batch(n: int) -> Any:
    rows = 3 if n % 5 == 4 else 6
    return array(rows, 4, seed=n), array(rows, 2, seed=100 + n)


def test_a_trace_holds_nothing_once_it_is_over() -> None:
    """Gradients that somebody held would have to be copied at every step, by a further plan."""
    with uncollected():
        step = compare(small, calls=16, arguments=batch)
    assert len(step.report().plans) == 2, str(step.report())


def test_an_argument_may_lie_where_a_gradient_of_before_lay() -> None:
    step = compare(small, calls=16, arguments=batch)
    own = behind(step)
    kept = [t for state in own.optimizer.state.values() for t in state.values()]
    lasting = [t._array for t in (*own.model.parameters(), *own.model.buffers(), *kept)]
    for plan in step.report.__self__.plans:
        assert plan.known == holders(lasting)


def test_many_arguments() -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(*parts: Any) -> Any:
            optimizer.zero_grad()
            loss = sum(model(x).pow(2).sum() for x in parts)
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: [*model.parameters(), *model.buffers()]

    compare(make, arguments=lambda n: tuple([array(5, 4, seed=20 * n + i) for i in range(20)]))


def test_batches_cut_from_a_data_set() -> None:
    x, y = array(20, 4), array(20, 2, seed=1)

    def cut(n: int) -> Any:
        at = 4 * n % 20
        return x[at : at + 4], y[at : at + 4]

    compare(small, calls=12, arguments=cut)


def test_columns_of_other_strides() -> None:
    def cut(n: int) -> Any:
        return array(4, 6, seed=n).T if n % 2 else array(6, 4, seed=n), array(6, 2)

    compare(small, calls=10, arguments=cut)


def test_learning_rates_take_effect() -> None:
    def schedule(n: int, step: Any) -> None:
        for group in behind(step).optimizer.param_groups:
            group["lr"] = 0.1 / (n + 1)
            if n == 6:
                group["weight_decay"] = 0.1
            if n == 9:
                group["betas"] = (0.5, 0.9)

    step = compare(small, calls=14, arguments=batch, between=schedule)
    assert len(step.report().plans) <= 4


def test_training_and_evaluation() -> None:
    def switch(n: int, step: Any) -> None:
        behind(step).model.train(n % 4 < 2)

    compare(small, calls=16, arguments=lambda n: (array(6, 4, seed=n), array(6, 2)), between=switch)


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_evaluation_functions(mode: Any) -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2)).eval()

        @mode()
        def evaluate(x: Any) -> Any:
            return model(x).argmax(1), model(x).max()

        return evaluate, lambda: list(model.parameters())

    compare(make, arguments=lambda n: (array(6, 4, seed=n),))


def test_gradients_accumulate() -> None:
    def make() -> Any:
        model = nn.Linear(4, 2)

        def step(x: Any) -> Any:
            loss = model(x).pow(2).mean()
            loss.backward()
            return loss

        step.model = model  # type: ignore[attr-defined]
        return step, lambda: list(model.parameters())

    def clear(n: int, step: Any) -> None:
        if n % 4 == 0:
            behind(step).model.zero_grad()

    compare(make, calls=16, arguments=lambda n: (array(6, 4, seed=n),), between=clear)


def test_gradients_that_are_zeroed_not_dropped() -> None:
    def make() -> Any:
        model = nn.Linear(4, 2)
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step() -> Any:
            optimizer.zero_grad(set_to_none=False)
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss

        x = array(5, 4)
        return step, lambda: list(model.parameters())

    compare(make)


def test_clipping_by_hand() -> None:
    def make() -> Any:
        model = nn.Linear(4, 2)
        optimizer, x = optim.SGD(model.parameters(), lr=0.1), array(5, 4)

        def step() -> Any:
            optimizer.zero_grad()
            loss = model(x).pow(2).sum() * 10
            loss.backward()
            with torch.no_grad():
                total = torch.sqrt(sum((p.grad**2).sum() for p in model.parameters()))
                factor = torch.clamp(1.0 / (total + 1e-6), max=1.0)
                for p in model.parameters():
                    p.grad.mul_(factor)
            optimizer.step()
            return loss, total

        return step, lambda: list(model.parameters())

    compare(make)


def test_steps_by_hand() -> None:
    def make() -> Any:
        w, b = array(2, 4).requires_grad_(), torch.zeros(2, requires_grad=True)
        x, y = array(5, 4, seed=1), array(5, 2, seed=2)

        def step() -> Any:
            loss = ((x @ w.T + b - y) ** 2).mean()
            loss.backward()
            with torch.no_grad():
                for p in (w, b):
                    p -= 0.1 * p.grad
                    p.grad = None
            return loss

        return step, lambda: [w, b]

    compare(make)


def test_a_kept_loss_and_a_kept_gradient_stay() -> None:
    step, state = small()
    compiled = torch.compile(step, fullgraph=True)
    x, y = batch(0)
    losses, grads, seen = [], [], []
    for _ in range(8):
        losses.append(compiled(x, y))
        grads.append([p.grad for p in state() if p.grad is not None])
        seen.append(flat([losses[-1], *grads[-1]]))
    assert [flat([loss, *held]) for loss, held in zip(losses, grads, strict=True)] == seen


def test_a_gradient_held_as_a_view_or_array_stays() -> None:
    step, state = small()
    compiled = torch.compile(step, fullgraph=True)
    x, y = batch(0)
    for _ in range(5):
        compiled(x, y)
    weight = state()[0]
    for hold in (lambda g: g[0], lambda g: g.numpy(), lambda g: g.detach(), lambda g: g.T):
        held = hold(weight.grad)
        before = held.tolist()
        compiled(x, y)
        assert held.tolist() == before
        compiled(x, y)
        assert held.tolist() == before


def test_a_global_number_that_changes() -> None:
    def make() -> Any:
        w = array(3).requires_grad_()

        def step() -> Any:
            w.grad = None
            loss = (w * SCALE).sum()
            loss.backward()
            return loss

        return step, lambda: [w]

    def change(n: int, step: Any) -> None:
        globals()["SCALE"] = 2.0 if n < 5 else 3.0

    step = compare(make, calls=12, between=change)
    assert len(step.report().plans) == 2, str(step.report())


def test_a_parameter_whose_memory_or_flag_changes() -> None:
    def change(n: int, step: Any) -> None:
        model = behind(step).model
        if n == 5:
            model[0].weight.data = model[0].weight.data * 2
        if n == 8:
            model[0].bias.requires_grad_(False)
        if n == 11:
            model.load_state_dict({k: v * 0.5 for k, v in model.state_dict().items()})

    compare(small, calls=15, arguments=lambda n: (array(6, 4), array(6, 2)), between=change)


def test_a_layer_that_is_replaced_and_a_new_group() -> None:
    def make() -> Any:
        model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
        optimizer = optim.SGD([*model[0].parameters()], lr=0.1)
        return usual(model, optimizer, lambda x, y: F.mse_loss(model(x), y))

    def change(n: int, step: Any) -> None:
        own = behind(step)
        if n == 5:
            own.model[1] = nn.ReLU()
        if n == 9:
            own.optimizer.add_param_group({"params": list(own.model[2].parameters()), "lr": 0.01})

    compare(make, calls=14, arguments=lambda n: (array(6, 4), array(6, 2)), between=change)


def test_a_hook_that_is_added() -> None:
    def change(n: int, step: Any) -> None:
        own = behind(step)
        if n == 5:
            own.model[0].register_forward_hook(lambda module, args, out: out * 2)
        if n == 9:
            own.model[3].weight.register_hook(lambda g: g * 0.5)

    compare(small, calls=14, arguments=lambda n: (array(6, 4), array(6, 2)), between=change)


def test_a_number_that_differs_each_time_is_given_up() -> None:
    w = array(3).requires_grad_()
    step = torch.compile(lambda factor: (w.detach() * factor).sum())
    warned = caught(lambda: [step(float(n)) for n in range(12)])
    assert len(warned) == 1
    assert "anew" in warned[0]
    assert step(3.0).item() == (w.detach() * 3.0).sum().item()


def test_the_loss_of_a_replay_cannot_go_backward_again() -> None:
    step, _ = small()
    compiled = torch.compile(step, fullgraph=True)
    for _ in range(5):
        loss = compiled(*batch(0))
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        loss.backward()


def test_retained_gradients_and_views_in_place() -> None:
    def make() -> Any:
        w, x = array(4, 4).requires_grad_(), array(3, 4, seed=1)

        def step() -> Any:
            w.grad = None
            h = x @ w
            h.retain_grad()
            g = h * 2
            g[:, 0] = 0.0
            g[1].mul_(3.0)
            loss = g.sum() + h.pow(2).sum()
            loss.backward()
            return loss, h.grad

        return step, lambda: [w]

    compare(make)


def test_what_is_made_inside() -> None:
    def make() -> Any:
        w = array(4).requires_grad_()

        def step() -> Any:
            w.grad = None
            scale = torch.tensor([1.0, 2.0, 3.0, 4.0])
            noise = torch.randn(4) + torch.zeros(4) + torch.arange(4)
            loss = (w * scale + noise).pow(2).mean()
            loss.backward()
            return loss, noise

        return step, lambda: [w]

    compare(make)


def test_memory_does_not_grow() -> None:
    import tracemalloc

    step, _ = small()
    compiled = torch.compile(step, fullgraph=True)
    x, y = batch(0)
    for _ in range(20):
        compiled(x, y)
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(200):
        compiled(x, y)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 4096


def test_two_shapes_by_turns_need_no_new_look(monkeypatch: Any) -> None:
    looks: list[Any] = []
    compiler = importlib.import_module("nanotorch.compile.compiler")
    original = compiler.Guards.of
    monkeypatch.setattr(compiler.Guards, "of", lambda *given: looks.append(1) or original(*given))

    def count(n: int, step: Any) -> None:
        if n == 20:
            looks.clear()

    step = compare(small, calls=40, arguments=batch, between=count)
    assert len(step.report().plans) == 2, str(step.report())
    assert not looks
