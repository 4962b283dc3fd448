"""The examples of TensorFlow 1.x programs: options, short trainings, event logs, interruption."""

from __future__ import annotations

import ast
import importlib
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import headrace.graph as hr
from headrace.formats.bundle_reader import BundleReader
from headrace.formats.event_file import event_files, read_events
from headrace.formats.proto.run_pb2 import RunMetadata

EXAMPLES = Path(__file__).parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
import cifar_data  # noqa: E402
import python_source  # noqa: E402
import resumable  # noqa: E402
import translation  # noqa: E402
import translation_data  # noqa: E402
import word2vec  # noqa: E402

# Options that make a step of each example take some milliseconds.
SMALL = {
    "linear_regression": [],
    "char_lstm": "--batch 4 --time 8 --units 8 --sample 20 --characters 5000".split(),
    "word2vec": "--batch 16 --words 50 --units 8 --noise 8 --characters 5000".split(),
    "cifar_queues": "--batch 4 --images 20 --filters 4".split(),
    "cifar_dataset": "--batch 4 --images 20 --filters 4".split(),
    "translation": "--batch 4 --pairs 700 --units 8".split(),
}
REPORTED = {
    "linear_regression": "of its length away from the true one",
    "char_lstm": "",
    "word2vec": "self: ",
    "cifar_queues": "of 500 held-out pictures are named rightly",
    "cifar_dataset": "of 500 held-out pictures are named rightly",
    "translation": "of 500 held-out numbers are translated without a mistake",
}
# The modules that run on TensorFlow 1.15 when their import is changed.
PROGRAMS = [*SMALL, "cifar_data", "cifar_model", "python_source", "resumable", "translation_data"]


def main(name: str, folder: Path, *more: str) -> int:
    """Runs an example in this process. Returns: its exit status."""
    module = importlib.import_module(name)
    return int(module.main([*SMALL[name], "--logdir", str(folder), *more]))


def checkpoint(folder: Path, step: int) -> dict[str, bytes]:
    with BundleReader(folder / f"model.ckpt-{step}") as reader:
        return {name: reader.read(name).tobytes() for name in reader.names()}


def saved_step(folder: Path) -> int:
    """The step of the newest checkpoint; 0 without one."""
    latest = hr.train.latest_checkpoint(str(folder))
    return int(latest.rpartition("-")[2]) if latest else 0


