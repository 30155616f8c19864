"""Differences between errors that are accepted, each with its reason."""

import ast
import json
import re
from collections.abc import Sequence
from pathlib import Path

# (pattern of PyTorch's error, pattern of nanotorch's, reason); None for no error
ACCEPTED: list[tuple[str | None, str | None, str]] = [
    (
        r"TypeError: .*received an invalid combination of arguments.*",
        r"TypeError: .*",
        "PyTorch lists the signatures of its overloads, of which nanotorch has one",
    ),
    (
        r"RuntimeError: .*INTERNAL ASSERT FAILED.*",
        r".*",
        "a bug of PyTorch's, as its own text says",
    ),
    (
        r"RuntimeError: \w+\(\): functions with out=.*",
        r"RuntimeError: [\w.]+\(\): functions with out=.*",
        "nanotorch names the function that was called",
    ),
    (
        r"(\w+): .*",
        r"(\w+): (Expected out tensor to have dtype|result type) .*",
        "nanotorch has one text for the dtypes of `out`",
    ),
    (
        r"RuntimeError: max_pool1d\(\) Invalid computed output size: .*",
        r"RuntimeError: Given input size: .*",
        "nanotorch takes signals for pictures of one row",
    ),
    (
        r"ValueError: vmap\(.*\): Got in_dim=.*",
        r"ValueError: vmap\(.*\): Got in_dim=-?\d+ for a Tensor of \d+ dimensions",
        "nanotorch words rare refusals itself",
    ),
    (r"RuntimeError: setStorage: .*", None, "PyTorch minds where a view of nothing begins"),
    (
        r"RuntimeError: one of the variables .*, which is output .*",
        r"RuntimeError: one of the variables .*",
        "which of several views of a changed tensor was saved",
    ),
    (
        r"RuntimeError: setStorage: .*",
        r"RuntimeError: setStorage: .*",
        "where a view of nothing begins",
    ),
    (
        r"RuntimeError: derivative for aten::.*",
        None,
        "a pass that leads nowhere comes to a node without a derivative",
    ),
    (
        None,
        r"AttributeError: 'NoneType' object has no attribute 'register_(pre)?hook'",
        "a node without a derivative has edges in PyTorch for inputs that require grad only",
    ),
    (
        r"NotImplementedError: (Subtraction|Negation), .*",
        None,
        "PyTorch cannot differentiate a power by a bool, and atan2 of one",
    ),
    (
        None,
        r"RuntimeError: unsupported operation: more than one element .*",
        "PyTorch lets be a copy of elements onto themselves before it looks at their memory",
    ),
    (
        None,
        r"IndexError: index -?\d+ is out of bounds for dimension \d+ with size 0",
        "PyTorch fills no parts of nothing by a view, which it minds beyond the memory only",
    ),
    (
        None,
        r"IndexError: Dimension out of range .*",
        "PyTorch does not check the dimension along which it joins empty vectors",
    ),
    (
        r'NotImplementedError: "ldexp_cpu_exp" not implemented for \'Bool\'',
        None,
        "PyTorch refuses bool exponents of floating-point numbers, but not of bools",
    ),
    (
        r"RuntimeError: ldexp can't be cast to the desired output type .*",
        r"RuntimeError: result type .* can't be cast to the desired output type .*",
        "PyTorch tells the operation where it means the type",
    ),
    (
        r"RuntimeError: torch.meshgrid: Expected 0D or 1D tensor .* but got: .*",
        r"RuntimeError: torch.meshgrid: Expected 0D or 1D tensor .* but got: .*",
        "PyTorch prints the tensor as in C++",
    ),
    (
        r"RuntimeError: (expected (scalar type|dtype)|self and mat\d must).*Half.*",
        r"RuntimeError: (expected (scalar type|dtype)|self and mat\d must).*([Ff]loat).*",
        "halves are in single precision when their operands are compared",
    ),
    (
        r"(_LinAlgError: linalg.inv: .*The diagonal element \d+ is zero.*)?",
        r"(_LinAlgError: linalg.inv: .*The diagonal element \d+ is zero.*)?",
        "whether a factor is zero exactly, or nearly, depends on the rounding",
    ),
    (
        r"(_LinAlgError: torch.linalg.solve: The solver failed .*)?",
        r"(_LinAlgError: torch.linalg.solve: The solver failed .*)?",
        "whether a factor is zero exactly, or nearly, depends on the rounding",
    ),
    (
        r"RuntimeError: torch.histc: range of \[-?nan, -?nan\] is not finite",
        r"RuntimeError: torch.histc: range of \[nan, nan\] is not finite",
        "PyTorch tells the sign of a nan",
    ),
    (
        r"TypeError: .*\(position 1\) must be Tensor.*",
        r"TypeError: .*\(position 2\) must be Tensor.*",
        "PyTorch counts arguments without self for methods, nanotorch as of a function",
    ),
    (
        r"RuntimeError: expand\(CPU\w+Type.*",
        r"RuntimeError: expand\(torch.\w+Tensor.*",
        "PyTorch has two names for the type",
    ),
    (
        r"RuntimeError: result type .* type (long int|bool)",
        r"RuntimeError: result type .* type (Long|Bool)",
        "PyTorch has two names for the type",
    ),
    (
        r"(NotImplementedError: \"(log_)?softmax_kernel_impl\".*)?",
        r"NotImplementedError: \"(log_)?softmax_lastdim_kernel_impl\".*",
        "PyTorch names its kernel, of which it has two, and calls none where there are no elements",
    ),
    (
        r"RuntimeError: setStorage: .*",
        r"IndexError: .*index .* is out of bounds for dimension .* with size 0",
        "PyTorch tells its own way of filling, by a view, instead of the user's mistake",
    ),
    (
        r"RuntimeError: size mismatch \(got input: \[\d+\], target: \[1\]\)",
        r"(RuntimeError: one of the variables .*)?",
        "PyTorch cannot differentiate the loss of a single sample twice",
    ),
    (
        r"RuntimeError: result type Float can't be cast to the desired output type (Long|Int|B\w+)",
        None,
        "PyTorch cannot differentiate the quotient by integers that `addcdiv_` takes",
    ),
    (
        r"RuntimeError: Found dtype \w+ but expected \w+",
        None,
        "PyTorch cannot differentiate a Huber loss of two dtypes, which it computes",
    ),
    (
        None,
        r"RuntimeError: Expected size for first two dimensions of batch2 tensor to be: .*",
        "PyTorch does not compare how many keys and values there are in attention",
    ),
]

