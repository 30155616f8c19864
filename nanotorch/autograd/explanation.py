"""`explain`: one page that shows a computation and its backward passes, step by step.

explain(loss).save("loss.html")         # this is loss.backward(), watched

with explain() as page:                 # all that happens in a block
    loss = criterion(model(x), y)
    loss.backward()
page.save("step.html")
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from itertools import chain, groupby
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from nanotorch._core import doors
from nanotorch._core.call_site import call_site_of, names_in, tensors_in
from nanotorch._core.call_site import relative_path as short_path
from nanotorch._core.doors import Observer
from nanotorch._core.engine import fit, hook_name
from nanotorch._core.grad_mode import no_grad
from nanotorch._core.graph import (
    AccumulateGrad,
    CopySlices,
    Edge,
    FreedValues,
    Node,
    NodeHooks,
    version_of,
)
from nanotorch._core.tensor import Tensor
from nanotorch.autograd.anomaly import call_note_of, thread
from nanotorch.autograd.anomaly_mode import set_detect_anomaly
from nanotorch.autograd.graph_text import (
    GRADIENT,
    UNKNOWN,
    Box,
    Graph,
    Seen,
    Walk,
    call_text,
    formulas,
    graph_facts,
    is_plain,
    is_short,
    key_of,
    op_of,
    operands_of,
    parenthesize,
    retained_tensors,
    saved_by,
    shape_text,
    short_value,
    trial_gradients,
    tuple_text,
)
from nanotorch.autograd.graph_view import shorten_middle, svg

# The steps of a computation, as texts.


class Step(NamedTuple):
    """One step: a node that was recorded, or that ran in a backward pass.

    Attributes:
        phase: "forward", or the name of the backward pass.
        key: the key of the node's box in the graph.
        title: the node's symbol and class.
        where: the user's line that made the node: ``file:line``, and its text.
        facts: what happens in the step: pairs of a kind and a text.
        changes: the values that change in the graph: the key of the box, the row, the text.
    """

    phase: str
    key: str
    title: str
    where: tuple[str, str]
    facts: list[tuple[str, str]]
    changes: list[tuple[str, str, str]]


LONGEST_CALL = 24  # characters of a call that can replace the name of its result
BUSY = "explain() is already watching; end its `with` block first"
D = "\N{PARTIAL DIFFERENTIAL}"


class explain(Observer):  # noqa: N801 - called as a function, or entered as `detect_anomaly` is
    """Watch a computation: its operations, then its backward passes, node by node in the engine's
    order. Each node has its formula and the numbers in it. Notebooks show the page, `save` writes
    it. A large graph is folded by modules, if its forward pass was watched.

    Args:
        loss: a tensor: `explain` runs ``loss.backward()``, and shows the operations before it as
            far as the graph keeps them. Default: a context manager that watches its block.

    Attributes:
        steps: a `Step` for each node that was recorded or that ran.
        graph: the graph of the computation, with values.

    Raises:
        TypeError: if ``loss`` is not a tensor.
        RuntimeError: inside another `explain`; or what ``loss.backward()`` raises.
    """

    def __init__(self, loss: Tensor | None = None) -> None:
        self.steps: list[Step] = []
        self.graph = Graph()
        self._modules: dict[str, tuple[str, ...]] = {}  # by box: the path of its module
        self._nodes: dict[Node, Seen] = {}
        self._sweeps: list[Any] = []
        self._names: dict[int, str] = {}  # names of tensors, by `id`
        self._places: dict[int, tuple[Node, int]] = {}  # by `id` of a result: its edge
        self._versions: dict[int, int] = {}  # by `id` of a result: its version at the call
        self._run: Any = None  # the inputs, results and formulas of the node that runs
        self._held: list[Any] = []  # while these live, nothing else gets their `id`
        if loss is not None:
            if not isinstance(loss, Tensor):
                raise TypeError(f"explain() takes a Tensor, got {type(loss).__name__}")
            with self:
                self._look_back(loss)
                loss.backward()

    def __enter__(self) -> "explain":
        if any(isinstance(observer, explain) for observer in doors.nodes):
            raise RuntimeError(BUSY)
        self._mode = set_detect_anomaly(True, check_nan=False)
        self._mode.__enter__()
        doors.nodes.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        doors.nodes.remove(self)
        self._mode.__exit__()
        self._learn_names()
        walk = Walk({})
        walk.names = self._names
        for node in self._nodes:
            walk.add_node(node)
        self.graph = walk.with_values()
        for node in sorted(walk.nodes, key=lambda node: node._sequence):
            site = call_note_of(node)[0]
            path = ((site and site.module) or "").partition(" (")[0].replace(" > ", ".")
            self._modules[key_of(node)] = tuple(filter(None, path.split(".")))
        self._nodes, self._places, self._sweeps, self._held = {}, {}, [], []

    def _learn_names(self) -> None:
        """Note the current names of the user's variables."""
        for number, name in names_in(call_site_of(sys._getframe(1))[1]).items():
            if not name.startswith("self.") or number not in self._names:
                self._names[number] = name
            if number in self._places:
                node, output = self._places[number]
                self._seen(node).names[output] = self._names[number]

    def _seen(self, node: Node) -> Seen:
        """The facts known of a node; an empty `Seen` at first."""
        if node not in self._nodes:
            self._nodes[node] = vars(node)["_seen"] = Seen(node)
        return self._nodes[node]

    def _label(self, edge: Edge, otherwise: str) -> str:
        """The name of the tensor that an edge leads to, or the call that made it."""
        node, number = edge
        if isinstance(node, AccumulateGrad):
            return self._names.get(id(node.variable), otherwise)
        if node is None or node not in self._nodes:
            return otherwise
        seen = self._nodes[node]
        place = f"[{number}]" if len(seen.names) > 1 else ""
        return seen.names[number] or (seen.call and seen.call + place) or otherwise

    def _title(self, node: Node) -> str:
        leaf = isinstance(node, AccumulateGrad)
        name = self._label((node, 0), "") if leaf else self._seen(node).symbol
        return f"{name} {type(node).__name__}".strip()

    def _begin(self, phase: str, node: Node) -> Step:
        """Append a step without facts and changes; returns the step."""
        site = call_note_of(node)[0]
        where = (f"{short_path(site.file)}:{site.line}", site.source) if site else ("", "")
        key = key_of(node.variable if isinstance(node, AccumulateGrad) else node)
        self.steps.append(Step(phase, key, self._title(node), where, [], []))
        return self.steps[-1]

    # Forward

    def _look_back(self, loss: Tensor) -> None:
        """Add a step for each operation that led to ``loss``; these ran before the watch began."""
        walk = Walk(tensors_in(call_site_of(sys._getframe(1))[1]))
        walk.add_output(loss)
        made = walk.made()
        # A result that was written to, perhaps without a record, had another value at the call.
        unchanged = {edge: tensor for edge, tensor in made.items() if not version_of(tensor)}
        for node, seen in graph_facts(walk.nodes, unchanged).items():
            if not isinstance(node, AccumulateGrad):
                self._nodes[node] = vars(node)["_seen"] = seen
        self._places = {id(t): edge for edge, t in made.items() if edge[0] in self._nodes}
        self._learn_names()
        for node in self._nodes:
            op, texts = op_of(node), self._kept_operands(node)
            name = getattr(op, "known_as", type(node).__name__.removesuffix("Backward"))
            if isinstance(node, CopySlices):
                first, *_ = texts
                name, texts[first] = op.inplace_name, f"a view of {texts[first]}"
            self._tell(node, call_text(op, name, texts, saved_by(node) if op else {}))

    def _kept_operands(self, node: Any) -> dict[str, str]:
        """The texts of a node's operands by parameter, as far as the graph keeps them."""
        op, edges = op_of(node), [self._label(edge, "") for edge in node._edges]
        if op is None:
            return place_arguments(node, [text or UNKNOWN for text in edges])
        if op.variadic:
            return {op.variadic: tuple_text([text or UNKNOWN for text in edges])}
        texts, kept = dict(zip(op.formulas, edges, strict=True)), saved_by(node)
        for name in operands_of(op):
            if not texts.get(name):
                value = kept.get(name)
                texts[name] = UNKNOWN if value is None else self._operand(value)
        return {name: texts[name] for name in operands_of(op)}

    def made(self, node: Node, out: Any, arguments: Sequence[Any]) -> None:
        """Add the step of an operation that has made a node; the engine calls this."""
        self._learn_names()
        self._held += [out, *arguments]
        outputs, op = out if isinstance(out, tuple) else (out,), op_of(node)
        given = dict(zip(op.arguments, arguments, strict=True)) if op else {}
        inputs = {n: given[n] for n in operands_of(op)} if op else place_arguments(node, arguments)
        operands = {n: value for n, value in inputs.items() if value is not None}
        written = any(value is outputs[0] for value in arguments)
        for tensor in () if written else outputs:
            self._names.pop(id(tensor), None)  # a former tensor's name
        name = type(node).__name__.removesuffix("Backward")
        if op:
            name = op.inplace_name if written else op.known_as
        texts, so = {n: self._operand(value, written) for n, value in operands.items()}, ""
        base = outputs[0]._base if written else None
        if base is not None and base._edge is not None and base._edge[0]._saved == (node,):
            node, outputs, whole = base._edge[0], (base,), self._names.get(id(base), "its base")
            texts |= {next(iter(texts)): f"a view of {whole}"}  # the node is a `CopySlices`
            so = f", so {whole}"
        seen = self._seen(node)
        for key, value in inputs.items():
            constant = not getattr(value, "requires_grad", isinstance(value, (list, tuple)))
            if constant and value is not None and value is not out:
                seen.add_constant(str(key), value, self._names.get(id(value), ""))
        for number, tensor in enumerate(outputs[: len(seen.outputs)]):
            seen.outputs[number] = short_value(tensor)
            self._places[id(tensor)] = node, number
            self._versions[id(tensor)] = version_of(tensor)
        calls = [call_text(op, name, texts, given) + so]
        if not (written or UNKNOWN in texts.values()) and all(map(is_short, operands.values())):
            values = {n: short_value(value) for n, value in operands.items()}
            calls.append(call_text(op, name, values, given))
        self._tell(node, *calls)

    def _operand(self, value: Any, written: bool = False) -> str:
        """The name of an operand, else its value, or its shape if it is large.

        Args:
            written: whether the operation has overwritten an operand.
        """
        if isinstance(value, (tuple, list)) and not is_plain(value):
            return tuple_text([self._operand(part) for part in value])
        if name := UNKNOWN if value is UNKNOWN else self._names.get(id(value)):
            return name
        edge, version = self._places.get(id(value)), self._versions.get(id(value))
        if edge and (written or version == version_of(value)) and (call := self._label(edge, "")):
            return call
        if not is_short(value):
            return f"tensor {shape_text(value.shape)}"
        return UNKNOWN if written else short_value(value)

    def _tell(self, node: Node, *calls: str) -> None:
        """Add a forward step.

        Args:
            calls: the call of the operation, with names and, if they are short, with values.
        """
        seen = self._seen(node)
        named = len(calls[0]) <= LONGEST_CALL and UNKNOWN not in calls[0]
        seen.call = calls[0] if named else ""
        inside = "" if thread.running is None else ", recorded by a backward pass"
        step = self._begin(f"forward{inside}", node)
        texts = dict.fromkeys([*calls, ", ".join(text or "?" for text in seen.outputs)])
        step.facts.append(("computes", " = ".join(texts)))
        saved = [
            f"{n} = {short_value(v)}" for n, v in saved_by(node).items() if isinstance(v, Tensor)
        ]
        step.facts.append(("saves", ", ".join(saved) or "nothing"))
        found = formulas(node, None, trial_gradients(node))
        step.facts.extend(self._gradients(node, found, []))
        step.changes.extend((step.key, *row) for row in seen.rows())

    # Backward

    def _gradients(
        self, node: Node, found: Sequence[tuple[str, ...]], results: Sequence[str]
    ) -> Iterator[tuple[str, str]]:
        """The formulas of a node and their results, as facts."""
        names = list(getattr(op_of(node), "formulas", ()))
        for position, (edge, formula) in enumerate(zip(node._edges, found, strict=False)):
            if edge[0] is not None:
                name = self._label(edge, (*names, *["input"] * len(found))[position])
                label = f"{D}L/{D}{parenthesize(name)}"
                parts = dict.fromkeys([label, *formula, *results[position : position + 1]])
                yield "formula", " = ".join(filter(None, parts))

    def visit(self, sweep: Any, visit: Callable[..., None], node: Any, held: list[Any]) -> None:
        """Run a node in a backward pass and add its step; the engine calls this."""
        if not sweep.uses(node):
            visit(node, held)
            return
        begins = sweep not in self._sweeps
        self._sweeps += [sweep] if begins else []
        step = self._begin(f"backward pass {self._sweeps.index(sweep) + 1}", node)
        if begins:
            recorded = "; it is recorded, for create_graph=True" if sweep.create_graph else ""
            values = "kept" if sweep.freed is None else "freed once they are used"
            step.facts.append(("begins", f"saved values are {values}{recorded}"))
        step.facts.extend(self._backward(sweep, visit, node, held, step))

    def _backward(
        self, sweep: Any, visit: Callable[..., None], node: Any, held: list[Any], step: Step
    ) -> Iterator[tuple[str, str]]:
        """Run a node; yields the facts of its step."""
        arrived = list(map(short_value, held[0::2]))
        yield "arrives", f"g = {', '.join(arrived)}"
        saved = [name for name, value in saved_by(node).items() if isinstance(value, Tensor)]
        before = {e: waiting(sweep, e) for e in dict.fromkeys(node._edges) if e[0] is not None}
        leaf = node.variable if isinstance(node, AccumulateGrad) else None
        former = (
            f"{short_value(leaf._grad)} + " if leaf is not None and leaf._grad is not None else ""
        )
        self._run = None
        try:
            visit(node, held)
        except Exception as error:
            yield "fails", str(error).partition("\n")[0]
            raise
        given, results, found = self._run or (arrived, [], [])
        yield from self._hooks(node, arrived, given)
        if self._run is None:
            goal = node in sweep.goals
            yield ("returns", ", ".join(given)) if goal else ("formula", "is not applied")
        elif leaf is not None:
            total = short_value(leaf._grad)
            text = f"{former}{given[0]} = {total}" if former else given[0]
            yield "accumulates", f"{self._label((node, 0), 'leaf')}.grad = {text}"
            step.changes.append((step.key, GRADIENT, total))
        else:
            yield from self._gradients(node, found, results)
            seen = self._seen(node)
            seen.gradients[:] = given[: len(node._outputs)]
            rows = (row for row in seen.rows() if row[0].startswith(GRADIENT))
            step.changes.extend((step.key, *row) for row in rows)
            if saved and isinstance(node._saved, FreedValues):
                yield "frees", ", ".join(saved)
            for edge, first in before.items():
                sent = [r for e, r in zip(node._edges, results, strict=False) if e == edge]
                text, total = " + ".join(filter(None, [first, *sent])), waiting(sweep, edge)
                if total and sent:
                    if text != total:
                        text += f" = {total}"
                    yield "sends", f"{text} to {self._label(edge, self._title(edge[0]))}"

    def ran(self, sweep: Any, node: Node, grads: Sequence[Any], arrived: Sequence[Any]) -> None:
        """Note the gradients that arrived at a node and those it made; the engine calls this."""
        with no_grad():
            found = [] if isinstance(node, AccumulateGrad) else formulas(node, arrived, grads)
            sent = [
                g if g is None or edge[0] is None else fit(g, node, k, *edge[0]._outputs[edge[1]])
                for k, (edge, g) in enumerate(zip(node._edges, grads, strict=False))
            ]
        self._run = list(map(short_value, arrived)), list(map(short_value, sent)), found

    def _hooks(self, node: Any, arrived: list[str], given: list[str]) -> Iterator[tuple[str, str]]:
        """The hooks that ran at a node, as facts.

        Args:
            arrived: the gradients before the hooks.
            given: the gradients after the hooks, which the node got.
        """
        hooks = node._hooks or NodeHooks()
        before = chain(*(listed.values() for listed in (*hooks.tensor.values(), hooks.before)))
        if names := ", ".join(map(hook_name, before)):
            yield "hooks", names + ("" if arrived == given else f": g becomes {', '.join(given)}")
        for _, tensor in retained_tensors(node):
            if tensor._grad is not None:
                yield "retains", f"grad = {short_value(tensor._grad)}"
        posts = list(hooks.after.values())
        if isinstance(node, AccumulateGrad):
            posts += (node.variable._post_accumulate_hooks or {}).values()
        if posts:
            yield "hooks", f"afterwards: {', '.join(map(hook_name, posts))}"

    # The page

    @property
    def html(self) -> str:
        """The page: one HTML file that needs no other file."""
        steps = [step._asdict() for step in self.steps]
        for step in steps:  # the picture's boxes are as wide as shortened texts
            step["changes"] = [(*row, shorten_middle(text)) for *row, text in step["changes"]]
        data = {"steps": steps, "pictures": pictures(self.graph, self._modules)}
        # Keys are addresses. Replace them by numbers: equal programs make equal pages.
        numbers = {key: str(number) for number, key in enumerate(self.graph.boxes)}
        text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/").replace("<!", "<\\!")
        text = re.sub(r"\d+", lambda found: numbers.get(found[0], found[0]), text)
        return Path(__file__).with_suffix(".html").read_text("utf-8").replace('"DATA"', text, 1)

    def save(self, path: str | PathLike[str]) -> str:
        """Write the page to the file ``path``; returns the path."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(self.html, "utf-8")
        return str(target)

    def _repr_html_(self) -> str:
        frame = "width: 100%; height: 44rem; border: 0"
        return f'<iframe srcdoc="{escape(self.html)}" style="{frame}"></iframe>'

    def __repr__(self) -> str:
        return f"<explain: {len(self.steps)} steps>"


def place_arguments(node: Any, tensors: Sequence[Any]) -> dict[str, Any]:
    """The arguments of a user's function by position; `UNKNOWN` for one that is not a tensor."""
    left, is_tensor = iter(tensors), getattr(node, "_is_tensor", [True] * len(tensors))
    return {str(k): next(left) if known else UNKNOWN for k, known in enumerate(is_tensor)}


