"""Checks the settings of stages that train on given responses before a model is loaded."""

from __future__ import annotations

from pathlib import Path

from rewardkit.errors import ConfigError
from rewardkit.files.inputs import find_inputs
from rewardkit.model_folders import why_no_model
from rewardkit.trainer.config.allowed import check_values
from rewardkit.trainer.config.root import world_size
from rewardkit.trainer.config.workers import group_size
from rewardkit.trainer.data import file_list
from rewardkit.trainer.models.lora import check_lora
from rewardkit.trainer.models.quantised import check_quantization
from rewardkit.trainer.run.checks import Check, check_device, check_loggers, check_sharding, note_contents
from rewardkit.trainer.run.preflight import check_adapter, check_output, check_resume
from rewardkit.trainer.run.rules import Rule, check_rules, needing_packages
from rewardkit.trainer.sft.config import GivenConfig
from rewardkit.trainer.workers.optimizers import check_optimizer

REFUSED: tuple[Rule, ...] = (
    *needing_packages(lambda c: (c.model,)),
    (
        lambda c: c.data.train_batch_size % world_size(c),
        "data.train_batch_size={c.data.train_batch_size} must be divisible by the number of processes, "
        "trainer.nnodes x trainer.n_gpus_per_node",
    ),
    (
        lambda c: c.data.use_dynamic_bsz and c.data.max_token_len_per_gpu * sharing(c) < c.data.max_length,
        (
            "data.max_token_len_per_gpu={c.data.max_token_len_per_gpu} is too small for one row of "
            "data.max_length={c.data.max_length} tokens"
        ),
    ),
    (
        lambda c: c.trainer.test_freq > 0 and not c.data.val_files,
        "data.val_files is not set; set it, or trainer.test_freq=-1",
    ),
    (
        lambda c: sharing(c) > 1 and not c.model.use_remove_padding,
        "engine.ulysses_sequence_parallel_size shares packed rows: set model.use_remove_padding=true",
    ),
)


def sharing(config: GivenConfig) -> int:
    """Return the number of processes that share each sequence."""
    return group_size(config.engine.ulysses_sequence_parallel_size, world_size(config))


def template_of(config: GivenConfig) -> str | None:
    """Return the template in `data.chat_template`, or in the file that this setting names.

    Raises:
        ConfigError: The setting is neither a template nor a readable file.
    """
    given = config.data.chat_template
    if given is None or "{" in given:
        return given
    try:
        return Path(given).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"data.chat_template={given} is neither a readable file nor a Jinja template: {error}"
        ) from None


def _check_files(config: GivenConfig) -> None:
    for path in (*file_list(config.data.train_files), *file_list(config.data.val_files)):
        find_inputs([path])


def _check_template(config: GivenConfig) -> None:
    template_of(config)


def _check_model(config: GivenConfig) -> None:
    if reason := why_no_model(config.model.path):
        raise ConfigError(f"model.path: {reason}")


CHECKS: tuple[tuple[str, Check], ...] = (
    ("values", check_values),
    ("device", check_device),
    ("mutually exclusive settings", lambda c: check_rules(c, REFUSED)),
    ("sharding", lambda c: check_sharding("engine", c.engine, world_size(c))),
    ("optimizer", lambda c: check_optimizer("optim", c.optim)),
    ("arguments of the adapter", lambda c: check_lora("model", c.model)),
    (
        "quantisation",
        lambda c: check_quantization("model", c.model, "engine", c.engine, world_size(c)),
    ),
    ("loggers", check_loggers),
    (
        "contents of checkpoints",
        lambda c: note_contents("checkpoint.save_contents", c.checkpoint.save_contents),
    ),
    ("checkpoint", check_resume),
    ("model", _check_model),
    ("adapter", lambda c: check_adapter("model", c.model)),
    ("folder of output", lambda c: check_output("default_local_dir", c.trainer.default_local_dir)),
    ("files", _check_files),
    ("chat template", _check_template),
)
"""Checks to run, in order, before the tokenizer, rows and model are loaded."""
