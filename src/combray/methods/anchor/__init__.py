"""AnchorMem: small anchors written by a model lead back to the turns themselves."""

from combray.methods.anchor.anchor import Anchor
from combray.methods.anchor.params import AnchorParams

__all__ = ["Anchor", "AnchorParams"]
