"""Scores a response with a task from lm-evaluation-harness, using the task's filters and metrics.

The row's `extra_info` is the document. lm-eval receives this document instead of the dataset that the task
would load.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from .loading import LoadRequest, Sources, said
from .shapes import GETTERS, CallNotes, CallRow, LackingError, LibraryCall, NoRewardError


class LmEvalTask(LibraryCall):
    """Reward from an lm-eval task. The score is one metric for one filter. All other numbers are parts."""

    def __init__(self, request: LoadRequest) -> None:
        import lm_eval.tasks  # type: ignore[import-not-found]

        super().__init__("lm-eval", lm_eval.__name__, type(self), request.options)
        self.columns = request.columns
        self.gives = {"document": "extra_info", **request.columns}
        self.sources: Sources = {}
        self.path = _path_of(request.target, lm_eval.tasks.__path__[0])
        settings = _settings(self.path, self.sources)
        task = settings.get("task")
        if not isinstance(task, str):
            raise NoRewardError(f"{request.target} is not a single lm-eval task; pass the name of one task")
        self.name = f"lm-eval:{task}"
        if (kind := settings.get("output_type", "generate_until")) != "generate_until":
            raise NoRewardError(
                f"{self.name} has the output_type {kind}, which compares log-likelihoods; only "
                "generate_until scores text"
            )
        filters = [str(one["name"]) for one in settings.get("filter_list") or [{"name": "none"}]]
        metrics = [_name(one["metric"]) for one in settings.get("metric_list") or [{"metric": "exact_match"}]]
        self.filter = self._option("filter", filters)
        self.metric = self._option("metric", metrics)
        if strange := [name for name in request.options if name not in ("filter", "metric")]:
            raise NoRewardError(
                f"{self.name} has no option '{strange[0]}'; valid options are filter and metric"
            )

    def _option(self, option: str, names: list[str]) -> str:
        """Return the name that an option selects. Without the option, return the only name."""
        named = self.options.get(option, names[0] if len(names) == 1 else None)
        if named not in names:
            what = f"several {option}s" if named is None else f"no {option} '{named}'"
            raise NoRewardError(
                f"{self.name} has {what}; pass {' or '.join(f'?{option}={name}' for name in names)}"
            )
        return str(named)

    def on(self, rows: list[CallRow], notes: CallNotes) -> Any:
        (row,) = rows
        task = self._made_for(row)
        (request,) = task.instances
        request.resps = [row["response"]]
        task.apply_filters()
        numbers = {
            f"{metric},{name}": value
            for name, response in request.filtered_resps.items()
            for metric, value in task.process_results(request.doc, [response]).items()
        }
        score = numbers.pop(f"{self.metric},{self.filter}", None)
        if not hasattr(score, "__float__"):
            raise ValueError(
                f"lm-eval's metric {self.metric} gave {score!r:.100} instead of a number for one response; "
                "choose another metric with ?metric=NAME"
            )
        correct = bool(score) if score in (0, 1) else None
        return {"score": score, "acc": correct, "pred": request.filtered_resps[self.filter], **numbers}

    def _made_for(self, row: CallRow) -> Any:
        """Create the task with the row as its only document, and with a single request."""
        import datasets
        from jinja2 import UndefinedError
        from lm_eval.tasks import TaskManager

        given = {name: GETTERS[field](row) for name, field in self.columns.items()}
        documents = datasets.Dataset.from_list([{**row["extra_info"], **given}])
        datasets.load_dataset = lambda *words, **named: _EverySplit(documents)
        try:
            (task,) = TaskManager(include_defaults=False).load(self.path)["tasks"].values()
            task.set_config("num_fewshot", 0)
            task.build_all_requests()
        except (KeyError, IndexError, UndefinedError) as error:
            raise LackingError(
                f"{self.name} cannot use the row's extra_info as the document: {said(error)}; pass a row of "
                "the task's dataset as extra_info, or set `columns` (`rewardkit import --column FIELD=NAME`)"
            ) from None
        return task


class _EverySplit(dict):  # type: ignore[type-arg]
    """Dataset with the same documents in every split."""

    def __init__(self, documents: Any) -> None:
        super().__init__()
        self._documents = documents

    def __missing__(self, split: str) -> Any:
        return self._documents


def _path_of(target: str, folder: str) -> str:
    """Return the YAML file for a task, either the target or lm-eval's first file that defines the task."""
    if target.endswith((".yaml", ".yml")):
        return os.path.abspath(target)
    wanted = re.compile(rb"^task:\s*[\"']?%s[\"']?\s*$" % re.escape(target).encode(), re.MULTILINE)
    for path in sorted(Path(folder).rglob("*.yaml")):
        if wanted.search(path.read_bytes()):
            return str(path)
    raise NoRewardError(
        f"lm-eval has no task '{target}'; if it is a group or a tag, list its tasks individually"
    )


def _settings(path: str, sources: Sources) -> dict[str, Any]:
    """Return the settings in a task's file, merged with the settings in included files.

    The YAML files and the Python files with the task's functions are added to `sources`.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """YAML loader that reads `!function` as a name."""

    folder = os.path.dirname(path)

    def function(loader: Any, node: Any) -> str:
        module = os.path.join(folder, node.value.rpartition(".")[0].replace(".", os.sep) + ".py")
        if os.path.exists(module):
            _note(module, sources)
        return str(node.value)

    Loader.add_constructor("!function", function)
    own = yaml.load(_note(path, sources), Loader)
    included = own.pop("include", [])
    settings: dict[str, Any] = {}
    for other in [included] if isinstance(included, str) else included:
        settings.update(_settings(os.path.join(folder, other), sources))
    return {**settings, **own}


def _note(path: str, sources: Sources) -> str:
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise NoRewardError(f"cannot read {path}: {error.strerror or error}") from None
    sources[path] = (path, text)
    return text


def _name(metric: str) -> str:
    """Return the name of a metric. For a function, this is the part after the last dot."""
    return metric.rpartition(".")[2]
