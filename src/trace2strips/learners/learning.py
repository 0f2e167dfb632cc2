"""Traces in, world model out: `learn`. Also the run folder that the command line writes and reads.

    learned = learn(read_traces("log.jsonl"))
    print(learned.pddl())

A run folder holds settings.json, metrics.json, model.pddl, model.json, weights.safetensors, log.jsonl and the events
that TensorBoard reads; while training runs, a checkpoint, from which a run that was killed goes on.
The decoders (`sb`, `sinusoidal`, `rope`) need PyTorch, which is imported when one of them is asked for.
May import up to `probing`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Int64
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as pack_arrays

from trace2strips.errors import FileError, TraceError, UserError, shorten
from trace2strips.files import check_readable, read_text, writing, writing_text
from trace2strips.learners.completion.completion import Completion
from trace2strips.learners.completion.heads import world_model
from trace2strips.learners.decoder.settings import VARIANTS, DecoderSettings, OptimiserSettings
from trace2strips.learners.layout import Rows
from trace2strips.learners.training import Report, TrainingSettings, train
from trace2strips.learners.transformer.extraction import extract, guess_of
from trace2strips.learners.transformer.strips_transformer import SHARED, Layout, NetworkSettings, StripsNetwork, Theta
from trace2strips.model.strips import StripsModel
from trace2strips.model.vocabulary import Kind
from trace2strips.model.world import WorldModel, world_from_json, world_to_json
from trace2strips.pddl import format_model
from trace2strips.traces import Dataset, Trace, find_contradictions
from trace2strips.traces.accuracy import trace_accuracy, wrong_traces

if TYPE_CHECKING:
    from trace2strips.learners.decoder.network import Decoder

NETWORKS = ("strips", *VARIANTS)
VALIDATION = 5_000  # training traces on which a decoder is looked at while it trains
PROBED = 125_000  # actions of training traces that are probed: half of them work, a few hundred times each
LARGE = 90  # the paper's large domains have more actions than this, its small ones fewer


@dataclass(frozen=True)
class LearnSettings:
    """What `trace2strips learn` can be told. `heads` is the number of heads, None for as many as the preset wants; in
    the STRIPS Transformer a head is an atom. `form` is of the STRIPS Transformer alone.
    """

    network: str = "strips"
    form: str = "factored"
    heads: int | None = None
    preset: str = "fast"
    seed: int = 0
    steps: int | None = None  # other than the preset's

    def __post_init__(self) -> None:
        for value, known, what in (
            (self.network, NETWORKS, "network"),
            (self.form, ("factored", "attention"), "form"),
            (self.preset, tuple(PRESETS), "preset"),
        ):
            if value not in known:
                raise UserError(f"unknown {what} {shorten(value)!r}", hint=f"{' or '.join(known)}")
        if self.heads is not None and self.heads < 1:
            raise UserError(f"{self.heads} heads are too few", hint="at least one per atom")
        if self.network in VARIANTS:
            decoder_settings_for(self)
        if self.steps is not None and self.steps < 0:
            raise UserError(f"{self.steps} steps", hint="0 or more")
        if not 0 <= self.seed < 2**63:
            raise UserError(f"the seed {self.seed} is out of range", hint="0 to 2^63 - 1")


@dataclass(frozen=True)
class Preset:
    """How to train. `paper` has the paper's values, `fast` ours."""

    steps: int
    batch: tuple[int, int]  # small and large domains
    validate_every: int
    network: NetworkSettings
    private: bool  # spare heads have owners
    complete: bool  # settle the last bits exactly
    attempts: int  # rounds of training and completion before the best one is taken
    heads: tuple[int, int] | None  # of small and large domains; None: aligned atoms and one per action


