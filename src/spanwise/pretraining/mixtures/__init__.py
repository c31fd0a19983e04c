"""Several stores in one run, each with its share of the tokens."""

from spanwise.pretraining.mixtures.mixed_source import MixedSource
from spanwise.pretraining.mixtures.mixture import Data, Mixture, MixturePart, mixture_of, open_mixture, read_data
