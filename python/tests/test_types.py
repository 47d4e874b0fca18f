# SPDX-License-Identifier: Apache-2.0
"""What type checkers see: the package itself, the programs of the pages, a strictly typed program, and the stubs."""

import ast
import os
import pathlib
import re
import subprocess
import sys

import pytest

import yolk
from test_docs import sections

pytestmark = pytest.mark.once
HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(yolk.__file__).parent


WRONG = "import yolk\nyolk.train('cartpole').polices\nyolk.gepa.optimise()\n"


@pytest.fixture(scope="module")
def findings(tmp_path_factory):
    """What mypy finds, a line each, in the package, the programs of the pages, and one that is wrong."""
    pytest.importorskip("mypy")
    if PACKAGE.parent.name == "site-packages":
        pytest.skip("mypy takes no path of an installed package; the one of the build folder has the same files")
    folder = tmp_path_factory.mktemp("typed")
    programs = {"pages/__init__.py": "", "pages/wrong.py": WRONG}
    for program in sections("README.md") + sections("docs/python.md"):
        programs[f"pages/page_{len(programs)}.py"] = program.values[0]
    assert len(programs) > 6
    (folder / "pages").mkdir()
    for name, text in programs.items():
        (folder / name).write_text(text, encoding="utf-8")
    cache = pathlib.Path(os.environ.get("YOLK_CACHE", folder)) / "mypy"
    done = subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", cache, "--config-file",
                           HERE.parent / "mypy.ini", PACKAGE, HERE / "typed_program.py", *programs],
                          cwd=folder, capture_output=True, text=True, timeout=300,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})
    assert (done.returncode, done.stderr) == (1, "")  # since one program is wrong
    return done.stdout.splitlines()


def test_the_package_and_typed_programs_are_accepted(findings):
    # In typed_program.py, a line that is marked as wrong and is not counts, too.
    assert [line for line in findings if not line.startswith("pages/wrong.py")] == []


def test_a_wrong_program_is_not(findings):
    found = [line for line in findings if line.startswith("pages/wrong.py")]
    assert len(found) == 2 and "polices" in found[0] and "optimise" in found[1]


def test_the_typed_program_runs():
    import typed_program

    assert typed_program.listed() and typed_program.computed().shape == (3, 3)


def functions_of(scope, kinds):
    for name, value in vars(scope).items():
        function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
        if any(kind in type(function).__name__ for kind in kinds) and hasattr(function, "__nb_signature__"):
            yield name, function.__nb_signature__


@pytest.mark.parametrize("module, stub", [(yolk._core, "__init__.pyi"), (yolk._core.operations, "operations.pyi")])
def test_stubs_have_the_names_and_defaults_of_signatures(module, stub):
    """Each argument of each bound function, its kind and whether it has a default, as the extension has it now."""
    tree = ast.parse((PACKAGE / "_core" / stub).read_text(encoding="utf-8"))
    scopes = {"": (module, tree.body)}
    scopes |= {node.name: (getattr(module, node.name), node.body) for node in tree.body if isinstance(node, ast.ClassDef)}
    seen = 0
    for owner, (scope, body) in scopes.items():
        stubs = {}
        for node in body:
            if isinstance(node, ast.FunctionDef):
                stubs.setdefault(node.name, []).append(node)
        for name, signatures in functions_of(scope, ("nb_func", "nb_method")):
            if name == "__format__" or isinstance(vars(scope)[name], property):
                continue  # stubs say nothing of the one, and only the type of the others
            assert len(stubs[name]) == len(signatures), f"{owner}.{name}"
            for node, (text, _, _) in zip(stubs[name], signatures):
                seen += 1
                bound = re.sub(r"\[dtype=[^\]]*\]", "", text.replace("\\", ""))
                wanted = ast.parse(re.sub(r" = (?:\\?\d+|[^,()]+)(?=[,)])", " = 0", bound) + ": ...").body[0].args
                for part in ("posonlyargs", "args", "kwonlyargs"):
                    assert [one.arg for one in getattr(node.args, part)] == [one.arg for one in getattr(wanted, part)]
                assert len(node.args.defaults) == len(wanted.defaults), f"{owner}.{name}"
                assert (node.args.vararg is None) == (wanted.vararg is None), f"{owner}.{name}"
    assert seen > 30
