import shlex
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.core.config.load import load
from pitstop.core.errors import UsageError
from pitstop.core.home import Home
from pitstop.launch.plan import plan
from pitstop.services.host.apply import apply, changes, read_undo, undo, write_below
from pitstop.services.host.render import Program, render
from pitstop.services.host.units import command_line, quoted

ROOT = Path(__file__).parents[3]
GOLDEN = Path(__file__).parent / "golden"
PROGRAM = Program(
    "/opt/pitstop/bin/pitstop",
    "/usr/bin/docker",
    "/usr/bin/podman",
    "/etc/pitstop/pitstop.toml",
    "/var/lib/pitstop",
)
SPARK_3 = load(ROOT / "examples/spark-3.toml")

# The second report's own words, with the line ends taken out.
QWEN = """docker run --name vllm-mid --gpus all --ipc=host --ulimit memlock=-1
  -v /srv/models:/models
  -v /srv/models/.vllm-compile-cache-mid:/root/.cache/vllm
  -v /srv/vllm-patches/flashinfer_fp8_cublas.py:/usr/local/lib/python3.12/dist-packages/vllm/utils/flashinfer.py:ro
  -p 127.0.0.1:8001:8001
  ghcr.io/timothystewart6/vllm-gb10:v0.28.0-gb10.2
  vllm serve /models/Qwen3.6-35B-A3B-NVFP4
    --served-model-name qwen3.6-35b
    --host 0.0.0.0 --port 8001
    --gpu-memory-utilization 0.45
    --max-model-len 262144
    --max-num-seqs 16
    --max-num-batched-tokens 8192
    --kv-cache-dtype fp8
    --reasoning-parser qwen3
    --enable-auto-tool-choice --tool-call-parser qwen3_coder
    --no-enable-prefix-caching
    --reasoning-config '{"reasoning_start_str":"<think>","reasoning_end_str":"</think>"}'"""
NEMOTRON = """docker run --name vllm-nemotron --gpus all --ipc=host --ulimit memlock=-1
  -v /srv/models:/models
  -v /srv/models/.vllm-compile-cache-nemotron:/root/.cache/vllm
  -p 127.0.0.1:8002:8002
  ghcr.io/timothystewart6/vllm-gb10:v0.28.0-gb10.2
  vllm serve /models/Nemotron-3.5-Lightning-30B-A3B-NVFP4
    --served-model-name nemotron-3.5-lightning
    --host 0.0.0.0 --port 8002
    --gpu-memory-utilization 0.28
    --max-model-len 262144
    --max-num-seqs 16
    --max-num-batched-tokens 8192
    --kv-cache-dtype fp8
    --mamba-cache-mode align
    --mamba-backend flashinfer
    --moe-backend marlin
    --reasoning-parser nemotron_v3
    --reasoning-config '{"reasoning_start_str":"<think>","reasoning_end_str":"</think>"}'
    --tool-call-parser qwen3_coder --enable-auto-tool-choice
    --enable-prefix-caching
    --speculative_config.model /models/Nemotron-3.5-Lightning-DSpark
    --speculative_config.num_speculative_tokens 3"""


@pytest.mark.parametrize(("name", "reported"), [("qwen", QWEN), ("nemotron", NEMOTRON)])
def test_both_commands_of_spark_3_are_the_reports_flag_for_flag(name, reported):
    spec = plan(name, SPARK_3.engine[name], environ={"PATH": "/usr/bin"})
    own = [word for word in spec.argv if word not in {"--detach", "--pull", "never"}]
    assert own == shlex.split(reported)


@pytest.mark.parametrize("file", render(SPARK_3, PROGRAM, {"PATH": "/usr/bin"}), ids=lambda file: file.path)
def test_the_files_of_spark_3_are_as_they_were(file):
    golden = GOLDEN / file.path.lstrip("/")
    assert golden.read_text() == file.text


