"""Pictures in prompts: finding pictures in rows, decoding pictures within limits, and making thumbnails.

A row contains pictures in a separate column, with one item for each placeholder `<image>` in the prompt, or
as content parts inside the prompt. `with_pictures` converts both to content parts `{"type": "image", "image":
Picture}`. A picture keeps the bytes of its file, and is decoded where its pixels are needed. All decoders
produce the same pixels.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import io
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError, reason_of, require
from rewardkit.messages import REASONING_PARTS, content_of, plain_prompt, whole_text
from rewardkit.rows import IMAGES, MEDIA, prompt_of
from rewardkit.types import Message

MARK = "<image>"
"""Placeholder in a prompt's text for the next picture in the row's column, as in verl and LLaVA."""
MAX_PIXELS = 50_000_000
"""Maximum number of pixels in a picture. Even a file of a few kilobytes can contain far more pixels."""
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "JPEG2000", "PPM")
"""File formats that are read. Other formats are rejected, because some of them, such as EPS, are programs."""

IMAGE_PARTS = ("image", "image_url", "input_image")
"""Types of content parts that contain a picture, or that are a placeholder for one in the row's column."""
_BESIDE = "media"
"""Type of the content part that represents all media outside the prompt."""
_TURNS = {2: 0, 3: 3, 4: 1, 5: 5, 6: 4, 7: 6, 8: 2}
"""Members of `PIL.Image.Transpose` by the orientation in EXIF data."""
_CONTENTS = ("image", "image_url", "bytes", "path", "url")
"""Keys under which a content part, or its value, contains a picture."""


class PictureError(InputError):
    """Error for a picture that cannot be used."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Picture as an image file, which is decoded only on request."""

    source: bytes | Path | StoredBytes = field(repr=False)
    digest: str
    """Digest of the file, which identifies the picture."""

    @property
    def data(self) -> bytes:
        """Bytes of the file."""
        source = self.source
        return source if isinstance(source, bytes) else source.read_bytes()

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the decoded picture. See `load`."""
        found: tuple[int, int] = self.load().size
        return found

    def load(self) -> Any:
        """Decode the picture to a `PIL.Image.Image` in RGB.

        The picture is the file's first frame, rotated according to its EXIF data. Transparent pixels become
        white.

        Raises:
            PictureError: The file is broken, is not a picture, or has too many pixels.
        """
        with _opened(self.data) as image:
            return _in_rgb(image)

    def png(self, longest: int | None = None) -> bytes:
        """Return the decoded picture as PNG, with at most `longest` pixels per side if it is given."""
        image = self.load()
        if longest is not None:
            image.thumbnail((longest, longest))
        file = io.BytesIO()
        image.save(file, "PNG", compress_level=1 if longest is None else 6)
        return file.getvalue()

    def data_url(self, longest: int | None = None) -> str:
        """Return the PNG that `png` returns, as a data URL."""
        return f"data:image/png;base64,{base64.b64encode(self.png(longest)).decode()}"


@contextmanager
def _opened(data: bytes) -> Iterator[Any]:
    require("pictures", "PIL", "images")
    from PIL import Image

    try:
        # Pillow warns about metadata and about large pictures. Large pictures are rejected below.
        with (
            warnings.catch_warnings(action="ignore"),
            Image.open(io.BytesIO(data), formats=FORMATS) as image,
        ):
            width, height = image.size
            if width * height > MAX_PIXELS:
                raise PictureError(
                    f"the picture has {width} x {height} pixels, and the limit is {MAX_PIXELS:,} pixels; "
                    "scale it down"
                )
            yield image
    except PictureError:
        raise
    except Image.DecompressionBombError:
        raise PictureError(f"the picture has more than {MAX_PIXELS:,} pixels; scale it down") from None
    except Exception as error:  # decoders raise many kinds of exceptions for broken files
        reason = "not a picture in a known format" if "identify" in str(error) else reason_of(error)
        raise PictureError(f"the picture cannot be read: {reason}") from None


def _in_rgb(image: Any) -> Any:
    from PIL import Image

    image.load()  # which turns TIFF files, and may fail where a tag of another kind is broken
    turn = _TURNS.get(image.getexif().get(0x0112))
    turned = image if turn is None else image.transpose(turn)
    if turned.mode.startswith("I"):  # `convert` would clip 16-bit values at 255
        turned = turned.convert("I").point(lambda value: value * (1 / 257) + 0.5).convert("L")
    if turned.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in turned.info:
        drawn = turned.convert("RGBA")
        turned = Image.alpha_composite(Image.new("RGBA", drawn.size, "white"), drawn)
    return turned.convert("RGB")


# --- reading --------------------------------------------------------------------------------------------


def picture_of(value: Any, folder: Path | None = None) -> Picture:
    """Return the picture in a value: bytes, a path, a data URL, or a mapping that contains one of them.

    Args:
        value: Item of a column, or value of a content part.
        folder: Folder that must contain files named by paths, or None if paths are not allowed.

    Raises:
        PictureError: The value contains no picture, the picture is remote, or its file cannot be used.
    """
    if isinstance(value, Picture):
        return value
    if isinstance(value, Mapping):
        held = next((value[name] for name in _CONTENTS if value.get(name)), None)
        return picture_of(held, folder)
    if isinstance(value, bytes) and value:
        return _checked(value, value)
    if not isinstance(value, str) or not value:
        raise PictureError(f"expected the bytes, path or data URL of a picture, found {type(value).__name__}")
    if value.startswith("data:"):
        return _from_data_url(value)
    if "://" in value:
        raise PictureError("the picture is remote, and pictures are not downloaded; download it first")
    path = _inside(value, folder)
    try:
        return _checked(path, path.read_bytes())
    except OSError as error:
        raise PictureError(f"the picture {value:.200} cannot be read: {reason_of(error)}") from None


def _inside(name: str, folder: Path | None) -> Path:
    if folder is None:
        raise PictureError(f"the picture is a path ({name:.200}), which only rows in a file can contain")
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise PictureError(
            f"the picture {name:.200} is outside the folder of its file; move it into the folder"
        )
    return path


def _from_data_url(url: str) -> Picture:
    about, _, content = url.partition(",")
    try:
        if not about.endswith(";base64"):
            raise PictureError("a data URL of a picture must contain base64")
        return picture_of(base64.b64decode(content, validate=True))
    except binascii.Error:
        raise PictureError("the data URL of the picture is not valid base64") from None


def _checked(source: bytes | Path, data: bytes) -> Picture:
    """Return the picture in a file, after reading the file's header."""
    with _opened(data):
        return Picture(source, _digest(data))


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


