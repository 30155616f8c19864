"""The rest of what modules and initializers can do is PyTorch's."""

import os

import nanotorch as torch


def test_a_forked_process_writes_to_shared_parameters() -> None:
    shared, own = torch.nn.Linear(2, 2).share_memory(), torch.nn.Linear(2, 2)
    before = own.weight.tolist()
    child = os.fork()
    if not child:
        with torch.no_grad():
            shared.weight.fill_(7.0)
            own.weight.fill_(7.0)
        os._exit(0)
    os.waitpid(child, 0)
    assert shared.weight.tolist() == [[7.0, 7.0], [7.0, 7.0]]
    assert own.weight.tolist() == before
