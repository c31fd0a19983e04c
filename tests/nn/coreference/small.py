"""A small head with large weights, and a document of random states."""

import numpy as np
import torch
from tests.nn.toy import toy_config
from torch.utils._python_dispatch import TorchDispatchMode

from spanwise.nn.coreference.head import CoreferenceHead, DocumentTensors, HeadSizes
from spanwise.nn.coreference.pruning import candidate_spans
from spanwise.nn.init import initialize


def small_head(seed=0, dropout=0.3, hidden_size=12, **sizes):
    config = toy_config(hidden_size=hidden_size, num_heads=2)
    values = {"ffn_size": 14, "feature_size": 4, "max_width": 6, "num_genres": 3} | sizes
    head = CoreferenceHead(config, HeadSizes(**values), dropout=dropout)
    initialize(head, config, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():  # weights of order one show mistakes that small ones hide
        for parameter in head.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator)
    return head.eval()


def small_document(num_pieces=60, seed=0, num_spans=20, max_width=6, hidden_size=12, num_speakers=3, always=None):
    draw = np.random.default_rng(seed)
    starts = draw.random(num_pieces) < 0.7
    starts[::9] = True
    start_N, end_N = candidate_spans(starts, np.arange(num_pieces) // 9, max_width)
    document = DocumentTensors(
        start_N=start_N,
        end_N=end_N,
        speaker_T=torch.from_numpy(draw.integers(0, num_speakers, num_pieces)),
        segment_T=torch.arange(num_pieces) // 20,
        genre=2,
        num_spans=num_spans,
        always_N=always,
    )
    return torch.randn(num_pieces, hidden_size, generator=torch.Generator().manual_seed(seed)), document


class LargestTensor(TorchDispatchMode):
    """How many elements the largest matrix has that is made inside, of those with more than `columns` columns."""

    def __init__(self, columns=0):
        super().__init__()
        self.columns, self.num_elements = columns, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        if isinstance(made, torch.Tensor) and made.ndim > 1 and made.shape[-1] > self.columns:
            self.num_elements = max(self.num_elements, made.numel())
        return made
