"""Settings of the documentation site. `make site` (scripts/site) collects the pages and runs Sphinx with them."""

import html
import os
import re
import shutil

from docutils import nodes
from sphinx.transforms import SphinxTransform

project = "nadir"
author = "the nadir authors"
version = release = os.environ.get("NADIR_VERSION", "")
html_title = f"nadir {version}".strip()

extensions = ["myst_parser", "sphinx_copybutton", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
highlight_language = "none"
smartquotes = False  # "--" is an option
default_role = "code"  # docstrings write `names` as Markdown does
nitpicky = False

# Pages are Markdown as forges render it: anchors are those of their headings, $...$ is mathematics.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4
myst_dmath_allow_space = myst_dmath_allow_digits = False
suppress_warnings = ["myst.header"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["katex/katex.min.css", "site.css"]
html_js_files = ["katex/katex.min.js", "math.js"]
html_math_renderer = "katex"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_use_index = False  # the search knows all names
html_favicon = "static/icon.svg"
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0b5c8a", "color-brand-content": "#0b5c8a"},
    "dark_css_variables": {"color-brand-primary": "#7cc4ef", "color-brand-content": "#7cc4ef"},
}

# A button copies the commands of a session, without prompts and without what they print.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True
copybutton_line_continuation_character = "\\"

autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_class_signature = "mixed"

NORMALIZE = "/usr/share/javascript/normalize.css/normalize.css"
KATEX = "/usr/share/javascript/katex"
FONTS = "/usr/share/fonts/truetype/katex"


def _formula(self, node, display):
    tag = "div" if display else "span"
    text = html.escape(node.astext())
    self.body.append(f'<{tag} class="formula" data-display="{str(display).lower()}">{text}</{tag}>')
    raise nodes.SkipNode


def _bundle_katex(app):
    """The files of KaTeX go with the site: nothing is fetched from elsewhere."""
    there = os.path.join(app.srcdir, "static", "katex")
    os.makedirs(os.path.join(there, "fonts"), exist_ok=True)
    for name in ("katex.min.css", "katex.min.js"):
        shutil.copy(os.path.join(KATEX, name), there)
    for name in os.listdir(FONTS):
        if name.endswith(".woff2"):
            shutil.copy(os.path.join(FONTS, name), os.path.join(there, "fonts"))


class Scripts(SphinxTransform):
    """Sets J_P and P^π, as the pages write formulas within text, with subscripts and superscripts."""

    default_priority = 990
    # After one letter (with an accent, an asterisk, or another variable before it: Wd_P) or a bracket: up to three letters, a
    # digit or a group {...} below; a letter, a number or a group above.
    script = (r"_(?:\{[^{}]*\}|[A-Za-zα-ω∞]{1,3}|\d)(?![A-Za-z\d])"
              r"|\^(?:\{[^{}]*\}|\([^()]*\)|[A-Za-zα-ω∞]|\d+)(?![a-z\d])")
    pattern = re.compile(r"(?:(?<![a-z_\d])(?<![A-Za-z]{2})[A-Za-zα-ωΑ-Ω][\u0300-\u036f]?\*?|[)}‖\]])((?:%s)+)(?!_)" % script)
    parts = re.compile(r"([_^])(\{[^{}]*\}|\([^()]*\)|[^_^]+)")

    def apply(self, **_):
        for text in list(self.document.findall(nodes.Text)):
            if isinstance(text.parent, (nodes.paragraph, nodes.emphasis, nodes.strong, nodes.entry, nodes.term)):
                made = self.scripts(text.astext())
                if len(made) > 1:
                    text.parent.replace(text, made)

    def scripts(self, text):
        made, at = [], 0
        for match in self.pattern.finditer(text):
            made.append(nodes.Text(text[at : match.start(1)]))
            for mark, word in self.parts.findall(match[1]):
                made.append((nodes.subscript if mark == "_" else nodes.superscript)("", word.strip("{}()")))
            at = match.end()
        return made + [nodes.Text(text[at:])]


def _mend_theme(app, error):
    """Debian's Furo loads its base style from a web server and a script as a module: neither works from disk. And its
    style lacks the rules for readers whose system is dark."""
    if error:
        return
    static = os.path.join(app.outdir, "_static")
    style = os.path.join(static, "styles", "furo.css")
    _rewrite(style, r"@import url\(/javascript/normalize[^)]*\);", NORMALIZE)
    with open(style, "r+", encoding="utf-8") as file:
        text = file.read()
        if "prefers-color-scheme" not in text:
            dark = re.search(r'body\[data-theme="dark"\] \{([^}]*)\}', text)[1]
            file.write(f'@media screen and (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) {{{dark}}} }}\n')
    scripts = os.path.join(static, "scripts")
    _rewrite(os.path.join(scripts, "furo.js"), r"import Gumshoe from [^;]*;", os.path.join(scripts, "gumshoe-patched.js"))


def _rewrite(path, pattern, source):
    """Puts the text of a file in the place of the pattern, if it is there."""
    with open(path, encoding="utf-8") as file, open(source, encoding="utf-8") as other:
        text, inserted = file.read(), other.read()
    with open(path, "w", encoding="utf-8") as file:
        file.write(re.sub(pattern, lambda _: inserted, text))


def _docstring(app, what, name, obj, options, lines):
    """Docstrings are plain text with `code`: what else reStructuredText would read into them is escaped."""
    for number, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            parts = re.split(r"(`[^`]*`)", line)
            lines[number] = "".join(p if p.startswith("`") else re.sub(r"([|_])", r"\\\1", p) for p in parts)


def _all_documented(app, env):
    import nadir

    documented = {name.rpartition(".")[2] for name in env.domaindata["py"]["objects"]}
    missing = sorted(set(nadir.__all__) - documented - {"__version__"})
    if missing:
        raise RuntimeError(f"docs/site/python_reference.md does not name {', '.join(missing)}")


def setup(app):
    app.add_html_math_renderer(
        "katex",
        (lambda self, node: _formula(self, node, False), None),
        (lambda self, node: _formula(self, node, True), None),
    )
    app.add_transform(Scripts)
    app.connect("builder-inited", _bundle_katex)
    app.connect("build-finished", _mend_theme)
    app.connect("autodoc-process-docstring", _docstring)
    app.connect("env-check-consistency", _all_documented)
