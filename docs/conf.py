"""Sphinx: `nox -s docs` builds the pages into dist/docs, and the pictures they show by running the code."""

import re
import sys
from operator import attrgetter
from pathlib import Path
from types import FunctionType, ModuleType

import ikcore

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
import draw  # noqa: E402  # beside this file, which is not on Sphinx's path

project = "ikcore"
author = "The ikcore developers"
copyright = "2026, the ikcore developers"
version = release = ikcore.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "mentions",
]
templates_path = ["_templates"]
myst_heading_anchors = 3  # links to headings, as a code host has them
html_theme = "furo"
html_title = f"ikcore {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["tables.js"]
autodoc_typehints = "none"
autodoc_member_order = "bysource"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
default_role = "py:obj"  # `name` in a docstring is a link where it is an object
napoleon_use_rtype = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


exclude_patterns = ["_templates"]

for name in dir(ikcore):  # modules that are public under a shorter name: ikcore.samples, say
    if isinstance(value := getattr(ikcore, name), ModuleType):
        sys.modules.setdefault(f"ikcore.{name}", value)


def members_of(name: str) -> list[str]:
    """The public methods and properties of a class that have a docstring, in the order of the source."""
    found = attrgetter(name.removeprefix("ikcore."))(ikcore)
    kinds = (FunctionType, property, classmethod, staticmethod)
    members = vars(found).items() if isinstance(found, type) else ()
    return [key for key, value in members if isinstance(value, kinds) and key[0] != "_" and value.__doc__]


def listed() -> list[str]:
    """The whole names of all objects on the lists of the reference."""
    texts = [page.read_text(encoding="utf-8") for page in sorted((HERE / "reference").glob("*.md"))]
    modules = [re.findall(r"currentmodule:: ([\w.]+)", text)[0] for text in texts]
    lists = [re.findall(r"^   ([\w.]+)$", text, re.MULTILINE) for text in texts]
    return [f"{module}.{name}" for module, names in zip(modules, lists, strict=True) for name in names]


for stub in (HERE / "reference" / "api").glob("*.rst"):  # of objects that are listed no more
    if stub.stem not in listed():
        stub.unlink()
autosummary_context = {"documented": {name: members_of(name) for name in listed()}}

draw.write(HERE / "pictures")
