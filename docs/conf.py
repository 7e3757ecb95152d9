"""Sphinx: `nox -s docs` builds the pages into dist/docs, and the pictures they show by running the code."""

from pathlib import Path

import ikcore
from ikcore import demo

project = "ikcore"
author = "The ikcore developers"
copyright = "2026, the ikcore developers"
version = release = ikcore.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
html_theme = "furo"
html_title = f"ikcore {version}"
autodoc_typehints = "none"
napoleon_use_rtype = False

Path(__file__).with_name("leg.svg").write_text(demo.picture(), encoding="utf-8")
