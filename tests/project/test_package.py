"""The package as its users meet it: names, versions, the command line, the examples in README."""

import ast
import doctest
import graphlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import ikcore as ik
from ikcore import _core
from ikcore.command import cli, demo
from ikcore.solving.registry import KNOWN_AS

ROOT = Path(__file__).parents[2]


def test_every_public_name_exists_and_is_documented() -> None:
    for module in (ik, ik.closed_forms, ik.learned, ik.limits, ik.masses, ik.prepare, ik.rotations, ik.solvers):
        for name in module.__all__:
            assert getattr(module, name).__doc__


def test_dir_shows_the_public_face_and_nothing_else() -> None:
    modules = {name for name in dir(ik) if isinstance(getattr(ik, name), ModuleType)}
    assert set(dir(ik)) - modules == set(ik.__all__)
    for name in modules:
        module = getattr(ik, name)
        assert dir(module) == sorted(module.__all__)
        assert all(hasattr(module, public) for public in dir(module))


def test_no_two_names_differ_by_case_only() -> None:
    for module in (ik, *(value for name in dir(ik) if isinstance(value := getattr(ik, name), ModuleType))):
        names = [name.lower() for name in dir(module)]
        assert len(set(names)) == len(names)


def test_every_method_has_its_function_among_the_solvers() -> None:
    forms = {"two_bone", "aim"}
    for name, method in ik.methods().items():
        if method.function.__module__.startswith("ikcore.") and name not in forms:
            assert getattr(ik.solvers, name) is method.function


def test_solving_does_not_wait_for_clips_feet_and_pages_to_be_imported() -> None:
    """They are imported when they are first named; any public name is there in a fresh process, and listed."""
    code = """
import sys
import ikcore as ik
late = ("ikcore.bake", "ikcore.clips", "ikcore.command", "ikcore.feet", "ikcore.grounds", "ikcore.reports", "tempfile")
early = [name for name in sys.modules if name.startswith(late)]
assert not early, early
for name in ik.__all__:
    assert name in dir(ik) and getattr(ik, name) is getattr(ik, name)
assert ik.Clip is ik.clips.clip.Clip and ik.feet.Feet is ik.Feet
"""
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONSAFEPATH": "1"})


def test_a_name_that_is_not_there_is_refused_as_of_any_module() -> None:
    with pytest.raises(AttributeError, match="module 'ikcore' has no attribute 'clop'"):
        ik.clop  # type: ignore[attr-defined] # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'clop' from 'ikcore'"):
        from ikcore import clop  # type: ignore[attr-defined] # noqa: F401


@pytest.mark.parametrize(("name", "home"), [("sdls", "solvers"), ("Stage", "solvers"), ("two_bone_2d", "closed_forms")])
def test_the_module_of_a_name_is_told(name: str, home: str) -> None:
    with pytest.raises(AttributeError, match=f"no attribute {name!r}; it is ikcore.{home}.{name}$"):
        getattr(ik, name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("lm", "; here lm is dls"),
        ("CCD", "; ccd?"),
        ("Levenberg_Marquart", "; here levenberg_marquardt is dls"),
        ("x", ""),
    ],
)
def test_names_of_papers_and_slips_are_told(name: str, said: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(f"module 'ikcore' has no attribute {name!r}{said}") + "$"):
        getattr(ik, name)
    with pytest.raises(ValueError, match=re.escape(f"got {name!r}{said}") + "$"):
        ik.solve(ik.Skeleton.chain([[0, 0, 0], [1, 0, 0]]), None, [], name)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "here"), KNOWN_AS.items())
def test_what_names_of_papers_are_here_is_there(name: str, here: str) -> None:
    method, _, option = here.partition(", ")
    assert name not in ik.methods()
    assert option.partition("=")[0] in {*ik.methods()[method].options, "with levels", ""}


def test_the_package_is_a_command() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ikcore", "--version"], capture_output=True, text=True, check=True
    )
    assert re.fullmatch(rf"ikcore {re.escape(ik.__version__)} on (scalar|base|avx2|avx512)\n", done.stdout)


@pytest.mark.parametrize("home", ["", "https://code.invalid/someone/ikcore/"])
def test_where_it_is_published_every_link_in_readme_has_its_whole_address(home: str, tmp_path: Path) -> None:
    """A package index shows README alone. Without a known home page of the project, no link is generated."""
    pytest.importorskip("setuptools", minversion="77")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "ikcore", tmp_path / "ikcore", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    code = "from setuptools import build_meta; build_meta.prepare_metadata_for_build_wheel('.')"
    env = {**os.environ, "IKCORE_HOME": home}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=env, check=True, capture_output=True)
    (metadata,) = tmp_path.glob("*.dist-info/METADATA")
    text = metadata.read_text(encoding="utf-8")
    links, addresses = re.findall(r"\]\(([^)]*)\)", text), re.findall(r"^Project-URL: \w+, (.*)$", text, re.MULTILINE)
    assert len(links) > 5
    assert bool(addresses) == bool(home)
    if home:
        assert all(link.startswith(home) for link in [*links, *(f"{address}/" for address in addresses)])
        assert sum("/raw/v" in link for link in links) == text.count("![")


