"""The pages tell the truth: their blocks print what is shown, their links lead somewhere."""

import re
import tomllib
from functools import partial
from html import unescape
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

import pytest

from scripts.docs import DOCS, PICTURES, build, directory_for_pictures, drawn, executed

PAGES = sorted(DOCS.rglob("*.md"))
LINK = re.compile(r'\]\((?!https?:)([^)\s]+)\)|(?:src|href)="(?!https?:)([^"]+)"')


def named(path: Path) -> str:
    return path.relative_to(DOCS).as_posix()


def links(page: str) -> list[str]:
    """The files that a page links to, but for what only looks like a link in a block."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    return [a or b for a, b in LINK.findall(prose)]


def marked(path: Path) -> object:
    """Commands take long."""
    text = path.read_text("utf-8")
    marks = [pytest.mark.slow] if "```sh\n" in text else []
    if "import onnxruntime" in text and find_spec("onnxruntime") is None:
        marks.append(pytest.mark.skip("needs onnx and onnxruntime"))
    return pytest.param(path, id=named(path), marks=marks)


@pytest.mark.parametrize("path", [marked(path) for path in PAGES])
def test_a_page_prints_what_it_shows(path: Path) -> None:
    page = path.read_text("utf-8")
    with directory_for_pictures() as directory:
        assert executed(page, directory) == page
        for picture in (directory / "pictures").iterdir():
            shipped = PICTURES / picture.name
            assert shipped.is_file()
            assert drawn(picture) == drawn(shipped)


def test_what_a_page_does_not_say_is_seen(tmp_path: Path) -> None:
    printing = "```python\nprint(1 + 1)\n```\n\n```text\n{}\n```\n"
    assert executed(printing.format(2), tmp_path) == printing.format(2)
    assert executed(printing.format(3), tmp_path) == printing.format(2)
    raising = "```python\n1 / 0\n```\n"
    shown = f"{raising}\n```pytb\nZeroDivisionError: division by zero\n```\n"
    assert executed(shown, tmp_path) == shown
    with pytest.raises(RuntimeError, match="division by zero"):
        executed(raising, tmp_path)
    with pytest.raises(RuntimeError, match="no-such-command"):
        executed("```sh\nno-such-command\n```\n", tmp_path)


@pytest.mark.parametrize("path", [*PAGES, *DOCS.parent.glob("*.md")], ids=lambda path: path.name)
def test_links_lead_to_files(path: Path) -> None:
    for link in links(path.read_text("utf-8")):
        assert link.startswith("#") or (path.parent / link.partition("#")[0]).is_file(), link


def test_the_files_of_the_reading_path_exist() -> None:
    paths = re.findall(r"`(\w+/\w+\.py)`", (DOCS / "reading-path.md").read_text("utf-8"))
    assert len(paths) >= 30
    assert [path for path in paths if not (DOCS.parent / "nanotorch" / path).is_file()] == []


def test_every_page_and_picture_is_reached() -> None:
    navigation = (DOCS / "zensical.toml").read_text("utf-8")
    tomllib.loads(navigation)
    assert set(re.findall(r'"([\w/-]+\.md)"', navigation)) >= {named(path) for path in PAGES}
    shown = {
        (path.parent / link).resolve() for path in PAGES for link in links(path.read_text("utf-8"))
    }
    assert {path for path in PICTURES.iterdir() if path.resolve() not in shown} == set()


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


class Page(HTMLParser):
    """The anchors of a page, what it links to, and what a browser fetches for it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        self.anchors.add(found.get("id") or "")
        to = found.get("href") or found.get("src")
        if to:
            (self.links if tag == "a" else self.fetched).append(to)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("zensical")
    return build(tmp_path_factory.mktemp("docs"))


@pytest.mark.slow
def test_the_site_is_whole_and_needs_no_network(site: Path) -> None:
    pages = {path: Page(path) for path in site.rglob("*.html") if path.name != "404.html"}
    assert len(pages) >= len(PAGES)
    for path, page in pages.items():
        assert not [link for link in page.fetched if urlsplit(link).netloc], path
        for link in page.links + page.fetched:
            to = urlsplit(link)
            if to.netloc or to.scheme:
                continue
            target = (path.parent / unquote(to.path)).resolve() if to.path else path
            assert target.is_file(), (path, link)
            if to.fragment and target in pages:
                assert unquote(to.fragment) in pages[target].anchors, (path, link)


@pytest.mark.slow
def test_the_reference_tells_types_shapes_errors_and_keys(site: Path) -> None:
    def page(name: str) -> str:
        text = (site / "reference" / f"{name}.html").read_text("utf-8")
        return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", "", text)))

    assert "Linear( in_features: int, out_features: int, bias: bool = True," in page("nn")
    assert "Input (..., I), output (..., O)." in page("nn")
    assert "sum( input: Tensor, dim: int | Sequence[int] | None" in page("torch")
    assert "IndexError: for a dimension out of range." in page("Tensor")
    assert "make_dot(" in page("autograd")
    assert "SGD.step(closure" in page("optim")
    assert "batch_size: Samples per batch" in page("configuration")


@pytest.mark.slow
def test_pages_fit_wide_and_narrow_screens_and_the_search_finds(site: Path) -> None:
    pictures = pytest.importorskip("scripts.pictures")
    if pictures.CHROMIUM is None:
        pytest.skip("needs Chromium")
    handler = partial(Quiet, directory=site)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server, pictures.browser() as browser:
        Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"

        def show(name: str, width: int) -> None:
            screen = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            browser.call("Emulation.setDeviceMetricsOverride", **screen)
            browser.call("Page.navigate", url=f"{address}/{name}")
            browser.wait(f"location.pathname == '/{name}' && document.readyState == 'complete'")

        names = [path.relative_to(DOCS).with_suffix(".html").as_posix() for path in PAGES]
        for name in [*names, "reference/torch.html", "reference/configuration.html"]:
            for width in (1400, 390):
                show(name, width)
                assert browser.run("document.documentElement.scrollWidth") <= width, name
                assert browser.run("[...document.images].every(i => i.naturalWidth > 0)"), name
        show("index.html", 1400)
        browser.run("document.querySelector('.md-search__button').click()")
        inner = "[...document.querySelectorAll('div')].find(part => part.shadowRoot)?.shadowRoot"
        browser.wait(f"{inner}?.querySelector('input') != null")
        browser.run(f"{inner}.querySelector('input').focus()")
        browser.call("Input.insertText", text="CopySlices")
        browser.wait(f"/[1-9]\\d* results/.test({inner}.textContent)")
        assert browser.run(f"{inner}.textContent.includes('Slices')")
        server.shutdown()
