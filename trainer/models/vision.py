"""Vision-language models: prompts with pictures as tokens, and the tensors of pictures for a forward pass.

A prompt has two forms. The short ids contain one mark for each picture, and the long ids one placeholder for
each vector that the vision tower computes. Models compute with long ids. vLLM gets short ids, and replaces
each mark in the same way as this module.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from rewardkit.errors import ConfigError, InputError, reason_of
from rewardkit.model_folders import read_config
from rewardkit.pictures import Picture, PictureStore, picture_of, pictures_in
from rewardkit.types import Message

PICTURES = "pictures"
"""Tensor of a batch with the numbers of each row's pictures in a `PictureBook`, (B, K), filled with -1."""

MODEL_TYPES = ("idefics3", "llava", "qwen2_vl", "qwen2_5_vl", "qwen3_vl")
"""Model types that are known to be computed correctly with pictures."""


@dataclass(frozen=True, slots=True)
class PicturePrompt:
    """Tokens and pictures of a prompt."""

    short_ids: list[int]
    long_ids: list[int]
    pictures: Sequence[Picture]


def why_no_pictures(path: str) -> str | None:
    """Return the reason why a model cannot be given pictures, or None if it can.

    Only the model's config.json is read. A model that is not stored locally is accepted.
    """
    config = read_config(path)
    if config is None or config.get("model_type") in MODEL_TYPES:
        return None
    kind = config.get("model_type")
    if "vision_config" not in config:
        return f"'{path}' ({kind}) is a model for text"
    return (
        f"pictures are not supported for '{path}' ({kind}); supported model types: {', '.join(MODEL_TYPES)}"
    )


