"""Pictures in prompts that `view` and reports show, either described in words or as thumbnails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.evaluation.chat import with_calls
from rewardkit.pictures import Picture, PictureError, has_media, with_pictures

THUMBNAILS = 50
"""Maximum number of pictures on a page."""
LONGEST = 256
"""Maximum width and height of a thumbnail, in pixels."""


class PromptPictures:
    """Converter of the prompts on one page."""

    def __init__(self, thumbnails: int = THUMBNAILS) -> None:
        """Create a converter that shows at most `thumbnails` pictures, and describes all others."""
        self._left = thumbnails

    def prompt(self, row: Mapping[str, Any]) -> Any:
        """Return a row's prompt, with parts of type `image` with a data URL, and texts for other pictures.

        The roles of messages name the tools that they call.
        """
        prompt = row.get("prompt")
        prompt = with_calls(prompt) if isinstance(prompt, list) else prompt
        if not has_media(row, prompt):
            return prompt
        try:
            messages = with_pictures(row, prompt)
        except PictureError as error:
            return [*_listed(prompt), {"role": "pictures", "content": f"[{error}]"}]
        return [{**one, "content": self._content(one.get("content"))} for one in messages]

    def _content(self, content: Any) -> Any:
        return [self._part(part) for part in content] if isinstance(content, list) else content

    def _part(self, part: Any) -> Any:
        picture = part.get("image")
        if not isinstance(picture, Picture):
            return part
        width, height = picture.size
        text = {"type": "text", "text": f"[image {width}x{height}]"}
        if self._left <= 0:
            return text
        self._left -= 1
        try:
            return {"type": "image", "image": picture.data_url(LONGEST), "text": text["text"]}
        except PictureError as error:
            return {"type": "text", "text": f"[image {width}x{height}: {error}]"}


def _listed(prompt: Any) -> list[Any]:
    return list(prompt) if isinstance(prompt, list) else [{"role": "user", "content": prompt or ""}]
