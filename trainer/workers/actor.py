"""The policy: log-probabilities of responses, and the PPO update; and the reference, which has no update."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.losses import Stats, token_entropy, token_log_probs
from rewardkit.trainer.algorithms.policy_losses import PolicyOptions, policy_loss
from rewardkit.trainer.algorithms.reductions import Totals, aggregate
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config import ActorConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.workers.update import Optimizer, update


def response_logits(model: nn.Module, batch: Batch, temperature: float) -> Tensor:
    """Return the logits from which each response token was drawn, (B, T, V).

    They stand one position before the token. They are divided by the rollout's temperature, so that the
    policy that is trained is the one that acted.
    """
    logits: Tensor = model(
        input_ids=batch["input_ids"],
        attention_mask=batch["attention_mask"],
        position_ids=batch["position_ids"],
        use_cache=False,
        logits_to_keep=batch["responses"].shape[1] + 1,
    ).logits[:, :-1]
    return logits if temperature == 1.0 else logits / temperature


class Reference:
    """The policy as it was before training."""

    def __init__(self, model: nn.Module, *, temperature: float, micro_batch_size: int | None) -> None:
        self.model, self._temperature, self._micro_batch_size = model, temperature, micro_batch_size

    @torch.no_grad()
    def log_probs(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and entropies of the response tokens, each (B, T)."""
        width = batch["responses"].shape[1]
        log_probs, entropies = [], []
        for piece in batch.split(self._micro_batch_size):
            trimmed = piece.trimmed()
            logits = response_logits(self.model, trimmed, self._temperature)
            short = width - logits.shape[1]
            log_probs.append(F.pad(token_log_probs(logits, trimmed["responses"]), (0, short)))
            entropies.append(F.pad(token_entropy(logits), (0, short)))
        return torch.cat(log_probs), torch.cat(entropies)


class Actor(Reference):
    """The policy that learns."""

    def __init__(
        self,
        model: nn.Module,
        world: World,
        config: ActorConfig,
        *,
        samples_per_prompt: int,
        temperature: float,
        log_prob_micro_batch_size: int | None,
    ) -> None:
        super().__init__(model, temperature=temperature, micro_batch_size=log_prob_micro_batch_size)
        self._world, self._config = world, config
        self._mini_batch_size = config.ppo_mini_batch_size * samples_per_prompt // world.size
        self.optimizer = Optimizer(model, config.optim, config.grad_clip)
        self._options = PolicyOptions(
            clip_low=config.clip_ratio_low,
            clip_high=config.clip_ratio_high,
            clip_c=config.clip_ratio_c,
            tau_pos=config.tau_pos,
            tau_neg=config.tau_neg,
            ppo_kl_coef=config.policy_loss.ppo_kl_coef,
        )

    def update(self, batch: Batch, step: int, seed: int) -> dict[str, float]:
        """Take the PPO steps of training step `step` and return their metrics."""
        lr = self.optimizer.set_step(step)
        metrics = update(
            batch,
            self._loss,
            self.optimizer,
            self._world,
            mini_batch_size=self._mini_batch_size,
            micro_batch_size=self._config.ppo_micro_batch_size_per_gpu,
            epochs=self._config.ppo_epochs,
            shuffle_seed=seed if self._config.shuffle else None,
        )
        return {**metrics, "lr": lr}

    def _loss(self, batch: Batch, totals: Totals) -> tuple[Tensor, Stats]:
        config, mask = self._config, batch["response_mask"]
        logits = response_logits(self.model, batch, self._temperature)
        log_probs = token_log_probs(logits, batch["responses"])
        loss, stats = policy_loss(
            log_probs,
            batch["old_log_probs"],
            batch["advantages"],
            mask,
            totals,
            mode=config.policy_loss.loss_mode,
            options=self._options,
            aggregation=config.loss_agg_mode,
            horizon=config.loss_scale_factor,
            weights=batch.tensors.get("rollout_is_weights"),
            chosen=batch.tensors.get("chosen"),
        )
        if config.entropy_coeff:
            loss = loss - config.entropy_coeff * self._aggregate(token_entropy(logits), mask, totals)
        if config.use_kl_loss:
            difference = torch.where(mask.bool(), log_probs - batch["ref_log_prob"], 0.0)
            kl = PENALTIES[config.kl_loss_type](difference, torch.zeros_like(difference))
            kl_loss = self._aggregate(kl, mask, totals)
            loss = loss + config.kl_loss_coef * kl_loss
            stats["kl_loss"] = kl_loss.detach()
        return loss, stats

    def _aggregate(self, values: Tensor, mask: Tensor, totals: Totals) -> Tensor:
        return aggregate(values, mask, totals, self._config.loss_agg_mode, self._config.loss_scale_factor)