# A list of numbers of which each is a rounding of zero.
ROUNDING = r"(?:[\[\], ]|-?0\.0|-?\d(?:\.\d+)?e-(?:0[789]|\d\d))+"
# (pattern of the statements, pattern of the difference, reason); {t} is the tensor that differs
OF_STATES: list[tuple[str, str, str]] = [
    (
        r"cum(max|min)\([^Z]*(\b{t}\b.* = .*autograd\.grad|see\()",
        r"state (t\d+|log [\d ]+) requires_grad: True but False",
        "PyTorch gives the input itself as the gradient of running extrema of nothing",
    ),
    (
        r"\b{t}\b[^\n]*\.(eq|ne|lt|le|gt|ge)_\(",
        r"state t\d+ requires_grad: True but False",
        "PyTorch lets bools and integers require grad that a comparison is written to",
    ),
    (
        r"matmul\([^\n]*out=",
        r"state t\d+ version: \d+ but \d+",
        "PyTorch squeezes a vector given to `matmul` to fill, which counts as one write more",
    ),
    (
        r"func\.jvp[^Z]*\b{t}\b.*create_graph=True",
        r"state t\d+ requires_grad: False but True",
        "derivatives forwards are two passes backwards here, of which the second has a history",
    ),
    (
        r"(t\d+) = [^\n]*\b(cum)?prod\([^Z]*\b\1\.data\b",
        r"state .*values: .*",
        "PyTorch makes the gradient of a product of its result, which `.data` has changed unseen",
    ),
    (
        r"\bgelu\(",
        r"state .*values: \{'type': 'float32'.*\bnan\b.* but .*",
        "PyTorch asks oneDNN for `gelu`, where inf becomes nan; its own kernels keep it",
    ),
    (
        r"([Ll]ayer|[Bb]atch|[Gg]roup|[Ii]nstance)_?[Nn]orm",
        rf"state .*values: .*'list': {ROUNDING}}} but .*'list': {ROUNDING}}}",
        "the gradient of the sum of a normalized row is zero but for its rounding",
    ),
    (
        r"\b{t} = .*\b(inv|inverse)\(",
        r"state .*values: .*'list': \[+-?\d{7,}\..* but .*'list': \[+-?\d{7,}\..*",
        "an inverse of what is singular but for its rounding is made of that rounding",
    ),
    (
        r"\b{t} = .*\bs?logdet\(",
        r"state .*: .*(nan|-inf|-\d\d\.\d+)\b.*\} but .*: .*(nan|-inf|-\d\d\.\d+)\b.*\}",
        "a determinant of what is singular but for its rounding is that rounding",
    ),
    (
        r"\bedges\(|next_functions",
        r"state others .*'torch::autograd::NotImplemented'.*",
        "a node without a derivative has edges in PyTorch for inputs that require grad only",
    ),
    (
        r"(func\w*\.(hessian|hvp|jac)|create_graph=True)[^Z]*\Z",
        r"state .*values: \{'type': 'float16'.*\bnan\b.* but .*",
        "PyTorch rounds each step of a second derivative to half precision, where some overflow",
    ),
    (
        r"(layer|group|batch)_norm\((t\d+)\b[^Z]*\b\2\.data\b",
        r"state .*values: .*",
        "PyTorch takes the former mean off the input again, which `.data` has changed unseen",
    ),
    (
        r"(t\d+) = torch\.func[^Z]*(\b\1\.grad_fn\.next_functions|\bedges\()",
        r"state (log|others) .*",
        "which nodes a transform makes inside, and of which shapes, is not promised",
    ),
    (
        r"\b{t} = torch\.nn\.functional\.rms_norm\(",
        r"state t\d+ grad_fn: CloneBackward0 but MulBackward0",
        "PyTorch lays a product as its first operand and then brings it in order",
    ),
    (
        r"u?int8[^Z]*addc(mul|div)_?\(",
        r".* values: .*",
        "PyTorch scales small integers in their own dtype in a derivative, where they overflow",
    ),
]

