"""Sphinx: `nox -s docs` builds the pages into dist/docs, and the pictures they show by running the code."""

from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt

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

# The examples of limits.md.
matplotlib.use("Agg")
limits = {
    "hinge": ikcore.Limit.hinge([1, 0, 0], -0.5, 1.5),
    "cone": ikcore.Limit.cone([0, 0, 1], 0.6, twist=(-1, 1)),
    "ball": ikcore.limits.human_leg("left")["hip"],
    "Euler box": ikcore.Limit.euler("xyz", [-0.5, -0.6, -0.8], [0.9, 0.4, 1.2]),
}
figure = plt.figure(figsize=(12, 3.4), layout="constrained")
for place, (name, limit) in enumerate(limits.items(), 1):
    limit.draw(figure.add_subplot(1, len(limits), place, projection="3d", title=name))
figure.savefig(Path(__file__).with_name("limits.svg"))
