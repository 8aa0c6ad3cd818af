"""Writes the generated parts of the documentation; ``--check`` only says which files are stale.

A part stands between ``<!-- NAME: begin -->`` and ``<!-- NAME: end -->`` in a Markdown file and
is made from the code: the model, the readers, the command line, the lists of codes. What the
code cannot say, the meaning of the fields, stands in ``reference/fields.toml``.
"""
# ruff: noqa: INP001, T201

from __future__ import annotations

import ast
import inspect
import re
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ForwardRef, Literal, Union, get_args, get_origin

import click
import msgspec

import agenttrace
from agenttrace import errors, model, notes
from agenttrace.analysis.validation import RULES
from agenttrace.cli import COMMANDS, group
from agenttrace.formats import Format, formats

ROOT = Path(__file__).parent.parent
PACKAGE = Path(agenttrace.__file__).parent
PART = re.compile(r"(?P<begin><!-- (?P<name>[\w ]+): begin -->\n).*?(?P<end><!-- (?P=name): end -->)", re.DOTALL)


# -- Markdown ------------------------------------------------------------------------------


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |" for line in lines)


def code(text: str) -> str:
    """A text as inline code."""
    return f"`{text}`"


def paragraphs(text: str) -> str:
    """A docstring or help text with its paragraphs on one line each."""
    return "\n\n".join(" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))


def plain(text: str) -> str:
    """The roles and double backticks of a docstring as Markdown."""
    return re.sub(r"(?::\w+:)?``?([^`]+)``?", r"`\1`", text)


# -- the model -------------------------------------------------------------------------------

STRUCTS = {
    name: value
    for name, value in vars(model).items()
    if isinstance(value, type) and issubclass(value, msgspec.Struct) and value is not model.Record
}


def type_name(hint: Any) -> str:
    """A type of the model in the words of JSON. Null is not told: every optional field may be null."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ", ".join(map(code, arguments))
    if origin is tuple:
        return f"array of {type_name(arguments[0])}"
    if origin in (Union, UnionType):
        if set(arguments) - {NoneType} == {int, float}:
            return "number"
        return " or ".join(type_name(argument) for argument in arguments if argument is not NoneType)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return f"[{hint.__name__}](#{hint.__name__.lower()})"
    return {str: "string", int: "integer", bool: "boolean", Any: "any JSON"}.get(hint, "object")


def struct_rows(name: str, meanings: Mapping[str, str]) -> Iterator[tuple[str, str, str, str]]:
    """The rows of a struct's table."""
    struct = STRUCTS[name]
    if (tag := struct.__struct_config__.tag) is not None:
        yield code("type"), code(str(tag)), "yes", "Tells the four kinds of `data` apart."
    for field in msgspec.structs.fields(struct):
        yield code(field.name), type_name(field.type), "yes" if field.required else "", meanings[field.name]


def struct_part(name: str) -> Callable[[], str]:
    """The table of one struct, with the meanings from ``fields.toml``."""

    def part() -> str:
        meanings: dict[str, str] = tomllib.loads((ROOT / "docs/reference/fields.toml").read_text("utf-8")).get(name, {})
        wanted = {field.name for field in msgspec.structs.fields(STRUCTS[name])}
        if wanted != meanings.keys():
            raise SystemExit(f"docs/reference/fields.toml: [{name}] differs from the model in {sorted(wanted ^ meanings.keys())}")
        return table(("field", "type", "required", "meaning"), struct_rows(name, meanings))

    return part


# -- the command line ------------------------------------------------------------------------


def commands_part() -> str:
    """A section per command: usage, help, options."""
    top = click.Context(group, info_name="agenttrace", **group.context_settings)
    sections = []
    for name in COMMANDS:
        command = group.get_command(top, name)
        if command is None or command.help is None:
            raise SystemExit(f"the command {name} has no help")
        context = click.Context(command, info_name=name, parent=top)
        usage = " ".join(["agenttrace", name, *command.collect_usage_pieces(context)])
        given = [item for item in command.get_params(context) if isinstance(item, click.Option)]
        records = [record for item in given if (record := item.get_help_record(context))]
        options = table(("option", "meaning"), [(code(names), " ".join(text.split())) for names, text in records])
        sections.append(f"## agenttrace {name}\n\n```text\n{usage}\n```\n\n{paragraphs(command.help)}\n\n{options}")
    return "\n\n".join(sections)


# -- formats -----------------------------------------------------------------------------------


def formats_part() -> str:
    """The short table of the README."""
    rows = [
        (
            f"[`{name}`](docs/reference/formats.md#{name})",
            format_.title,
            format_.versions,
            ", ".join(map(code, format_.variants)),
            "yes",
            "yes" if name == "agenttrace" else "no",
        )
        for name, format_ in own_formats().items()
    ]
    return table(("name", "format", "versions", "variants", "read", "written"), rows)


def format_details_part() -> str:
    """A section per format."""
    return "\n\n".join(format_section(format_) for format_ in own_formats().values())


def format_section(format_: Format) -> str:
    """Everything that a reader says of its format."""
    facts = [f"Versions seen: {format_.versions}", f"Reader version: {format_.reader_version}", f"Documented at <{format_.spec}>"]
    if format_.experimental:
        facts.append("Experimental: the format on disk is not public or not settled")
    parts = [f"## {format_.name}", f"{format_.title}.", "\n".join(f"* {fact}" for fact in facts)]
    for title, columns, listed, written in (
        ("variants", ("variant", "what it is"), format_.variants, code),
        ("mapping", ("in the log", "in the trace"), format_.mapping, str),
        ("not mapped", ("in the log", "why, and where it is kept"), format_.not_mapped, str),
    ):
        if listed:
            parts += [f"### {format_.name}: {title}", table(columns, [(written(key), value) for key, value in listed.items()])]
    return "\n\n".join(parts)


def own_formats() -> dict[str, Format]:
    """The formats of this distribution; readers of other installed packages are left out."""
    return {name: format_ for name, format_ in formats().items() if format_.read.__module__.startswith("agenttrace.readers.")}


# -- codes ---------------------------------------------------------------------------------------


def rules_part() -> str:
    """The validation rules."""
    return table(("code", "severity", "rule"), [(code(name), rule.severity, rule.says) for name, rule in RULES.items()])


def error_codes_part() -> str:
    """The error codes."""
    return table(("code", "meaning"), [(code(name), says) for name, says in errors.CODES.items()])


def error_classes_part() -> str:
    """The error classes."""
    rows = []
    for name in errors.__all__:
        value = getattr(errors, name)
        if isinstance(value, type):
            rows.append((code(name), code(value.__bases__[0].__name__), plain((value.__doc__ or "").splitlines()[0])))
    return table(("class", "derives from", "when"), rows)


def note_codes_part() -> str:
    """The note codes."""
    rows = [(code(name), "yes" if name in notes.DAMAGE else "", says) for name, says in notes.CODES.items()]
    return table(("code", "damage", "meaning"), rows)


# -- Python ----------------------------------------------------------------------------------------


def python_part() -> str:
    """A section per public name that is no error."""
    sections = []
    for name in agenttrace.__all__:
        value = getattr(agenttrace, name)
        if isinstance(value, type):
            if not issubclass(value, Exception) or value is agenttrace.AgentTraceError:
                sections.append(class_section(name, value))
        elif callable(value):
            sections.append(f"## {name}\n\n```py\n{signature(name, value)}\n```\n\n{docstring(value)}")
        else:
            sections.append(f"## {name}\n\n{constant_text(name)}")
    return "\n\n".join(sections)


def class_section(name: str, value: type) -> str:
    """A class with its public methods and properties, in the order of its source."""
    parts = [f"## {name}"]
    if issubclass(value, msgspec.Struct):
        parts += [docstring(value), f"Its fields are in [format.md](format.md#{name.lower()})."]
    else:
        parts += [f"```py\n{signature(name, value)}\n```", docstring(value)]
    members = [(key, item) for key, item in vars(value).items() if not key.startswith("_")]
    for key, item in members:
        if isinstance(item, property):
            parts += [f"### {name}.{key}", docstring(item)]
        elif inspect.isfunction(item):
            parts += [f"### {name}.{key}", f"```py\n{signature(key, item)}\n```", docstring(item)]
    return "\n\n".join(parts)


def annotation(value: Any) -> str:
    """An annotation as it stands in the source."""
    text = value.__forward_arg__ if isinstance(value, ForwardRef) else value if isinstance(value, str) else getattr(value, "__name__", "")
    return re.sub(r"\bEveryone\b", "EVERYONE", text)


def signature(name: str, value: Any) -> str:
    """A call of ``value``, a line per parameter where one line is too long."""
    call = inspect.signature(value)
    shown: list[str] = []
    keyword_only = False
    for parameter in call.parameters.values():
        if parameter.name == "self":
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            shown.append("*")
        stars = "**" if parameter.kind is parameter.VAR_KEYWORD else "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
        text = stars + parameter.name
        text += f": {annotation(parameter.annotation)}" if parameter.annotation is not parameter.empty else ""
        shown.append(text if parameter.default is parameter.empty else f"{text} = {parameter.default!r}")
    result = "" if isinstance(value, type) or call.return_annotation is call.empty else f" -> {annotation(call.return_annotation)}"
    line = f"{name}({', '.join(shown)}){result}"
    return line if len(line) <= 100 else f"{name}(\n" + "".join(f"    {text},\n" for text in shown) + f"){result}"


def docstring(value: Any) -> str:
    """A docstring as Markdown: sections of arguments, attributes and errors become lists."""
    parts = []
    for block in plain(inspect.getdoc(value) or "").split("\n\n"):
        head, _, rest = block.partition("\n")
        if head in ("Args:", "Attributes:", "Raises:") and rest:
            parts.append({"Args:": "Arguments:"}.get(head, head) + "\n\n" + entries(rest))
        else:
            parts.append(" ".join(block.split()))
    return "\n\n".join(parts)


def entries(text: str) -> str:
    """``name: meaning`` lines, indented ones continuing the line before, as a list."""
    found: list[str] = []
    for line in inspect.cleandoc(text).splitlines():
        name, colon, meaning = line.partition(": ")
        if line.startswith(" ") or not colon:
            found[-1] += f" {line.strip()}"
        else:
            found.append(f"* {', '.join(map(code, name.split(', ')))}: {meaning}")
    return "\n".join(found)


def constant_text(name: str) -> str:
    """The text that follows the assignment of a constant in its module."""
    for path in sorted(PACKAGE.glob("*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        for statement, following in pairwise(body):
            target = statement.target if isinstance(statement, ast.AnnAssign) else None
            if isinstance(target, ast.Name) and target.id == name and isinstance(following, ast.Expr):
                return paragraphs(plain(str(ast.literal_eval(following.value))))
    raise SystemExit(f"no text follows the assignment of {name}")


# -- the house ---------------------------------------------------------------------------------------


def rooms_part() -> str:
    """Every module with the first sentence of its docstring."""
    rows = []
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE).as_posix()
        text = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        rows.append((code(place), plain(" ".join(text.split("\n\n")[0].split()).removesuffix("::"))))
    return table(("module", "what it is"), rows)


def layers_part() -> str:
    """The layers of the import contract, from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return "```text\n" + "\n".join(layers) + "\n```"


# -- writing -------------------------------------------------------------------------------------------

PARTS: dict[str, Callable[[], str]] = {
    "formats": formats_part,
    "format details": format_details_part,
    "commands": commands_part,
    "rules": rules_part,
    "error codes": error_codes_part,
    "error classes": error_classes_part,
    "note codes": note_codes_part,
    "python": python_part,
    "rooms": rooms_part,
    "layers": layers_part,
    **{f"struct {name}": struct_part(name) for name in STRUCTS},
}


def pages() -> Iterator[Path]:
    """The files that may hold generated parts."""
    yield ROOT / "README.md"
    yield from sorted((ROOT / "docs").rglob("*.md"))


def renewed(text: str, used: set[str]) -> str:
    """A page with every part made anew."""

    def part(match: re.Match[str]) -> str:
        name = match["name"]
        if name not in PARTS:
            raise SystemExit(f"there is no generated part called {name!r}; known: {', '.join(PARTS)}")
        used.add(name)
        return f"{match['begin']}{PARTS[name]()}\n{match['end']}"

    return PART.sub(part, text)


def main(arguments: Sequence[str]) -> int:
    """Write the stale files, or with ``--check`` name them; the exit status."""
    if arguments not in ([], ["--check"]):
        print("usage: python docs/generate.py [--check]", file=sys.stderr)
        return 64
    used: set[str] = set()
    stale = []
    for path in pages():
        text = path.read_text("utf-8")
        new = renewed(text, used)
        if new != text:
            stale.append(path.relative_to(ROOT).as_posix())
            if not arguments:
                path.write_text(new, "utf-8")
    if missing := PARTS.keys() - used:
        print(f"no page shows: {', '.join(sorted(missing))}", file=sys.stderr)
        return 1
    for name in stale:
        print(f"{'stale' if arguments else 'written'}: {name}")
    return 1 if stale and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
