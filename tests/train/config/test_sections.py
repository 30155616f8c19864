"""YAML into trees: what scalars mean, where things stand, what is refused."""

from pathlib import Path
from typing import Any

import pytest

from nanotorch.train.config.load import LARGEST_FILE, parse_yaml, read_config_text, with_overrides
from nanotorch.train.config.sections import (
    Items,
    Noted,
    Place,
    Scalar,
    Table,
    Tree,
    plain_scalar,
    raise_all,
)
from tests.train.examples import refusal_of

START = Place(source="x.yaml", line=1, column=1)


def plain(tree: Tree) -> Any:
    if isinstance(tree, Scalar):
        return tree.value
    if isinstance(tree, Items):
        return [plain(item) for item in tree.items]
    return {key: plain(entry.value) for key, entry in tree.entries.items()}


def parsed(text: str) -> Any:
    return plain(parse_yaml(text, START))


def overridden(tree: Tree, overrides: list[str]) -> Tree:
    noted = Noted()
    tree = with_overrides(tree, overrides, noted)
    raise_all(noted)
    return tree


refusal = refusal_of(lambda text: parse_yaml(text, START))


SCALARS = {
    "1e-3": 0.001, "1E5": 100000.0, ".5": 0.5, "-1.": -1.0, "+12": 12, "0": 0, "0o17": 15,
    "0x1f": 31, "-0x1F": -31, "true": True, "FALSE": False, "~": None, "": None, "null": None,
    ".inf": float("inf"), "-.Inf": float("-inf"),
}  # fmt: skip
TEXTS = ["on", "off", "yes", "no", "12:30", "010", "1_000", "0b1", "1e", "--1", "nan", "tRue"]


def test_a_scalar_means_what_yaml_1_2_says_and_all_else_is_text() -> None:
    for text, value in {**SCALARS, **{text: text for text in (*TEXTS, "9" * 5000)}}.items():
        assert (plain_scalar(text), type(plain_scalar(text))) == (value, type(value))


PARSED = {
    "['1', \"true\", '']": ["1", "true", ""],
    "- &h {name: Linear, n: 16}\n- *h\n- {<<: *h, n: 8}": [
        {"name": "Linear", "n": 16},
        {"name": "Linear", "n": 16},
        {"name": "Linear", "n": 8},
    ],
    "- {<<: [{n: 1}, {n: 2, m: 3}]}": [{"n": 1, "m": 3}],
    # Of anchors with one name the later one counts.
    "- &a 1\n- &a 2\n- *a": [1, 2, 2],
    "- &a {b: &a 3}\n- *a": [{"b": 3}, 3],
}


@pytest.mark.parametrize("text", PARSED)
def test_quotes_anchors_aliases_and_merge_keys(text: str) -> None:
    assert parsed(text) == PARSED[text]


def test_aliases_share_what_they_name() -> None:
    tree = parse_yaml(doubled(10), START)
    assert isinstance(tree, Table)
    last, before = tree.entries["a9"].value, tree.entries["a8"].value
    assert isinstance(last, Items)
    assert last.items[0] is last.items[1] is before


def test_aliases_cannot_make_a_small_file_a_huge_one() -> None:
    message = "x.yaml:17:6: more than 100,000 values, including those that aliases repeat"
    assert refusal(doubled(40)) == message


def doubled(times: int) -> str:
    """Return lists, each of which holds the one before twice."""
    items = [f"*a{index - 1}, *a{index - 1}" if index else "x" for index in range(times)]
    return "\n".join(f"a{index}: &a{index} [{item}]" for index, item in enumerate(items))


def test_every_value_knows_its_place() -> None:
    tree = parse_yaml("a: 1\nb:\n  - {c: é, d: 2}\n", START)
    assert not isinstance(tree, Scalar | Items)
    entry = tree.entries["b"]
    assert (entry.key_place.line, entry.key_place.column) == (2, 1)
    assert isinstance(entry.value, Items)
    (item,) = entry.value.items
    assert not isinstance(item, Scalar | Items)
    assert str(item.entries["d"].key_place) == "x.yaml:3:12"
    assert str(item.entries["d"].value.place) == "x.yaml:3:15"


