# SPDX-License-Identifier: Apache-2.0
"""commands.py YOLK FOLDER: man pages and shell completions of every command, from what its own --help says.

Writes FOLDER/man/*.1 by help2man, FOLDER/completions/yolk (bash; zsh reads it after `bashcompinit`) and
FOLDER/completions/yolk.fish.
"""

import pathlib
import re
import stat
import subprocess
import sys
import tempfile

OPTION = re.compile(r"^  ((?:-[\w-]+(?:\{\w+\})?,?)+)(?: (\S+))?(?: .*?)?(?:  +(.*))?$")
SUBCOMMAND = re.compile(r"^  ([a-z][\w-]*)  +(.*)$")


def help_of(yolk, path):
    done = subprocess.run([yolk, *path, "--help"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"commands.py: {' '.join([yolk, *path, '--help'])} ends with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def parsed(text):
    """The first line, the options as (names, whether a value follows, help), and the subcommands as (name, help)."""
    lines, section = text.splitlines(), ""
    options, subcommands = [], []
    for line in lines:
        if line and not line.startswith(" "):
            section = line
        elif section == "Subcommands:" and (found := SUBCOMMAND.match(line)):
            subcommands.append(found.groups())
        elif section == "Options:" and (found := OPTION.match(line)):
            names = [name.split("{")[0] for name in found.group(1).split(",") if name]
            value = found.group(2)
            options.append((names, value is not None and value[:1].isupper(), found.group(3) or ""))
    return lines[0], options, subcommands


def commands_of(yolk, path=()):
    """Every command below `path` and itself: (path, first line, options, subcommands)."""
    summary, options, subcommands = parsed(help_of(yolk, path))
    yield path, summary, options, subcommands
    for name, _ in subcommands:
        yield from commands_of(yolk, (*path, name))


def write_man_page(yolk, version, path, summary, folder):
    name = "-".join(["yolk", *path])
    with tempfile.TemporaryDirectory() as scratch:
        program = pathlib.Path(scratch) / name
        program.write_text(f'#!/bin/sh\nexec "{yolk}" {" ".join(path)} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        page = subprocess.run(["help2man", "--no-info", f"--version-string={version}", f"--name={summary}", str(program)],
                              capture_output=True, text=True)
    if page.returncode != 0:
        sys.exit(f"commands.py: help2man fails for {name}: {page.stderr.strip()}")
    (folder / f"{name}.1").write_text(page.stdout)


def bash(commands):
    cases = []
    for path, _, options, subcommands in commands:
        flags = [name for names, _, _ in options for name in names if name.startswith("--")]
        values = [name for names, takes, _ in options if takes for name in names]
        cases.append(f'    "{" ".join(path)}") words="{" ".join([name for name, _ in subcommands] + flags)}"'
                     f' valued=" {" ".join(values)} " ;;')
    known = " | ".join(f'"{" ".join(path)}"' for path, *_ in commands if path)
    return f"""# Completions of yolk for bash. For zsh: autoload -U +X bashcompinit && bashcompinit, then source this file.
_yolk() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} command="" words="" valued="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "${{command:+$command }}$word" in
      {known}) command="${{command:+$command }}$word" ;;
    esac
  done
  case "$command" in
{chr(10).join(cases)}
  esac
  if [[ $current != -* && $valued == *" ${{COMP_WORDS[COMP_CWORD-1]}} "* ]]; then
    COMPREPLY=($(compgen -f -- "$current"))
  elif [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
  fi
}}
complete -o filenames -F _yolk yolk
"""


def fish(commands):
    lines = ["# Completions of yolk for fish."]
    quoted = lambda text: "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
    for path, _, options, subcommands in commands:
        inside = " and ".join(f"__fish_seen_subcommand_from {name}" for name in path) if path else ""
        outside = " ".join(name for name, _ in subcommands)
        condition = "; ".join(filter(None, [inside.replace(" and ", "; and "), outside and (
            f"{'and ' if inside else ''}not __fish_seen_subcommand_from {outside}")]))
        start = f"complete -c yolk -n {quoted(condition)}" if condition else "complete -c yolk"
        lines += [f"{start} -a {name} -d {quoted(text)}" for name, text in subcommands]
        for names, takes, text in options:
            long = " ".join(f"-l {name[2:]}" for name in names if name.startswith("--"))
            lines.append(f"{start} {long}{' -r' if takes else ''} -d {quoted(text)}")
    return "\n".join(lines) + "\n"


def main():
    yolk, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2])
    commands = list(commands_of(yolk))
    version = subprocess.run([yolk, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    (folder / "completions").mkdir(parents=True, exist_ok=True)
    (folder / "completions" / "yolk").write_text(bash(commands))
    (folder / "completions" / "yolk.fish").write_text(fish(commands))
    if "--no-man" not in sys.argv[3:]:
        (folder / "man").mkdir(exist_ok=True)
        for path, summary, _, _ in commands:
            write_man_page(yolk, version, path, summary, folder / "man")
    print(f"{len(commands)} commands")


if __name__ == "__main__":
    main()
