"""What to do about errors that beginners meet: the last line of their tracebacks, `Try: ...`.

The line is a note of the exception (PEP 678), so that its text is PyTorch's. The raising function
says what is known, by a key of `ADVICE`, and gives the facts.
"""

ADVICE = {
    # gradients
    "several elements": "`.sum()` or `.mean()` before `.backward()`: a loss is one number, and "
        "this tensor has shape {0}",
    "integer gradient": "`.float()`, or numbers with a point, as in `torch.tensor([1.0, 2.0])`",
    "no leaf": "`.detach().requires_grad_()`: an optimizer changes tensors that no operation made",
    "loss as closure": "`loss.backward()`, then `optimizer.step()` without arguments",
    # tensors and Python
    "no gpu": '`device = "cuda" if torch.cuda.is_available() else "cpu"`, which runs anywhere',
    "one number": "`.tolist()` for all of the {0} elements, `.mean()` or `.sum()` for one number",
    "one truth": "`.any()` or `.all()` of the condition; `&` and `|` in place of `and` and `or`",
    "ragged": "lists of one length; for sequences of several, `torch.nn.utils.rnn.pad_sequence`",
    "unequal items": "items of one shape; for sequences of several lengths, a `DataLoader` with a "
        "`collate_fn` that calls `torch.nn.utils.rnn.pad_sequence`",
    "nothing returned": "a `return` at the end of the function, such as a `forward`, that made the "
        "input",
    "several results": "`output, state = layer(input)`: layers such as `nn.LSTM` return a tuple, "
        "which `nn.Sequential` passes on as a whole",
    "broadcast": "`{0}[:, None]`: from the last dimension on, sizes must be equal or 1",
    # modules
    "no init": "`super().__init__()` as the first line of `{0}.__init__`",
    "misspelt forward": "`def forward(self, ...)` in place of `def {1}(self, ...)` in {0}",
    "no parameter": "`self.{0} = nn.Parameter(...)`, or a write to the values: "
        "`with torch.no_grad(): self.{0}.copy_(...)`",
    "list of layers": "`nn.Sequential(*layers)`: each layer is an argument",
    "input to a constructor": "`nn.{0}()(input)`: the first call makes the layer, the second "
        "computes",
    "misspelt key": "the model's own names: {0}",
    "single value": "`model.eval()` to predict single samples, or batches of at least two",
    # optimizers
    "model for parameters": "`{0}(model.parameters(), ...)`, where `model` is the {1}",
    "tensor for parameters": "`[tensor]`, a list of it",
    "no parameters": "`nn.ModuleList([...])` in place of a list in an attribute of the module; and "
        "a new call of `model.parameters()` for each optimizer",
    # shapes and dtypes of inputs
    "in features": "`nn.Linear({0}, {2})` in place of `nn.Linear({1}, {2})`: its input has {0} "
        "features",
    "flatten": "`nn.Flatten()` before the layer: a sample of shape {0} has {1} numbers",
    "input dtype": "`.{0}()` for the input: arrays of NumPy are float64, and integers need a "
        "conversion",
    "channels last": "`input.permute(0, 3, 1, 2)`: images are (N, C, H, W)",
    "one image": "`input[None]`: an image is (C, H, W), and a batch of them (N, C, H, W)",
    "no channels": "`input[:, None]`: images are (N, C, H, W), and grey ones have one channel",
    "index dtype": "`input.long()`: indices are integers",
    "rows": "`nn.Embedding({0}, ...)`: the largest index is {1}",
    # losses
    "class dtype": "`target.long()`: classes are integers",
    "class column": "`target.squeeze(1)`: one class for each sample, of shape (N,)",
    "one-hot classes": "`target.argmax(1)` for one-hot rows, or `target.float()` for probabilities",
    "too few outputs": "a last layer with at least {0} outputs: classes are counted from 0",
    "target dtype": "`target.float()`",
    "target column": "`target[:, None]`, or `input.squeeze(1)`, so that both have one shape",
    "no probabilities": "`binary_cross_entropy_with_logits`, which takes any numbers, or `sigmoid` "
        "before this loss",
}  # fmt: skip
