"""The pictures of the control room come out as the script makes them, and the documentation has all of them."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

from playwright.sync_api import Page

import make_screenshots
from make_screenshots import DOCS, PICTURES
from room_world import a_chromium, of_chromium

pytestmark = of_chromium

MOST_BYTES = 200_000
LEAST_COLOURS = 50
DRAWN = """source => new Promise((done, failed) => {
    const image = new Image();
    image.onerror = failed;
    image.onload = () => {
        const [width, height] = [image.naturalWidth, image.naturalHeight];
        const canvas = new OffscreenCanvas(width, height).getContext("2d");
        canvas.drawImage(image, 0, 0);
        const colours = new Set(new Uint32Array(canvas.getImageData(0, 0, width, height).data.buffer));
        done([width, height, colours.size]);
    };
    image.src = source;
})"""


def drawn(page: Page, file: Path) -> tuple[int, int, int]:
    """The width and height of a picture, and how many colours it has."""
    width, height, colours = page.evaluate(DRAWN, f"data:image/webp;base64,{b64encode(file.read_bytes()).decode()}")
    return width, height, colours


def test_the_pictures_come_out_and_the_documentation_has_them(tmp_path: Path) -> None:
    made = make_screenshots.make(tmp_path)
    kept = {file.name: file for file in DOCS.glob("control-room*.webp")}
    assert set(kept) == {file.name for file in made}, "run: python scripts/make_screenshots.py"
    with a_chromium() as chromium:
        page = chromium.new_page()
        for file, picture in zip(made, PICTURES, strict=True):
            for one in (file, kept[file.name]):
                width, height, colours = drawn(page, one)
                assert (width, height) == (picture.size["width"], picture.size["height"])
                assert colours >= LEAST_COLOURS
                assert one.stat().st_size <= MOST_BYTES
