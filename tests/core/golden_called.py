"""Calls in forms that older programs have, and names that programs ask for by the way."""

from typing import Any

from tests.answers import raised, tables


def _names(torch: Any) -> dict[str, Any]:
    x, b = torch.arange(4.0).reshape(2, 2), torch.arange(8.0).reshape(2, 2, 2)
    return {"x": x, "y": x + 1, "v": torch.arange(2.0), "b": b}


table = tables(_names)
arguments_in_their_former_order = table("""
torch.add(x,2,x)|x.add(2,x)|x.clone().add_(2,x)|torch.sub(x,2,x)|x.sub(2,x)|x.clone().sub_(2,x)
torch.addcmul(x,2,x,x)|x.addcmul(2,x,x)|x.clone().addcmul_(2,x,x)|torch.addcdiv(x,2,y,y)
x.addcdiv(2,y,y)|x.clone().addcdiv_(2,y,y)|torch.addmm(2,x,x,y)|torch.addmm(2,x,3,x,y)
x.addmm(2,x,y)|x.addmm(2,3,x,y)|x.clone().addmm_(2,x,y)|x.clone().addmm_(2,3,x,y)
torch.baddbmm(2,b,b,b)
torch.baddbmm(2,b,3,b,b)|b.baddbmm(2,b,b)|b.baddbmm(2,3,b,b)|b.clone().baddbmm_(2,b,b)
b.clone().baddbmm_(2,3,b,b)|torch.add(x,2,x,out=y.clone())|torch.addmm(2,x,x,y,out=y.clone())
x.add(x,x)|x.addmm(2,x)|x.addmm(2,3,x)|x.addmm(x,x,x)|x.addmm(1.5,x,x)|x.addmm(True,x,x)
x.addmm(2,x,x,alpha=3)|torch.add(x,2,1)|x.clone().add_(2,1)
""")
two_numbers = table("""
torch.add(1.0,2.0)|torch.add(1,2)|torch.add(1.0,2)|torch.mul(2,3)|torch.sub(1.0,2)|torch.div(1,2)
torch.add(1.0,2.0,alpha=2)|torch.true_divide(1,2)|torch.floor_divide(7,2)|torch.add(True,False)
torch.sub(True,False)|torch.multiply(2,3)|torch.subtract(2,3)|torch.divide(2,3)
torch.add(1.0,2.0,out=torch.empty(()))|torch.pow(2,3)|torch.exp(1.0)|torch.div(1,2).dtype
""")
types_and_methods = table("""
x.long().type(torch.Tensor)|x.double().type(torch.Tensor).dtype|x.type('torch.Tensor').dtype
x.type(torch.DoubleTensor).dtype|x.type(torch.tensor)|x.type(3)|x.type('torch.NoTensor')
x.__rmatmul__(y)
torch.Tensor.__rmatmul__(x, 2)|x.is_same_size(y)|torch.Tensor.is_same_size(x, v)
""")
closed_ranges = table("""
torch.range(0,4)|torch.range(1,2,.5)|torch.range(0,3,dtype=torch.int64)|torch.range(5)
torch.range(start=1,end=3)|torch.range(1,0)|torch.range(0,1,0)|torch.range(0,4).dtype
torch.range(0,2,out=torch.empty(0))|torch.range(0,1,requires_grad=True)|torch.range(0,0.3,0.1)
torch.range(3,0,-1)|torch.range(0,-1)|torch.range(0,float('inf'))|torch.range(1,10,4)
""")


def versions(torch: Any) -> Any:
    of = torch.torch_version.TorchVersion
    texts = [
        "1.10.0a0", "1.10", "1.10.0", "2", "2.0.0", "2.0.0+cpu", "2.0.0+cu118", "2.0.1.dev3",
        "2.0.1rc2", "2.0.1", "2.0.1.post1", "2.0.1-2", "10.0", "1!0.1", "v1.2", "parrot", "",
    ]  # fmt: skip
    others = [*texts, (2, 0), (1, 10, 0), (2,), ("2", "0", "1"), [2, 0]]
    held = ("__lt__", "__le__", "__eq__", "__ge__", "__gt__")
    pairs = [(a, b) for a in texts[:15] for b in (*others[:15], *others[17:])]
    return [
        *("".join(str(int(getattr(of(a), c)(b))) for c in held) for a, b in pairs),
        [of("1.2") < "parrot", of("parrot") > "1.2", of("") < "1", of("2.0") != (2, 1)],
        [raised(lambda: of("2.0") >= 2), of("2.0") == 2, of("2.0.1") >= (2, 0), of("1.2")[:3]],
        [hash(of("1.2")) == hash("1.2"), {of("1.2"): 1}["1.2"], f"{of('1.2')}", repr(of("1.2"))],
        isinstance(torch.__version__, of),
    ]  # fmt: skip


def blocks_of_a_generator(torch: Any) -> Any:
    torch.manual_seed(0)
    with torch.random.fork_rng(devices=[], device_type="cpu"):
        first = torch.rand(1).item()
    return [first == torch.rand(1).item(), raised(torch.random.fork_rng, [], True, kind="cpu")]


def flags_of_cudnn(torch: Any) -> Any:
    cudnn, seen = torch.backends.cudnn, []
    for flags in ({}, {"enabled": True, "benchmark": True}, {"deterministic": True}):
        with cudnn.flags(**flags):
            seen.append([cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32])
        seen.append([cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32])
    return seen


def globals_called_safe(torch: Any) -> Any:
    s, seen = torch.serialization, []
    before = s.get_safe_globals()
    with s.safe_globals([Input, dict]):
        seen.append([kind.__name__ for kind in s.get_safe_globals() if kind not in before])
    s.add_safe_globals([Input])
    seen.append([kind.__name__ for kind in s.get_safe_globals() if kind not in before])
    s.clear_safe_globals()
    return [sorted(names) for names in seen] + [s.get_safe_globals()]


class Input:
    """Of the program's own."""


def methods_of_modules(torch: Any) -> Any:
    class Own(torch.nn.Module):  # type: ignore[misc]
        pass

    nets = (torch.nn.Linear(1, 1), torch.nn.ReLU(), Own())
    return [
        *(repr(net.parameters) for net in nets), repr(nets[0].state_dict), repr(nets[0].forward),
        repr(nets[0].register_buffer), repr(nets[0].named_modules), repr(nets[0].train),
        repr(torch.optim.SGD(nets[0].parameters(), 0.1).zero_grad)[:40],
        torch.nn.Module.parameters.__qualname__,
    ]  # fmt: skip
