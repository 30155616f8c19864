"""Messages that end the search: after PyTorch's text, who did what to a value, and where."""

import _thread
import inspect
import re
import threading

import pytest

import nanotorch as torch
from nanotorch._core.call_site import WHERE
from tests import answers
from tests.answers import cases

CASES = cases("core_origins")
# What follows PyTorch's text; @word stands for the line of the case that ends in `# word`.
TOLD = {
    "result_changed": ["exp saved it as its result@saved", "add_ changed it@changed"],
    "input_changed_by_a_view": ["sin saved it as `input`@saved", "fill_ changed it@changed"],
    "changed_without_a_graph": ["mul saved it as `other`@saved", "zero_ changed it@changed"],
    "weights_stepped": ["addmm saved it as `mat2`@saved", "SGD.step changed it@changed"],
    "saved_in_a_users_module": ["mul saved it as `other`@saved", "mul_ changed it@changed"],
    "saved_in_a_hook_of_a_child": ["mul saved it as `other`@saved", "mul_ changed it@changed"],
    "saved_in_a_forward_put_on_a_layer": [
        "mul saved it as `other`@saved",
        "mul_ changed it@changed",
    ],
    "saved_after_a_switch_left_by_a_hook": [
        "mul saved it as `other`@saved",
        "mul_ changed it@changed",
    ],
    "saved_in_a_part_of_a_layer_put_anew": [
        "sigmoid saved it as its result@saved",
        "add_ changed it@changed",
    ],
    "saved_in_a_function_given_to_a_layer": [
        "mul saved it as `other`@saved",
        "mul_ changed it@changed",
    ],
    "index_changed": ["zero_ changed it@changed"],
    "saved_by_a_users_function": [
        "CubeBackward saved it as a value@saved",
        "add_ changed it@changed",
    ],
    "second_backward": [
        "mul saved values@saved",
        "a backward pass used and freed them@freed",
    ],
    "backward_after_grad": ["exp saved values@saved", "a backward pass used and freed them@freed"],
    "state_kept_over_steps": [
        "tanh saved values@saved",
        "a backward pass used and freed them@freed",
    ],
    "freed_values_asked_for": [
        "exp saved values@saved",
        "a backward pass used and freed them@freed",
    ],
    "shapes_that_do_not_broadcast": [
        "input has shape [2, 3], made by exp@made",
        "other has shape [4], not made by a recorded operation",
    ],
    "matrices_that_do_not_fit": [
        "input has shape [3, 2], made by mul@made",
        "mat2 has shape [3, 2], made by mul@made",
    ],
    "a_layer_of_another_size": [
        "input has shape [1], a leaf",
        "mat1 has shape [2, 4], made by addmm@made",
        "mat2 has shape [5, 1], made by t@call",
    ],
    "a_target_of_another_size": [
        "input has shape [3, 4], made by mul@made",
        "target has shape [5], not made by a recorded operation",
    ],
    "tensors_that_cannot_be_joined": [
        "tensors[0] has shape [2, 3], made by mul@made",
        "tensors[1] has shape [2, 4], not made by a recorded operation",
    ],
}


def located(name: str, part: str) -> str:
    """A line of a message, with its place in the source of the case."""
    text, at, marker = part.partition("@")
    if not at:
        return f"\n  {text}"
    lines, first = inspect.getsourcelines(CASES[name])
    number = next(k for k, line in enumerate(lines) if line.rstrip().endswith(f"# {marker}"))
    file = "tests/core/golden_origins.py"
    return f"\n  {text} at {file}:{first + number}\n      {lines[number].strip()}"


@pytest.mark.parametrize("name", TOLD)
def test_where(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "BEYOND", re.compile("$^"))  # leave the message whole
    message = CASES[name](torch)
    monkeypatch.undo()
    expected = WHERE + "".join(located(name, part) for part in TOLD[name])
    assert message[message.index(WHERE) :] == expected


def test_a_call_that_no_python_code_makes_is_recorded_all_the_same() -> None:
    x = torch.ones(2, requires_grad=True) * 2
    done = threading.Event()

    class Number(float):
        def __del__(self) -> None:
            done.set()

    _thread.start_new_thread(x.add_, (Number(1),))
    assert done.wait(10)
    assert x.grad_fn.name() == "AddBackward0"
