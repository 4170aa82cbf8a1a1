"""The reference of the command, a page for each subcommand, made from its help: commands.py NADIR DIR"""

import re
import subprocess
import sys
from pathlib import Path

SPECIAL = re.compile(r"([\\*`_|])")


def escaped(text):
    """Plain text for reStructuredText; options are set as code, names of pages as links."""
    text = re.sub(r"(?<![\w-])--[a-z][a-z-]*", r"``\g<0>``", SPECIAL.sub(r"\\\1", text))
    return re.sub(r"docs/([a-z]+)\.md", r":doc:`/\1`", text)


def help_of(nadir, *command):
    """Every option where --help shows the common ones alone."""
    for option in ("--help-all", "--help"):
        run = subprocess.run([nadir, *command, option], capture_output=True, text=True)
        if run.returncode == 0:
            return run.stdout.splitlines()
    sys.exit(f"{nadir} {' '.join(command)} --help: exit status {run.returncode}")


def heading(text, mark):
    return [text, mark * len(text), ""]


def is_heading(line):
    return re.fullmatch(r"\S.*:", line) is not None and len(line.split()) <= 5


def paragraphs(lines, indent):
    """Text of an option. A line that begins with "name: " is an entry of a list."""
    made, entry = [], re.compile(r"[a-z0-9-]+(, [a-z0-9-]+)*: ")
    listed = False
    for line in lines:
        match = entry.match(line)
        if match:
            if not listed:
                made.append("")
            listed = True
            made.append(f"* ``{match.group()[:-2]}``: {escaped(line[match.end():])}")
        elif listed:
            made.append("  " + escaped(line))
        else:
            made.append(escaped(line))
    return [indent + line if line else "" for line in made] + [""]


def page(lines, title, program):
    out = [".. Made from the command's help.", ""] + heading(title, "=")
    if program:
        out += [f".. program:: {program}", ""]
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        rest = []
        if line.startswith("Usage: "):
            out += [".. code-block:: text", "", "    " + line[len("Usage: "):], ""]
        elif is_heading(line):
            out += [""] + heading(line[:-1], "-")
        elif re.match(r"  --", line):
            beside = line[27:28] == " " and line[28:]
            name = (line[:28] if beside else line).strip()
            if beside:
                rest.append(beside.strip())
            while at < len(lines) and lines[at].startswith("   "):
                rest.append(lines[at].strip())
                at += 1
            out += ["", f".. option:: {name}", ""] + paragraphs(rest, "    ")
        elif re.match(r"  [a-z][a-z-]*  +\S", line):
            name, text = line.split(None, 1)
            rest.append(text)
            while at < len(lines) and lines[at].startswith("     "):
                rest.append(lines[at].strip())
                at += 1
            term = f":doc:`{name}`" if not program else f"``{name}``"
            out += ["", term, "    " + escaped(" ".join(rest)), ""]
        elif line.startswith("  "):
            rest.append(line[2:])
            while at < len(lines) and lines[at].startswith("  ") and not lines[at].startswith("  --"):
                rest.append(lines[at][2:])
                at += 1
            out += ["", ".. code-block:: text", ""] + ["    " + text for text in rest] + [""]
        else:
            out.append(escaped(line))
    return "\n".join(out) + "\n"


def main():
    nadir, directory = sys.argv[1], Path(sys.argv[2])
    directory.mkdir(parents=True, exist_ok=True)
    overview = help_of(nadir)
    names, listed = [], False
    for line in overview:
        listed = line.startswith("Commands:") or (listed and line != "")
        if listed and line.startswith("  "):
            names.append(line.split()[0])
    if not names:
        sys.exit("nadir --help lists no commands")
    menu = [".. toctree::", "   :hidden:", ""] + [f"   {name}" for name in names]
    (directory / "index.rst").write_text(page(overview, "The command", "") + "\n" + "\n".join(menu) + "\n")
    for name in names:
        text = page(help_of(nadir, name), f"nadir {name}", f"nadir {name}")
        (directory / f"{name}.rst").write_text(text)


main()
