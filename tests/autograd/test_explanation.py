"""`explain`: what happens forward and backward, step by step, as texts and on a page."""
# ruff: noqa: RUF001 - the texts have multiplication signs

import gc
import json
import re
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import nanotorch as torch
from nanotorch import nn
from nanotorch._core import doors
from nanotorch.autograd import explain, make_dot
from nanotorch.autograd.explanation import FOLD
from nanotorch.autograd.graph_view import LONGEST
from nanotorch.train.config.load import load_config
from nanotorch.train.runs.run import build_experiment
from tests.autograd.golden_function import make
from tests.several import each

LARGEST = 1_000_000  # bytes of a page


def leaf(value: Any) -> torch.Tensor:
    return torch.tensor(value, requires_grad=True)


def facts(page: explain, kind: str, title: str = "") -> list[str]:
    """What is told of a kind, in all steps or in those at nodes of one name."""
    steps = (step for step in page.steps if title in step.title)
    return [text for step in steps for name, text in step.facts if name == kind]


def shown_on(page: explain, what: str) -> list[dict[str, Any]]:
    """The steps or the pictures in the text of a page."""
    found = re.search(r"const \{ steps, pictures \} = (.*);\n", page.html)
    assert found is not None
    return list(json.loads(found[1])[what])


def of_a_textbook() -> explain:
    x, y = leaf(4.0), leaf(3.0)
    z = x * x + torch.sin(2 * y)
    return explain(z)


def of_a_training_step() -> explain:
    task = build_experiment(load_config("bce_classification", ()))
    x, y = next(iter(task.batches(0)))
    model, criterion = task.model, task.loss
    with explain() as page:
        loss = criterion(model(x), y)
        loss.backward()
    return page


def of_a_second_derivative() -> explain:
    x = leaf(2.0)
    with explain() as page:
        y = x**3
        (slope,) = torch.autograd.grad(y, x, create_graph=True)
        slope.backward()
    return page


def of_a_write_to_a_view() -> explain:
    x, w = leaf([1.0, 2.0, 3.0]), leaf(5.0)
    with explain() as page:
        y = x * 2
        part = y[1:]
        part.mul_(w)
        y.sum().backward()
    return page


def test_bfloat16_is_told_as_its_numbers() -> None:
    x = torch.tensor([1.1, 2.2], dtype=torch.bfloat16, requires_grad=True)
    with explain() as page:
        (x * 3).sum().backward()
    assert "x × 3.0 = [1.1016, 2.2031] × 3.0 = [3.3047, 6.6094]" in facts(page, "computes")
    assert make_dot(x * 3, values=True).source.count("[1.1016, 2.2031]") == 1


PAGES = [of_a_textbook, of_a_training_step, of_a_second_derivative, of_a_write_to_a_view]


def test_a_textbook() -> None:
    page = of_a_textbook()
    phases = [step.phase for step in page.steps]
    assert phases == ["forward"] * 4 + ["backward pass 1"] * 6
    order = [step.title for step in page.steps[4:]]
    assert order == [
        "+ AddBackward0", "sin SinBackward0", "× MulBackward0", "y AccumulateGrad",
        "× MulBackward0", "x AccumulateGrad",
    ]  # fmt: skip
    assert facts(page, "computes")[:3] == [
        "x × x = 16.0",
        "y × 2.0 = 6.0",
        "sin(y × 2.0) = -0.27942",
    ]
    assert facts(page, "saves") == [
        "other = 4.0, input = 4.0",
        "other = 2.0",
        "input = 6.0",
        "nothing",
    ]
    cosine = "∂L/∂(y × 2.0) = g · cos(input) = 1.0 × cos(6.0) = 0.96017"
    assert facts(page, "formula", "Sin")[1] == cosine
    assert "∂L/∂y = g · other = 0.96017 × 2.0 = 1.9203" in facts(page, "formula")
    assert facts(page, "frees") == ["input", "other", "other, input"]
    assert "4.0 + 4.0 = 8.0 to x" in facts(page, "sends")
    assert facts(page, "accumulates") == ["y.grad = 1.9203", "x.grad = 8.0"]
    where, source = page.steps[0].where
    assert where.startswith("tests/autograd/test_explanation.py:")
    assert source == "z = x * x + torch.sin(2 * y)"


