"""Sphinx: `nox -s docs` builds the pages into dist/docs, and the pictures they show by running the code."""

import sys
from pathlib import Path

import ikcore

project = "ikcore"
author = "The ikcore developers"
copyright = "2026, the ikcore developers"
version = release = ikcore.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 2  # links to headings, as a code host has them
html_theme = "furo"
html_title = f"ikcore {version}"
autodoc_typehints = "none"
napoleon_use_rtype = False

sys.path.insert(0, str(Path(__file__).parent))
import draw  # noqa: E402  # beside this file, which is not on Sphinx's path

draw.write(Path(__file__).with_name("pictures"))