PRESETS: dict[str, Preset] = {
    "fast": Preset(2_000, (64, 64), 1_000, NetworkSettings(), True, True, 3, None),
    "paper": Preset(
        500_000, (16, 64), 20_000, NetworkSettings(logit=False, alpha=0.999, gamma=1.0, rate=0.01, l1=1e-4), False,
        False, 1, (50, 100),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class DecoderPreset:
    """How to train a decoder. The paper does not tell its sizes; they are ours in both presets."""

    steps: dict[str, tuple[int, int]]  # small and large domains
    batch: tuple[int, int]
    validate_every: int
    decoder: dict[str, DecoderSettings]
    optimiser: OptimiserSettings


DECODER_PRESETS: dict[str, DecoderPreset] = {
    "fast": DecoderPreset(
        {"sb": (3_000, 5_000), "sinusoidal": (2_500, 4_000), "rope": (2_500, 2_500)}, (64, 64), 1_000,
        {
            "sb": DecoderSettings(d_model=128, layers=1, mlp_factor=2, reserve=2.0, silent=0.25),
            "sinusoidal": DecoderSettings("sinusoidal", embedding_std=0.5),  # not much smaller than the sines
            "rope": DecoderSettings("rope"),
        },
        OptimiserSettings(),
    ),
    "paper": DecoderPreset(
        dict.fromkeys(VARIANTS, (500_000, 500_000)), (16, 64), 20_000,
        {variant: DecoderSettings(variant, embedding_std=1.0) for variant in VARIANTS},
        OptimiserSettings("radam", 5e-5, warmup=0, falling=False, weight_decay=0.0, clip=0.0, alpha=0.999, gamma=1.0,
                          muon=0.0, tested=1.0, hard=0.0, lowered=0.0, horizon=0),
    ),
}  # fmt: skip


def decoder_settings_for(settings: LearnSettings) -> DecoderSettings:
    """The preset's sizes, with as many heads as the user wants."""
    chosen = DECODER_PRESETS[settings.preset].decoder[settings.network]
    return chosen if settings.heads is None else replace(chosen, heads=settings.heads)


def steps_for(settings: LearnSettings, actions: int) -> int:
    """How many steps are wanted where there are so many actions."""
    if settings.steps is not None:
        return settings.steps
    if settings.network in VARIANTS:
        return DECODER_PRESETS[settings.preset].steps[settings.network][actions > LARGE]
    return PRESETS[settings.preset].steps


@dataclass(frozen=True)
class LearnedModel:
    """What was learned: the world model, the figures, the settings, and the network's parameters."""

    world: WorldModel
    metrics: dict[str, Any]
    settings: LearnSettings
    theta: Theta | None = None
    layout: Layout | None = None
    weights: dict[str, np.ndarray] | None = None  # of a decoder

    @property
    def model(self) -> StripsModel:
        return self.world.model

    @property
    def network_only(self) -> bool:
        """A decoder that was told no final values: no model can be read out of it."""
        return self.settings.network in VARIANTS and not self.world.vocabulary.test_atoms

    def pddl(self) -> str:
        """The domain as PDDL, without setup actions."""
        return format_model(self.model)

    def accuracy(self, dataset: Dataset) -> float:
        """Trace accuracy, self-masked. Actions, states, final atoms that training did not have are the user's error."""
        dataset = dataset.with_start()
        return trace_accuracy(self.over_tokens(dataset), dataset)

    def errors(self, dataset: Dataset) -> int:
        """Traces with a wrong prediction."""
        dataset = dataset.with_start()
        return int(wrong_traces(self.over_tokens(dataset), dataset).sum())

    def decoder(self) -> Decoder:
        """The trained decoder, ready for `networks.decoder.Session` or `probing`."""
        need_torch()
        from trace2strips.learners.decoder.network import load_decoder

        if self.weights is None:
            raise UserError(f"the network {self.settings.network!r} is no decoder", hint=f"{' or '.join(VARIANTS)}")
        chosen = replace(decoder_settings_for(self.settings), heads=self.metrics["heads"])  # a preset may change
        return load_decoder(self.weights, chosen.shaped_like(self.weights))

    def network_errors(self, dataset: Dataset) -> int:
        """Traces in which the decoder itself predicts some position wrongly, self-masked."""
        decoder = self.decoder()
        from trace2strips.learners.decoder.network import right_traces

        dataset = dataset.with_start()
        self.check_names(dataset)
        return int((~right_traces(decoder, dataset.in_words_of(self.world.vocabulary))).sum())

    def over_tokens(self, dataset: Dataset) -> StripsModel:
        self.check_names(dataset)
        return self.world.over_tokens(dataset.vocabulary)

    def check_names(self, dataset: Dataset) -> None:
        """Initial atoms that training never saw are no error: nothing is known of them, and they change nothing."""
        ours, theirs = self.world.vocabulary, dataset.vocabulary
        if not len(dataset):
            raise TraceError("there is no trace to test on", hint="at least one")
        for kind, names in (
            (Kind.ACTION, theirs.actions),
            (Kind.INIT_STATE, theirs.init_states),
            (Kind.TEST_ATOM, theirs.test_atoms),
        ):
            for name in names:
                ours.number(kind, name)


Watcher = Callable[[str, Report], None]  # told the stage ("training", "completion") and where it stands


def learn(
    traces: Dataset | Iterable[Trace],
    settings: LearnSettings | None = None,
    test: Dataset | None = None,
    run: Path | None = None,
    watch: Watcher | None = None,
    network_only: bool = False,
) -> LearnedModel:
    """Learn a world model. With `run` training leaves checkpoints in that folder, and goes on where it was cut off.

    `network_only` takes a decoder without extracting a model, so that the traces need no final values.
    """
    settings = settings or LearnSettings()
    dataset = (traces if isinstance(traces, Dataset) else Dataset.of(traces)).with_start()
    if settings.network in VARIANTS:
        return learn_decoder(dataset, settings, test, run, watch, network_only)
    preset = PRESETS[settings.preset]
    layout = lay_out(dataset, settings)
    clock = time.perf_counter()
    contradictions = find_contradictions(dataset)
    large = len(dataset.vocabulary.actions) > LARGE
    network_settings = network_settings_for(dataset, settings, preset)
    steps = steps_for(settings, len(dataset.vocabulary.actions))
    completion = Completion(dataset, layout)
    best: Attempt | None = None
    carried = 0.0
    for attempt in range(1, (preset.attempts if steps else 1) + 1):
        seed = settings.seed + 10_007 * (attempt - 1)  # a new start: other heads find other atoms
        network = StripsNetwork(layout, dataset, network_settings, seed)
        plan = TrainingSettings(steps, preset.batch[large], preset.validate_every, seed)
        checkpoint = None if run is None else run / f"checkpoint-{attempt}.safetensors"

        def tell(stage: str, report: Report, attempt: int = attempt) -> None:
            report.attempt = attempt
            if watch:
                watch(stage, report)

        report = train(network, dataset, plan, checkpoint, lambda r, tell=tell: tell("training", r))  # type: ignore[misc]
        carried += report.carried
        tell("completion", report)
        if preset.complete:
            world = world_model(completion.run(guess_of(network.theta, layout), limit=settings.heads), layout)
        else:
            world = extract(network.theta, layout, completion, dataset)
        errors = int(wrong_traces(world.over_tokens(), dataset).sum())
        if best is None or errors < best.errors:
            theta = Theta(*(part.theta.copy() for part in (network.query, network.key, network.value)))
            best = Attempt(world, errors, theta, report, completion.noise, completion.over_limit)
        if errors == 0 or completion.noise or completion.by_latches:  # noise stays; latches would be the same again
            break
    assert best is not None
    metrics: dict[str, Any] = {
        "domain": dataset.settings.get("domain"),  # None where the traces do not say what they come from
        "encoding": dataset.settings.get("init"),
        "train_accuracy": 1 - best.errors / len(dataset),
        "train_errors": best.errors,
        "traces": len(dataset),
        "train_seconds": time.perf_counter() - clock + carried,
        "steps": best.report.step,
        "attempts": attempt,
        "network_train_accuracy": best.report.best if steps else None,
        "heads": layout.heads,
        **best.world.counts(),
        "invented_atoms": len(best.world.invented),
        "contradictions": len(contradictions),
        "warnings": warnings_about(dataset, settings, best),
    }
    if contradictions:
        first = contradictions[0]
        metrics["first_contradiction"] = asdict(first)
    learned = LearnedModel(best.world, metrics, settings, best.theta, layout)
    if test is not None:
        metrics |= measure(learned, test)
    return learned


def learn_decoder(
    dataset: Dataset, settings: LearnSettings, test: Dataset | None, run: Path | None, watch: Watcher | None,
    network_only: bool,
) -> LearnedModel:  # fmt: skip
    """Train the network, then extract M_S by state probing on training traces."""
    check_learnable(dataset, settings, network_only)
    from trace2strips.learners.decoder.probing import extract_by_probing, with_actions
    from trace2strips.learners.decoder.training import DecoderNetwork

    clock = time.perf_counter()
    preset = DECODER_PRESETS[settings.preset]
    actions = len(dataset.vocabulary.actions)
    steps = steps_for(settings, actions)
    network = DecoderNetwork(dataset, decoder_settings_for(settings), preset.optimiser, steps, settings.seed)
    batch = preset.batch[actions > LARGE]
    checkpoint = None if run is None else run / "checkpoint-1.safetensors"

    def tell(stage: str, report: Report) -> None:
        if watch:
            watch(stage, report)

    # A network that has just learned the training set does not yet hold on longer traces: it goes on to the end.
    plan = TrainingSettings(steps, batch, preset.validate_every, settings.seed, VALIDATION, certify=False)
    report = train(network, dataset, plan, checkpoint, lambda r: tell("training", r))
    accuracy = report.best if steps else network.evaluate(dataset)
    trained = time.perf_counter() - clock + report.carried
    contradictions = find_contradictions(dataset)
    metrics: dict[str, Any] = {
        "domain": dataset.settings.get("domain"),
        "encoding": dataset.settings.get("init"),
        "train_accuracy": accuracy,
        "train_errors": round((1 - accuracy) * len(dataset)),
        "traces": len(dataset),
        "train_seconds": trained,
        "steps": report.step,
        "heads": decoder_settings_for(settings).heads,
        "contradictions": len(contradictions),
        "warnings": [],
    }
    if network_only:
        learned = LearnedModel(WorldModel(StripsModel((), ()), dataset.vocabulary), metrics, settings,
                               weights=network.weights())  # fmt: skip
    else:
        tell("probing", report)
        since = time.perf_counter()
        traces = with_actions(dataset, PROBED)
        probed = extract_by_probing(network.decoder, dataset, traces)
        learned = LearnedModel(probed.world, metrics, settings, weights=network.weights())
        errors = learned.errors(dataset)
        metrics |= {
            "model_train_accuracy": 1 - errors / len(dataset),
            "model_train_errors": errors,
            "probing_seconds": time.perf_counter() - since,
            "probed_traces": len(traces),
            **probed.world.counts(),
            "invented_atoms": 0,
            **probed.counts.summary(),
        }
        if errors:
            metrics["warnings"].append(f"{errors} of {len(dataset)} training traces are not explained by the model")
    if contradictions:
        learned.metrics["first_contradiction"] = asdict(contradictions[0])
    if test is not None:
        learned.metrics.update(measure(learned, test))
    return learned


def need_torch() -> None:
    """The decoders' library is an extra."""
    if find_spec("torch") is None:
        raise UserError("this network needs PyTorch", hint="pip install 'trace2strips[networks]'")


def check_learnable(dataset: Dataset, settings: LearnSettings, network_only: bool = False) -> None:
    """What makes learning impossible is told before anything is written."""
    if settings.network == "strips":
        lay_out(dataset, settings)
        return
    need_torch()
    vocabulary = dataset.vocabulary
    if not (vocabulary.kinds[dataset.tokens] == Kind.ACTION).any():
        raise TraceError("there is no action in the traces", hint="a trace needs actions that worked or were refused")
    if not vocabulary.test_atoms and not network_only:
        raise TraceError(
            f"the traces tell no final values, from which {settings.network} learns what the atoms are",
            hint="--network strips, or final values in the traces ('trace2strips sample --suffix all')",
        )


def network_settings_for(dataset: Dataset, settings: LearnSettings, preset: Preset) -> NetworkSettings:
    """The preset's values; the paper's start and rate depend on the encoding and, once, on the domain."""
    chosen = replace(preset.network, form=settings.form)
    if settings.preset == "paper":
        wide = (0.0, 1.0) if dataset.vocabulary.init_states else (0.0, 0.1)
        chosen = replace(chosen, query_range=wide, key_range=wide)
        if dataset.settings.get("domain") == "ferry-8c" and not dataset.vocabulary.init_states:
            chosen = replace(chosen, rate=5e-3)
    return chosen


def check_testable(training: Dataset, test: Dataset) -> None:
    """Names in the test set that training does not have are told before the work, not after it."""
    world = WorldModel(StripsModel((), ()), training.with_start().vocabulary)
    LearnedModel(world, {}, LearnSettings()).check_names(test.with_start())


def measure(learned: LearnedModel, test: Dataset) -> dict[str, Any]:
    """`test_…` is the network's; for the STRIPS Transformer that is the model, for a decoder `model_test_…` is."""
    found: dict[str, Any] = {"test_traces": len(test)}
    errors = 0 if learned.network_only else learned.errors(test)
    if learned.settings.network in VARIANTS:
        if not learned.network_only:
            found |= {"model_test_accuracy": 1 - errors / len(test), "model_test_errors": errors}
        errors = learned.network_errors(test)
    return {"test_accuracy": 1 - errors / len(test), "test_errors": errors, **found}


@dataclass(frozen=True)
class Attempt:
    """One round of training and completion."""

    world: WorldModel
    errors: int
    theta: Theta
    report: Report
    noise: float
    over_limit: int


def warnings_about(dataset: Dataset, settings: LearnSettings, best: Attempt) -> list[str]:
    """What a user should know of the data or the outcome, a sentence each."""
    found = []
    is_action = dataset.vocabulary.kinds[dataset.tokens] == Kind.ACTION
    refused = dataset.inapplicable[is_action]
    if refused.all():
        found.append("no action ever worked: nothing can be said of effects")
    elif not refused.any():
        found.append("no action was ever refused: nothing can be said of preconditions")
    if best.over_limit:
        found.append(
            f"{settings.heads} heads are too few: at least {best.over_limit} more atoms are needed "
            "to explain all refusals"
        )
    elif best.errors:
        found.append(f"{best.errors} of {len(dataset)} training traces are not explained by the model")
    if best.noise > 0:
        found.append(f"the labels are noisy: about {best.noise:.1%} of the final values do not fit the rest")
    return found


def lay_out(dataset: Dataset, settings: LearnSettings) -> Layout:
    """Aligned heads for the named atoms; spare heads, private to the actions that are refused most, or shared.

    Data that nothing can be learned from, and too few heads for it, are told here, before anything is written.
    """
    vocabulary, preset = dataset.vocabulary, PRESETS[settings.preset]
    if not (vocabulary.kinds[dataset.tokens] == Kind.ACTION).any():
        raise TraceError("there is no action in the traces", hint="a trace needs actions that worked or were refused")
    aligned = len(Rows(vocabulary).aligned)
    wanted = settings.heads
    if wanted is None and preset.heads is not None:
        wanted = preset.heads[len(vocabulary.actions) > LARGE]
    spare = len(vocabulary.actions) if wanted is None else wanted - aligned
    if spare < 0:
        raise UserError(
            f"{wanted} heads are too few: the traces name {aligned} atoms already",
            hint=f"--heads {aligned + 1} or more",
        )
    return Layout(vocabulary, owners(dataset, spare) if preset.private else np.full(spare, SHARED))


def owners(dataset: Dataset, spare: int) -> Int64[np.ndarray, " spare"]:
    """The actions that get a private head: those refused most often first, round after round."""
    vocabulary = dataset.vocabulary
    first = vocabulary.first[Kind.ACTION]
    refused = np.bincount(dataset.tokens[dataset.inapplicable], minlength=len(vocabulary))
    order = np.argsort(-refused[first : first + len(vocabulary.actions)], kind="stable")
    return np.resize(order, spare) if len(order) else np.full(spare, SHARED)


# --- run folders -----------------------------------------------------------------------------------------------------


def open_run(folder: Path, dataset: Dataset, settings: LearnSettings, force: bool = False) -> None:
    """Make the folder, or continue in one that the same command on the same traces has begun.

    With `force` a run of ours is done anew; its old results are kept in `previous` until the new ones are there.
    """
    ours = run_settings(dataset, settings)
    if folder.exists() and not folder.is_dir():
        raise FileError("is a file, not a folder", file=folder, hint="name another folder")
    if folder.exists() and any(path.suffix not in BEFORE for path in folder.iterdir()):
        theirs = read_settings(folder)
        if theirs is None:
            raise FileError("is not empty and no run of trace2strips", file=folder, hint="name another folder")
        if not force:
            if (folder / "metrics.json").exists():
                raise FileError("holds a finished run already", file=folder, hint="--force learns anew")
            if theirs != ours:
                raise FileError("holds another unfinished run", file=folder, hint="--force starts anew")
            return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "metrics.json").exists():
            (folder / PREVIOUS).mkdir(exist_ok=True)
            for name in ("settings.json", *RESULT_FILES):
                if (folder / name).exists():
                    (folder / name).replace(folder / PREVIOUS / name)
        for pattern in (*RESULT_FILES, "checkpoint-*.safetensors", "events.out.tfevents.*", ".*.part"):
            for old in folder.glob(pattern):
                old.unlink()
    except OSError as error:
        raise FileError(error.strerror or str(error), file=folder) from None
    write_json(folder / "settings.json", ours)


def run_settings(dataset: Dataset, settings: LearnSettings) -> dict[str, Any]:
    """What settings.json says of a run: what tells whether a folder holds this one. What a preset means may change from
    version to version, so it is written out."""
    presets: Mapping[str, Preset | DecoderPreset] = DECODER_PRESETS if settings.network in VARIANTS else PRESETS
    meaning = json.loads(json.dumps(asdict(presets[settings.preset])))  # as it is read again: lists for tuples
    return {"trace2strips": "run", "settings": asdict(settings), "preset": meaning, "data": fingerprint(dataset)}


def read_settings(folder: Path) -> dict[str, Any] | None:
    """What a run folder was begun with; None if it is none of ours."""
    try:
        record = json.loads(read_text(folder / "settings.json"))
        return record if record["trace2strips"] == "run" else None
    except (FileError, ValueError, KeyError, TypeError):
        return None


BEFORE = (".log", ".part")  # what a run that was killed at its very beginning may leave in a folder
PREVIOUS = "previous"  # the results of the run before, while it is done anew
RESULT_FILES = ("metrics.json", "model.json", "model.pddl", "weights.safetensors", "log.jsonl")


def fingerprint(dataset: Dataset) -> str:
    """Tells datasets apart."""
    digest = hashlib.sha256("\n".join(dataset.vocabulary.names).encode())
    for array in (dataset.tokens, dataset.inapplicable, dataset.offsets):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def save_run(learned: LearnedModel, folder: Path) -> None:
    """Write the results; metrics.json comes last, so that a folder with it is complete."""
    with writing_text(folder / "model.pddl", force=True) as stream:
        stream.write(learned.pddl())
    write_json(folder / "model.json", world_to_json(learned.world))
    if learned.theta is not None:
        theta = learned.theta
        arrays = {"query": theta.query, "key": theta.key, "value": theta.value}
        with writing(folder / "weights.safetensors", force=True) as raw:
            raw.write(pack_arrays(arrays, {"form": learned.settings.form}))
    if learned.weights is not None:
        with writing(folder / "weights.safetensors", force=True) as raw:
            raw.write(pack_arrays(learned.weights, {"network": learned.settings.network}))
    write_json(folder / "metrics.json", learned.metrics)
    for checkpoint in folder.glob("checkpoint-*.safetensors"):
        checkpoint.unlink()
    shutil.rmtree(folder / PREVIOUS, ignore_errors=True)


def load_run(folder: str | Path) -> LearnedModel:
    """A finished run: model, metrics and settings."""
    folder = Path(folder)
    for name in ("metrics.json", "model.json", "settings.json"):
        if not (folder / name).exists():
            if (folder / "settings.json").exists():
                raise FileError("the run is not finished", file=folder, hint="run 'trace2strips learn' again to go on")
            raise FileError(
                "no run of trace2strips", file=folder, hint="'trace2strips learn TRACES --out RUN' makes one"
            )
        check_readable(folder / name)
    try:
        world = world_from_json(json.loads(read_text(folder / "model.json")))
        settings = LearnSettings(**json.loads(read_text(folder / "settings.json"))["settings"])
        metrics = json.loads(read_text(folder / "metrics.json"))
        weights = read_weights(folder / "weights.safetensors") if settings.network in VARIANTS else None
    except (ValueError, KeyError, TypeError, SafetensorError):
        raise FileError("a file of the run is broken", file=folder, hint="learn it again") from None
    return LearnedModel(world, metrics, settings, weights=weights)


def read_weights(path: Path) -> dict[str, np.ndarray]:
    check_readable(path)
    with safe_open(path, framework="numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def write_json(path: Path, record: Any) -> None:
    with writing_text(path, force=True) as stream:
        json.dump(record, stream, indent=1, ensure_ascii=False)
        stream.write("\n")


class RunLog:
    """log.jsonl for plain tools and events for TensorBoard, both in the run folder."""

    def __init__(self, folder: Path) -> None:
        from tensorboardX import SummaryWriter  # loads PyTorch where that is installed: only training shall wait for it

        self.path = folder / "log.jsonl"
        try:
            self.events = SummaryWriter(str(folder))
        except OSError as error:
            raise FileError(error.strerror or str(error), file=folder) from None

    def write(self, stage: str, report: Report) -> None:
        """Add a row. A run that was cut off and goes on may come by the same step again: the newer row stays."""
        row = {"stage": stage, **asdict(report)}
        row["loss"] = report.loss if isfinite(report.loss) else None
        try:
            lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
            earlier = [line for line in lines if order(json.loads(line)) < order(row)]
            with writing_text(self.path, force=True) as stream:
                stream.writelines(f"{line}\n" for line in (*earlier, json.dumps(row)))
            if stage == "training":
                step = (report.attempt - 1) * report.steps + report.step
                for name in ("loss", "accuracy"):
                    self.events.add_scalar(name, getattr(report, name), step)
                self.events.flush()
        except OSError as error:
            raise FileError(error.strerror or str(error), file=self.path, hint="is the disk full?") from None

    def close(self) -> None:
        self.events.close()


def order(row: dict[str, Any]) -> tuple[int, int, bool]:
    """Where a row of the log belongs."""
    return row["attempt"], row["step"], row["stage"] != "training"
