"""Gradients held in bounds; parameters as one vector, or as functions of others."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from nanotorch.names.lookup import on_demand as _on_demand
from nanotorch.names.lookup import stand_in as _stand_in
from nanotorch.nn.utils import rnn as rnn
from nanotorch.nn.utils.clip_grad import clip_grad_norm as clip_grad_norm
from nanotorch.nn.utils.clip_grad import clip_grad_norm_ as clip_grad_norm_
from nanotorch.nn.utils.clip_grad import clip_grad_value_ as clip_grad_value_
from nanotorch.nn.utils.clip_grad import clip_grads_with_norm_ as clip_grads_with_norm_
from nanotorch.nn.utils.clip_grad import get_total_norm as get_total_norm
from nanotorch.nn.utils.clip_grad import parameters_to_vector as parameters_to_vector
from nanotorch.nn.utils.clip_grad import vector_to_parameters as vector_to_parameters

if _TYPE_CHECKING:  # the rest is imported when it is used
    from nanotorch.nn.utils import parametrize as parametrize
    from nanotorch.nn.utils.parametrize import remove_spectral_norm as remove_spectral_norm
    from nanotorch.nn.utils.parametrize import remove_weight_norm as remove_weight_norm
    from nanotorch.nn.utils.parametrize import spectral_norm as spectral_norm
    from nanotorch.nn.utils.parametrize import weight_norm as weight_norm
else:
    # PyTorch has files of the functions' names.
    for _name in ("spectral_norm", "weight_norm"):
        _stand_in(
            f"nanotorch.nn.utils.{_name}",
            {"nanotorch.nn.utils.parametrize": f"remove_{_name} {_name}"},
        )
    convert_parameters = _stand_in(
        "nanotorch.nn.utils.convert_parameters",
        {"nanotorch.nn.utils": "parameters_to_vector vector_to_parameters"},
    )
    # The former place of `torch.func.functional_call`.
    stateless = _stand_in("nanotorch.nn.utils.stateless", {"nanotorch.func": "functional_call"})
    __getattr__, __dir__ = _on_demand(
        "nanotorch.nn.utils",
        {
            "nanotorch.nn.utils": "parametrize",
            "nanotorch.nn.utils.parametrize": (
                "remove_spectral_norm remove_weight_norm spectral_norm weight_norm"
            ),
        },
    )