def test_podmans_container_has_a_unit_that_asks_podman_and_needs_no_daemon():
    qwen = SPARK_3.engine["qwen"]
    launch = msgspec.structs.replace(qwen.launch, binary="podman")
    config = msgspec.structs.replace(SPARK_3, engine={"qwen": msgspec.structs.replace(qwen, launch=launch)})
    [unit] = [file.text for file in render(config, PROGRAM, {"PATH": "/usr/bin"}) if "podman" in file.text]
    assert "ExecStart=/usr/bin/podman \\\n  run" in unit
    assert "/usr/bin/docker" not in unit
    assert "Requires=" not in unit
    assert 'binary = "podman"' in unit


def test_the_golden_files_are_all_of_them():
    rendered = {file.path for file in render(SPARK_3, PROGRAM, {"PATH": "/usr/bin"})}
    assert rendered == {f"/{path.relative_to(GOLDEN)}" for path in GOLDEN.rglob("*") if path.is_file()}


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0\r\n\t$%"), max_size=9), min_size=1))
def test_a_command_line_over_several_lines_is_read_back_word_for_word(argv):
    # systemd joins the lines with a space; shlex takes a line end behind a backslash for a word of its own.
    assert shlex.split(command_line(argv).replace("\\\n", " ")) == argv


@pytest.mark.parametrize(
    ("word", "expected"),
    [("--port", "--port"), ("", '""'), ("a b", '"a b"'), ("100%", '"100%%"'), ("$HOME", '"$$HOME"'),
     ('{"a":1}', '"{\\"a\\":1}"'),
     ("a\nb", '"a\\nb"'), ("a\\b", '"a\\\\b"'), ("it's", '"it\'s"'), (";", '";"')],
)  # fmt: skip
def test_what_systemd_would_take_for_its_own_is_quoted(word, expected):
    assert quoted(word) == expected


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home").prepared()


def test_apply_installs_only_what_cannot_fight_a_trial_and_undo_takes_it_back(tmp_path, home):
    root = tmp_path / "root"
    files = render(SPARK_3, PROGRAM, {"PATH": "/usr/bin"})
    apply(changes(files, root), root, home)
    assert (root / "etc/sysctl.d/99-no-proactive-compaction.conf").read_text() == "vm.compaction_proactiveness = 0\n"
    assert not (root / "etc/systemd/system/vllm-mid.service").exists()
    assert changes(files, root) == []
    back, left = undo(root, home)
    assert (len(back), left) == (6, [])
    assert not any(path.is_file() for path in root.rglob("*"))


def test_undo_goes_back_to_the_time_before_the_first_apply_and_leaves_what_somebody_edited(tmp_path, home):
    root = tmp_path / "root"
    sysctl, units = root / "etc/sysctl.d/99-no-proactive-compaction.conf", root / "etc/systemd/system"
    sysctl.parent.mkdir(parents=True)
    sysctl.write_text("vm.compaction_proactiveness = 30\n")
    files = render(SPARK_3, PROGRAM, {"PATH": "/usr/bin"})
    apply(changes(files, root), root, home)
    sysctl.write_text("again mine\n")
    apply(changes(files, root), root, home)
    (units / "pitstop-watch.service").write_text("edited\n")
    _, left = undo(root, home)
    assert left == ["/etc/systemd/system/pitstop-watch.service"]
    assert sysctl.read_text() == "vm.compaction_proactiveness = 30\n"
    assert [one.path for one in read_undo(home)] == left


def test_a_dry_run_of_undo_changes_nothing(tmp_path, home):
    root = tmp_path / "root"
    files = render(SPARK_3, PROGRAM, {"PATH": "/usr/bin"})
    apply(changes(files, root), root, home)
    undo(root, home, dry_run=True)
    assert changes(files, root) == []


def test_a_file_that_could_not_be_put_back_is_not_overwritten(tmp_path, home):
    path = tmp_path / "etc/sysctl.d/99-no-proactive-compaction.conf"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="cannot be read"):
        changes(render(SPARK_3, PROGRAM, {"PATH": "/usr/bin"}), tmp_path)


def test_a_place_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        write_below(render(SPARK_3, PROGRAM, {"PATH": "/usr/bin"}), tmp_path / "file")
