"""Random tensors and initial values: the same seed gives the same bits; refusals."""

from tests.answers import sessions

session = sessions(lambda torch: {"init": torch.nn.init})
drawn = session("""
like
    x, whole = torch.ones(3, 5), torch.ones(3, dtype=torch.int64)
    made = torch.rand_like(x.t())
    bits(torch.rand_like(x)), bits(torch.randn_like(x)), bits(made), made.stride()
    bits(torch.randn_like(torch.ones(8, 6).t())), torch.randint_like(x, 5)
    torch.randint_like(x, 2, 5, dtype=torch.int64), torch.rand_like(whole)
    torch.rand_like(whole, dtype=torch.float64), torch.rand_like(x[0], requires_grad=True)
fills
    for shape in ((3,), (5, 8)):
        for tensor in (torch.empty(shape), torch.empty(shape).double(), torch.empty(shape).half()):
            for layout in (tensor, tensor.t() if len(shape) == 2 else tensor):
                bits(layout.normal_()), bits(layout.normal_(1, 2)), bits(layout.uniform_())
                bits(layout.uniform_(-2, 3)), bits(layout.random_(2, 9)), bits(layout.random_())
                bits(layout.random_(5)), bits(layout.bernoulli_()), bits(layout.bernoulli_(0.2))
    whole = torch.empty(4, dtype=torch.int64)
    whole.random_().clone(), whole.random_(10).clone(), whole.random_(3, 5).clone()
    whole.random_(**{"from": 2, "to": 4}).clone(), whole.bernoulli_(0.5).clone()
    whole.random_(**{"from": 2, "to": None}).clone()
    torch.empty(2).uniform_(**{"from": 0.5, "to": 2.0}), torch.empty(2).uniform_(to=0.5)
    torch.empty(3, 2).bernoulli_(torch.tensor([0.9, 0.1]))
    torch.empty(2, 3).t().bernoulli_(torch.tensor([0.9, 0.1]))
dropped
    for kind in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        for p in (0.3, 0.9):
            torch.nn.functional.dropout(torch.arange(8.0).to(kind), p)
recorded
    chance = torch.tensor(0.3)
    for name, args in (
        ("normal_", ()), ("uniform_", ()), ("random_", ()), ("random_", (5,)), ("random_", (2, 5)),
        ("bernoulli_", ()), ("bernoulli_", (chance,)), ("exponential_", ()),
    ):
        leaf = torch.ones(3, requires_grad=True)
        x = leaf * 1
        out = getattr(x, name)(*args)
        edges = [type(n).__name__ for n, _ in out.grad_fn.next_functions]
        node = name_of(out.grad_fn)
        (g,) = torch.autograd.grad(out.sum(), leaf)
        out is x, node, edges, g, x._version, getattr(leaf, name)(*args)
from tensors
    p = torch.full((3, 4), 0.3, requires_grad=True)
    mean, std = torch.arange(20.0).reshape(4, 5), torch.arange(20.0).reshape(4, 5) / 10
    leaf = mean.clone().requires_grad_()
    drawn = torch.bernoulli(p)
    normal = [torch.normal(leaf, 1.0), torch.normal(0.0, leaf), torch.normal(leaf, leaf)]
    grads = [torch.autograd.grad(out.sum(), leaf)[0] for out in normal]
    bits(drawn), name_of(drawn.grad_fn), [name_of(t.grad_fn) for t in normal]
    [bits(t) for t in (*normal, *grads)], bits(torch.normal(mean, std))
    bits(torch.normal(mean, std[0])), bits(torch.normal(mean.t(), 2.0))
    bits(torch.normal(1.0, 2.0, (3, 7))), torch.normal(mean.double(), std).dtype
    bits(torch.bernoulli(mean.t() / 20)), bits(mean.bernoulli(0.4))
    bits(torch.multinomial(std[0] + 0.1, 3)), bits(torch.multinomial(std + 0.1, 4))
    bits(std.add(0.1).multinomial(30, replacement=True))
refusals
    x = torch.ones(2)
    torch.rand(3, dtype=torch.int64), torch.randn(3, dtype=torch.int64), torch.randint(5, 2, (2,))
    torch.rand(-1), torch.rand(2.5), torch.randn("a"), torch.randn(2, "a"), torch.randperm(-1)
    torch.randint(5, (2,), requires_grad=True), torch.randperm(2.5)
    torch.bernoulli(torch.tensor([1, 0])), torch.bernoulli([1.0]), torch.bernoulli(x, 2)
    torch.normal(0.0, -1, (3,)), torch.normal(torch.zeros(2), torch.ones(3)), torch.normal(x, -x)
    torch.normal(torch.zeros(2, dtype=torch.int64), 1.0), x.normal_(0, -1), x.uniform_(2, 1)
    x.random_(5, 5), x.random_(0), x.exponential_(-1), x.uniform_(a=1)
    torch.ones(1, 1).expand(2, 2).normal_(), torch.multinomial(x, 5)
    torch.ones(2, dtype=torch.uint8).random_(0, 300), x.bernoulli_(1.5), x.bernoulli_(torch.ones(3))
    torch.ones(2, dtype=torch.int64).normal_()
generators
    g = torch.Generator()
    first = g.initial_seed()
    state = g.manual_seed(5).get_state()
    a = torch.rand(3, generator=g)
    _ = g.set_state(state)
    b = torch.rand(3, generator=g)
    twin = g.clone_state()
    saved = torch.get_rng_state()
    c = torch.rand(2)
    _ = torch.set_rng_state(saved)
    d = torch.rand(2)
    with torch.random.fork_rng(devices=[]):
        _ = torch.rand(5)
    e = torch.rand(1)
    first, state.dtype, tuple(state.shape), torch.equal(a, b), torch.equal(c, d), e, g.device
    torch.equal(torch.rand(3, generator=twin), torch.rand(3, generator=g))
    torch.manual_seed(3) is torch.default_generator, torch.initial_seed()
    torch.manual_seed(-1).initial_seed(), torch.manual_seed(1.7).initial_seed()
    torch.manual_seed("a"), torch.manual_seed(2**65), torch.set_rng_state(torch.zeros(3))
    g.set_state(3), torch.set_rng_state(torch.zeros(3, dtype=torch.uint8)), g.manual_seed(1.5)
    torch.initial_seed() == torch.default_generator.initial_seed()
initializers
    functions = [
        init.uniform_, lambda t: init.uniform_(t, -1.5, 2), init.normal_, init.ones_, init.zeros_,
        lambda t: init.normal_(t, 1.0, 0.02), lambda t: init.constant_(t, 0.3), init.trunc_normal_,
        lambda t: init.trunc_normal_(t, 0.5, 0.1, 0.4, 0.8),
        lambda t: init.trunc_normal_(t, 0.0, 1.0, 1.5, 4.0), init.xavier_uniform_,
        lambda t: init.xavier_uniform_(t, 2.0), init.xavier_normal_, init.kaiming_uniform_,
        lambda t: init.kaiming_uniform_(t, 0.2, "fan_out"), init.kaiming_normal_,
        lambda t: init.kaiming_normal_(t, nonlinearity="relu"),
        lambda t: init.kaiming_uniform_(t, nonlinearity="tanh", mode="FAN_IN"), init.eye_,
    ]
    for fill in functions:
        for shape in ((3, 4), (17, 23)):
            for tensor in (torch.empty(shape), torch.empty(shape).double(), torch.empty(shape).t()):
                fill(tensor) is tensor, bits(tensor)
    torch.rand(3)
generators of initializers
    g = torch.Generator().manual_seed(3)
    functions = (
        init.uniform_, init.normal_, init.trunc_normal_, init.xavier_uniform_, init.xavier_normal_,
        init.kaiming_uniform_, init.kaiming_normal_,
    )
    [bits(fill(torch.empty(5, 7), generator=g)) for fill in functions], torch.rand(2)
orthogonal
    [
        numbers(init.orthogonal_(torch.empty(shape).double(), 1.5))
        for shape in ((4, 4), (5, 3), (3, 5), (2, 2, 2))
    ]
    init.orthogonal_(torch.empty(3)), tuple(init.orthogonal_(torch.empty(0, 3)).shape)
gains
    gain = init.calculate_gain
    names = ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose2d"]
    names += ["sigmoid", "tanh", "relu", "leaky_relu", "selu"]
    [float(gain(name)) for name in names], gain("leaky_relu", 0.2), gain("leaky_relu", 1)
    gain("other"), gain("leaky_relu", True), gain("leaky_relu", "a")
refusals of initializers
    init.xavier_uniform_(torch.empty(3)), init.kaiming_normal_(torch.empty(3))
    init.kaiming_uniform_(torch.empty(3, 3), mode="other")
    init.kaiming_uniform_(torch.empty(3, 3), nonlinearity="other"), init.eye_(torch.empty(3))
    init.trunc_normal_(torch.empty(3), a=2, b=1)
    warned(lambda: init.kaiming_uniform_(torch.empty(0, 3)))
    warned(lambda: init.trunc_normal_(torch.empty(3), mean=9.0))
    init.uniform_(torch.empty(3), 2, 1), init.normal_(torch.empty(3), 0, -1)
""")
