from pathlib import Path

import pytest

from pitstop.core.config.load import parse
from pitstop.services.demo import configuration


@pytest.mark.parametrize("folder", ["/tmp/plain", '/tmp/we ird"dir', "/tmp/back\\slash", "/tmp/$HOME/größe"])
def test_the_demo_reads_its_own_configuration_whatever_its_folder_is_called(folder):
    config = parse(configuration(Path(folder) / "m.gguf", Path(folder) / "state", 8001))
    assert f"{folder}/m.gguf" in config.engine["smollm2"].launch.command
