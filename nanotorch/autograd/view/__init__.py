"""Pictures of the recorded graph; `nanotorch.autograd.graph_view` is the way in."""