# Reasons for the refusal of a call. If several hold at once, the order of the checks decides which
# one is raised; it only matters that both frameworks refuse.
REFUSALS = [
    r"RuntimeError: a (view of a )?leaf Variable that requires grad is being used in an in-place.*",
    r"RuntimeError: A view was created in .*",
    r"RuntimeError: Output \d+ of \w+ is a view .*",
    r"RuntimeError: unsupported operation: .*",
    r"RuntimeError: (.*must have the same dtype|expected dtype .* for `\w+` but got dtype).*",
    r"RuntimeError: .*to be equal to src.dtype",
    r"RuntimeError: .*source and destination dtypes match.*",
    r"RuntimeError: shape mismatch: .*",
    r"RuntimeError: The size of tensor a .*",
    r"RuntimeError: output with shape .*",
    r"RuntimeError: result type .*",
    r"RuntimeError: (Boolean alpha|all elements of) .*",
    r"(RuntimeError|IndexError): index_\w+_?\(\): .*",
    r"RuntimeError: (setStorage: .*|ZeroDivisionError)",
    r"RuntimeError: (addmm|mat1|Index tensor|source tensor|Expected index).*",
    r"IndexError: Dimension out of range .*",
    r"IndexError: too many indices .*",
    r"IndexError: Dimension specified as -?\d+ but tensor has no dimensions",
    r"RuntimeError: ('weight' must be 2-D|batch\d must be a 3D tensor)",
    r"RuntimeError: size mismatch, got input .*",
    r"(RuntimeError: expected target dtype|ValueError: For 1D input, 1D target) .*",
    r"RuntimeError: (prelu: |Mismatch of parameter numbers) ?.*",
    r"RuntimeError: linalg.vector_norm cannot compute .*",
    r"(RuntimeError: ArrayRef: invalid slice|ValueError: Expected input batch_size) .*",
    r"IndexError: index( .*)? is out of bounds.*",
    r"NotImplementedError: .*",
    r"IndexError: (select|slice|cummax|cummin).*",
    r"IndexError: am(ax|in).*",
    r"RuntimeError: (Bad in-place call|The expanded size|tril|triu|mm: mat1|Number of elements).*",
    r"RuntimeError: (fill_ only|shape '.*' is invalid|t\(\) expects|mm: mat2|batch1 must).*",
    r"RuntimeError: (expand\(torch|Tensors must have|derivative for aten::|one of the variables).*",
    r"RuntimeError: (trace: |Integer division with addcdiv ).*",
    r"RuntimeError: Found dtype \w+ but expected \w+",
    r"RuntimeError: dim \d appears multiple times .*",
    r"RuntimeError: For integral input .*",
    r"RuntimeError: (Calculated padded input size|expected scalar type|Input type \(|meshgrid).*",
    r"RuntimeError: (\dD tensor expected|size mismatch, input|Incompatible matrix sizes).*",
    r"RuntimeError: Expected size for first two.*",
    r"RuntimeError: (Not allow zero-dim input|value cannot be converted|vector \+ matrix).*",
    r"RuntimeError: (both arguments to linear|self and mat\d must|expand\(CPU|linalg.cross).*",
    r"RuntimeError: (addmv input tensors|dot : |mm: mat1|size mismatch, got).*",
    r"RuntimeError: (only batches of spatial targets|Input dtypes must be the same).*",
    r"RuntimeError: (inconsistent tensor size|Expected target size).*",
    r"RuntimeError: (Autograd not support dtype|batch1 and batch2 must have).*",
    r"RuntimeError: (no dimension of size|scatter\(\)|output with shape|renorm|linalg.solve).*",
    r"RuntimeError: (the output given to float_power|pow\(\)|heaviside|expected m1 and m2|ldexp).*",
    r"RuntimeError: (invalid gradient at|Function \w+ returned an incorrect number) .*",
]
LAYOUT = "PyTorch lays a result as its first operand, NumPy in order where operands lie differently"
TRANSFORM = "how a transform lays what it makes of many samples is not promised"
STRIDES = "the same elements, in PyTorch with other strides of dimensions of one element"
PASS = re.compile(r"backward\(|autograd\.grad\(")
# A statement that may change what exists: a pass, a step, a call in place or with `out`, an
# augmented assignment or one to an index.
WRITES = re.compile(PASS.pattern + r"|step\(|\w_\(|Doubled|inplace=|out=|\] = |[-+*/%&|^]= ")
SEVERAL = "refused for several reasons, of which another is told"
# Differences that are accepted in programs with a statement; `\Z` is the end of the last one.
OF_STATEMENTS: list[tuple[str, str | None, str | None, str]] = [
    (
        r"pow|\*\*",
        r"RuntimeError: one of the variables needed for gradient.*",
        None,
        "PyTorch checks the saved result of a power though nothing needs it",
    ),
    (
        r"(//=|floor_divide_|heaviside_)[^Z]*(autograd\.grad\(|backward\(inputs=)[^\n]*\Z",
        None,
        r"RuntimeError: derivative for aten::\w+_ is not implemented",
        "PyTorch leads no gradient to chosen tensors through a write to a view, and says nothing",
    ),
    (
        r"unique\(dim[^Z]*backward\(inputs=[^\n]*\Z",
        None,
        r"NotImplementedError: the derivative for 'unique_dim' .*",
        "a pass that leads nowhere comes to a node without a derivative",
    ),
    (
        r"func\.hessian[^\n]*\Z",
        r"IndexError: select\(\): index 0 out of range for tensor of size \[0\] .*",
        None,
        "PyTorch cannot take the second derivatives of a norm of nothing all at once",
    ),
    (
        r"func\.hessian[^\n]*norm",
        r"RuntimeError: one of the variables .* output 0 of MaskedFill, .*",
        None,
        "PyTorch cannot differentiate its second derivative of a norm, which writes to its result",
    ),
    (
        r"quantile",
        r"RuntimeError: one of the variables needed for gradient.*",
        None,
        "PyTorch saves the input of a quantile though nothing needs it",
    ),
    (
        r"(isin|kron)\([^\n]*\Z",
        r"RuntimeError: view size is not compatible .*",
        None,
        "PyTorch takes a view of its operand that its strides do not allow",
    ),
    (
        r"functional\.jacobian\([^\n]*\Z",
        r"RuntimeError: stack expects a non-empty TensorList",
        None,
        "PyTorch finds no rows to stack in the derivatives of nothing",
    ),
    (
        r"\b(t\d+) = [^\n]*binary_cross_entropy\([^Z]*\b\1\b[^\n]*as_strided[^\n]*\Z",
        None,
        r"RuntimeError: as_strided\(\): beyond the memory",
        "PyTorch keeps the memory of all losses for their sum, which `as_strided` shows",
    ),
    (
        r"(@|matmul|einsum|mm|mv|dot|inner)[^\n]*\Z",
        None,
        r"RuntimeError: expected scalar type \w+ but found \w+|NotImplementedError: \"\w+\" not .*",
        "PyTorch does not look at the dtypes of factors where there is nothing to add",
    ),
    (
        r"\.data\b",
        r"RuntimeError: unsupported operation: some elements.*",
        None,
        "memory that `.data` shares is not known to be shared",
    ),
]


