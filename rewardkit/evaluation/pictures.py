"""Pictures in prompts that `view` and reports show, either described in words or as thumbnails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewardkit.evaluation.chat import with_calls
from rewardkit.pictures import Picture, PictureError, has_media, picture_parts, with_pictures

THUMBNAILS = 50
"""Maximum number of pictures on a page."""
LONGEST = 256
"""Maximum width and height of a thumbnail, in pixels."""


class PromptPictures:
    """Converter of the prompts on one page."""

    def __init__(self, thumbnails: int = THUMBNAILS) -> None:
        """Create a converter that shows at most `thumbnails` pictures, and the word `[image]` for others."""
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
            messages = with_pictures(row, prompt or "")
        except PictureError as error:
            asked = prompt if isinstance(prompt, list) else [{"role": "user", "content": prompt or ""}]
            return [*asked, {"role": "pictures", "content": f"[{error}]"}]
        for part in picture_parts(messages):
            part.update(self._described(part.pop("image")))
        return messages

    def _described(self, picture: Picture) -> dict[str, str]:
        if self._left <= 0:  # not even decoded
            return {"type": "text", "text": "[image]"}
        self._left -= 1
        try:
            width, height = picture.size
            return {"image": picture.data_url(LONGEST), "text": f"[image {width}x{height}]"}
        except PictureError as error:
            return {"type": "text", "text": f"[image: {error}]"}
