"""Resumable scoring of files with responses, chunk by chunk, with bounded memory and on all cores.

Each input is read in chunks whose boundaries depend only on the file. The result of each chunk is saved in a
progress folder beside the output as soon as it is available, so that a killed run loses only the chunks in
flight. The output is written under a temporary name and renamed at the end.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from rewardkit.errors import BudgetSpentError, InputError, RewardkitError, UnknownDataSourceError
from rewardkit.files.formats import RowFile, columns_of
from rewardkit.files.inputs import STDIN, Input, find_inputs, format_of
from rewardkit.files.publishing import exists_already, make_folder, sole_writer
from rewardkit.files.records import Records
from rewardkit.identity.reward_identity import identities, known_sources
from rewardkit.logs.known import bytes_of, data_sources_of, identity_of
from rewardkit.logs.layout import ReadOptions, RowLayout
from rewardkit.logs.reader import PLAIN, opened
from rewardkit.logs.samples import ALL, SampleBatch, to_batch
from rewardkit.logs.scored_rows import VERLS, carried_fields, renamed_names, score_prefixes
from rewardkit.offline.chunk import (
    TOLD,
    BadRowPolicy,
    ChunkResult,
    Output,
    finish,
    mark_unknown_sources,
)
from rewardkit.offline.columns import carried_fields_of, score_fields
from rewardkit.offline.file_workers import FileWorkers, Workers
from rewardkit.offline.inline import ChunkScorer, FileSetup, Rewards
from rewardkit.offline.origins import generations_in
from rewardkit.offline.progress import Progress
from rewardkit.offline.receipt import DigestingSink, receipt_of, write_beside
from rewardkit.offline.report import FileOutcome, Report, SourceReport
from rewardkit.offline.writing import (
    CsvWriter,
    LinesWriter,
    ParquetWriter,
    Writer,
    check_output,
    output_name,
    run_of,
    schema_of,
    sink_for,
)
from rewardkit.registry import Reward
from rewardkit.scoring.pending import Pending
from rewardkit.scoring.scorer import Scorer
from rewardkit.types import Score, with_known

OnProgress = Callable[[int, int | None], None]
"""Callback that receives the number of finished rows and the total, or None if the total is unknown."""

SMALL_BYTES = 4 << 20
"""Total file size below which the main process scores the files, since starting workers would take longer."""
MOSTLY = 0.75
"""Fraction of samples with sufficient excerpts from which the main process scores a file itself, because
transferring the data to and from workers would take longer."""


@dataclass(frozen=True)
class _Settings:
    scorer: Scorer
    options: ReadOptions
    prefix: str
    bad_rows: BadRowPolicy
    resume: bool
    restart: bool
    force: bool
    skip_bad_files: bool
    on_progress: OnProgress
    on_note: Callable[[str], None]


def score_file(
    paths: str | Path | Iterable[str | Path],
    out: str | Path,
    *,
    scorer: Scorer,
    options: ReadOptions = PLAIN,
    prefix: str = "",
    bad_rows: BadRowPolicy = "mark",
    resume: bool = False,
    restart: bool = False,
    force: bool = False,
    skip_bad_files: bool = False,
    on_progress: OnProgress = lambda done, total: None,
    on_note: Callable[[str], None] = lambda line: None,
    workers: Workers | None = None,
) -> Report:
    """Write the rows of files with their scores, and return the totals.

    Args:
        paths: Files, folders, globs, URLs, or `-` for standard input (JSONL).
        out: File for all rows, whose name determines the format, `-` for standard output (JSONL), or a folder
            with one file for each input.
        scorer: Scorer for the rows, which also has the options of the rewards.
        options: Options for reading the files, a `rewardkit.offline.ReadOptions` with names of columns or
            values that apply to all rows.
        prefix: Prefix for the names of the score columns.
        bad_rows: Policy for unusable rows. `mark` gives them the status `invalid`, `drop` leaves them out,
            and `fail` raises an error.
        resume: True to continue an interrupted run. The output has the same bytes as after an uninterrupted
            run.
        restart: True to discard the partial output of an interrupted run.
        force: True to replace an existing output.
        skip_bad_files: True to skip files that cannot be scored, if the output is a folder. `Report.files`
            contains the reasons. If no file can be scored, an error is still raised.
        on_progress: Function called with the number of finished rows and the total, or None if the total is
            unknown.
        on_note: Function called with one line of text for each remark on the files, such as a detected log
            format, a renamed or unusually named column, skipped files, or an output that is already complete.
        workers: Workers for chunks, for example on other machines. The default is the scorer's own workers.

    Raises:
        InputError: A file is missing or cannot be read, a column is missing, the output exists or cannot be
            written, or an interrupted run is neither resumed nor restarted.
        UnknownDataSourceError: None of the rows has a reward or, with `bad_rows="fail"`, a row has no reward.
        BudgetSpentError: A judge's budget is spent. The scored rows are kept for `resume`.
    """
    words = [paths] if isinstance(paths, str | Path) else list(paths)
    inputs = find_inputs(words, on_note)
    settings = _Settings(
        scorer, options, prefix, bad_rows, resume, restart, force, skip_bad_files, on_progress, on_note
    )
    target = str(out)
    workers = workers or FileWorkers(scorer)
    if target == STDIN or format_of(target):
        return _score_to(inputs, target, settings, workers, with_keys=True)
    _check_folder(target, words)
    return _score_each(inputs, Path(target), settings, workers)


def _score_each(inputs: Sequence[Input], folder: Path, settings: _Settings, workers: Workers) -> Report:
    """Score each input, and write its rows to a separate file in the folder."""
    report = Report()
    first: InputError | UnknownDataSourceError | None = None
    for source in inputs:
        out = folder / output_name(source.name)
        make_folder(out.parent)
        try:
            one = _score_to([source], str(out), settings, workers, with_keys=False)
        except (InputError, UnknownDataSourceError) as error:
            if not settings.skip_bad_files:
                raise
            first = first or error
            report.files.append(FileOutcome(source.path, str(out), why_not=str(error)))
        else:
            report.files.append(FileOutcome(source.path, str(out), one.sources))
            _add_report(report, one)
    if first is not None and all(file.why_not for file in report.files):
        raise first
    return report


def _check_folder(target: str, words: Sequence[str | Path]) -> None:
    """Check that the target can be a folder, and is probably not a file name with a mistyped extension.

    Raises:
        InputError: The target cannot be a folder, or looks like a file name.
    """
    folder = Path(target)
    if folder.is_dir() or target.endswith("/"):
        return
    if folder.exists() or (folder.suffix and _is_one_file(words)):
        raise InputError(
            f"cannot write {target}: expected a name that ends in .parquet, .jsonl, .jsonl.gz or .csv, "
            "or in / for a folder"
        )


def _is_one_file(words: Sequence[str | Path]) -> bool:
    """Return True if the words name a single local or remote file rather than a folder or glob."""
    word = str(words[0])
    if len(words) > 1 or Path(word).is_dir():
        return False
    return Path(word).is_file() or (format_of(word) is not None and not any(sign in word for sign in "*?["))


def _add_report(report: Report, other: Report) -> None:
    report.merge(other.sources)
    report.bad_rows += other.bad_rows
    report.bad_count += other.bad_count


def _score_to(
    sources: list[Input], out: str, settings: _Settings, workers: Workers, *, with_keys: bool
) -> Report:
    """Score inputs, and write their rows to one output.

    `with_keys` adds the values of Hive partitions as columns, for outputs whose path does not contain these
    values.
    """
    kind = check_output(out)
    for source in sources:
        if out != STDIN and Path(out).resolve() == Path(source.path).resolve():
            raise InputError(
                f"the output would overwrite the input {source.path}; choose another name for the output"
            )
    with contextlib.ExitStack() as stack:
        files = [
            stack.enter_context(opened(source, settings.options, with_keys=with_keys)) for source in sources
        ]
        for file, layout in files:
            if layout.kind is not None or layout.note:
                settings.on_note(f"{file.source.path}: {layout.describe(file.total)}")
        if len({layout.many for _, layout in files}) > 1:
            raise InputError(
                "some files have a list of responses in each row, and others a single response; pass a "
                "folder as --out"
            )
        run = _FileRun(files, out, kind, settings, workers)
        return run.go()


@dataclass
class _ScoringChunk:
    """Chunk that is being scored."""

    index: int
    file: int
    records: Records
    done: ChunkResult | None = None
    """Result from an earlier run, or None."""
    before: list[Score | None] | None = None
    """Scores from an earlier run that ended before all samples were scored."""
    future: Future[ChunkResult | None] | None = None
    batch: SampleBatch | None = None
    pending: Pending | None = None


@dataclass
class _FileRun:
    """Run that scores files and writes their rows to one output."""

    files: list[tuple[RowFile, RowLayout]]
    out: str
    kind: str
    settings: _Settings
    workers: Workers
    report: Report = field(default_factory=Report)

    def go(self) -> Report:
        settings = self.settings
        scorer = self.settings.scorer
        known = self._known_sources()
        rewards = {source: (scorer.reward_for(source), scorer.options_for(source)) for source in known}
        as_lines = self.kind == "jsonl"
        self.output = Output(settings.prefix, settings.bad_rows, as_lines, self._carried())
        for file, layout in self.files:
            self._refuse_taken_names(file, layout)
        self.by_group = next((r.name for r, _ in rewards.values() if r.running.by_group), None)
        of_rewards = ALL if self.by_group else {n for r, _ in rewards.values() for n in r.reads}
        self.reads = sorted(of_rewards | (ALL & set(self.output.carried)))
        self.parts = {part for reward, _ in rewards.values() for part in reward.parts}
        self._say_how_grouped()
        self.setups = self._setups(rewards)
        in_excerpts = not self.workers.takes_all and all(one.running.excerpts for one, _ in rewards.values())
        quick = self.setups if in_excerpts else None
        self.here = {i: ChunkScorer(setup, killable=False) for i, setup in enumerate(quick or ())}
        fingerprint = self._fingerprint(identities(scorer, known))
        self.run_id = hashlib.sha256(msgspec.json.encode(fingerprint)).hexdigest().encode()
        if self.out == STDIN:
            self._write(None)
            return self.report
        out = Path(self.out)
        with sole_writer(out):
            if self._is_there(out):
                return self.report
            with Progress.open(
                out, fingerprint, resume=settings.resume, restart=settings.restart
            ) as progress:
                self._write(progress)
        return self.report

    # --- checks before scoring -----------------------------------------------------------------------

    def _carried(self) -> tuple[str, ...]:
        """Return the fields of a Sample for which at least one file has no column with the usual name."""
        layouts = [layout for _, layout in self.files]
        to_add = set().union(*(layout.to_add for layout in layouts))
        if self.kind == "csv" and any(layout.names.ground_truth == VERLS for layout in layouts):
            to_add.add("ground_truth")
        return tuple(name for name in carried_fields(layouts[0].response_name) if name in to_add)

    def _refuse_taken_names(self, file: RowFile, layout: RowLayout) -> None:
        """Refuse a file that has scores with this prefix, and report which of its own columns are renamed.

        Raises:
            InputError: The file already has scores with this prefix.
        """
        prefix = self.settings.prefix
        columns = columns_of(file)
        if prefix in score_prefixes(columns, file.first_rows(200)):
            raise InputError(
                f"{file.source.path} already has a column '{prefix}score'; "
                "pass --prefix, for example --prefix new_, to name the score columns differently"
            )
        own = dict(zip(columns, renamed_names(columns, self.output.names), strict=True))
        moved = [f"'{name}' is written as '{new}'" for name, new in own.items() if new != name]
        if moved and layout.kind is None:
            self.settings.on_note(f"{file.source.path}: the file's own column {', '.join(moved)}")

    def _say_how_grouped(self) -> None:
        """Report that rows without a prompt are grouped by ground truth, if a reward scores groups."""
        for file, layout in self.files if self.by_group else ():
            names = layout.names
            if layout.kind is None and names.prompt is None and names.extra_info is None:
                self.settings.on_note(
                    f"{file.source.path}: no prompt column found, so '{self.by_group}' groups rows by "
                    "their ground truth; pass the prompts with --prompt-key"
                )

    def _known_sources(self) -> list[str]:
        """Return the data sources that have a reward, among those found without reading all rows.

        Raises:
            UnknownDataSourceError: No data source has a reward or, with `bad_rows="fail"`, a data source has
                no reward.
        """
        sources = dict.fromkeys(
            source for file, layout in self.files for source in data_sources_of(file, layout)
        )
        known = []
        first_unknown: UnknownDataSourceError | None = None
        for source in sources:
            try:
                self.settings.scorer.check([source])
                known.append(source)
            except UnknownDataSourceError as error:
                first_unknown = first_unknown or error
        if first_unknown and (self.settings.bad_rows == "fail" or not known):
            raise first_unknown
        return known

    def _setups(self, rewards: Rewards) -> list[FileSetup] | None:
        """Return the setups for `workers`, or None if the scorer must score these files itself."""
        takes = (
            all(_is_inline(reward) for reward, _ in rewards.values()) and bytes_of(self.files) >= SMALL_BYTES
        )
        if not self.workers.takes_all and not takes:
            return None
        return [FileSetup(layout, self.reads, rewards, self.output) for _, layout in self.files]

    def _is_there(self, out: Path) -> bool:
        """Return True if the output exists and is the complete output of the same run.

        Raises:
            InputError: The output exists and must not be replaced.
        """
        if not out.exists() or self.settings.force or Progress.left_by(out):
            return False
        if self.settings.resume and self.kind == "parquet" and run_of(out) == self.run_id:
            self.settings.on_note(f"{out} is already complete; no row is scored again")
            return True
        raise exists_already(out)

    def _fingerprint(self, rewards: dict[str, Any]) -> dict[str, Any]:
        """Return all facts that must be unchanged before results of an earlier run may be reused."""
        return {
            "inputs": [identity_of(file.source) for file, _ in self.files],
            "columns": [repr(layout) for _, layout in self.files],
            "output": [self.kind, self.output.prefix, self.output.bad_rows],
            "rewards": rewards,
            "form of chunks": [ChunkResult.__struct_fields__, SourceReport.__struct_fields__],
        }

    # --- chunks --------------------------------------------------------------------------------------

    def _write(self, progress: Progress | None) -> None:
        total = self._total()
        done = 0
        writer: Writer | None = None
        self.settings.on_progress(0, total)
        with sink_for(self.out) as file:
            sink = DigestingSink(file)
            try:
                for chunk, result in self._scored(progress):
                    writer = writer or self._writer(sink, result)
                    writer.write(chunk.records, result)
                    self._count(chunk, result)
                    done += chunk.records.count
                    self.settings.on_progress(done, total)
                if writer is not None:
                    self._leave_receipt(writer, sink.digest)
            finally:
                if writer is not None:
                    writer.close()

    def _leave_receipt(self, writer: Writer, content: str) -> None:
        """Write the receipt to the file's metadata, or beside the file. Standard output has no receipt."""
        scorer = self.settings.scorer
        rewards = identities(scorer, known_sources(self.report.sources, scorer))
        generated = generations_in(dict.fromkeys(file.source.path for file, _ in self.files))
        receipt = receipt_of(rewards, self.settings.prefix, content, generated)
        if isinstance(writer, ParquetWriter):
            writer.add_receipt(receipt)
        elif self.out != STDIN:
            write_beside(Path(self.out), receipt)

    def _total(self) -> int | None:
        totals = [file.total for file, _ in self.files]
        known = [total for total in totals if total is not None]
        return sum(known) if len(known) == len(totals) else None

    def _writer(self, sink: DigestingSink, first: ChunkResult) -> Writer:
        prefix = self.settings.prefix
        if self.kind == "jsonl":
            return LinesWriter(sink, self.output)
        if self.kind == "csv":
            return CsvWriter(sink, self._schema().names, self.output)
        layout = self.files[0][1]
        carried = carried_fields_of(self.output.carried, many=layout.many)
        fields = score_fields(prefix, self.parts | first.parts(), many=layout.many)
        return ParquetWriter(sink, self._schema(), carried, fields, prefix, self.run_id)

    def _schema(self) -> pa.Schema:
        """Return the schema of a table with the columns of all files."""
        schemas = [
            file.schema if file.schema is not None else schema_of(file.chunks()) for file, _ in self.files
        ]
        try:
            return pa.unify_schemas(schemas, promote_options="permissive")
        except pa.ArrowException as error:
            raise InputError(
                f"cannot write the rows of all files to one file: {error}; pass a folder as --out, or give "
                "each column one type in all files"
            ) from None

    def _scored(self, progress: Progress | None) -> Iterator[tuple[_ScoringChunk, ChunkResult]]:
        """Yield the scored chunks in order, while further chunks are being scored."""
        waiting: deque[_ScoringChunk] = deque()
        try:
            for chunk in self._chunks():
                if progress is not None and progress.has(chunk.index):
                    chunk.done = progress.load(chunk.index)
                else:
                    chunk.before = progress.load_scores(chunk.index) if progress is not None else None
                    self._start(chunk)
                waiting.append(chunk)
                if len(waiting) > self.workers.size:
                    yield self._finish(waiting.popleft(), progress)
            while waiting:
                yield self._finish(waiting.popleft(), progress)
        except (KeyboardInterrupt, GeneratorExit):
            for chunk in waiting:
                _keep(chunk, progress)
            raise
        except BudgetSpentError:
            for chunk in waiting:
                with contextlib.suppress(RewardkitError):  # keep the paid scores of the chunks in flight
                    self._finish(chunk, progress)
            raise

    def _chunks(self) -> Iterator[_ScoringChunk]:
        index = 0
        for number, (file, _) in enumerate(self.files):
            for position, records in enumerate(file.chunks()):
                if position and self.by_group:
                    raise InputError(
                        f"{file.source.path} is too large for '{self.by_group}', which needs all responses "
                        "to a prompt at once; split the file by prompt, or score the rows as a DataFrame"
                    )
                yield _ScoringChunk(index, number, records)
                index += 1

    def _start(self, chunk: _ScoringChunk) -> None:
        if self.setups is not None and chunk.records.damaged is None and chunk.before is None:
            chunk.future = self._by_excerpts(chunk) or self.workers.submit(
                self.setups[chunk.file], chunk.records
            )
        else:
            chunk.batch = self._batch(chunk)
            chunk.pending = self.settings.scorer.submit(chunk.batch.usable)

    def _by_excerpts(self, chunk: _ScoringChunk) -> Future[ChunkResult | None] | None:
        """Score a chunk in the main process if excerpts make this fast. Otherwise return None."""
        scorer = self.here.get(chunk.file)
        if scorer is None or scorer.excerpted < MOSTLY:
            return None
        result = scorer.score(chunk.records)
        if result is None:
            return None
        future: Future[ChunkResult | None] = Future()
        future.set_result(result)
        return future

    def _batch(self, chunk: _ScoringChunk) -> SampleBatch:
        batch = to_batch(chunk.records, self.files[chunk.file][1], self.reads)
        for i, score in enumerate(chunk.before or ()):
            if score is not None:
                batch.samples[i] = msgspec.structs.replace(batch.samples[i], known=score)
        mark_unknown_sources(batch, self.settings.scorer.check)
        return batch

    def _finish(self, chunk: _ScoringChunk, progress: Progress | None) -> tuple[_ScoringChunk, ChunkResult]:
        if chunk.done is not None:
            return chunk, chunk.done
        result = chunk.future.result() if chunk.future is not None else None
        if result is None:
            layout = self.files[chunk.file][1]
            if (
                chunk.batch is None or chunk.pending is None
            ):  # The worker died or found an unknown data source.
                chunk.batch = self._batch(chunk)
                chunk.pending = self.settings.scorer.submit(chunk.batch.usable)
            try:
                scores = chunk.pending.wait()
            except KeyboardInterrupt:
                _keep(chunk, progress)
                raise
            result = finish(chunk.batch, scores, layout, self.output)
        if result.bad and self.settings.bad_rows == "fail":
            row, why = result.bad[0]
            path = self.files[chunk.file][0].source.path
            raise InputError(
                f"{path}, row {row}: {why}; fix the row, or pass `--bad-rows mark` or `--bad-rows drop` to "
                "score the rest"
            )
        if result.paid is not None:
            if progress is not None:
                progress.save_scores(chunk.index, result.paid)
            raise BudgetSpentError(
                f"{result.why_unpaid}; all scores so far are kept: "
                "pass --resume to continue with a new budget"
            )
        if progress is not None:
            progress.save(chunk.index, result)
        return chunk, result

    def _count(self, chunk: _ScoringChunk, result: ChunkResult) -> None:
        self.report.merge(result.sources)
        self.report.bad_count += result.bad_count
        path = self.files[chunk.file][0].source.path
        room = TOLD - len(self.report.bad_rows)
        self.report.bad_rows += [f"{path}, row {row}: {why}" for row, why in result.bad[:room]]


def _keep(chunk: _ScoringChunk, progress: Progress | None) -> None:
    """Save the available scores of an interrupted chunk. Failures are not saved, but scored again."""
    if progress is None or chunk.batch is None or chunk.pending is None:
        return
    found = [score if score is not None and score.ok else None for score in chunk.pending.cancel()]
    if any(found):
        progress.save_scores(chunk.index, with_known(chunk.batch.samples, found))


def _is_inline(reward: Reward) -> bool:
    from rewardkit.scoring.runner import is_async

    return reward.running.runs == "inline" and not is_async(reward)