def test_one_version_everywhere() -> None:
    version = ik.__version__.partition("+")[0]
    assert f'version = "{version}"' in (ROOT / "blender_addon/blender_manifest.toml").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_folder_of_the_package_is_shipped() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    there = [path.parent.relative_to(ROOT) for path in (ROOT / "ikcore").rglob("__init__.py")]
    assert sorted(told) == sorted(".".join(path.parts) for path in there)


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in (ROOT / "ikcore").rglob("*.py*") if path.suffix in (".py", ".pyi")}


def imported(nodes: Iterable[ast.AST], *, late: bool) -> set[str]:
    """The modules of this package imported when a module is, or late: in a function."""
    found = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            inner = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= inner & MODULES.keys() or {str(node.module)}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.FunctionDef) and not late:
            continue
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            found |= imported(ast.iter_child_nodes(node), late=late)
    return found & MODULES.keys()


def test_modules_import_each_other_in_no_circle() -> None:
    trees = {name: ast.parse(path.read_text(encoding="utf-8")).body for name, path in MODULES.items()}
    graph = {name: imported(body, late=False) for name, body in trees.items()}
    assert len(graph) > 60
    graphlib.TopologicalSorter(graph).prepare()  # names the circle
    doors = {(name, to) for name, body in trees.items() for to in imported(body, late=True) - graph[name]}
    assert doors == {("ikcore.clips.clip", "ikcore.clips.formats"), ("ikcore.limits.limit", "ikcore.limits.drawing")}


def test_the_stub_names_what_the_module_has() -> None:
    stub = (ROOT / "ikcore/_core.pyi").read_text()
    declared = set(re.findall(r"^(?:def |class )?(\w+)(?:: Final|\(|: \.\.\.|:$)", stub, re.MULTILINE))
    present = {name for name in vars(_core) if not name.startswith("__")} | {"__version__"}
    assert declared == present


def test_types_of_arrays_are_named_by_their_size() -> None:
    """Sizes of C's int and long differ, and int32 has other names, on other systems: Windows would refuse
    everything."""
    of_c = re.compile(r"NPY_U?(BYTE|SHORT|INT|LONG|LONGLONG|LONGDOUBLE)\b|PyArray_TYPE\(\w+\) [!=]= (?!NPY_FLOAT)")
    found = {path.name: of_c.findall(path.read_text()) for path in (ROOT / "src/module").glob("*.c")}
    assert "solve.c" in found
    assert not any(found.values()), found


@pytest.mark.parametrize("code", "bhilq")
def test_whole_numbers_are_taken_by_any_of_their_names(code: str) -> None:
    arm = ik.Skeleton(np.array([-1, 0, 1], code), [[0, 0, 0], [1, 0, 0], [1, 0, 0]])
    assert ik.fabrik(arm, arm.rest, [ik.Reach(2, [1, 1, 0])]).status == 0
    floor = ik.Ground.mesh([[0, 0, 0], [0, 0, 2], [2, 0, 0]], np.array([[0, 1, 2]], code))
    assert floor.at([0.5, 3, 0.5], above=9, below=9).hit


@pytest.mark.parametrize("code", [code for code in "il" if np.dtype(code) == np.int32])
def test_status_is_written_to_by_any_name_of_its_type(code: str) -> None:
    leg = ([0, 0.9, 0], [0, 0.5, 0.05], [0, 0.1, 0], [0.1, 0.3, 0])
    fields = {name: np.array(getattr(ik.two_bone(*leg), name)) for name in ik.closed_forms.LimbSolution.__match_args__}
    out = ik.closed_forms.LimbSolution(**{**fields, "status": np.ones((), code)})
    ik.two_bone(*leg, out=out)
    assert out.status == 0