@pytest.mark.parametrize("name", list(SMALL))
def test_interrupted_example_continues_at_its_step(name, tmp_path):
    script = [sys.executable, str(EXAMPLES / f"{name}.py"), *SMALL[name], "--save-every", "2"]
    line = [*script, "--logdir", str(tmp_path), "--steps", "1000000"]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as child:
        while not saved_step(tmp_path):
            assert child.poll() is None, child.stderr.read()
            time.sleep(0.005)
        child.send_signal(signal.SIGINT)
        printed = child.stderr.read()
    assert child.returncode == 130, printed
    stopped = saved_step(tmp_path)
    assert f"{name}: stopped after step {stopped} of 1000000; what was learnt is saved" in printed
    total = stopped + 3
    line = [*script, "--logdir", str(tmp_path), "--steps", str(total)]
    done = subprocess.run(line, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"| {stopped}/{total} " in done.stderr and f"| {total}/{total} " in done.stderr
    assert f"{name}: 3 steps, median " in done.stdout and REPORTED[name] in done.stdout
    assert saved_step(tmp_path) == total


def test_resumed_training_ends_in_the_same_bits(tmp_path):
    assert main("char_lstm", tmp_path / "whole", "--steps", "5") == 0
    assert main("char_lstm", tmp_path / "parts", "--steps", "2") == 0
    assert main("char_lstm", tmp_path / "parts", "--steps", "5") == 0
    whole = checkpoint(tmp_path / "whole", 5)
    assert len(whole) > 10 and whole == checkpoint(tmp_path / "parts", 5)


def test_event_log_has_every_loss_the_graph_and_a_trace(tmp_path):
    name, steps = "linear_regression", resumable.TRACED_STEP + 2
    assert main(name, tmp_path, "--steps", str(steps), "--log-every", "1") == 0
    assert main(name, tmp_path, "--steps", str(steps + 1), "--log-every", "1") == 0
    losses, starts, graphs, traced = {}, [], 0, []
    for path in event_files(tmp_path):
        for event in read_events(path):
            for value in event.summary.value:
                losses[event.step] = value.simple_value
            graphs += event.HasField("graph_def")
            if event.HasField("session_log"):
                starts.append(event.step)
            if event.HasField("tagged_run_metadata"):
                trace = RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
                traced += [n.node_name for d in trace.step_stats.dev_stats for n in d.node_stats]
    assert sorted(losses) == list(range(steps + 1))
    assert losses[steps] < losses[0]
    assert starts == [0, steps] and graphs == 2 and len(traced) > 5


def test_finished_training_is_not_repeated_nor_continued_with_other_options(tmp_path, capsys):
    name = "linear_regression"
    assert main(name, tmp_path, "--steps", "3") == 0
    before = checkpoint(tmp_path, 3)
    assert main(name, tmp_path, "--steps", "2") == 0
    assert "the 3 steps are done; --steps asks for more" in capsys.readouterr().out
    assert main(name, tmp_path, "--steps", "4", "--seed", "2") == 2
    assert "contains a training with" in capsys.readouterr().err
    assert checkpoint(tmp_path, 3) == before and saved_step(tmp_path) == 3
    (tmp_path / "notes.txt").write_text("of somebody else")
    assert main(name, tmp_path, "--steps", "1", "--seed", "2", "--fresh") == 0
    assert saved_step(tmp_path) == 1 and (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("name", list(SMALL))
@pytest.mark.parametrize("option", ["--steps -5", "--batch 0", "--seed x", "--rate nan"])
def test_impossible_options_are_usage_errors(name, option, tmp_path, capsys):
    folder = tmp_path / "run"
    with pytest.raises(SystemExit) as stopped:
        main(name, folder, *option.split())
    assert stopped.value.code == 2 and not folder.exists()
    message = capsys.readouterr().err
    assert re.search(
        rf"argument {option.split()[0]}: '.*' is no (integer of|number above)", message
    )


@pytest.mark.parametrize(
    ("name", "option", "message"),
    [
        ("char_lstm", "--text EMPTY", "has no .py file with text: name a folder with --text"),
        ("char_lstm", "--characters 5", "the text has 5 characters"),
        ("word2vec", "--text EMPTY", "has no .py file with text: name a folder with --text"),
        ("word2vec", "--noise 1000", "too few for --window 2 and --noise 1000"),
        ("translation", "--logdir FILE", "cannot write"),
    ],
)
def test_options_that_do_not_fit_the_data_are_explained(name, option, message, tmp_path, capsys):
    (tmp_path / "FILE").write_text("")
    (tmp_path / "EMPTY").mkdir()
    key, value = option.split()
    value = str(tmp_path / value) if value.isupper() else value
    assert main(name, tmp_path / "run", key, value) == 2
    assert message in capsys.readouterr().err


def test_programs_have_the_syntax_of_tensorflows_pythons():
    for name in PROGRAMS:
        text = (EXAMPLES / f"{name}.py").read_text()
        ast.parse(text, feature_version=(3, 7))
        uses = len(re.findall(r"\btf\.", text))
        assert len(re.findall(r"^(?:import|from) headrace\b", text, re.M)) == bool(uses), name
        assert ("import headrace.graph as tf\n" in text) == bool(uses), name


def test_text_is_the_files_in_order_without_foreign_characters(tmp_path):
    options = python_source_options(tmp_path, 1000)
    (tmp_path / "b.py").write_text("\tb = 'é'\n", encoding="utf-8")
    (tmp_path / "a.py").write_text("a\n")
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "c.py").write_text("c\n")
    assert python_source.read_text(options) == "a\n    b = ''\n"
    assert python_source.read_text(python_source_options(tmp_path, 4)) == "a\n  "
    codes = python_source.codes_of("a\n ~")
    assert [python_source.ALPHABET[code] for code in codes] == list("a\n ~")
    words, vocabulary = python_source.words_of("a b_1 a 2 c", 3)
    assert vocabulary == ["?", "a", "b_1"] and words.tolist() == [1, 2, 1, 0]


def python_source_options(folder: Path, characters: int):
    parser = resumable.parser("text", "A title.", 1, 1)
    python_source.add_source(parser, 10)
    return parser.parse_args(["--text", str(folder), "--characters", str(characters)])


def test_pairs_are_neighbours_on_both_sides():
    centre, context = word2vec.pairs(np.arange(50), 500, 2, np.random.RandomState(0))
    assert set(context - centre) == {-2, -1, 1, 2}
    assert context.min() >= 0 and context.max() < 50


def test_shapes_are_their_own_mirror_images():
    grid = np.linspace(-1.2, 1.2, 48)
    for name, mask in cifar_data.shapes(*np.meshgrid(grid, grid)).items():
        assert (mask == mask[:, ::-1]).all() and mask.any() and not mask.all(), name


def test_pictures_come_back_from_their_files(tmp_path):
    files = cifar_data.make(tmp_path, 23)
    assert files == cifar_data.make(tmp_path, 23)
    found = []
    with hr.Graph().as_default(), hr.Session() as session:
        serialized = hr.placeholder(hr.string, [])
        fetches = cifar_data.decoded(serialized)
        for path in files:
            for record in hr.python_io.tf_record_iterator(path):
                found.append(session.run(fetches, {serialized: record}))
    assert len(found) == 23
    pictures, labels = cifar_data.pictures(5, np.random.RandomState([1, 23, 0]))
    assert all((a == b[0]).all() for a, b in zip(pictures, found))
    assert labels.tolist() == [label for _, label in found[:5]]


@pytest.mark.parametrize(
    ("number", "english", "german"),
    [
        (0, "zero", "null"),
        (1, "one", "eins"),
        (21, "twenty one", "ein und zwanzig"),
        (101, "one hundred and one", "ein hundert eins"),
        (1001, "one thousand and one", "ein tausend eins"),
        (17300, "seventeen thousand three hundred", "siebzehn tausend drei hundert"),
        (
            231031,
            "two hundred and thirty one thousand and thirty one",
            "zwei hundert ein und dreissig tausend ein und dreissig",
        ),
    ],
)
def test_numbers_in_words(number, english, german):
    assert " ".join(translation_data.english(number)) == english
    assert " ".join(translation_data.german(number)) == german


def test_held_out_numbers_are_not_learned_and_all_words_are_known():
    learned, held_out = translation_data.numbers(3000)
    assert len(learned) == 3000 and len(set(held_out)) == translation_data.HELD_OUT
    assert not set(learned) & set(held_out)
    words = {word for n in learned for word in translation_data.german(int(n))}
    assert words == set(translation_data.GERMAN_WORDS) - set(translation_data.MARKS)
    words = {word for n in learned for word in translation_data.english(int(n))}
    assert words == set(translation_data.ENGLISH_WORDS) - set(translation_data.MARKS)


def test_translation_by_beam_search_has_the_words_of_the_likeliest_beam(tmp_path, capsys):
    assert main("translation", tmp_path, "--steps", "2", "--beam", "3") == 0
    assert REPORTED["translation"] in capsys.readouterr().out
    # The beam belongs to the samples, not to the training, which goes on with another one.
    assert main("translation", tmp_path, "--steps", "3", "--beam", "1") == 0
    row = [translation.GERMAN_WORDS.index(word) for word in ("ein", "<end>", "und")]
    assert translation.words_of(row) == ["ein"]