class Vision:
    """Processor of a vision-language model, which makes tokens and tensors of prompts with pictures."""

    def __init__(self, path: str, model_type: str, tokenizer: Any, *, trust_remote_code: bool) -> None:
        self.tokenizer = tokenizer
        self.processor = _load_processor(path, model_type, tokenizer, trust_remote_code)
        """Processor of transformers, without the part for videos."""
        self._blocks: dict[tuple[int, int], list[int]] = {}
        """Tokens for a picture, by its width and height."""
        self._sizes: dict[str, tuple[int, int]] = {}
        """Width and height of the pictures that were decoded, by digest."""
        self.mark: int = self.processor.image_token_id
        """Token that stands for a picture in the short ids, and for a part of one in the long ids."""

    @classmethod
    def of(cls, path: str, tokenizer: Any, *, trust_remote_code: bool = False) -> Vision | None:
        """Return the processor of a model, or None if its type is not in `MODEL_TYPES`.

        Raises:
            ConfigError: The model's processor cannot be loaded.
        """
        kind = model_type(path, remote=trust_remote_code)
        return (
            cls(path, kind, tokenizer, trust_remote_code=trust_remote_code) if kind in MODEL_TYPES else None
        )

    @cached_property
    def placeholders(self) -> list[int]:
        """Tokens that stand for pictures or videos, which a model must not generate."""
        names = ("image_token_id", "video_token_id")
        return sorted({one for name in names if isinstance(one := getattr(self.processor, name, None), int)})

    def render(self, messages: Sequence[Message], **options: Any) -> str:
        """Return messages as text in the chat template, with one mark for each picture."""
        text: str = self.tokenizer.apply_chat_template(self.turns(messages), tokenize=False, **options)
        return text

    def turns(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages as the chat template gets them."""
        return [{**one, "content": _template_parts(one.get("content"))} for one in messages]

    def encode(self, messages: Sequence[Message], **options: Any) -> PicturePrompt:
        """Return the tokens of a conversation, up to the beginning of the model's response.

        Raises:
            PictureError: A picture is broken.
            InputError: The text itself contains a mark, or the template drops a picture.
        """
        text = self.render(messages, add_generation_prompt=True, **options)
        return self.expand(text, pictures_in(messages))

    def expand(self, text: str, pictures: Sequence[Picture]) -> PicturePrompt:
        """Return the tokens of a text with one mark for each picture. See `encode`."""
        short: list[int] = self.tokenizer(text, add_special_tokens=False)["input_ids"]
        return PicturePrompt(short, [*chain(*self.expanded(short, pictures))], list(pictures))

    def shorten(self, long: list[int], pictures: Sequence[Picture]) -> PicturePrompt:
        """Return the prompt with these long ids. See `encode`."""
        short: list[int] = []
        at = 0
        for block in map(self._block, pictures):
            start = long.index(self.mark, at) - block.index(self.mark)
            short += [*long[at:start], self.mark]
            at = start + len(block)
        return PicturePrompt([*short, *long[at:]], long, list(pictures))

    def expanded(self, short: Sequence[int], pictures: Sequence[Picture]) -> Iterator[list[int]]:
        """Return the tokens that each of the short ids stands for. See `encode`."""
        marks = short.count(self.mark)
        if marks != len(pictures):
            raise InputError(
                f"the rendered prompt has {marks} marks for pictures ({self.tokenizer.decode([self.mark])}), "
                f"but there are {len(pictures)} pictures; the text must not contain marks, and the chat "
                "template must support pictures"
            )
        blocks = map(self._block, pictures)
        return (next(blocks) if i == self.mark else [i] for i in short)

    def _block(self, picture: Picture) -> list[int]:
        """Return the tokens for a picture, whose number depends on its size. Decode each picture once."""
        if picture.digest not in self._sizes:
            self._sizes[picture.digest] = picture.size
        size = self._sizes[picture.digest]
        if size not in self._blocks:
            text = [self.processor.image_token]
            found = self.processor(text=text, images=[[picture.load()]], add_special_tokens=False)
            self._blocks[size] = [int(i) for i in found["input_ids"][0]]
        return self._blocks[size]

    def tensors(self, pictures: Sequence[Picture], device: Any = "cpu") -> dict[str, Any]:
        """Return the model's arguments for all pictures in a forward pass, in order of their placeholders."""
        if not pictures:
            return {}
        images = [picture.load() for picture in pictures]
        found = self.processor.image_processor([images], return_tensors="pt")
        return {name: found[name].to(device) for name in _ARGUMENTS if name in found}

    def positions(self, model: Any, ids: Any, mask: Any, tensors: Mapping[str, Any]) -> Any:
        """Return positions (3, B, L) for padded ids if the model needs such positions, otherwise None."""
        if not has_own_positions(model):
            return None
        kinds = (ids == self.mark).int()
        grid = tensors.get("image_grid_thw")
        found, _ = model.base_model.get_rope_index(
            ids, mm_token_type_ids=kinds, image_grid_thw=grid, attention_mask=mask
        )
        return found


def shortened(vision: Vision | None, long: list[int], pictures: Sequence[Picture]) -> PicturePrompt:
    """Return the prompt with these long ids, which are also the short ids if the model reads only text."""
    return PicturePrompt(long, long, []) if vision is None else vision.shorten(long, pictures)


_ARGUMENTS = ("pixel_values", "pixel_attention_mask", "image_grid_thw")


def _template_parts(content: Any) -> Any:
    """Return content as a list of parts, since some templates drop text that is not in a list."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return content
    return [{"type": "image"} if part.get("type") == "image" else part for part in content]


def model_type(path: str, *, remote: bool = False) -> str:
    """Return the type of a model, or "" if it is unknown. Download its config if it is not stored locally."""
    if (config := read_config(path)) is not None:
        return str(config.get("model_type"))
    from transformers import AutoConfig

    try:
        return str(AutoConfig.from_pretrained(path, trust_remote_code=remote).model_type)
    except (OSError, ValueError):  # reported when the model is loaded
        return ""


def has_own_positions(model: Any) -> bool:
    """Return True if the position of a model's token has three parts: time, height and width."""
    return hasattr(model.base_model, "get_rope_index")


def _load_processor(path: str, model_type: str, tokenizer: Any, remote: bool) -> Any:
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    class ForImages(getattr(transformers, PROCESSOR_MAPPING_NAMES[model_type])):  # type: ignore[misc]
        """Processor without the part for videos, which needs torchvision."""

        @classmethod
        def get_attributes(cls) -> list[str]:
            return ["image_processor", "tokenizer"]

    try:
        made = ForImages.from_pretrained(path, trust_remote_code=remote, backend="pil")
    except (OSError, ValueError, ImportError) as error:
        raise ConfigError(f"cannot load the processor of '{path}': {reason_of(error)}") from None
    made.tokenizer = tokenizer
    return made


class PictureBook:
    """Pictures of a run, by number. Batches contain numbers, which processes can exchange."""

    def __init__(self, vision: Vision) -> None:
        self.vision = vision
        self._pictures: list[Picture] = []
        self._numbers: dict[str, int] = {}
        """Numbers of the pictures by digest."""
        self._most = 0
        """Maximum number of pictures that were added together, which are those of a row."""
        self._store = PictureStore()

    def add(self, pictures: Sequence[Picture]) -> tuple[int, ...]:
        """Add the pictures that are not yet in the book, and return the numbers of all pictures."""
        self._most = max(self._most, len(pictures))
        for picture in pictures:
            if picture.digest not in self._numbers:
                self._numbers[picture.digest] = len(self._pictures)
                self._pictures.append(self._store.keep(picture))
        return tuple(self._numbers[picture.digest] for picture in pictures)

    def add_all(self, messages: list[Message]) -> None:
        """Add the pictures of a row, and replace them in its messages by the book's pictures."""
        self.add(pictures_in(self._store.keep_all(messages)))

    @cached_property
    def blank(self) -> tuple[list[int], int]:
        """Tokens and number of a white picture."""
        (number,) = self.add([picture_of(b"P6 32 32 255\n" + b"\xff" * 32 * 32 * 3)])
        return self.vision.expand(self.vision.processor.image_token, [self[number]]).long_ids, number

    def __getitem__(self, number: int) -> Picture:
        return self._pictures[number]

    def __len__(self) -> int:
        return len(self._pictures)

    def numbers(self, rows: Sequence[Any]) -> Any:
        """Return the numbers of each row's pictures as `PICTURES`, with the same width in the whole run."""
        return numbered([row.pictures for row in rows], self._most)


def freeze_tower(model: Any) -> None:
    """Keep a model's vision tower from being trained.

    Raises:
        ConfigError: The model has no vision tower that is known.
    """
    tower = model.get_encoder("image")  # the model itself if it has no tower
    if tower is model:
        raise ConfigError(
            f"actor.freeze_vision_tower=true: a model of type {model.config.model_type} has no vision tower"
        )
    tower.requires_grad_(False)


def numbered(pictures: Sequence[Sequence[int]], width: int) -> Any:
    """Return the numbers of the pictures in each row as a tensor (B, width), filled with -1."""
    import torch

    rows = [[*row, *[-1] * (width - len(row))] for row in pictures]
    return torch.tensor(rows, dtype=torch.int64).view(len(rows), width)