def test_the_source_folder_is_not_mistaken_for_the_package(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "ikcore", tmp_path / "ikcore", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__"))
    code = "import sys; sys.path.insert(0, sys.argv[1]); import ikcore"
    command = [sys.executable, "-S", "-c", code, str(tmp_path)]  # -S: nothing installed is in the way
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "is the source folder, start Python in another folder" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(("wanted", "warned"), [("scalar", False), ("", False), ("axv2", True)])
def test_the_environment_lowers_the_instruction_set(wanted: str, warned: bool) -> None:
    code = "import ikcore; print(ikcore.solvers.isa())"
    env = {**os.environ, "IKCORE_ISA": wanted, "PYTHONSAFEPATH": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ("scalar" if wanted == "scalar" else _core.use_isa(None))
    assert ("expected scalar, base, avx2 or avx512" in done.stderr) == warned


@pytest.mark.parametrize("name", ["sse9", 3, b"avx2"])
def test_an_unknown_instruction_set_is_refused(name: object) -> None:
    before = ik.solvers.isa()
    with pytest.raises((ValueError, TypeError)):
        _core.use_isa(name)  # type: ignore[arg-type]
    assert ik.solvers.isa() == before


def test_the_demo_puts_the_walk_on_the_stairs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The clip is written to the reported path, and stands on the stairs as the walk did on the floor."""
    assert cli.main(["demo", "-o", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    assert re.search(r"a walk of 481 frames put on stairs in \d+ ms, \d+ frames a second\n", said)
    written, page = (Path(path) for path in re.findall(r": (.*[/\\]walk_on_stairs\.\w+)", said))
    assert "A walk on stairs" in page.read_text(encoding="utf-8")
    clip, contacts = ik.Clip.read(written), ik.Contacts.detect(demo.walk())
    assert "Nothing to look at" in (tmp_path / "new/walk_on_stairs.html").read_text(encoding="utf-8")
    measured = ik.feet.measure(clip, ground=demo.stairs(), contacts=contacts)
    for record in measured.measures.values():
        assert record.drift < 2e-3
        assert record.penetration < 2e-3
    hips = clip.skeleton.forward(clip.pose).positions[:, 0, 1]
    assert hips[-1] - hips[0] == pytest.approx(9 * 0.16, abs=0.05)


def test_a_path_that_cannot_be_written_ends_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert cli.main(["demo", "-o", str(tmp_path / "file/folder")]) == 1
    said = capsys.readouterr().err  # Windows knows the reason by another name
    assert re.fullmatch(r"ikcore: cannot write .*file(.folder)?: (Not a directory|File already exists)\n", said)


@pytest.mark.skipif(not (ROOT / "noxfile.py").exists(), reason="sources without noxfile.py")
def test_what_is_run_elsewhere_are_sessions_of_nox() -> None:
    sessions = set(re.findall(r"@nox.session\n(?:@.*\n)*def (\w+)", (ROOT / "noxfile.py").read_text(encoding="utf-8")))
    for file in (".github/workflows/release.yml", ".ci/run", "README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"nox -s (\w+)", (ROOT / file).read_text(encoding="utf-8")))
        assert named <= sessions, file
    assert {"blender", "check_wheels", "workflow", "windows"} <= sessions


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)


def test_the_examples_in_readme_run() -> None:
    blocks = python_blocks(ROOT / "README.md")
    assert blocks
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})


PAGES = {page.stem: python_blocks(page) for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "reference"}


@pytest.mark.parametrize("page", [page for page, blocks in PAGES.items() if blocks])
def test_the_examples_in_the_pages_run(page: str) -> None:
    assert all(block.startswith(">>> ") for block in PAGES[page])  # doctest reads nothing else
    examples = doctest.DocTestParser().get_doctest("\n".join(PAGES[page]), {}, page, page, 0)
    assert doctest.DocTestRunner().run(examples).failed == 0


def run_notebook(name: str) -> dict[str, Any]:
    """The names that a notebook of examples/ leaves, its figures closed; as committed it has no outputs."""
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    cells = json.loads((ROOT / "examples" / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    blocks = [cell for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell["outputs"] or cell["execution_count"] for cell in blocks)
    names: dict[str, Any] = {}
    for cell in blocks:
        exec(compile("".join(cell["source"]), f"{name}.ipynb", "exec"), names)
    assert len(plt.get_fignums()) == 2
    plt.close("all")
    return names


def test_the_notebook_runs_and_poses_the_arm() -> None:
    names = run_notebook("pose_an_arm")
    assert names["found"]["dls"].status == 0
    assert names["found"]["fabrik"].error < 1e-3
    assert np.mean(names["batch"].status == 0) > 0.5


def test_the_person_of_the_notebook_reaches_looks_and_does_not_fall() -> None:
    names = run_notebook("reach_over_a_table")
    person, soles, cup = names["person"], names["soles"], names["cup"]
    falls, stands = (ik.bodies.balance(person, names[name].pose, soles).margin for name in ("reaching", "balanced"))
    assert falls < 0
    assert stands > 0.03 - 1e-4
    world = person.forward(names["balanced"].pose)
    head, wrist = person.index("head"), person.index("right wrist")
    gaze = ik.rotations.rotate(world.rotations[head], [0, -0.1, 1])
    way = cup - world.positions[head]
    assert gaze @ way / np.linalg.norm(gaze) / np.linalg.norm(way) > np.cos(1e-3)
    assert np.linalg.norm(world.positions[wrist] - cup + [0, 0, 0.1]) < 1e-4
    assert names["taken"].reached.all()
    assert names["margins"].min() > 2.99
    assert names["capture"][30].min() < 0 < names["capture"][15].min()  # as the text says
    assert not ik.bodies.report(person, names["taken"].pose).beyond.max() > 2e-4
