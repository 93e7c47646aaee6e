"""The completion of `quire` in shells: a script with each subcommand's options."""

import io
from contextlib import redirect_stdout, suppress

from quire.command import COMMANDS, function_of, text_of
from quire.command.parser import LIST, CommandParser


def completion(arguments: list[str]) -> None:
    """Print the completion of these commands for a shell.

        source <(quire completion bash)

    Add the line to ~/.bashrc, or with zsh to ~/.zshrc.
    """
    parser = CommandParser(completion)
    parser.add_argument("shell", choices=["bash", "zsh"], help="The shell.")
    parser.parse_args(arguments)
    cases = ['        "completion completion "*) words="bash zsh" ;;']
    for name in COMMANDS:
        options = _options(name) if name != "completion" else []
        cases += [f'        "{name} {option} "*) words="{" ".join(words)}" ;;' for option, *words in options if words]
        cases.append(f'        "{name} "*" -"*) words="{" ".join(option for option, *_ in options)}" ;;')
    print(text_of("completion.bash").format(commands=" ".join(COMMANDS), cases="\n".join(cases)), end="")


def _options(name: str) -> list[list[str]]:
    """Return the options of a subcommand, each with the words that it takes, if these are listed."""
    text = io.StringIO()
    with redirect_stdout(text), suppress(SystemExit):
        function_of(name)([LIST])
    return [line.split() for line in text.getvalue().splitlines()]
