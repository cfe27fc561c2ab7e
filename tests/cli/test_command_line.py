import typer.main

from pitstop.cli.main import ROOMS, command_line


def names(app):
    return list(typer.main.get_command(app).commands)


def test_every_room_gives_the_commands_that_stand_beside_it():
    assert set(names(command_line())) == {command for commands in ROOMS.values() for command in commands}


def test_a_command_brings_its_own_room_and_no_other():
    for commands in ROOMS.values():
        for command in commands:
            group = typer.main.get_command(command_line([command, "--help"]))
            found = [group.name] if not hasattr(group, "commands") else list(group.commands)
            assert set(found) <= {*commands, "pitstop"}


def test_an_unknown_word_meets_all_commands():
    assert len(names(command_line(["nonsense"]))) == len(names(command_line()))