# --- pictures of rows -----------------------------------------------------------------------------------


def media_columns(names: Sequence[str]) -> list[str]:
    """Return the names of the columns that contain pictures, videos or audio."""
    return [name for name in MEDIA if name in names]


def has_media(row: Mapping[str, Any], prompt: Any) -> bool:
    """Return True if a row's prompt contains anything besides text."""
    return any(is_there(row.get(name)) for name in MEDIA) or has_parts(prompt)


def is_there(value: Any) -> bool:
    """Return True if a cell of a media column is not empty."""
    if value is None:
        return False
    if isinstance(value, Mapping):  # some files contain a struct of nulls instead of null
        return any(one is not None for one in value.values())
    return not hasattr(value, "__len__") or len(value) > 0


def media_digest(row: Mapping[str, Any]) -> str | None:
    """Return a digest of the picture, video and audio columns of a row, or None if all of them are empty."""
    held = [value for name in MEDIA if is_there(value := row.get(name))]
    return _digest(repr(held).encode("utf-8", "surrogatepass")) if held else None


def has_parts(prompt: Any) -> bool:
    """Return True if a prompt has a message with parts other than text."""
    if not isinstance(prompt, list | tuple):
        return False
    messages = plain_prompt(prompt)
    return any(isinstance(one, Mapping) and isinstance(one.get("content"), list) for one in messages)


def with_pictures(
    row: Mapping[str, Any], prompt: Any, folder: Path | None = None, *, read: Any = None
) -> Any:
    """Return a row's prompt with its pictures as content parts `{"type": "image", "image": Picture}`.

    The pictures in the column replace the placeholders `<image>` and the parts of type `image` without a
    picture, in order. A single picture without a placeholder is put before the text. Prompts without pictures
    are returned as `prompt_of` returns them.

    Args:
        row: Row, which may have picture, video or audio columns.
        prompt: Prompt as it was read, or as `prompt_of` returns it.
        folder: Folder of the file that contains the row.
        read: Prompt as it was read, if `prompt` is a converted form of it. Its parts contain the original
            bytes.

    Raises:
        PictureError: The row has videos or audio, the number of pictures differs from the number of
            placeholders, or a picture cannot be used.
    """
    asked = prompt_of(prompt)
    if asked is None or not has_media(row, asked):
        return asked
    if other := [name for name in MEDIA if name not in IMAGES and is_there(row.get(name))]:
        raise PictureError(
            f"column '{other[0]}' is not empty, but prompts can contain only text and pictures"
        )
    own = _column(row, folder)
    inline = iter(_inline(prompt if read is None else read))
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
    made = [
        {**one, "content": _parts(one.get("content"), inline, folder, marked=bool(own))} for one in messages
    ]
    places = [part for one in made for part in _listed(one["content"]) if part == {"type": "image"}]
    if len(own) == 1 and not places:
        first = next((one for one in made if one.get("role") == "user"), made[0])
        places = [{"type": "image"}]
        first["content"] = [*places, *_listed(first["content"])]
    if len(places) != len(own):
        raise PictureError(
            f"the prompt has {len(places)} marks for pictures, but the row has {len(own)} pictures"
        )
    for part, picture in zip(places, own, strict=True):
        part["image"] = picture
    return [{**one, "content": _joined(one["content"])} for one in made]


def pictures_in(prompt: Any) -> list[Picture]:
    """Return the pictures in the messages that `with_pictures` returns, in order."""
    return [part["image"] for part in picture_parts(prompt)] if has_parts(prompt) else []


