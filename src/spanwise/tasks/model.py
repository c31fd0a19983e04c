"""An encoder with a task's head: trained by the one loop, asked by prediction.

Letters: T tokens in the pack, D hidden size, W examples.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.nn.encoder import Encoder
from spanwise.nn.int8.encoder import check_prepared
from spanwise.runtime.device import Precision, autocast, resolve_precision
from spanwise.tasks.base import AlsoLanguage, Features, LongExamples, Task
from spanwise.tasks.batches import prediction_packs
from spanwise.tasks.language_loss import LANGUAGE, language_loss

PACK_TOKENS = 4096  # of one forward in prediction


class TaskModel(nn.Module):
    """Encoder, head and the task that reads them; one loss sum a target name, and the next token's where asked for."""

    def __init__(self, task: Task, encoder: Encoder, head: nn.Module) -> None:
        super().__init__()
        self.task, self.encoder, self.head = task, encoder, head
        self.loss_weights = {task.target_name: 1.0}
        if isinstance(task, AlsoLanguage) and task.lm_weight:
            self.loss_weights[LANGUAGE] = task.lm_weight

    def forward(self, batch: Batch) -> dict[str, Any]:
        hidden_TD = self.encoder(batch.input_ids, batch.token_type_ids, batch.sequences)
        losses = self.task.loss(self.head, hidden_TD, batch)
        if LANGUAGE in batch.targets:
            losses[LANGUAGE] = language_loss(self.encoder, hidden_TD, batch.targets[LANGUAGE])
        return losses

    @torch.inference_mode()
    def outputs(
        self, features: Features, *, precision: Precision = "fp32", pack_tokens: int = PACK_TOKENS
    ) -> list[Any]:
        """What the head says about each of the W examples, in order.

        Runs without dropout and gives the model back in the mode it was in. precision: "int8" for a model that was
        loaded with it, and for no other. Raises: ConfigError for another precision than this model or machine has.
        """
        check_prepared(self.encoder, precision)
        device = next(self.parameters()).device
        resolved = resolve_precision(precision, device)
        was_training = self.training
        self.eval()

        def encode(batch: Batch) -> Tensor:
            moved = batch.to(device)
            with autocast(resolved, device):
                return self.encoder(moved.input_ids, moved.token_type_ids, moved.sequences)

        try:
            if isinstance(self.task, LongExamples):
                with autocast(resolved, device):
                    return list(self.task.outputs(encode, self.head, features, pack_tokens))
            found: list[Any] = []
            for batch in prediction_packs(features, pack_tokens):
                hidden_TD = encode(batch)
                with autocast(resolved, device):
                    found += self.task.output(self.head, hidden_TD, batch.to(device))
            return found
        finally:
            self.train(was_training)