def test_values_in_boxes_are_as_short_as_in_the_picture() -> None:
    page = explain((torch.full((2, 4), 1 / 3, requires_grad=True) * 7).sum())
    texts = [text for step in shown_on(page, "steps") for *_, text in step["changes"]]
    assert max(map(len, texts)) <= LONGEST
    picture = shown_on(page, "pictures")[0]["svg"]
    assert all(text in picture for text in texts)


def test_it_is_the_backward_pass_itself() -> None:
    x = leaf([1.0, 2.0])
    loss = (x.exp() * x).sum()
    explain(loss)
    expected = x.grad.tolist()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        explain(loss)
    x.grad = None
    (x.exp() * x).sum().backward()
    assert x.grad.tolist() == expected


def test_variables_tell_what_the_graph_does_not_keep() -> None:
    x = leaf(3.0)
    first = x + 1
    loss = (first - 2 * x) ** 2
    page = explain(loss)
    assert facts(page, "computes", "Add") == ["x + … = 4.0"]
    assert facts(page, "computes", "Sub") == ["first − (x × 2.0) = -2.0"]
    assert "∂L/∂first = g = -4.0" in facts(page, "formula", "Sub")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("k / v", "k ÷ v = [8.0, 4.0]"),
        ("k ** v", "k ** v = [256.0, 65536.0]"),
        ("torch.tensor([4.0, 4.0]) - v", "… − v = [2.0, 0.0]"),
        ("torch.tensor([4.0, 4.0]) * v", "[4.0, 4.0] × v = [8.0, 16.0]"),
        ("5 - v", "rsub(v, …) = [3.0, 1.0]"),
        ("-2 * v", "v × (-2.0) = [-4.0, -8.0]"),
        ("torch.where(k > 0, v, k)", "where([True, True], v, …) = [2.0, 4.0]"),
        ("torch.clamp(v, max=k)", "clamp(v, …, k) = [2.0, 4.0]"),
        ("torch.cat((k, v))", "cat((…, v), dim=0) = [16.0, 16.0, 2.0, 4.0]"),
        ("torch.addmm(k, w, w)", "addmm(…, w, w) = [[23.0, 26.0], [31.0, 38.0]]"),
        ("w.reshape(4)", "view(w, size=…) = [1.0, 2.0, 3.0, 4.0]"),
    ],
)
def test_constants_that_the_graph_keeps_and_others(expression: str, text: str) -> None:
    v, w, k = leaf([2.0, 4.0]), leaf([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([16.0, 16.0])
    out = eval(expression, {"torch": torch, "v": v, "w": w, "k": k})
    assert facts(explain(out.sum()), "computes")[0] == text


def test_an_operand_that_was_broadcast() -> None:
    x, b, c = torch.tensor([[1.0, 2.0, 3.0]] * 2), leaf(2.0), leaf([1.0, 2.0, 3.0])
    with explain() as page:
        (b * x + c).sum().backward()
    ones = "[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]"
    assert "∂L/∂b = sum(g · other)" in facts(page, "formula")
    assert f"∂L/∂c = sum_to_size(g, (3,)) = sum_to_size({ones}, (3,)) = [2.0, 2.0, 2.0]" in facts(
        page, "formula"
    )
    assert facts(page, "accumulates") == ["c.grad = [2.0, 2.0, 2.0]", "b.grad = 12.0"]
    sent = "[2.0, 2.0, 2.0] to c"
    assert sent in facts(page, "sends")


def test_a_training_step() -> None:
    page = of_a_training_step()
    (loss,) = facts(page, "formula", "BinaryCrossEntropy")[1:]
    assert "· (sigmoid(input) - target)" in loss
    assert [t for t in facts(page, "accumulates") if t.startswith("model.2.bias.grad = [")]
    (bias,) = (
        t for t in facts(page, "formula") if t.startswith("∂L/∂model.2.bias = s") and "= [" in t
    )
    assert bias.startswith("∂L/∂model.2.bias = sum_to_size(scale_array(g, beta), (")
    assert page.steps[0].where[1].startswith("loss = criterion(model(")


def test_a_second_derivative() -> None:
    page = of_a_second_derivative()
    phases = list(dict.fromkeys(step.phase for step in page.steps))
    recorded = "forward, recorded by a backward pass"
    assert phases == ["forward", "backward pass 1", recorded, "backward pass 2"]
    begins = "saved values are kept; it is recorded, for create_graph=True"
    assert facts(page, "begins") == [begins, "saved values are freed once they are used"]
    assert facts(page, "returns") == ["12.0"]
    assert facts(page, "accumulates") == ["x.grad = 12.0"]
    assert "∂L/∂x = g · (exponent · input) = 3.0 × (2 × 2.0) = 12.0" in facts(page, "formula")


def test_a_write_to_a_view() -> None:
    page = of_a_write_to_a_view()
    written = ["mul_(a view of y, w), so y = [2.0, 20.0, 30.0]"]
    assert facts(page, "computes", "CopySlices") == written
    assert facts(page, "saves", "CopySlices") == ["other = 5.0, input = [4.0, 6.0]"]
    of_write = "∂L/∂w = sum(g · input) = sum([1.0, 1.0] × [4.0, 6.0]) = 10.0"
    of_rest = "∂L/∂y = g, where the view is not = [1.0, 5.0, 5.0]"
    assert facts(page, "formula", "CopySlices")[2:] == [of_rest, of_write]
    assert facts(page, "accumulates") == ["w.grad = 10.0", "x.grad = [2.0, 10.0, 10.0]"]


def test_hooks_and_retained_gradients_where_they_act() -> None:
    x = leaf(3.0)

    def halve(g: torch.Tensor) -> torch.Tensor:
        return g / 2

    def look(*args: Any) -> None:
        pass

    x.register_hook(halve)
    x.register_post_accumulate_grad_hook(look)
    with explain() as page:
        y = x * 2
        y.retain_grad()
        y.register_hook(halve)
        y.grad_fn.register_hook(look)
        (y * 4).backward()
    assert facts(page, "hooks", "× Mul") == ["halve: g becomes 2.0", "afterwards: look"]
    assert facts(page, "retains") == ["grad = 2.0"]
    assert facts(page, "hooks", "AccumulateGrad") == ["halve: g becomes 2.0", "afterwards: look"]
    assert facts(page, "arrives", "AccumulateGrad") == ["g = 4.0"]
    assert facts(page, "accumulates") == ["x.grad = 2.0"]


def test_gradients_add_up() -> None:
    x = leaf(3.0)
    x.grad = torch.tensor(1.0)
    with explain() as page:
        y = x * 1
        (y + y * 5).backward()
    assert "1.0 + 5.0 = 6.0 to y" in facts(page, "sends")
    assert facts(page, "accumulates") == ["x.grad = 1.0 + 6.0 = 7.0"]


def test_a_pass_that_fails_ends_where_it_failed() -> None:
    x = leaf([1.0, 2.0])
    y = x.exp()
    loss = (y * 3).sum()
    y.add_(1)
    told = pytest.warns(UserWarning, match="No forward pass information")
    with told, pytest.raises(RuntimeError, match="inplace"), explain() as page:
        loss.backward()
    assert page.steps[-1].title == "exp ExpBackward0"
    assert facts(page, "fails")[0].startswith("one of the variables needed for gradient")
    assert not doors.nodes


def test_functions_of_the_users_own() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x**3

    function = make(torch, forward, lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    x = leaf(2.0)
    with explain() as page:
        function.apply(x).backward()
    assert facts(page, "computes") == ["Mine(x) = Mine(2.0) = 8.0"]
    assert facts(page, "saves") == ["saved[0] = 2.0"]
    assert facts(page, "formula")[1] == "∂L/∂x = Mine.backward(ctx, g) = 12.0"
    assert facts(page, "frees") == ["saved[0]"]


def test_values_packed_by_the_user_are_left_alone() -> None:
    x = leaf(2.0)
    calls: list[Any] = []
    unpack = lambda t: calls.append(t) or t  # noqa: E731 - a hook
    with explain() as page, torch.autograd.graph.saved_tensors_hooks(lambda t: t, unpack):
        x.exp().backward()
    assert len(calls) == 1, "unpacked for more than the formula"
    assert facts(page, "accumulates") == ["x.grad = 7.3891"]


def test_transforms_and_layers_with_many_outputs() -> None:
    with explain() as page:
        slopes = torch.func.vmap(torch.func.grad(lambda v: (v**2).sum()))(torch.ones(4, 3))
        out, _ = nn.LSTM(3, 4)(torch.ones(5, 2, 3))
        out.sum().backward()
    assert slopes.tolist() == [[2.0] * 3] * 4
    assert shown_on(page, "pictures")


def test_inside_of_each_other_is_refused() -> None:
    with explain(), pytest.raises(RuntimeError, match="already watching"), explain():
        pass
    with pytest.raises(TypeError, match="takes a Tensor, got float"):
        explain(1.0)


def test_it_keeps_nothing_alive() -> None:
    x = leaf(1.0)
    with explain() as page:
        y = x.exp()
        y.backward()
    gone = [weakref.ref(x), weakref.ref(y), weakref.ref(y.grad_fn)]
    del x, y
    gc.collect()
    assert [ref() for ref in gone] == [None] * 3
    assert "exp ExpBackward0" in page.html


def test_large_graphs_are_folded_by_module() -> None:
    block = nn.Sequential(nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3), nn.Tanh())
    model = nn.Sequential(*(nn.Sequential(*block, nn.ReLU()) for _ in range(5)), nn.Linear(3, 1))
    with explain() as page:
        loss = model(torch.ones(2, 3)).square().sum()
        loss.backward()
    assert len(page.graph.boxes) > FOLD
    found = shown_on(page, "pictures")
    names = [picture["name"] for picture in found]
    assert names == ["", "Sequential", *(f"Sequential.{k}" for k in range(6))]
    assert [picture["parent"] for picture in found] == [-1, 0, 1, 1, 1, 1, 1, 1]
    outer = found[0]["svg"]
    assert outer.count('data-kind="module"') == 1
    drawn = "".join(picture["svg"] for picture in found)
    for number, _ in enumerate(page.graph.boxes):
        assert drawn.count(f'data-key="{number}"') == 1


@pytest.mark.parametrize("make", PAGES)
def test_one_file_without_links(make: Callable[[], explain], tmp_path: Path) -> None:
    pages = []
    for _ in range(2):  # programs that are alike give one page
        torch.manual_seed(0)
        pages.append(make())
    page, again = pages
    text = Path(page.save(tmp_path / "new" / "page.html")).read_text("utf-8")
    assert text == again.html
    assert len(text.encode()) < LARGEST
    assert "<!DOCTYPE html>" in text
    assert set(re.findall(r"https?://[^\\\\\"' ]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert page._repr_html_().startswith("<iframe srcdoc=")


@pytest.mark.slow
def test_every_operation_is_explained() -> None:
    """That changes no gradient; and all can be told and drawn, watched or not."""
    from tests.ops.checks import assert_same_bits, gradients, outputs_with_grad
    from tests.ops.test_table import DIFFERENTIATED

    def check_explained(case: Any) -> None:
        with explain() as page:
            seen = gradients(case.call("float64"), create_graph=False)
        torch.manual_seed(0)  # as `each` does before
        assert_same_bits(seen, gradients(case.call("float64"), create_graph=False), "gradient")
        assert page.html
        assert make_dot(outputs_with_grad(case.call("float64")), values=True).svg

    each(DIFFERENTIATED, check_explained)


# In a browser.


READ = "document.querySelector('aside').innerText"
LIT = "[...document.querySelectorAll('.lit')].map(box => box.textContent).join()"
COLOUR = "getComputedStyle(document.body).backgroundColor"


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    pytest.importorskip("PIL")
    pytest.importorskip("matplotlib")
    from scripts import pictures as script

    if script.CHROMIUM is None:
        pytest.skip("needs Chromium")
    with script.browser() as page:
        yield page


def show(page: Any, path: str | Path) -> None:
    """Open a page, and wait until it is there."""
    url = Path(path).as_uri()
    page.call("Page.navigate", url=url)
    page.wait(f"location.href.startsWith({url!r}) && document.readyState === 'complete'")


def resize(page: Any, width: int) -> None:
    size = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": width < 500}
    page.call("Emulation.setDeviceMetricsOverride", **size)


def press(page: Any, key: str) -> None:
    for kind in ("rawKeyDown", "keyUp"):
        page.call("Input.dispatchKeyEvent", type=kind, key=key, code=key)


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("make", PAGES)
def test_the_page_in_a_browser(
    make: Callable[[], explain], width: int, page: Any, tmp_path: Path
) -> None:
    explained = make()
    path = explained.save(tmp_path / "page.html")
    resize(page, width)
    show(page, path)
    last = len(explained.steps)
    for number, step in enumerate(explained.steps):
        page.run(f"slider.value = {number}; slider.dispatchEvent(new Event('input'))")
        told = " ".join(page.run(READ).split())
        assert step.phase in told
        for _, text in step.facts:
            assert " ".join(text.split()) in told
        assert page.run(LIT), f"{step.title} is not lit"
    assert page.run("document.getElementById('number').textContent") == f"{last} of {last}"
    assert page.run("document.querySelectorAll('g.later').length") == 0
    assert page.run("document.documentElement.scrollWidth") <= width
    assert page.run("performance.getEntriesByType('resource').length") == 0
    press(page, "Home")
    page.run("document.activeElement.blur()")
    for key, expected in (("Home", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", last)):
        press(page, key)
        assert page.run("document.getElementById('number').textContent") == f"{expected} of {last}"


@pytest.mark.slow
def test_values_appear_when_they_are_known(page: Any, tmp_path: Path) -> None:
    show(page, of_a_textbook().save(tmp_path / "page.html"))
    visible = (
        "[...document.querySelectorAll('[data-row][text-anchor=end]')]"
        ".filter(text => text.style.visibility !== 'hidden').map(text => text.textContent)"
    )
    assert set(page.run(visible)) == {"4.0", "3.0", "2.0", "16.0"}
    press(page, "End")
    assert {"8.0", "1.9203", "-0.27942"} <= set(page.run(visible))
    colours = []
    for scheme in ("light", "dark"):
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        page.call("Emulation.setEmulatedMedia", features=features)
        colours.append(page.run(COLOUR))
    assert colours == ["rgb(255, 255, 255)", "rgb(13, 17, 23)"]


@pytest.mark.slow
def test_a_notebook_shows_the_page_in_a_frame(page: Any, tmp_path: Path) -> None:
    explained = of_a_textbook()
    path = tmp_path / "notebook.html"
    path.write_text(explained._repr_html_(), "utf-8")
    show(page, path)
    inner = "document.querySelector('iframe').contentDocument"
    for number in (2, 3):
        page.run(f"{inner}.getElementById('on').click()")
        told = page.run(f"{inner}.querySelector('aside').innerText")
        assert explained.steps[number - 1].facts[0][1] in told


@pytest.mark.slow
def test_folded_modules_open(page: Any, tmp_path: Path) -> None:
    model = nn.Sequential(*(nn.Sequential(nn.Linear(3, 3), nn.Tanh()) for _ in range(12)))
    with explain() as explained:
        model(torch.ones(2, 3)).sum().backward()
    resize(page, 1280)
    show(page, explained.save(tmp_path / "page.html"))
    way = "[...document.querySelectorAll('#path button')].map(button => button.textContent)"
    assert page.run(way) == ["whole graph", "Sequential", "Sequential.0"]
    page.run("document.querySelectorAll('#path button')[1].click()")
    assert page.run("document.querySelectorAll('[data-kind=module]').length") == 12
    assert page.run(LIT).strip().startswith("Sequential.0")
    page.run(
        "[...document.querySelectorAll('[data-kind=module]')].at(-1).querySelector('rect')"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    )
    assert page.run(way)[2:] == ["Sequential.11"]
    press(page, "ArrowRight")
    assert page.run(way)[2:] == ["Sequential.0"]  # the step's own
