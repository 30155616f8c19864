"""Make the pictures of the README from trainings.

    python scripts/pictures.py                # in docs/img
    python scripts/pictures.py directory

`descent.gif` shows ten descents at once, `boundary.png` what a network has learned of two half
moons, and `graph.png` that network in TensorBoard, for which Chromium must be installed.
"""

import argparse
import base64
import io
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from matplotlib import rc_context  # noqa: E402
from PIL import Image, ImageChops, ImageDraw  # noqa: E402

from nanotorch import nn, train  # noqa: E402 - of this checkout
from nanotorch.train.runs import plots  # noqa: E402
from nanotorch.train.runs.run_directory import read_metrics  # noqa: E402

SIDE, INCHES = 600, 4  # of a picture: pixels, twice as many as the README shows, and for matplotlib
COLORS, FRAMES, LAST = 256, 60, 1500  # of the animation; the milliseconds of its last frame
MARGIN, FRAME = 16, "#d0d7de"  # pixels around the graph; the color of the line around them
PATIENCE, MOVING = 60, 1.5  # seconds for a page to come up, and until it has stopped to move
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)


class Residual(nn.Module):
    """The sum of ``x`` and the output of two linear layers."""

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.wide = nn.Linear(in_features, 2 * in_features)
        self.gelu = nn.GELU()
        self.narrow = nn.Linear(2 * in_features, in_features)

    def forward(self, x: Any) -> Any:
        return x + self.narrow(self.gelu(self.wide(x)))


LINEAR = "{{name: Linear, out_features: {}}}"
NETWORK = f"[{LINEAR.format(16)}, Residual, Residual, {LINEAR.format(1)}]"
OPENED = {"Sequential": "0_Linear", "Sequential/1_Residual": "add"}  # boxes, and a node in each
ANGLES = [math.tau * (turn + 0.5) / 10 for turn in range(10)]
STARTS = [[5 * math.cos(angle), 5 * math.sin(angle)] for angle in ANGLES]
DESCENT = {
    "experiment": "minimization",
    "function": {"name": "himmelblau", "start": STARTS, "iterations": 400},
    "optimizer": {"name": "SGD", "lr": 5e-4, "momentum": 0.9},
}


def bare(run: train.RunResult, name: str) -> plots.Plot:
    """The trainer's plot of a name, cropped to its axes."""
    drawn = run.task.plots(read_metrics(run.directory))
    plot = next(p for p in drawn if p is not None and p.name == name)
    axes, *others = plot.figure.axes
    for other in others:
        other.remove()
    cast(Any, axes.get_legend()).remove()
    axes.set(title="", position=(0, 0, 1, 1))
    axes.set_axis_off()
    plot.figure.set_layout_engine("none")
    plot.figure.set_size_inches(INCHES, INCHES)
    plot.figure.set_dpi(SIDE / INCHES)
    return plot


def image(plot: plots.Plot) -> Image.Image:
    """The present image of a plot."""
    return Image.fromarray(plots.pixels(plot.figure)[..., :3])