def picture_parts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the content parts with a picture in the messages that `with_pictures` returns, in order."""
    parts = (part for one in messages for part in _listed(one.get("content")))
    return [part for part in parts if isinstance(part, dict) and isinstance(part.get("image"), Picture)]


def with_digests(messages: Sequence[Message]) -> list[Message]:
    """Return messages as JSON-ready data, with a placeholder and the digest in place of each picture."""

    def described(part: Any) -> Any:
        return {"type": "image", "image": part["image"].digest, "text": MARK} if "image" in part else part

    return [
        {**one, "content": [*map(described, parts)]} if isinstance(parts := one.get("content"), list) else one
        for one in messages
    ]


def marked(prompt: Any, row_has_media: bool) -> Any:
    """Return a prompt for rewards. If the row has media, an empty part `media` is added to the prompt.

    The text of the prompt does not change. The added part tells rewards that show the prompt to a model that
    the text is incomplete. `with_pictures` ignores this part.
    """
    asked = prompt_of(prompt)
    if not row_has_media or asked is None or has_parts(asked):
        return asked
    messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked)
    last = messages[-1] if messages else {"role": "user", "content": ""}
    content = [{"type": "text", "text": str(content_of(last) or "")}, {"type": _BESIDE}]
    return [*messages[:-1], {**last, "content": content}]


def _column(row: Mapping[str, Any], folder: Path | None) -> list[Picture]:
    held = [name for name in IMAGES if is_there(row.get(name))]
    if len(held) > 1:
        raise PictureError(f"the row has pictures in the columns {' and '.join(held)}; keep one of them")
    if not held:
        return []
    value = row[held[0]]
    value = value.tolist() if hasattr(value, "tolist") else value
    items = value if isinstance(value, list | tuple) else [value]
    found = []
    for i, item in enumerate(items):
        try:
            found.append(picture_of(item, folder))
        except PictureError as error:
            raise PictureError(f"'{held[0]}', item {i}: {error}") from None
    return found


def _inline(prompt: Any) -> Iterator[Any]:
    """Yield the original value of each content part with a picture, because `prompt_of` decodes bytes."""
    messages = [] if isinstance(prompt, str) or prompt is None else prompt
    for message in messages:
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in [] if isinstance(content, str) or content is None else content:
            if isinstance(part, Mapping) and part.get("type") in IMAGE_PARTS:
                yield part


def _parts(content: Any, inline: Iterator[Any], folder: Path | None, *, marked: bool) -> Any:
    """Return a message's content with its placeholders and pictures converted to parts."""
    if content is None:
        return None
    if isinstance(content, str):
        return _split(content) if marked and MARK in content else content
    found: list[Any] = []
    for part in _listed(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in IMAGE_PARTS:
            raw = next(inline, part)
            held = any(raw.get(name) for name in _CONTENTS)
            found.append({"type": "image", "image": picture_of(raw, folder)} if held else {"type": "image"})
        elif kind == _BESIDE:
            continue
        elif kind in REASONING_PARTS:
            found.append(part)
        elif (text := whole_text([part])) is not None:
            found += _split(text) if marked else [{"type": "text", "text": text}]
        else:
            raise PictureError(f"a part of the prompt has the type '{kind}'; expected text or an image")
    return found


def _split(text: str) -> list[dict[str, Any]]:
    """Split a text at its placeholders, and return the parts."""
    parts: list[dict[str, Any]] = []
    for i, piece in enumerate(text.split(MARK)):
        parts += [{"type": "image"}] * bool(i)
        parts += [{"type": "text", "text": piece}] * bool(piece)
    return [dict(part) for part in parts]


def _listed(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list | tuple) else [] if content is None else [content]


def _joined(content: Any) -> Any:
    """Return content as a string if it is only text. Return other content unchanged."""
    text = whole_text(content)
    return content if text is None else text


# --- storing --------------------------------------------------------------------------------------------


class PictureStore:
    """Temporary file for the bytes of many pictures, which then need no memory."""

    def __init__(self) -> None:
        self._file: Any = None  # created with the first picture
        self._known: dict[str, Picture] = {}

    def keep_all(self, messages: list[Message]) -> list[Message]:
        """Return messages from `with_pictures`, after moving the bytes of their pictures to the file."""
        for part in picture_parts(messages):
            part["image"] = self.keep(part["image"])
        return messages

    def keep(self, picture: Picture) -> Picture:
        """Return the same picture with its bytes in the file. The file contains equal pictures only once."""
        if not isinstance(picture.source, bytes):
            return picture
        known = self._known.get(picture.digest)
        if known is None:
            self._file = self._file or tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as its pictures
            stored = StoredBytes(self._file, self._file.tell(), len(picture.source))
            self._file.write(picture.source)
            self._file.flush()
            known = self._known[picture.digest] = Picture(stored, picture.digest)
        return known


@dataclass(frozen=True, slots=True)
class StoredBytes:
    """Range of bytes in the file of a `PictureStore`."""

    file: Any
    start: int
    length: int

    def read_bytes(self) -> bytes:
        """Return the bytes of the range. Several processes may read the file at the same time."""
        return os.pread(self.file.fileno(), self.length, self.start)

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (self.read_bytes(),)  # other machines do not have the file, so the bytes are sent
