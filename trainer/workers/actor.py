"""Actor, which computes log-probabilities and PPO updates, and reference, which is never updated."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import torch
from torch import Tensor, nn

from rewardkit.trainer.algorithms.kl import PENALTIES
from rewardkit.trainer.algorithms.log_probs import Entropy
from rewardkit.trainer.algorithms.losses import POLICY_LOSSES
from rewardkit.trainer.algorithms.objective import PolicyLoss, PolicyOptions, policy_loss
from rewardkit.trainer.algorithms.reductions import Stats, Totals, aggregate, masked_sum
from rewardkit.trainer.batch import Batch
from rewardkit.trainer.config.root import DistillationConfig
from rewardkit.trainer.config.workers import ActorConfig
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.lora import adapters_off
from rewardkit.trainer.models.routing import ROUTES
from rewardkit.trainer.models.sharding import drop_gathered, full_tensors, language_model, move_towards
from rewardkit.trainer.workers.batching import Batching, map_rows
from rewardkit.trainer.workers.distillation import (
    Head,
    compares_distributions,
    compares_vocabulary,
    distance_figures,
    teacher_distance,
)
from rewardkit.trainer.workers.forward import TokenFigures, response_figures, response_log_probs
from rewardkit.trainer.workers.parallel import parallel_to
from rewardkit.trainer.workers.update import Optimizer, UpdatePlan, update


def loss_options(config: ActorConfig) -> PolicyOptions:
    """Return the constants for the policy losses from the config."""
    given = config.policy_loss
    return PolicyOptions(
        clip_low=config.clip_ratio_low,
        clip_high=config.clip_ratio_high,
        clip_c=config.clip_ratio_c,
        tau_pos=config.tau_pos,
        tau_neg=config.tau_neg,
        ppo_kl_coef=given.ppo_kl_coef,
        dro_beta=given.dro_beta,
        vespo_k_pos=given.vespo_k_pos,
        vespo_lambda_pos=given.vespo_lambda_pos,
        vespo_k_neg=given.vespo_k_neg,
        vespo_lambda_neg=given.vespo_lambda_neg,
        clip_cov_ratio=given.clip_cov_ratio,
        clip_cov_lb=given.clip_cov_lb,
        clip_cov_ub=given.clip_cov_ub,
        kl_cov_ratio=given.kl_cov_ratio,
    )


def without_routes(batch: Batch) -> Batch:
    """Return the batch without the experts of the policy, so that a model chooses its own."""
    return Batch({name: t for name, t in batch.tensors.items() if name != ROUTES}, batch.rows)


class Reference:
    """Policy before training, or any other model that only evaluates the policy's tokens."""

    def __init__(
        self,
        model: nn.Module,
        world: World,
        batching: Batching,
        *,
        temperature: float,
        base_of_adapter: bool = False,
        sequence_parallel: int = 1,
    ) -> None:
        """Create a reference with its own model or with the actor's model.

        Args:
            base_of_adapter: If True, `model` is the actor's model, which is used without its adapter.
            sequence_parallel: Number of processes that share the tokens in each row.
        """
        self.model = model
        self._parallel = parallel_to(model, world, sequence_parallel)
        self._batching = batching
        self._temperature = temperature
        self._base_of_adapter = base_of_adapter

    @torch.no_grad()
    def log_probs(self, batch: Batch) -> Tensor:
        """Return the log-probabilities of the response tokens, (B, T). The model chooses its own experts."""
        batch = without_routes(batch)
        with adapters_off(self.model) if self._base_of_adapter else nullcontext():
            (log_probs,) = map_rows(batch, self._chosen, self._batching, self._parallel, self.model)
        return log_probs

    @torch.no_grad()
    def follow(self, policy: nn.Module, alpha: float) -> None:
        """Set the weights to (1 - alpha) times themselves plus alpha times the policy's.

        All processes must call this method.
        """
        drop_gathered(self.model)
        own = dict(language_model(self.model).named_parameters())
        for name, tensor in full_tensors(policy):
            move_towards(own[name], tensor, alpha)

    def _chosen(self, batch: Batch) -> tuple[Tensor, ...]:
        return (self._log_probs(batch, "no")[0],)

    def _log_probs(self, batch: Batch, entropy: Entropy) -> tuple[Tensor, Tensor | None]:
        sharing = self._parallel.sharing
        return response_log_probs(self.model, batch, self._temperature, entropy=entropy, sharing=sharing)


