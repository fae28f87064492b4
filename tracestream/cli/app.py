"""The table of commands, and the door through which arguments reach them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple, cast

import typer
from typer.core import TyperCommand, TyperGroup

from tracestream.cli import (
    evalport_diff,
    evalport_export,
    evalport_import,
    evalport_merge,
    evalport_run,
    evalport_validate,
    formats,
    grade,
    inspect,
    last_trace,
    record,
    streams,
)
from tracestream.cli.exits import INTERRUPTED, PASSED, UNUSABLE
from tracestream.errors import ConfigError
from tracestream.version import __version__

# Wrong usage of any kind, in every release of typer, which carries its own click only since 0.26.
_UsageError = cast(type[typer.BadParameter], typer.BadParameter.__bases__[0])


class Command(NamedTuple):
    """One command.

    Attributes:
        name: As typed; one of two words is in the group of the first, which is in GROUPS.
        run: Its function, which returns the exit code; its docstring is its help.
        examples: Lines that can be run as they stand.
    """

    name: str
    run: Callable[..., int]
    examples: tuple[str, ...]


COMMANDS = (
    Command("grade", grade.command, grade.EXAMPLES),
    Command("inspect", inspect.command, inspect.EXAMPLES),
    Command("record", record.command, record.EXAMPLES),
    Command("last-trace", last_trace.command, last_trace.EXAMPLES),
    Command("eval last-trace", last_trace.command, last_trace.EVAL_EXAMPLES),
    Command("evalport validate", evalport_validate.command, evalport_validate.EXAMPLES),
    Command("evalport run", evalport_run.command, evalport_run.EXAMPLES),
    Command("evalport diff", evalport_diff.command, evalport_diff.EXAMPLES),
    Command("evalport merge", evalport_merge.command, evalport_merge.EXAMPLES),
    Command("evalport export", evalport_export.command, evalport_export.EXAMPLES),
    Command("evalport import", evalport_import.command, evalport_import.EXAMPLES),
    Command("formats", formats.command, formats.EXAMPLES),
)
"""All commands, in the order of the help."""

GROUPS = {
    "eval": "Commands under the names that PraisonAI has for them.",
    "evalport": "Validate, run, compare, merge and convert EvalPort documents.",
}
"""Each group of commands, and its help."""


def run(argv: Sequence[str]) -> int:
    """Run the command that arguments name and return its exit code.

    Raises:
        ConfigError: There is no such command or option, or a value is wrong.
    """
    root = typer.main.get_command(build_app())
    try:
        with root.make_context("tracestream", list(argv)) as context:
            code = root.invoke(context)
    except typer.Exit as exit_:
        return exit_.exit_code
    except typer.Abort:
        return INTERRUPTED
    except _UsageError as error:
        message = error.format_message()
        used = "tracestream" if error.ctx is None else error.ctx.command_path
        raise ConfigError(
            f"{message[:1].lower()}{message[1:]}\nHint: `{used} --help` tells what it takes."
        ) from error
    assert isinstance(code, int)
    return code


def build_app() -> typer.Typer:
    """Return the program: every command with its help."""
    app = _group(_root, [c for c in COMMANDS if " " not in c.name])
    for name, text in GROUPS.items():
        members = [c for c in COMMANDS if c.name.startswith(f"{name} ")]
        app.add_typer(_group(_show_help_if_alone, members), name=name, help=text)
    return app


def _group(callback: Callable[..., None], commands: Sequence[Command]) -> typer.Typer:
    """Return a group of commands; by itself it calls back."""
    app = typer.Typer(
        cls=_Group,
        rich_markup_mode=None,
        add_completion=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    epilog = _examples(command.examples[0] for command in commands)
    app.callback(invoke_without_command=True, epilog=epilog)(callback)
    for command in commands:
        name = command.name.rpartition(" ")[2]
        summary = (command.run.__doc__ or "").partition("\n")[0]
        epilog = _examples(command.examples)
        app.command(name, cls=_Command, short_help=summary, epilog=epilog)(command.run)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        streams.write_text(f"tracestream {__version__}\n")
        raise typer.Exit(PASSED)


def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Grade AI-agent trace logs: how much each agent handed on, run by run, without a model."""
    _show_help_if_alone(context)


def _show_help_if_alone(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        streams.write_stderr(context.get_help() + "\n")
        raise typer.Exit(UNUSABLE)


class _Group(TyperGroup):
    def get_help_option(self, ctx: Any) -> Any:
        return _through_streams(super().get_help_option(ctx))


class _Command(TyperCommand):
    def get_help_option(self, ctx: Any) -> Any:
        return _through_streams(super().get_help_option(ctx))


def _through_streams(option: Any) -> Any:
    """Return a help option that writes as commands do, so that a closed stdout is known as one."""
    if option is not None:
        option.callback = _show_help
    return option


def _show_help(context: Any, _: object, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        streams.write_text(context.get_help() + "\n")
        raise typer.Exit(PASSED)


def _examples(examples: Iterable[str]) -> str:
    r"""Return an epilog; `\b` keeps its lines as they are."""
    return "\n".join(["\b", "Examples:", *(f"  {example}" for example in examples)])
