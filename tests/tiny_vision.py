"""Tiny vision-language models with loud random weights, and pictures for them.

With the weights that transformers chooses, a wrong picture hardly changes a log-probability, so that tests would
pass for nothing.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

COLOURS = {"red": (230, 30, 30), "green": (30, 200, 30), "blue": (30, 30, 230), "yellow": (230, 220, 30)}
WORDS = ["what", "colour", "is", "it", "?", "and", "a", "the", *COLOURS, *map(str, range(10))]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for part in m.content %}"
    "{% if part.type == 'image' %}IMAGE{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
MARKS = {"idefics3": "<image>", "llava": "<image>"}
QWEN_MARK = "<|vision_start|><|image_pad|><|vision_end|>"


def picture(colour: str | None = "red", size: tuple[int, int] = (32, 32), place: int = 0) -> bytes:
    """Return a PNG of a coloured square on white, or of white alone."""
    from PIL import Image

    image = Image.new("RGB", size, "white")
    if colour is not None:
        image.paste(COLOURS[colour], (place, place, place + size[0] // 2, place + size[1] // 2))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def make_tokenizer(kind: str) -> Any:
    from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = [
        *("<pad>", "<|im_end|>", "<|im_start|>", "<unk>", "<image>", "<fake_token_around_image>"),
        *("<global-img>", "<end_of_utterance>", "<|image_pad|>", "<|video_pad|>"),
        *("<|vision_start|>", "<|vision_end|>"),
    ]
    words = [*special, "\n", "system", "user", "assistant", *WORDS]
    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Split(Regex("\n"), "isolated")]
    )
    made.add_special_tokens([AddedToken(word, special=True, normalized=False) for word in special])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<pad>", unk_token="<unk>"
    )
    tokenizer.chat_template = TEMPLATE.replace("IMAGE", MARKS.get(kind, QWEN_MARK))
    return tokenizer


def save_model(kind: str, folder: Path, *, seed: int = 0, layers: int = 2, loud: bool = True) -> Path:
    """Save a model of about 0.2 million parameters with its tokenizer and processor, and return the folder."""
    import torch

    tokenizer = make_tokenizer(kind)
    config, model_class = _config(kind, tokenizer, layers)
    torch.manual_seed(seed)
    model = model_class(config).eval()
    if loud:
        _make_loud(model)
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    _save_processor(kind, tokenizer, folder)
    return folder


def _make_loud(model: Any) -> None:
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() >= 2:
                width = parameter[0].numel()
                parameter.normal_(0, 0.15 if "embed_tokens" in name else 0.6 / width**0.5)


def _config(kind: str, tokenizer: Any, layers: int) -> tuple[Any, Any]:
    import transformers as t

    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 512,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.eos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    ids = {"tie_word_embeddings": False}
    mark = tokenizer.convert_tokens_to_ids("<image>")
    if kind == "idefics3":
        vision = {
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
        }
        config = t.Idefics3Config(
            vision_config=vision,
            text_config={"model_type": "llama", **text},
            scale_factor=2,
            image_token_id=mark,
            pad_token_id=tokenizer.pad_token_id,
            **ids,
        )
        return config, t.Idefics3ForConditionalGeneration
    if kind == "llava":
        vision = {
            "model_type": "clip_vision_model",
            "hidden_size": 32,
            "intermediate_size": 64,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
            "projection_dim": 32,
        }
        config = t.LlavaConfig(
            vision_config=vision,
            text_config={"model_type": "llama", **text},
            image_token_index=mark,
            image_seq_length=16,
            vision_feature_layer=-1,
            **ids,
        )
        return config, t.LlavaForConditionalGeneration
    special = {
        f"{name}_token_id": tokenizer.convert_tokens_to_ids(token)
        for name, token in {
            "image": "<|image_pad|>",
            "video": "<|video_pad|>",
            "vision_start": "<|vision_start|>",
            "vision_end": "<|vision_end|>",
        }.items()
    }
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [4, 6, 6]}
    common = {"depth": 2, "num_heads": 2, "patch_size": 8, "spatial_merge_size": 2, "temporal_patch_size": 2}
    if kind == "qwen2_vl":
        vision = {**common, "embed_dim": 32, "hidden_size": 64, "mlp_ratio": 2}
        config = t.Qwen2VLConfig(
            vision_config=vision, text_config={**text, "rope_parameters": rope}, **special, **ids
        )
        return config, t.Qwen2VLForConditionalGeneration
    vision = {**common, "hidden_size": 32, "intermediate_size": 64, "out_hidden_size": 64}
    if kind == "qwen2_5_vl":
        vision |= {"window_size": 32, "fullatt_block_indexes": [1]}
        config = t.Qwen2_5_VLConfig(
            vision_config=vision, text_config={**text, "rope_parameters": rope}, **special, **ids
        )
        return config, t.Qwen2_5_VLForConditionalGeneration
    vision |= {"num_position_embeddings": 64, "deepstack_visual_indexes": [0]}
    three = {**rope, "mrope_interleaved": True}
    config = t.Qwen3VLConfig(
        vision_config=vision,
        text_config={**text, "head_dim": 32, "rope_parameters": three},
        **special,
        **ids,
    )
    return config, t.Qwen3VLForConditionalGeneration


def _save_processor(kind: str, tokenizer: Any, folder: Path) -> None:
    import transformers as t

    if kind == "idefics3":
        from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

        images = Idefics3ImageProcessorPil(
            do_image_splitting=False, size={"longest_edge": 32}, max_image_size={"longest_edge": 32}
        )
        t.Idefics3Processor(
            images, tokenizer, image_seq_len=4, chat_template=tokenizer.chat_template
        ).save_pretrained(folder)
        return
    if kind == "llava":
        from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

        images = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
        t.LlavaProcessor(
            images,
            tokenizer,
            patch_size=8,
            vision_feature_select_strategy="default",
            num_additional_image_tokens=1,
            chat_template=tokenizer.chat_template,
        ).save_pretrained(folder)
        return
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    images = Qwen2VLImageProcessorPil(
        patch_size=8, merge_size=2, temporal_patch_size=2, min_pixels=16 * 16, max_pixels=64 * 64
    )
    images.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


KINDS = ("idefics3", "llava", "qwen2_vl", "qwen2_5_vl", "qwen3_vl")


def prompts_with_pictures() -> Any:
    """Return a table of prompts with 0 to 2 pictures of several sizes. Four have the same question."""
    import pyarrow as pa

    rows = []
    for i, (colours, question) in enumerate(
        [
            (("red",), "what colour is it"),
            (("blue",), "what colour is it"),
            ((), "what is the colour"),
            (("green", "yellow"), "what is it and the colour"),
            (("yellow",), "what colour is it"),
            (("green",), "what colour is it"),
        ]
    ):
        images = [{"bytes": picture(c, (32 + 16 * (i % 3), 32), i), "path": None} for c in colours]
        prompt = [{"role": "user", "content": "<image>" * len(images) + question}]
        truth = " ".join(colours) or "red"
        rows.append({"data_source": "exact", "prompt": prompt, "ground_truth": truth, "images": images})
    message = pa.struct([("role", pa.string()), ("content", pa.string())])
    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    schema = pa.schema(
        {
            "data_source": pa.string(),
            "prompt": pa.list_(message),
            "ground_truth": pa.string(),
            "images": pa.list_(image),
        }
    )
    return pa.Table.from_pylist(rows, schema)


def colours(count: int, seed: int, *, blank: bool = False) -> Any:
    """Return rows that ask for the colour of a square, with white pictures if `blank`."""
    import random

    import pyarrow as pa

    draw = random.Random(seed)
    rows = []
    for _ in range(count):
        colour = draw.choice(list(COLOURS))
        image = picture(None if blank else colour, (32, 32), draw.randrange(16))
        prompt = [{"role": "user", "content": "<image>what colour is it"}]
        rows.append({"data_source": "exact", "prompt": prompt, "ground_truth": colour, "image": image})
    return pa.Table.from_pylist(rows)