class Actor(Reference):
    """Policy that is trained."""

    def __init__(
        self,
        model: nn.Module,
        world: World,
        config: ActorConfig,
        *,
        samples_per_prompt: int,
        temperature: float,
        log_prob_batching: Batching,
        balance: bool = False,
        total_steps: int = 1,
        loss: PolicyLoss | None = None,
        distillation: DistillationConfig | None = None,
        copy_head: Callable[[], Head] | None = None,
    ) -> None:
        """Create an actor that trains `model`. If `loss` is None, `config.policy_loss.loss_mode` selects it.

        With `distillation`, the distance from the teacher is added to the policy loss or replaces it.

        Args:
            copy_head: Function that returns the teacher's output layer, if the distance needs it.
        """
        asked = config.ulysses_sequence_parallel_size
        super().__init__(model, world, log_prob_batching, temperature=temperature, sequence_parallel=asked)
        self._config = config
        self._policy_loss = loss or POLICY_LOSSES[config.policy_loss.loss_mode or "vanilla"]
        self._options = loss_options(config)
        self._distillation = distillation
        self._copy_head = copy_head
        self._distances: TokenFigures | None = None
        """Distances from the teacher's distributions, if the loss contains them. Only during an update."""
        self._plan = UpdatePlan.of(config, self._parallel, samples_per_prompt, balance=balance)
        self.optimizer = Optimizer(model, config.optim, config.fsdp_config, config.grad_clip, total_steps)

    @torch.no_grad()
    def log_probs_and_entropies(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return log-probabilities and entropies of the response tokens, each (B, T)."""
        log_probs, entropies = map_rows(
            batch, self._chosen_and_entropies, self._batching, self._parallel, self.model
        )
        return log_probs, entropies

    @torch.no_grad()
    def log_probs_entropies_and_squares(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Return log-probabilities, entropies, and sums of squared probabilities, each (B, T)."""
        log_probs, figures = map_rows(
            batch, self._chosen_and_figures, self._batching, self._parallel, self.model
        )
        return log_probs, *figures.unbind(-1)  # type: ignore[return-value]

    def _chosen_and_figures(self, batch: Batch) -> tuple[Tensor, ...]:
        log_probs, figures = self._log_probs(batch, "value and squares")
        assert figures is not None
        return log_probs, figures

    def _chosen_and_entropies(self, batch: Batch) -> tuple[Tensor, ...]:
        log_probs, entropies = self._log_probs(batch, "value")
        assert entropies is not None
        return log_probs, entropies

    def update(self, batch: Batch, step: int, seed: int) -> dict[str, float]:
        """Run the PPO updates for training step `step` and return their metrics."""
        work = (self.loss, self.live, self.optimizer, self._parallel, self._plan)
        self._distances = self._of_distributions()
        try:
            return update(batch, *work, step=step, seed=seed)
        finally:
            self._distances = None  # frees the teacher's output layer

    def _of_distributions(self) -> TokenFigures | None:
        if self._distillation is None or not compares_distributions(self._distillation.distillation_loss):
            return None
        given = self._distillation.distillation_loss
        head: Head | None = None
        if compares_vocabulary(given):
            assert self._copy_head is not None
            head = self._copy_head()
        return distance_figures(given, head, self._temperature)

    def live(self, batch: Batch) -> Tensor:
        """Return a mask of the rows that have a gradient, (B,) bool.

        If the loss has a KL, entropy or distillation term, every row with a response token has a gradient.
        """
        mask = batch["response_mask"]
        if self._config.use_kl_loss or self._config.entropy_coeff or self._distillation:
            return mask.bool().any(dim=1)
        return self._policy_loss.live(batch["advantages"], mask, batch.tensors.get("chosen"))

    def loss(self, batch: Batch, totals: Totals) -> tuple[Tensor, Stats]:
        """Return a micro-batch's share of the mini-batch's loss and statistics.

        The loss is the policy loss selected by `policy_loss.loss_mode`, minus the entropy and plus the KL
        from the reference, if configured. Without `old_log_probs`, the ratio is 1.
        """
        config = self._config
        mask = batch["response_mask"]
        on_policy = "old_log_probs" not in batch.tensors  # see `TrainingRun.needs_old_log_probs`
        given = on_policy and "rollout_log_probs" not in batch.tensors  # without an engine, as in SFT
        entropy: Entropy = "loss" if config.entropy_coeff else "value" if given else "no"
        log_probs, entropies, figures = self._figures(batch, entropy)
        loss, stats = policy_loss(
            log_probs,
            log_probs.detach() if on_policy else batch["old_log_probs"],
            batch["advantages"],
            mask,
            totals,
            loss=self._policy_loss,
            options=self._options,
            aggregation=config.loss_agg_mode,
            horizon=config.loss_scale_factor,
            weights=batch.tensors.get("rollout_is_weights"),
            chosen=batch.tensors.get("chosen"),
        )
        if given and entropies is not None:
            stats["entropy"] = masked_sum(entropies.detach(), mask) / totals.computed
        if self._distillation is not None:
            if figures is None:
                distance = self._teacher_loss(self._distillation, log_probs, batch, totals)
            else:
                distance = self._aggregate(figures[..., 0], mask, totals)
                for i, name in enumerate(("policy_mass", "teacher_mass"), start=1):
                    kept = figures[..., i].detach()
                    stats[f"distillation_{name}"] = masked_sum(kept, mask) / totals.computed
            task = loss if self._distillation.distillation_loss.use_task_rewards else 0.0
            loss = task + self._distillation.coef * distance
            stats["distillation_loss"] = distance.detach()
        if config.entropy_coeff and entropies is not None:
            loss = loss - config.entropy_coeff * self._aggregate(entropies, mask, totals)
        if config.use_kl_loss:
            kl_loss = self._kl_loss(log_probs, batch, totals)
            loss = loss + config.kl_loss_coef * kl_loss
            stats["kl_loss"] = kl_loss.detach()
        return loss, stats

    def _figures(self, batch: Batch, entropy: Entropy) -> tuple[Tensor, Tensor | None, Tensor | None]:
        if self._distances is None:
            return *self._log_probs(batch, entropy), None
        sharing = self._parallel.sharing
        return response_figures(
            self.model, batch, self._temperature, self._distances, entropy, sharing=sharing
        )

    def _teacher_loss(
        self, given: DistillationConfig, log_probs: Tensor, batch: Batch, totals: Totals
    ) -> Tensor:
        mask = batch["response_mask"]
        difference = torch.where(mask.bool(), log_probs - batch["teacher_log_prob"], 0.0)
        return self._aggregate(teacher_distance(given.distillation_loss, difference), mask, totals)

    def _kl_loss(self, log_probs: Tensor, batch: Batch, totals: Totals) -> Tensor:
        mask = batch["response_mask"]
        difference = torch.where(mask.bool(), log_probs - batch["ref_log_prob"], 0.0)
        kl = PENALTIES[self._config.kl_loss_type](difference, torch.zeros_like(difference))
        return self._aggregate(kl, mask, totals)

    def _aggregate(self, values: Tensor, mask: Tensor, totals: Totals) -> Tensor:
        return aggregate(values, mask, totals, self._config.loss_agg_mode, self._config.loss_scale_factor)
