"""Loads sequence classifiers with transformers, and computes logits in batches within a token budget.

Scores do not depend on which samples share a batch, because sequences are padded on the right and masked, and
the logits are read at the last token of each sequence, even if this is the padding token.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rewardkit.errors import InputError, MissingDependencyError, message_of
from rewardkit.rewards.model.encode import ModelEncoder
from rewardkit.rewards.model.heads import SavedHead, find_head, is_head
from rewardkit.rewards.model.options import ModelOptions

try:
    import torch
    import transformers
except ImportError as error:
    raise MissingDependencyError(
        f"a reward model needs torch and transformers ({error}); pip install 'rewardkit[model]'"
    ) from None

_NO_LIMIT = 10**9
"""Upper bound for plausible limits. A tokenizer without a limit reports a much larger number."""


class TransformersClassifier:
    """A transformers sequence classifier on one device.

    Raises:
        InputError: The model cannot be loaded, has missing weights (a language model has no head), has more
            than two labels, or reads fewer tokens than `max_length`.
    """

    def __init__(self, options: ModelOptions) -> None:
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self._device = _device(options.device)
        self._model = _load_model(options, _dtype(options.dtype, self._device)).to(self._device).eval()
        self._config = self._model.config.get_text_config()
        self._own_padding: int | None = self._config.pad_token_id
        self._batch_tokens = options.batch_tokens
        tokenizer = load_tokenizer(options.path)
        max_length = read_length(options.max_length, self._model.config, tokenizer)
        self.encoder = ModelEncoder(tokenizer, options.template, max_length)

    def logits(self, ids: Sequence[Sequence[int]]) -> list[list[float] | str]:
        """Return the logits for each sequence, in order, or the reason why there are none."""
        found: dict[int, list[float] | str] = {}
        for batch in plan_batches([len(one) for one in ids], self._batch_tokens):
            found.update(zip(batch, self._forward([ids[i] for i in batch]), strict=True))
        return [found[i] for i in range(len(ids))]

    def _forward(self, ids: Sequence[Sequence[int]]) -> list[list[float] | str]:
        try:
            return self._forward_together(ids)
        except torch.OutOfMemoryError:
            # The code continues outside the handler, because the handler would keep references to the
            # tensors.
            pass
        torch.cuda.empty_cache()
        if len(ids) == 1:
            return [f"out of memory on {self._device} with a sequence of {len(ids[0])} tokens"]
        half = len(ids) // 2
        return [*self._forward(ids[:half]), *self._forward(ids[half:])]

    @torch.inference_mode()
    def _forward_together(self, ids: Sequence[Sequence[int]]) -> list[list[float] | str]:
        pad = self._padding(ids)
        longest = max(map(len, ids))
        input_ids = torch.tensor([[*one, *[pad] * (longest - len(one))] for one in ids])
        mask = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in ids])
        logits = self._model(
            input_ids=input_ids.to(self._device), attention_mask=mask.to(self._device)
        ).logits
        found: list[list[float] | str] = logits.float().cpu().tolist()
        return found

    def _padding(self, ids: Sequence[Sequence[int]]) -> int:
        """Return the id of the model's padding token, or an id that does not occur in the batch.

        Decoders look for the last token that is not the padding token. If a sequence ends with the padding
        token, which some models use as their end token, they would read the logits too early. An unused id
        is therefore also set in the model's config.
        """
        padding = self._own_padding
        if padding is None or padding < 0 or any(one[-1] == padding for one in ids):
            used = set().union(*ids)
            padding = next(i for i in range(len(used) + 1) if i not in used)
        self._config.pad_token_id = self._model.config.pad_token_id = padding
        return padding


def plan_batches(lengths: Sequence[int], batch_tokens: int) -> list[list[int]]:
    """Group sequences of similar length, starting with the longest.

    Each group, padded to its longest sequence, has at most `batch_tokens` tokens, unless it is a single
    sequence.

    Returns:
        Indices of the sequences in each group.
    """
    batches: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batches and lengths[batches[-1][0]] * (len(batches[-1]) + 1) <= batch_tokens:
            batches[-1].append(i)
        else:
            batches.append([i])
    return batches


def read_length(max_length: int, config: Any, tokenizer: Any) -> int:
    """Return the number of tokens that a model reads, which is `max_length` or, if 0, the model's own limit.

    Raises:
        InputError: The model cannot read `max_length` tokens, or its limit is unknown.
    """
    positions = getattr(config.get_text_config(), "max_position_embeddings", None)
    limits = [n for n in (positions, tokenizer.model_max_length) if n and n < _NO_LIMIT]
    if not limits and not max_length:
        raise InputError("the reward model's config sets no maximum length; set max_length")
    if limits and max_length > min(limits):
        raise InputError(f"max_length is {max_length}, but the reward model's limit is {min(limits)} tokens")
    return max_length or min(limits)


def load_tokenizer(path: str) -> Any:
    """Return a model's tokenizer.

    Raises:
        InputError: The tokenizer cannot be loaded.
    """
    return _loaded(path, lambda: transformers.AutoTokenizer.from_pretrained(path))


def _load_model(options: ModelOptions, dtype: torch.dtype) -> Any:
    path = options.path
    model, info = _loaded(
        path,
        lambda: transformers.AutoModelForSequenceClassification.from_pretrained(
            path, dtype=dtype, output_loading_info=True, ignore_mismatched_sizes=True
        ),
    )
    linear = [(name, layer) for name, layer in model.named_modules() if isinstance(layer, torch.nn.Linear)]
    places = [name for name, layer in linear if is_head(name, layer.out_features)]
    place = places[-1] if places else ""
    saved = find_head(path, options.head) if places else None
    # transformers initialises missing weights at random, and drops a bias for which the model has no place.
    unread = {*info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])}
    unread |= {f"{place}.bias"} & {*info["unexpected_keys"]}
    if saved is not None:
        _install(model, place, saved, dtype)
        unread -= {f"{place}.weight", f"{place}.bias"}
    if unread:
        raise InputError(f"{path} is not a reward model: its files have no fitting {sorted(unread)[0]}")
    if model.config.num_labels > 2:
        raise InputError(
            f"{path} is not a reward model: the model has {model.config.num_labels} labels; expected 1 or 2"
        )
    return model


def _install(model: Any, place: str, saved: SavedHead, dtype: torch.dtype) -> None:
    """Replace the head of a model by the head in its files, which determines the number of labels."""
    width = model.get_submodule(place).in_features
    if saved.columns != width:
        raise InputError(f"the head {saved} does not fit the model, whose hidden size is {width}")
    weight, bias = saved.read()
    head = torch.nn.Linear(width, saved.rows, bias=bias is not None, dtype=dtype)
    head.load_state_dict({"weight": weight} | ({} if bias is None else {"bias": bias}))
    model.set_submodule(place, head)
    model.config.num_labels = saved.rows


def _loaded(path: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except Exception as error:
        # The loaders raise exceptions of many kinds, from the hub, tokenizers and torch, and KeyErrors.
        raise InputError(f"cannot load the reward model {path}: {message_of(error)}") from None


def _device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"cannot put a reward model on device '{name}': {reason}") from None


def _dtype(name: str, device: torch.device) -> torch.dtype:
    if name != "auto":
        return {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}[name]
    if device.type == "cpu":
        return torch.float32
    with torch.cuda.device(device):
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
