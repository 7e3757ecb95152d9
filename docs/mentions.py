"""Links between the guide and the reference, both ways, made from the names that a page uses.

A public name in `code` on a page becomes a link to the page of that object. Every page ends with a list of the objects
that its text and examples use. The page of every object ends with lists of the pages and of the objects that name it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

MODULES = ("", "rotations.", "solvers.", "closed_forms.", "learned.", "masses.", "feet.metrics.", "bodies.nodes.")
PREFIXES = (*(f"ikcore.{module}" for module in MODULES), "")  # where a name without a module is looked up
RECORDS = ("records/figures",)  # pages that name nearly everything: no page of the reference lists them
IN_TEXT = re.compile(r"(?:ik\.)?([A-Za-z_][\w.]*)(?:\(.*\))?")
IN_RESULT = re.compile(r"([A-Z]\w+)")  # the class of what a function returns
IN_CODE = re.compile(r"\bik(?:core)?\.([A-Za-z_][\w.]*)")


def names_in(doctree: nodes.document) -> set[str]:
    """The names that could be public: whole pieces of `code`, and what follows ``ik.`` in examples."""
    literals = {match[1] for node in doctree.findall(nodes.literal) if (match := IN_TEXT.fullmatch(node.astext()))}
    blocks = (node.astext() for node in doctree.findall(nodes.literal_block))
    return literals.union(*(IN_CODE.findall(text) for text in blocks))


def is_reference(page: str) -> bool:
    """Whether a page is one of an object or of a list of objects."""
    return page.startswith("reference")


def collect(app: Sphinx, doctree: nodes.document) -> None:
    """Keep the names of a page of the guide, once it is read; in the reference, words of types are no names."""
    page = app.env.docname
    if not is_reference(page):
        kept(app.env)[page] = names_in(doctree)
        return
    for word in list(doctree.findall(addnodes.pending_xref)):
        if word.get("refspecific") and word["reftarget"].islower():  # "joints" of "(joints, 3) array"
            word.replace_self(nodes.emphasis("", word["reftarget"]))
    if "/api/" in page:
        targets = {word["reftarget"] for word in doctree.findall(addnodes.pending_xref)}
        results = {word.astext() for word in doctree.findall(nodes.emphasis) if IN_RESULT.fullmatch(word.astext())}
        kept(app.env)[page] = targets | results | names_in(doctree)


def kept(env: BuildEnvironment) -> dict[str, set[str]]:
    """Names by page; kept with the environment from build to build."""
    names: dict[str, set[str]] = vars(env).setdefault("mentions", {})
    return names


def purge(app: Sphinx, env: BuildEnvironment, page: str) -> None:
    """Forget a page that is read again."""
    kept(env).pop(page, None)


def object_of(env: BuildEnvironment, name: str) -> str | None:
    """The whole name of the documented object that a short name means; a member means its class on lists."""
    known = env.domains.python_domain.objects
    whole = [prefix + name for prefix in PREFIXES if prefix + name in known]
    if not whole and name[0].isupper():  # a class of a module that is not named
        whole = [other for other in known if other.endswith(f".{name}")]
    return whole[0] if whole else None


def page_of(env: BuildEnvironment, name: str) -> str | None:
    """The page of the object that a short name means, or of its class."""
    whole = object_of(env, name) or object_of(env, name.partition(".")[0])
    page = env.domains.python_domain.objects[whole].docname if whole else None
    return page if page and is_reference(page) else None


def link(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Link names in the text, and add the list at the end of the page."""
    if is_reference(page):
        link_words(app, doctree, page, nodes.emphasis, IN_RESULT)
        using = {name for name, names in kept(app.env).items() if page in pages_of(app.env, names)} - {page, *RECORDS}
        listed(app, doctree, page, "In the guide", [name for name in using if not is_reference(name)])
        listed(app, doctree, page, "See also", filter(is_reference, using))
        return
    link_words(app, doctree, page, nodes.literal, IN_TEXT)
    if page not in RECORDS:
        listed(app, doctree, page, "In the reference", pages_of(app.env, kept(app.env).get(page, ())))


def link_words(
    app: Sphinx, doctree: nodes.document, page: str, kind: type[nodes.Element], pattern: re.Pattern[str]
) -> None:
    """Make links of the words of a kind of node that are names of objects."""
    objects = app.env.domains.python_domain.objects
    for word in list(doctree.findall(kind)):
        match = pattern.fullmatch(word.astext())
        whole = object_of(app.env, match[1]) if match else None
        if whole is None or is_in_link_or_heading(word) or not is_reference(objects[whole].docname):
            continue
        there = objects[whole]
        address = f"{app.builder.get_relative_uri(page, there.docname)}#{there.node_id}"
        reference = nodes.reference("", "", internal=True, refuri=address, reftitle=whole)
        word.replace_self(reference)
        reference += word


def is_in_link_or_heading(node: nodes.Node) -> bool:
    """Whether a node is part of a link already, or of a heading."""
    above: Any = node.parent
    while above is not None:
        if isinstance(above, (nodes.reference, nodes.title)):
            return True
        above = above.parent
    return False


def pages_of(env: BuildEnvironment, names: Iterable[str]) -> set[str]:
    """The pages of all objects among these names."""
    return {page for name in names if (page := page_of(env, name))}


def listed(app: Sphinx, doctree: nodes.document, page: str, title: str, pages: Iterable[str]) -> None:
    """Add a paragraph of links to the end of the first section."""
    titles = sorted((app.env.titles[name].astext(), name) for name in pages)
    section = next(doctree.findall(nodes.section), None)
    if not titles or section is None:
        return
    paragraph = nodes.paragraph("", "", nodes.strong("", f"{title}: "), classes=["mentions"])
    for place, (text, name) in enumerate(titles):
        shown = nodes.literal(text, text) if is_reference(name) else nodes.Text(text)
        address = app.builder.get_relative_uri(page, name)
        paragraph += [nodes.Text(", ")] * bool(place)
        paragraph += nodes.reference("", "", shown, internal=True, refuri=address)
    section += paragraph


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("doctree-read", collect)
    app.connect("env-purge-doc", purge)
    app.connect("doctree-resolved", link)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