def draw_descent(run: train.RunResult, path: Path) -> None:
    """Draw the ways to the minima, as an animation."""
    plot = bare(run, "trajectory")
    assert plot.moving is not None
    for artist in plot.moving.artists:
        artist.set_visible(False)
    move = plot.moving.start(plot.moving.axes)
    frames = []
    for number in range(plot.moving.frames - plot.moving.speed):  # without the still ones
        move(number)
        frames.append(image(plot))
    # One palette for all, without dithering: parts that do not move are stored once.
    coverage = Image.Quantize.MAXCOVERAGE  # it keeps the colors of the small stars
    palette = frames[-1].quantize(COLORS, coverage, dither=Image.Dither.NONE)
    first, *others = [frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames]
    shown = [1000 // plot.moving.speed] * len(others) + [LAST]
    first.save(path, save_all=True, append_images=others, duration=shown, loop=0, disposal=1)


def draw_boundary(run: train.RunResult, path: Path) -> None:
    """Draw the network's decisions."""
    smooth = image(bare(run, "boundary")).quantize(256, dither=Image.Dither.NONE)
    smooth.save(path, optimize=True)


class Browser:
    """A page in Chromium, controlled through two pipes."""

    def __init__(self, process: "subprocess.Popen[bytes]", orders: int, answers: int) -> None:
        self.process, self.numbers, self.session = process, itertools.count(1), ""
        self.orders, self.answers = os.fdopen(orders, "wb", 0), os.fdopen(answers, "rb")
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a call of the debugging protocol."""
        number = next(self.numbers)
        order = {"id": number, "method": method, "params": params}
        order |= {"sessionId": self.session} if self.session else {}
        self.orders.write(json.dumps(order).encode() + b"\0")
        while True:
            byte = iter(lambda: self.answers.read(1) or b"\0", b"\0")  # or the end, if it is gone
            answer = json.loads(b"".join(byte))
            if answer.get("id") == number:
                return cast(dict[str, Any], answer["result"])

    def run(self, script: str) -> Any:
        """The value of a piece of JavaScript."""
        done = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"]["description"])
        return done["result"].get("value")

    def picture(self) -> Image.Image:
        """The present image of the page."""
        shot = base64.b64decode(self.call("Page.captureScreenshot")["data"])
        return Image.open(io.BytesIO(shot)).convert("RGB")

    def wait(self, script: str) -> Any:
        """The value of a piece of JavaScript as soon as it is true."""
        end = time.monotonic() + PATIENCE
        while not (value := self.run(script)):
            if time.monotonic() > end:
                raise TimeoutError(script)
            time.sleep(0.2)
        return value


@contextmanager
def browser() -> Iterator[Browser]:
    """Chromium without a window."""
    (for_it, orders), (answers, from_it) = os.pipe(), os.pipe()
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
            "--remote-debugging-pipe", f"--user-data-dir={profile}",
        ]  # fmt: skip
        wired = ["bash", "-c", f'exec "$@" 3<&{for_it} 4>&{from_it}', "bash", *command]
        process = subprocess.Popen(wired, pass_fds=(for_it, from_it), stderr=subprocess.DEVNULL)
        os.close(for_it)
        os.close(from_it)
        try:
            page = Browser(process, orders, answers)
            with page.orders, page.answers:
                yield page
        finally:
            process.terminate()
            process.wait()


# JavaScript for a page of TensorBoard: `all` also finds elements in shadow trees.
QUESTIONS = """
var all = selector => {
  const found = [];
  const look = root => root.querySelectorAll('*').forEach(element => {
    if (element.matches(selector)) found.push(element);
    if (element.shadowRoot) look(element.shadowRoot);
  });
  look(document);
  return found;
};
var scene = () => all('tf-graph-scene')[0];
var shows = name => all('g.node').some(node => node.getAttribute('data-name') == name);
var alone = () => {
  for (const part of all('app-header, #sidebar, .titleContainer, tf-graph-info, tf-graph-minimap'))
    part.style.display = 'none';
  const whole = 'position: fixed; inset: 0; width: 100%; height: 100%; background: white';
  scene().shadowRoot.querySelector('#svg').style = whole;
};
"""


def draw_graph(run: train.RunResult, path: Path) -> None:
    """Draw the network's graph in TensorBoard, opened to its modules, in a square."""
    from tensorboard import program

    board = program.TensorBoard()
    board.configure(logdir=str(run.directory), port=0, load_fast="false")
    with browser() as page:
        zoom = {"deviceScaleFactor": 2, "mobile": False}
        page.call("Emulation.setDeviceMetricsOverride", width=SIDE, height=SIDE, **zoom)
        page.call("Page.navigate", url=f"{board.launch()}#graphs")
        for box, inside in OPENED.items():
            page.wait(f"{QUESTIONS} shows('{box}')")
            page.run(f"scene().fire('node-toggle-expand', {{name: '{box}'}})")
            page.wait(f"shows('{box}/{inside}')")
        page.run("alone()")
        for order in ("fire('node-select', {name: null})", "fit()"):
            time.sleep(MOVING)
            page.run(f"scene().{order}")
        time.sleep(MOVING)
        whole = page.picture()
    paper = Image.new("RGB", whole.size, whole.getpixel((0, 0)))
    graph = whole.crop(ImageChops.difference(whole, paper).getbbox())
    side = max(graph.size) * SIDE // (SIDE - 2 * MARGIN)
    square = paper.resize((side, side))
    square.paste(graph, ((side - graph.width) // 2, (side - graph.height) // 2))
    small = square.resize((SIDE, SIDE), Image.Resampling.LANCZOS)
    ImageDraw.Draw(small).rectangle((0, 0, SIDE - 1, SIDE - 1), outline=FRAME, width=2)
    small.save(path, optimize=True)


def main(directory: Path) -> None:
    """Make all pictures."""
    directory.mkdir(parents=True, exist_ok=True)
    plots.MOST_FRAMES = FRAMES  # more than those of a run
    train.register_layer(Residual)
    with TemporaryDirectory() as runs, rc_context(plots.STYLE):
        descent = train.train(DESCENT | {"log": {"dir": runs}}, verbose=False)
        draw_descent(descent, directory / "descent.gif")
        settings = f"model.layers={NETWORK}", f"log.dir={runs}"
        moons = train.train("two_moons", *settings, verbose=False)
        draw_boundary(moons, directory / "boundary.png")
        if CHROMIUM is None:
            print("no graph.png: it needs Chromium", file=sys.stderr)
        else:
            draw_graph(moons, directory / "graph.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    text = "where to put them; default: docs/img"
    parser.add_argument("directory", nargs="?", type=Path, default=ROOT / "docs" / "img", help=text)
    main(parser.parse_args().directory)
