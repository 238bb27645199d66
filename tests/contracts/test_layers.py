"""A module imports only from layers below its own."""

import ast
from pathlib import Path

import pytest

import combray

ROOT = Path(combray.__file__).parent
LAYERS = [
    {"errors"},
    {"model", "endpoint"},
    {"text", "store", "llm", "embed", "prompts", "importers"},
    {"index"},
    {"methods", "pack"},
    {"answer", "config"},
    {"registry"},
    {"memory"},
    {"service", "eval"},
    {"cli", "inspector", "integrations", "testing"},
]
# Rows and their arrays are what a store speaks, and what everything above it reads.
LEVEL = {name: level for level, layer in enumerate(LAYERS) for name in layer}
MODULES = sorted(ROOT.rglob("*.py"))


def layer_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_layers(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = (
                [node.module]
                if node.module != "combray"
                else [f"combray.{a.name}" for a in node.names]
            )
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("combray.")}
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_imports_only_from_layers_below(path):
    own = layer_of(path)
    if own == "__init__":
        return
    assert own in LEVEL, f"{own} has no layer: add it to LAYERS"
    wrong = {
        layer
        for layer in imported_layers(path) - {own}
        if layer in LEVEL and LEVEL[layer] >= LEVEL[own]
    }
    assert not wrong, f"{path.name} in {own} imports {sorted(wrong)}"


def test_no_module_is_imported_relatively():
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            assert not (isinstance(node, ast.ImportFrom) and node.level), path
