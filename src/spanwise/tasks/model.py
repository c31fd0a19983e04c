"""An encoder with a task's head: trained by the one loop, asked by prediction.

Letters: T tokens in the pack, D hidden size, W examples.
"""

from collections.abc import Callable, Mapping
from typing import Generic

import torch
from torch import Tensor, nn

from spanwise.data.batch import Batch
from spanwise.errors import ConfigError
from spanwise.nn.encoder import Encoder
from spanwise.nn.int8.encoder import check_prepared
from spanwise.nn.losses.loss_sum import LossSum
from spanwise.nn.vocabulary_loss import VocabularyLoss
from spanwise.runtime.device import Precision, autocast, resolve_precision
from spanwise.tasks.base import D, F, O, P, Task
from spanwise.tasks.batches import PREDICTION, Packing
from spanwise.tasks.language_loss import LANGUAGE, LanguageTargets, language_loss


class TaskModel(nn.Module, Generic[D, F, O, P]):
    """Encoder, head and the task that reads them: one loss sum per target name, and perhaps that of the next token."""

    def __init__(self, task: Task[D, F, O, P], encoder: Encoder, head: nn.Module) -> None:
        super().__init__()
        self.task, self.encoder, self.head = task, encoder, head
        self.loss_weights = {task.target_name: 1.0}
        if task.lm_weight:
            self.loss_weights[LANGUAGE] = task.lm_weight

    def forward(self, batch: Batch) -> dict[str, LossSum | VocabularyLoss]:
        hidden_TD = self.encoder(batch.input_ids, batch.token_type_ids, batch.sequences)
        made: object = self.task.loss(self.head, hidden_TD, batch)
        if not isinstance(made, Mapping):
            raise ConfigError(
                f"{type(self.task).__name__}.loss returned {type(made).__name__}; expected {{target_name: LossSum}}."
            )
        losses: dict[str, LossSum | VocabularyLoss] = {**made}
        if LANGUAGE in batch.targets:
            losses[LANGUAGE] = language_loss(self.encoder, hidden_TD, batch.target(LANGUAGE, LanguageTargets))
        return losses

    @torch.inference_mode()
    def outputs(
        self,
        features: F,
        *,
        precision: Precision = "fp32",
        packing: Packing = PREDICTION,
        told: Callable[[int], None] | None = None,
    ) -> list[O]:
        """Return what the head says about each of the W examples, in order.

        Runs without dropout and gives the model back in the mode it was in. precision: "int8" for a model that was
        loaded with it, and for no other. `told` is given the tokens of each pack that is read.
        Raises: ConfigError for another precision than this model or machine has.
        """
        check_prepared(self.encoder, precision)
        device = next(self.parameters()).device
        resolved = resolve_precision(precision, device)
        was_training = self.training
        if was_training:  # else nothing is touched: several threads may ask one model
            self.eval()

        def encode(batch: Batch) -> Tensor:
            moved = batch.to(device)
            if told is not None:
                told(batch.input_ids.numel())
            return self.encoder(moved.input_ids, moved.token_type_ids, moved.sequences)

        try:
            with autocast(resolved, device):
                return list(self.task.outputs(encode, self.head, features, packing))
        finally:
            if was_training:
                self.train()
