"""What a stranger gets from `import combray`."""

import ast
import importlib
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import combray

HEAVY = [
    "onnxruntime",
    "tokenizers",
    "spacy",
    "dateparser",
    "matplotlib",
    "openai",
    "typer",
    "rich",
    "torch",
]


def test_import_brings_in_nothing_heavy():
    code = f"import sys, combray; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_public_names_exist_and_are_documented():
    for name in combray.__all__:
        value = getattr(combray, name)
        assert isinstance(value, str) or value.__doc__


def test_every_module_has_a_docstring():
    for module in pkgutil.walk_packages(combray.__path__, "combray."):
        source = importlib.util.find_spec(module.name).origin
        text = Path(source).read_text(encoding="utf-8")
        assert ast.get_docstring(ast.parse(text)), module.name


def test_there_are_fewer_than_twelve_core_dependencies_each_with_a_reason():
    path = Path(__file__).parents[2] / "pyproject.toml"
    text = path.read_text(encoding="utf-8")
    core = tomllib.loads(text)["project"]["dependencies"]
    assert len(core) < 12
    for requirement in core:
        line = next(line for line in text.splitlines() if f'"{requirement}"' in line)
        assert ">=" in requirement
        assert "#" in line, f"{requirement} has no reason"
