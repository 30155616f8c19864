"""`out=` of functions for layers, of special ones, of linear algebra; whose memory it may be."""

from collections.abc import Callable
from typing import Any

from tests.answers import raised
from tests.core.golden_out import like

ROUNDING: dict[str, int] = {}  # numbers agree up to it


def sharing(torch: Any) -> Any:
    """Which inputs are refused whose memory lies in what is written to, all or in part."""
    first, row = torch.tensor([[0, 1, 2], [2, 0, 1], [1, 2, 0]]), torch.tensor([2, 0, 1])

    def along_first(name: str) -> Callable[..., Any]:
        return lambda x, out: getattr(torch, name)(x, 0, out=out)

    def of_one(name: str) -> Callable[..., Any]:
        return lambda x, out: getattr(torch, name)(x, out=out)

    summing = ("cumsum", "cumprod", "softmax", "std", "logsumexp", "tril")
    elementwise = ("exp", "sgn", "nan_to_num", "abs", "angle", "inverse")
    calls: dict[str, Callable[..., Any]] = {
        **{name: along_first(name) for name in summing},
        **{name: of_one(name) for name in elementwise},
        "clamp_min": lambda x, out: torch.clamp_min(x, 0.5, out=out),
        "gather": lambda x, out: torch.gather(x, 0, first, out=out),
        "take": lambda x, out: torch.take(x, first, out=out),
        "index_select": lambda x, out: torch.index_select(x, 0, row, out=out),
        "index_add": lambda x, out: torch.index_add(x, 0, row, torch.ones(3, 3), out=out),
        "scatter": lambda x, out: torch.scatter(x, 0, first[:1], 1.0, out=out),
        "renorm": lambda x, out: torch.renorm(x, 2, 0, 1.0, out=out),
        "where": lambda x, out: torch.where(x > 1, x, -x, out=out),
        "cross": lambda x, out: torch.cross(x, x.flip(0), dim=1, out=out),
        "kron": lambda x, out: torch.kron(x, x[:1, :1], out=out),
        "take_along_dim": lambda x, out: torch.take_along_dim(x, first, 0, out=out),
        "cat": lambda x, out: torch.cat([x], out=out),
        "sort": lambda x, out: torch.sort(x, out=(out, torch.empty(0).long())),
        "max": lambda x, out: torch.max(x, 0, True, out=(out, torch.empty(0).long())),
    }
    answers = {}
    for name, call in calls.items():
        base = torch.rand(24) + 0.5
        x = base[:9].view(3, 3)
        outs = [base[:9].view(3, 3), base[3:12].view(3, 3)]
        if name in ("std", "logsumexp"):
            outs = [base[:3], base[1:4]]
        if name == "max":
            outs = [base[:3].view(1, 3), base[1:4].view(1, 3)]
        answers[name] = ["refer to a" in raised(call, x, out) for out in outs]
    return answers


def drawn(torch: Any) -> Any:
    torch.manual_seed(5)
    p, out = torch.full((4,), 0.5), torch.zeros(4)
    return [
        torch.bernoulli(p, out=out) is out, out.clone(), torch.normal(p, 1.0, out=out),
        torch.normal(0.0, 1.0, (4,), out=out),
        raised(torch.normal, p, 1.0, out=torch.zeros(4).int()),
        torch.manual_seed(6) is None, torch.multinomial(p, 2, out=torch.zeros(0).long()),
        raised(torch.multinomial, p, 2, out=torch.zeros(2)),
    ]  # fmt: skip


def of_functions_for_layers(torch: Any) -> Any:
    f, x = torch.nn.functional, torch.linspace(-2, 2, 16).reshape(4, 4)
    asked: dict[str, tuple[Any, ...]] = {
        "gelu": (x,), "softplus": (x,),
        "logsigmoid": (x,), "linear": (x, x), "avg_pool2d": (x[None], 2),
        "avg_pool3d": (x[None, None], (1, 2, 2)), "normalize": (x,),
    }  # fmt: skip
    answers = {}
    for name, args in asked.items():
        function = getattr(f, name)
        found = function(*args)
        out = torch.zeros(found.shape)
        leaf = (x.clone().requires_grad_(), *args[1:])
        answers[name] = [
            function(*args, out=out) is out, bool((out == found).all()), out._version,
            raised(function, *args, out=out.int()),
            "no error" in raised(function, *args, out=out.double()),
            raised(function, *leaf, out=out) if args[0] is x else None,
        ]  # fmt: skip
    return answers


def of_linear_algebra(torch: Any) -> Any:
    m, v = torch.tensor([[4.0, 1.0], [1.0, 3.0]]), torch.tensor([1.0, 2.0])
    given: dict[str, tuple[Any, ...]] = dict.fromkeys(
        ("cholesky", "cholesky_ex", "det", "eigh", "eigvalsh", "inv", "lu_factor",
         "matrix_norm", "matrix_rank", "norm", "pinv", "qr", "slogdet", "svd", "svdvals",
         "vector_norm"),
        (m,),
    )  # fmt: skip
    given |= {
        "cross": (torch.ones(3), torch.arange(3.0)), "lstsq": (torch.eye(2), m),
        "matmul": (m, m), "solve": (m, v),
    }  # fmt: skip
    answers = {}
    for name, args in given.items():
        function = getattr(torch.linalg, name)
        found = function(*args)
        outs = found if isinstance(found, tuple) else (found,)
        told = []
        for dtype in (None, torch.float64):
            out = like(torch, outs, dtype=dtype)
            told.append(raised(function, *args, out=out) if dtype else function(*args, out=out))
        leaves = [
            a.clone().requires_grad_() if torch.is_tensor(a) and a.is_floating_point() else a
            for a in args
        ]
        refused = raised(function, *leaves, out=like(torch, outs)).partition(", but")[0]
        answers[name] = [told[1][:90], refused if "no error" not in refused else "none"]
    return answers


def of_several_results(torch: Any) -> Any:
    m = torch.tensor([[4.0, 1.0], [1.0, 3.0]])
    for name in ("median", "max", "min", "cummax"):
        function = getattr(torch, name)
        empty = torch.empty(0).long()
        yield function(m, 0, out=(torch.empty(0), empty))
        yield raised(function, m, 0, out=(torch.empty(0).double(), empty))
    for name in ("sum", "prod"):
        outs = [torch.empty(0, dtype=d) for d in (torch.float32, torch.float64)]
        yield from [getattr(torch, name)(m, 1, out=out) for out in outs]
        yield raised(getattr(torch, name), m, 1, out=torch.empty(0).int())
    yield torch.svd(m * 0 + torch.eye(2), out=tuple(torch.empty(0) for _ in range(3)))
    unpacked = torch.linalg.lu_factor(m)
    yield torch.lu_unpack(*unpacked, out=tuple(torch.empty(0) for _ in range(3)))
    mixed = (torch.float64, torch.float32, torch.int32, torch.float32)
    out = tuple(torch.empty(0, dtype=dtype) for dtype in mixed)
    yield torch.linalg.lstsq(torch.eye(2), m, out=out)
    refused = tuple(torch.empty(0).int() for _ in range(4))
    yield raised(torch.linalg.lstsq, torch.eye(2), m, out=refused)
