"""What holds for every command: its document, its configuration, and that it can say what it would do."""

import pytest
import typer

from pitstop.cli.main import command_line

CHANGES_THE_BOX = {
    "demo", "init", "up", "down", "restart", "trial run", "trial rehearse", "trial recover", "guard", "watch",
    "pins set", "pins mirror", "pins rollback", "patch build", "host apply", "gateway serve", "gateway key add",
    "gateway key revoke",
}  # fmt: skip


def commands(group, before=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*before, name))
        else:
            yield " ".join((*before, name)), {option for parameter in command.params for option in parameter.opts}


COMMANDS = dict(commands(typer.main.get_command(command_line())))


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_document_and_a_configuration(name):
    assert {"--json", "--config"} <= COMMANDS[name]


@pytest.mark.parametrize("name", sorted(CHANGES_THE_BOX & COMMANDS.keys()))
def test_what_changes_the_box_can_say_what_it_would_do(name):
    assert "--dry-run" in COMMANDS[name]