def matches(pattern: str | None, error: str | None) -> bool:
    """Whether an error matches a pattern; None matches no error."""
    if pattern is None:
        return error is None
    return re.fullmatch(pattern, error or "") is not None


def own_words() -> str:
    """A pattern for nanotorch's own error messages, with the types of the errors."""
    root = Path(__file__).parents[2]
    texts = [r"[\w.]+\(\): the number of dimensions must be .*, not \d+"]
    for path in (root / "nanotorch").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("require"), [_, ast.Constant(str(text)), *_]):
                    texts.append(re.sub(r"\\\{.*?\}", ".*", re.escape(text)))
    for own in json.loads(
        (root / "tests" / "golden" / "own_words.json").read_text("utf-8")
    ).values():
        # Sizes and other numbers match any number.
        texts += [
            re.sub(r"(\\?[\d\[\](),.-]|\\ (?=\d))*\d[^a-z]*", ".*", re.escape(t)) for t in own
        ]
    return rf"\w+: ({'|'.join(texts)})"


OWN_WORDS = own_words()


def why(statements: Sequence[str], theirs: str | None, ours: str | None) -> str | None:
    """The reason why this difference after the last of the statements is accepted, if it is."""
    alike = theirs and ours and theirs.split(":")[0] == ours.split(":")[0]
    if alike and matches(OWN_WORDS, ours):
        return "nanotorch words rare refusals itself"
    for their_pattern, our_pattern, reason in ACCEPTED:
        if matches(their_pattern, theirs) and matches(our_pattern, ours):
            return reason
    text = "\n".join(statements)
    for where, their_pattern, our_pattern, reason in OF_STATEMENTS:
        if re.search(where, text) and matches(their_pattern, theirs) and matches(our_pattern, ours):
            return reason
    if theirs is None or ours is None:
        return None
    named = [any(matches(p, error) for p in REFUSALS) for error in (theirs, ours)]
    stale = any(matches(p, error) for p in REFUSALS[:3] for error in (theirs, ours))
    return SEVERAL if stale or all(named) else None


def why_state(statements: Sequence[str], found: str) -> str | None:
    """The reason why this difference of states after the statements is accepted, if it is."""
    text = "\n".join(statements)
    name = re.match(r"state (t\d+) ", found)
    for where, pattern, reason in OF_STATES:
        where = where.replace("{t}", name[1] if name else "{t}")
        if re.search(where, text) and re.fullmatch(pattern, found):
            return reason
    return None