REFUSED = {
    "": "x.yaml:1:1: the file is empty",
    "# nothing\n": "x.yaml:1:1: the file is empty",
    "a: 1\na: 2\na: 3": "x.yaml:2:1: a: duplicate key; the first is on line 1\n"
    "x.yaml:3:1: a: duplicate key; the first is on line 1",
    "m:\n  - k: 1\n    k: 2": "x.yaml:3:5: m[0].k: duplicate key; the first is on line 2",
    "a: b: c": "x.yaml:1:5: not valid YAML: unexpected key: the indentation differs from the "
    "line above, or a text that contains ': ' needs quotes",
    "a: [1": "x.yaml:1:4: not valid YAML: a ',' or the closing ']' is missing after this '['",
    "a:\n\t- 1": "x.yaml:2:1: not valid YAML: a tab cannot indent a line; use spaces",
    "a:\n  b: 1\n c: 2": "x.yaml:3:2: not valid YAML: the indentation differs from the lines above",
    "a: 1\nb:2\nc: 3": "x.yaml:2:1: not valid YAML: expected 'key: value', with a space after the "
    "colon",
    "a: {b:2}": "x.yaml:1:5: a.b:2: needs a space after the colon",
    "a: {b: 2\nc: 3": "x.yaml:1:4: not valid YAML: a ',' or the closing '}' is missing after "
    "this '{'",
    "a: 'b\n": "x.yaml:1:4: not valid YAML: the closing quote is missing",
    "a: [*.b]": "x.yaml:1:5: not valid YAML: a text that begins with '*' needs quotes",
    "a: @b": "x.yaml:1:4: not valid YAML: a text that begins with this character needs quotes",
    "a\0": "x.yaml:1:2: not valid YAML: the character '\\x00' is not allowed",
    "a: 1\nb: \x07": "x.yaml:2:4: not valid YAML: the character '\\x07' is not allowed",
    "a: *b": "x.yaml:1:4: the alias *b has no anchor before it",
    "a: &b [1, *b]": "x.yaml:1:11: the alias *b is inside its own anchor",
    "a: &b {c: {d: *b}}": "x.yaml:1:15: the alias *b is inside its own anchor",
    "a: 1\n---\nb: 2": "x.yaml:2:1: a second document begins; a configuration is a single one",
    "[a]: 1": "x.yaml:1:1: a key must be plain text",
    "? {a: 1}\n: 2": "x.yaml:1:3: a key must be plain text",
    "- &a x\n- {*a : 1}": "x.yaml:2:4: a key must be plain text",
    "<<: 3": "x.yaml:1:5: '<<' merges mappings only",
    "a: !!float 1": "x.yaml:1:4: the tag 'tag:yaml.org,2002:float' is not allowed; remove it",
    "!!python/object/apply:os.getcwd []": "x.yaml:1:1: the tag "
    "'tag:yaml.org,2002:python/object/apply:os.getcwd' is not allowed; remove it",
    "[" * 2000: "x.yaml:1:41: nested more than 40 levels deep",
    "- " * 2000: "x.yaml:1:81: nested more than 40 levels deep",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_what_is_no_configuration_is_refused(text: str) -> None:
    assert refusal(text) == REFUSED[text]


def test_files_that_are_no_text() -> None:
    path = Path("x.yaml")
    for content, message in {
        b"a: 1\nb\xc3\xa9: \xff\n": "x.yaml:2:5: is not text in UTF-8 (byte 0xff)",
        b"#" * (LARGEST_FILE + 1): "x.yaml: cannot be read: has more than 100,000 bytes",
    }.items():
        path.write_bytes(content)
        assert refusal_of(read_config_text)(path, "x.yaml") == message
    path.write_bytes(b"\xef\xbb\xbfa: 1\n")  # a byte order mark is no mistake
    assert read_config_text(path, "x.yaml") == "a: 1\n"


TREE = "a: 1\nm:\n  - &h {n: 1, k: 2}\n  - *h\ns:\n"
PAIR = {"n": 1, "k": 2}
REPLACED: dict[tuple[str, ...], dict[str, Any]] = {
    (): {},
    ("a=1e-3",): {"a": 0.001},
    # What an alias names is shared; the override is not.
    ("m[1].n=[1, x]",): {"m": [PAIR, {"n": [1, "x"], "k": 2}]},
    ("s.deep.er={b: on}",): {"s": {"deep": {"er": {"b": "on"}}}},
    ("m[2]=x",): {"m": [PAIR, PAIR, "x"]},
    ("m=", "a=2", "a=3"): {"m": None, "a": 3},
}


@pytest.mark.parametrize("overrides", REPLACED, ids=str)
def test_overrides_replace_values(overrides: tuple[str, ...]) -> None:
    found = plain(overridden(parse_yaml(TREE, START), [*overrides]))
    assert found == {"a": 1, "m": [PAIR, PAIR], "s": None, **REPLACED[overrides]}


OVERRIDES_REFUSED = {
    **dict.fromkeys(
        ("a", "=1", "a..b=1", "a[x]=1"),
        "expected key=value, as in train.epochs=5 or model.layers.0.out_features=8",
    ),
    "m[-3]=1": "the list has 2 items, counted from [0]",
    "a.b=1": "a: is 1 (an integer), not a section",
    "a[0]=1": "a: is 1 (an integer), not a list",
    "m.n=1": "m: is a list, not a section",
    "m[3].n=1": "m[3]: the list has 2 items, counted from [0]",
    "a=[1": "not valid YAML: a ',' or the closing ']' is missing after this '['; quote the whole "
    "argument for the shell",
    "a={b: 1, b: 2}": "b: duplicate key",
}


@pytest.mark.parametrize("override", OVERRIDES_REFUSED)
def test_wrong_overrides(override: str) -> None:
    message = refusal_of(overridden)(parse_yaml(TREE, START), [override])
    assert message == f"command line: {override}: {OVERRIDES_REFUSED[override]}"
