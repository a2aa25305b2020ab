"""The program: its commands, and how it ends.

Exit codes: 0 when all went well, 1 when something is not possible (the matrix cannot be scaled, an
extra is not installed, a file cannot be written) or the reader of the output left, 2 for a wrong
option or bad input, 3 when `compare --fail-if-worse` finds the second certainly worse, 130 when
interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from deconfuse.cli import commands, compare_command, demo_command, normalize_command
from deconfuse.cli.console import say_error, show_warnings
from deconfuse.errors import DeconfuseError, InputError

__all__ = ["app", "main"]

_EPILOG = (
    "Exit codes: 0 all went well; 1 not possible (not scalable, missing extra, cannot write);"
    " 2 wrong option or bad input; 3 certainly worse (compare --fail-if-worse)."
)
# The paper's experiments, with their lines in the list of commands: loaded when asked for.
_EXPERIMENTS = {
    "data": "Get and check the paper's four datasets.",
    "reproduce": "Run the paper's experiments, and say which of its claims hold.",
}


class _Group(TyperGroup):
    _is_listing = False

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True
        super().format_help(ctx, formatter)

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *_EXPERIMENTS]

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except DeconfuseError as error:
            command = self.get_command(ctx, ctx.invoked_subcommand or "")
            say_error(error, _spoken(command))
            raise typer.Exit(2 if isinstance(error, InputError) else 1) from error

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _EXPERIMENTS:
            if self._is_listing:
                return TyperCommand(cmd_name, help=_EXPERIMENTS[cmd_name])
            return _experiment_command(cmd_name)
        return super().get_command(ctx, cmd_name)


def _spoken(command: Any) -> dict[str, str]:
    """Return what a person types for each argument that the library knows by name."""
    names = {}
    for parameter in getattr(command, "params", ()):
        typed = [option for option in parameter.opts if option.startswith("--")]
        if typed:
            names[typed[0].removeprefix("--").replace("-", "_")] = typed[0]
    return names


def _experiment_command(name: str) -> Any:
    from deconfuse.experiments.reproduce_command import data_app, reproduce

    holder = data_app
    if name == "reproduce":
        holder = typer.Typer(add_completion=False)
        holder.command(name)(reproduce)
    command = typer.main.get_command(holder)
    command.name = name
    return command


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_EPILOG,
)
app.command("demo")(demo_command.demo)
app.command("report")(commands.report)
app.command("normalize")(normalize_command.normalize)
app.command("diagnose")(commands.diagnose)
app.command("compare")(compare_command.compare)


def _print_version(asked: bool) -> None:
    if asked:
        from deconfuse._version import __version__

        typer.echo(f"deconfuse {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Take a confusion matrix apart: which classes look alike, and which are only over-predicted.

    Start with [bold]deconfuse demo[/bold], or with your own predictions:
    [bold]deconfuse report predictions.csv[/bold]
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the program. Errors are told in a line or two, without a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A class name that the terminal cannot show must not end the program.
            stream.reconfigure(errors="backslashreplace")
    try:
        with show_warnings():
            app(args=args, prog_name="deconfuse")
    except OSError as error:
        name = f" {error.filename!r}" if error.filename else ""
        say_error(DeconfuseError(f"{error.strerror or error}{name}"))
        sys.exit(1)
    except MemoryError as error:
        say_error(DeconfuseError(f"there is not enough memory. {error}".rstrip()))
        sys.exit(1)