def waiting(sweep: Any, edge: Edge) -> str:
    """The gradient that waits at the end of an edge, as text; "" if none has arrived."""
    held = sweep.waiting.get(edge[0])
    return "" if held is None or held[2 * edge[1]] is None else short_value(held[2 * edge[1]])


# A graph that is too large to read at once is drawn as a picture of its modules, and one of each.


FOLD = 40  # boxes
Paths = Mapping[str, tuple[str, ...]]


def pictures(graph: Graph, modules: Paths) -> list[dict[str, Any]]:
    """The pictures of a graph and of the modules that are folded in it, outer ones first.

    Args:
        modules: for each node's key, the path of its module, in the order of the forward pass.
    """
    found: list[dict[str, Any]] = []
    todo = [(graph, "", "", -1, 0)]
    for whole, key, name, parent, depth in todo:  # the list grows while the loop runs
        groups: dict[str, list[str]] = {}
        if len(whole.boxes) > FOLD:
            # Group the nodes by their modules, at the first depth at which these differ. A group
            # has only neighbours in the forward pass: so no two groups need each other.
            keys, runs, deep = [k for k in modules if k in whole.boxes], [[""]], [[""]]
            while len(runs) < 2 and deep:
                depth += 1
                path = {k: modules[k][:depth] for k in keys}
                runs = [list(run) for _, run in groupby(keys, path.get)]
                deep = [run for run in runs if len(path[run[0]]) == depth]
            groups = {f"module{depth} {run[0]}": run for run in deep if len(run) > 1}
        into = {inner: group for group, listed in groups.items() for inner in listed}
        for leaf in [k for k, box in whole.boxes.items() if box.kind in ("leaf", "constant")]:
            places = {into.get(link.target, "") for link in whole.links if link.source == leaf}
            if len(places) == 1 and (place := places.pop()):
                into[leaf] = place
        boxes = {key: box for key, box in whole.boxes.items() if key not in into}
        for group, listed in groups.items():
            title = ".".join(modules[listed[0]][:depth])
            inside = {inner for inner, place in into.items() if place == group}
            boxes[group] = Box("module", title, (f"{len(inside)} boxes",))
            todo.append((whole.part(inside), group, title, len(found), depth))
        folded = whole.redrawn(boxes, into)
        if groups:
            folded.links = list(dict.fromkeys(folded.links))
        found.append({"key": key, "name": name, "parent": parent, "svg": svg(folded, keys=True)})
    return found
