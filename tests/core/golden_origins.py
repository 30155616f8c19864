"""Errors whose messages tell more than PyTorch's: who saved, changed, freed or made a value, where.

Each program answers with its error. The comments at the ends of lines name the places that
`test_call_site` looks for in the messages: a program's lines are those of this file.
"""

import re
import textwrap
from pathlib import Path
from typing import Any

from tests.answers import Case, raised

PROGRAMS = """
result_changed
    x = torch.ones(3, requires_grad=True)
    y = x.exp()  # saved
    y.add_(1)  # changed
    y.sum().backward()
input_changed_by_a_view
    w = torch.ones(3, requires_grad=True) * 1
    part = w[1:]
    loss = torch.sin(w).sum()  # saved
    part[0] = 5.0  # changed
    loss.backward()
changed_without_a_graph
    x = torch.ones(3, requires_grad=True)
    scale = torch.full((3,), 2.0)
    loss = (x * scale).sum()  # saved
    with torch.no_grad():
        scale.zero_()  # changed
    loss.backward()
weights_stepped
    # A step of the optimizer between two passes through one graph.
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    loss = model(torch.ones(4, 3)).sum()  # saved
    loss.backward(retain_graph=True)
    optimizer.step()  # changed
    loss.backward()
saved_in_a_users_module
    # The line in the user's own `forward`, not that of the call of the container.
    class Square(torch.nn.Module):
        def forward(self, x):
            return x * x  # saved
    x = torch.ones(3, requires_grad=True) * 2
    y = torch.nn.Sequential(Square())(x).sum()
    x.mul_(2)  # changed
    y.backward()
saved_in_a_hook_of_a_child
    # A hook is the user's own code, also where the container is not.
    def square(module, args, out):
        return out * out  # saved
    x = torch.ones(3, requires_grad=True) * 2
    child = torch.nn.Identity()
    child.register_forward_hook(square)
    y = torch.nn.Sequential(child)(x).sum()
    x.mul_(2)  # changed
    y.backward()
saved_in_a_forward_put_on_a_layer
    def square(x):
        return x * x  # saved
    x = torch.ones(3, requires_grad=True) * 2
    child = torch.nn.Identity()
    child.forward = square
    y = torch.nn.Sequential(child)(x).sum()
    x.mul_(2)  # changed
    y.backward()
saved_in_a_part_of_a_layer_put_anew
    # A subclass of a layer is the user's, whatever it overrides.
    class Layer(torch.nn.BatchNorm1d):
        def _check_input_dim(self, input):
            self.seen = torch.sigmoid(input)  # saved
    layer = Layer(2)
    torch.nn.Sequential(layer)(torch.ones(3, 2, requires_grad=True) * 2)
    layer.seen.add_(1)  # changed
    layer.seen.sum().backward()
saved_after_a_switch_left_by_a_hook
    # What a hook has entered may be left long after its module's call.
    x = torch.ones(3, requires_grad=True) * 2
    switch = torch.enable_grad()
    child = torch.nn.Identity()
    child.register_forward_pre_hook(lambda module, args: switch.__enter__())
    torch.nn.Sequential(child)(x)
    switch.__exit__(None, None, None)
    y = (x * x).sum()  # saved
    x.mul_(2)  # changed
    y.backward()
index_changed
    x = torch.ones(3, requires_grad=True)
    at = torch.tensor([0, 2])
    loss = x[at].sum()
    at.zero_()  # changed
    loss.backward()
saved_by_a_users_function
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3
        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            return 3 * x * x * g
    x = torch.ones(3, requires_grad=True) * 1
    y = Cube.apply(x).sum()  # saved
    x.add_(1)  # changed
    y.backward()
second_backward
    x = torch.ones(3, requires_grad=True)
    loss = (x * x).sum()  # saved
    loss.backward()  # freed
    loss.backward()
backward_after_grad
    x = torch.ones(3, requires_grad=True)
    loss = x.exp().sum()  # saved
    torch.autograd.grad(loss, x)  # freed
    loss.backward()
state_kept_over_steps
    # A value carried from one step of a loop to the next: the usual way to a second backward.
    w = torch.ones(2, requires_grad=True)
    state = torch.zeros(2)
    for _ in range(2):
        state = torch.tanh(state + w)  # saved
        state.sum().backward()  # freed
freed_values_asked_for
    x = torch.ones(3, requires_grad=True)
    y = x.exp()  # saved
    y.sum().backward()  # freed
    _ = y.grad_fn._saved_result
shapes_that_do_not_broadcast
    x = torch.ones(2, 3, requires_grad=True)
    y = x.exp()  # made
    _ = y + torch.ones(4)
matrices_that_do_not_fit
    a = torch.ones(2, 3, requires_grad=True)
    b = a.t() * 2  # made
    _ = torch.mm(b, b)
a_layer_of_another_size
    first, second = torch.nn.Linear(3, 4), torch.nn.Linear(5, 1)
    hidden = first(torch.ones(2, 3))  # made
    second(hidden)  # call
tensors_that_cannot_be_joined
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 2  # made
    torch.cat([y, torch.ones(2, 4)])
a_target_of_another_size
    score = torch.ones(3, 4, requires_grad=True) * 2  # made
    torch.nn.NLLLoss()(score, torch.ones(5).long())  # target
"""
_LINES = Path(__file__).read_text("utf-8").splitlines()


def _case(title: str, statements: str) -> Case:
    """The case of a program, whose lines have the numbers that they have in this file."""
    source = "\n" * (_LINES.index(title) + 1) + textwrap.dedent(statements)
    code = compile(source, __file__, "exec")

    def case(torch: Any) -> Any:
        return raised(exec, code, {"torch": torch})

    return case


for _part in re.split(r"\n(?=\S)", PROGRAMS.strip()):
    globals()[_part.partition("\n")[0]] = _case(*_part.split("\n", 1))
