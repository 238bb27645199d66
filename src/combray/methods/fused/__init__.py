"""The default method: channels without a model, combined as weighted calibrated scores."""

from combray.methods.fused.fused import Fused
from combray.methods.fused.params import CHANNELS, FusedParams, Weights, fitted_weights

__all__ = ["CHANNELS", "Fused", "FusedParams", "Weights", "fitted_weights"]
