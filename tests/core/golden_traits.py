"""What tensors are asked about themselves; conversions; what is reversed."""

import copy
from typing import Any

from tests.answers import name_of, tables, warned


def _names(torch: Any) -> dict[str, Any]:
    return {
        "copy": copy, "x": torch.arange(6.0).reshape(2, 3), "s": torch.tensor(2.0),
        "g": torch.ones(2, 3, requires_grad=True), "i": torch.tensor([1, 2]),
    }  # fmt: skip


table = tables(_names)
conversions = table("""
x.to(None) is x|x.to(None, copy=True) is x|x.to() is x|x.to(dtype=None) is x|x.to(None, None) is x
x.to("cpu", torch.float64).dtype|x.to(device=None) is x
x.to(torch.float32, False, True) is x|x.to("a")|x.to([1])|x.to(i).dtype
x.to(torch.int64, True).dtype|x.to(None, torch.float64).dtype|x.to(copy=True) is x|x.to(float).dtype
x.to(torch.device("cpu")) is x|x.to(memory_format=torch.contiguous_format) is x
x.to("cpu", None, True) is x|x.t().to(memory_format=torch.contiguous_format).stride()
x.t().to(torch.float64).stride()|x.t().to(torch.float32, copy=True).stride()
x.t().to(torch.float64, memory_format=torch.contiguous_format).stride()|x.t().double().stride()
x.t().int().stride()|x[:, ::2].double().stride()|x.expand(2, 2, 3).double().stride()
x.expand(2, 2, 3).int().stride()
""")
_REVERSED = table("""
reversed(x)|reversed(i)|reversed(s)|reversed(g)|list(reversed(i))|s.adjoint()|x.adjoint()
i.adjoint()|torch.adjoint(x)
""")


def reversed_and_adjoint(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = reversed(x)
    (y * torch.tensor([3.0, 5.0])).sum().backward()
    once = warned(torch.tensor(2.0).adjoint)
    return [once, _REVERSED(torch), name_of(y.grad_fn), x.grad]


kinds = table("""
x.layout|torch.strided|x.layout is torch.strided|isinstance(torch.strided, torch.layout)
torch.layout()|copy.deepcopy(torch.strided) is torch.strided|x.is_cpu|x.is_cuda|x.is_sparse
x.is_meta|x.is_mps|x.is_quantized|x.is_mkldnn|x.is_xpu|x.is_nested|x.is_sparse_csr|x.is_xla
x.is_ipu|x.is_vulkan|x.is_maia|x.is_mtia|x.is_shared()|x.is_pinned()|x.is_signed()|i.is_signed()
x.bool().is_signed()|x.is_same_size(x)|x.is_same_size(i)|x.dim_order()
x.t().dim_order()|x.is_contiguous(memory_format=torch.contiguous_format)|x.real is x|g.real is g
torch.real(x) is x|x.imag|torch.imag(x)|x.conj() is x|torch.conj(x) is x|x.resolve_conj() is x
x.resolve_neg() is x|torch.conj(1)|torch.is_floating_point(x)
torch.is_floating_point(i)|torch.is_floating_point(1)
""")
storage = table("""
x.storage_offset()|x[1:].storage_offset()|x[1, 1].storage_offset()|x.t()[1].storage_offset()
x.untyped_storage().data_ptr() == x.data_ptr()|x.untyped_storage().nbytes()
x[1:].untyped_storage().nbytes()|len(x.untyped_storage())|x.untyped_storage().size()
x.untyped_storage().device|x.untyped_storage()[7]|x.untyped_storage().element_size()
x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr()
x.untyped_storage() == x[1].untyped_storage()|x.untyped_storage() == x.clone().untyped_storage()
x.expand(3, 2, 3).untyped_storage().nbytes()|x.untyped_storage() == 3
""")
