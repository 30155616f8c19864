"""PyTorch's paths of modules lead to what is meant, by either name of the package."""

import importlib
import pickle

import pytest

import nanotorch as torch
from nanotorch import nn

PATHS = """
    nn.modules.activation ReLU MultiheadAttention NonDynamicallyQuantizableLinear
    nn.modules.batchnorm BatchNorm2d _BatchNorm
    nn.modules.container Sequential ModuleList ParameterDict
    nn.modules.conv Conv2d _ConvNd
    nn.modules.dropout Dropout _DropoutNd
    nn.modules.flatten Flatten
    nn.modules.instancenorm InstanceNorm2d _InstanceNorm
    nn.modules.linear Linear Identity
    nn.modules.loss CrossEntropyLoss _Loss _WeightedLoss
    nn.modules.module Module _IncompatibleKeys
    nn.modules.normalization LayerNorm RMSNorm
    nn.modules.padding ZeroPad2d _ReflectionPadNd
    nn.modules.pooling MaxPool2d _MaxPoolNd
    nn.modules.rnn LSTM GRUCell RNNBase
    nn.modules.sparse Embedding
    nn.modules.transformer TransformerEncoderLayer
    nn.modules.upsampling Upsample
    nn.modules.utils _pair _ntuple _reverse_repeat_tuple consume_prefix_in_state_dict_if_present
    nn.modules Linear
    nn.parameter Parameter
    nn.utils.rnn pad_sequence
    nn.utils.clip_grad clip_grad_norm_
    nn.utils.weight_norm weight_norm remove_weight_norm
    nn.utils.spectral_norm spectral_norm
    xpu is_available
    optim.adam Adam
    optim.adamw AdamW
    optim.sgd SGD
    optim.optimizer Optimizer
    optim.lr_scheduler LRScheduler
    autograd.grad_mode no_grad
    autograd.function Function
    cuda.amp.grad_scaler GradScaler
    utils.hooks RemovableHandle
    utils.dlpack from_dlpack to_dlpack
    amp.autocast_mode autocast custom_fwd
    amp.grad_scaler GradScaler
    accelerator is_available current_accelerator
    torch_version TorchVersion
    version __version__ cuda
    __config__ show parallel_info
    utils.data.dataloader DataLoader
    utils.data.sampler BatchSampler
    utils.data.distributed DistributedSampler
    utils.tensorboard.writer SummaryWriter
    functional einsum tensordot
    random manual_seed fork_rng
    types Device Number
"""
LINES = [line.split() for line in PATHS.strip().splitlines()]


def test_paths_of_modules() -> None:
    for place, *names in LINES:
        module = importlib.import_module(f"nanotorch.{place}")
        assert [name for name in names if not hasattr(module, name)] == [], place


def test_they_are_the_same_things() -> None:
    assert nn.modules.linear.Linear is nn.modules.Linear is nn.Linear
    assert importlib.import_module("nanotorch.random") is torch.random
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = nn.modules.linear.Nothing
    with pytest.raises(ImportError):
        importlib.import_module("nanotorch.nn.modules.nothing")


@pytest.mark.parametrize(
    "path",
    [
        "utils.data.sampler RandomSampler",
        "amp.grad_scaler GradScaler",
        "torch_version TorchVersion",
        "distributions.normal Normal",
    ],
)
def test_pickles_find_what_they_name(path: str) -> None:
    module, name = path.split()
    found = pickle.loads(f"cnanotorch.{module}\n{name}\n.".encode())
    assert found is getattr(importlib.import_module(f"nanotorch.{module}"), name)
    assert pickle.loads(pickle.dumps(found)) is found


def test_names_without_a_prefix() -> None:
    state = nn.Sequential(nn.Linear(2, 1)).state_dict(prefix="module.")
    state["other"] = torch.ones(1)
    nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["other", "0.weight", "0.bias"]
    assert nn.modules.utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
