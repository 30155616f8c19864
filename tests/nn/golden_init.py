"""Initial values: the same seed gives the same bits."""

from tests.answers import sessions

session = sessions(lambda torch: {"init": torch.nn.init})
fills = session("""
fills
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
generators
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
refusals
    init.xavier_uniform_(torch.empty(3)), init.kaiming_normal_(torch.empty(3))
    init.kaiming_uniform_(torch.empty(3, 3), mode="other")
    init.kaiming_uniform_(torch.empty(3, 3), nonlinearity="other"), init.eye_(torch.empty(3))
    init.trunc_normal_(torch.empty(3), a=2, b=1)
    warned(lambda: init.kaiming_uniform_(torch.empty(0, 3)))
    warned(lambda: init.trunc_normal_(torch.empty(3), mean=9.0))
    init.uniform_(torch.empty(3), 2, 1), init.normal_(torch.empty(3), 0, -1)
""")
