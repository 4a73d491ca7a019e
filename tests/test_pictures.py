"""Pictures in rows: every form gives the same messages, every engine gets the same pixels, and all is bounded."""

from __future__ import annotations

import base64
import io
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from rewardkit.messages import prompt_text
from rewardkit.pictures import (
    MAX_PIXELS,
    PictureError,
    PictureStore,
    marked,
    picture_of,
    pictures_in,
    with_pictures,
)
from rewardkit.rows import prompt_of

WHITE, RED = (255, 255, 255), (255, 0, 0)


def encoded(image: Image.Image, kind: str = "PNG", **more: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **more)
    return file.getvalue()


@pytest.fixture(scope="module")
def red() -> bytes:
    return encoded(Image.new("RGB", (6, 4), "red"))


def test_every_form_of_a_row_gives_the_same_messages(red: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(red)
    url = f"data:image/png;base64,{base64.b64encode(red).decode()}"
    text = {"type": "text", "text": "What is it?"}
    marked = [{"role": "user", "content": "<image>What is it?"}]
    bare = [{"role": "user", "content": [{"type": "image", "text": None}, {**text, "image": None}]}]

    def inline(**part: Any) -> list[Any]:
        return [{"role": "user", "content": [part, text]}]

    rows: list[tuple[dict[str, Any], Any]] = [
        ({"images": [{"bytes": red, "path": None}]}, marked),
        ({"images": [{"bytes": red, "path": None}]}, "<image>What is it?"),
        ({"images": [{"bytes": red, "path": None}]}, "What is it?"),
        ({"images": [{"bytes": None, "path": "a.png"}]}, marked),
        ({"images": ["a.png"], "image": None, "videos": []}, marked),
        ({"image": red}, bare),
        ({"image": url}, bare),
        ({}, inline(type="image", image=url)),
        ({}, inline(type="image", image={"bytes": red, "path": "x"})),
        ({}, inline(type="image", path="a.png")),
        ({}, inline(type="image_url", image_url={"url": url})),
        ({}, inline(type="input_image", image_url=url)),
    ]
    found = [with_pictures(row, prompt, tmp_path) for row, prompt in rows]
    (picture,) = pictures_in(found[0])
    assert (picture.size, picture.load().getpixel((0, 0))) == ((6, 4), RED)
    for messages in found:
        (message,) = messages
        first, second = message["content"]
        assert (message["role"], first["image"].digest) == ("user", picture.digest)
        assert (first["type"], second["type"], second["text"]) == ("image", "text", "What is it?")


def test_pictures_stand_where_their_marks_are(red: bytes) -> None:
    blue = encoded(Image.new("RGB", (5, 5), "blue"))
    prompt = [
        {"role": "user", "content": "<image> or <image>?"},
        {"role": "assistant", "content": "Which?"},
        {"role": "user", "content": "<image>"},
    ]
    found = with_pictures({"images": [red, blue, red]}, prompt)
    assert [one.size for one in pictures_in(found)] == [(6, 4), (5, 5), (6, 4)]
    assert [part.get("text") for part in found[0]["content"]] == [None, " or ", None, "?"]
    assert found[1]["content"] == "Which?"


def test_prompts_of_text_stay_as_they_are() -> None:
    for prompt in ("a <image> tag", [{"role": "user", "content": "a <image> tag"}], None):
        assert with_pictures({"images": [], "image": None}, prompt) == prompt_of(prompt)


@pytest.mark.parametrize(
    ("row", "prompt", "said"),
    [
        ({"images": ["RED"]}, "<image><image>", "2 marks"),
        ({"images": ["RED", "RED"]}, "x", "0 marks"),
        ({"images": ["RED"], "image": "RED"}, "<image>", "images and image"),
        ({"images": [b"no picture"]}, "<image>", "item 0"),
        ({"images": [3]}, "<image>", "int"),
        ({"images": ["https://example.com/a.png"]}, "<image>", "download"),
        ({"images": ["../secret.png"]}, "<image>", "outside"),
        ({"images": ["none.png"]}, "<image>", "cannot be read"),
        ({"images": ["data:image/png;base64,!"]}, "<image>", "base64"),
        ({"videos": ["a.mp4"]}, "x", "videos"),
        ({}, [{"role": "user", "content": [{"type": "image"}]}], "1 marks"),
        ({}, [{"role": "user", "content": [{"type": "input_audio", "data": "x"}]}], "input_audio"),
        ({"images": ["BOMB"]}, "<image>", "scale it down"),
        ({"images": ["LARGE BOMB"]}, "<image>", "scale it down"),
        ({"images": [b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n"]}, "<image>", "format"),
    ],
)
def test_what_cannot_be_used_is_refused(
    row: dict[str, Any], prompt: Any, said: str, red: bytes, tmp_path: Path
) -> None:
    known = {"RED": red, "BOMB": bomb(9_000), "LARGE BOMB": bomb(14_000)}
    row = {
        name: [known.get(one, one) if isinstance(one, str) else one for one in value]
        if isinstance(value, list)
        else known[value]
        for name, value in row.items()
    }
    with pytest.raises(PictureError, match=said):
        with_pictures(row, prompt, tmp_path / "data")


def bomb(side: int) -> bytes:
    """Return a small file whose header alone promises many pixels."""
    import zlib

    def chunk(kind: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
        )

    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def test_pixels_are_those_that_a_viewer_shows(red: bytes) -> None:
    clear = Image.new("RGBA", (1, 1), (255, 0, 0, 0))
    assert picture_of(encoded(clear)).load().getpixel((0, 0)) == WHITE
    palette = Image.new("P", (1, 1), 0)
    palette.putpalette([255, 0, 0])
    assert picture_of(encoded(palette, transparency=0)).load().getpixel((0, 0)) == WHITE
    assert picture_of(encoded(palette)).load().getpixel((0, 0)) == RED
    grey = Image.new("I;16", (2, 1))
    grey.putpixel((0, 0), 65535)
    grey.putpixel((1, 0), 32896)
    shown = picture_of(encoded(grey)).load()
    assert [shown.getpixel((x, 0)) for x in (0, 1)] == [(255,) * 3, (128,) * 3]
    moving = encoded(
        Image.new("RGB", (2, 2), "red"), "GIF", save_all=True, append_images=[Image.new("RGB", (2, 2))]
    )
    assert picture_of(moving).load().getpixel((0, 0)) == RED


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_a_picture_is_turned_once_as_its_file_says(kind: str) -> None:
    lying = Image.new("RGB", (40, 20), "blue")
    lying.paste((255, 0, 0), (0, 0, 20, 20))
    exif = Image.Exif()
    exif[0x0112] = 6
    turned = picture_of(encoded(lying, kind, exif=exif))
    assert turned.size == (20, 40)
    for red, at in ((True, 5), (False, 35)):
        pixel = turned.load().getpixel((10, at))
        assert isinstance(pixel, tuple)
        assert (pixel[0] > pixel[2]) is red


def test_a_picture_is_turned_although_another_tag_is_broken() -> None:
    turned = struct.pack("<HHII", 0x0112, 3, 1, 6)
    unit = struct.pack("<HHI4s", 0x0128, 2, 4, b"abc\0")  # which is a number
    exif = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 2) + turned + unit + bytes(4)
    assert picture_of(encoded(Image.new("RGB", (40, 20)), "JPEG", exif=exif)).size == (20, 40)


def test_a_truncated_file_is_refused_when_it_is_decoded(red: bytes) -> None:
    noise = Image.effect_noise((64, 64), 90)
    cut = picture_of(encoded(noise)[:-500])
    with pytest.raises(PictureError):
        cut.load()


def test_what_servers_get_has_the_same_pixels(red: bytes) -> None:
    noise = picture_of(encoded(Image.effect_noise((30, 20), 90).convert("RGB"), "JPEG"))
    again = picture_of(noise.data_url())
    assert again.load().tobytes() == noise.load().tobytes()
    assert picture_of(noise.png(10)).size == (10, 7)


def test_stored_pictures_take_no_memory_and_are_the_same(red: bytes) -> None:
    store = PictureStore()
    first, second = (store.keep(picture_of(data)) for data in (red, encoded(Image.new("RGB", (9, 9)))))
    assert not isinstance(first.source, bytes)
    assert (first.data, second.size) == (red, (9, 9))
    assert store.keep(picture_of(red)) is first
    assert pickle.loads(pickle.dumps(first)).data == red


def test_rewards_get_the_text_unchanged_and_are_told_of_pictures() -> None:
    for prompt in ("<image>x", [{"role": "system", "content": "s"}, {"role": "user", "content": "<image>x"}]):
        assert marked(prompt, False) == prompt
        shown = marked(prompt, True)
        assert shown != prompt
        assert prompt_text(shown) == prompt_text(prompt_of(prompt))


def test_the_limit_of_pixels_is_above_photographs() -> None:
    assert 24_000_000 < MAX_PIXELS < 12_000**2 // 2
