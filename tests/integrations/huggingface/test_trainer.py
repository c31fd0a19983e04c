"""Under the Trainer itself: accumulation, unused columns, evaluation, resuming."""

import pytest
import torch
from toy_encoders import bert_of

from spanwise.integrations.huggingface import SpanBoundaryPretraining


@pytest.fixture
def trainer_of(tmp_path):
    from transformers import Trainer, TrainingArguments

    def make(model, data, collator, name="run", callbacks=(), **options):
        options = {"save_strategy": "no", "learning_rate": 0.1, "optim": "sgd", "max_grad_norm": 0.0, **options}
        args = TrainingArguments(str(tmp_path / name), report_to="none", disable_tqdm=True, use_cpu=True, **options)
        return Trainer(
            model, args, data_collator=collator, train_dataset=data, eval_dataset=data, callbacks=list(callbacks)
        )

    return make


def test_accumulation_under_the_trainer_is_one_big_batch(trainer_of, collate, rows_of):
    """2 x 4 examples of unlike lengths make the step of 1 x 8, within 1e-6."""
    collator = collate()
    data = collator.premask([row[: 12 + 6 * i] for i, row in enumerate(rows_of(8, 60))])
    models = [SpanBoundaryPretraining(bert_of()) for _ in range(2)]

    for model, size, name in zip(models, (8, 4), "ab", strict=True):
        trainer_of(
            model,
            data,
            collator,
            name,
            max_steps=1,
            per_device_train_batch_size=size,
            gradient_accumulation_steps=8 // size,
        ).train()

    changed = SpanBoundaryPretraining(bert_of()).state_dict()
    for (key, one), other in zip(models[0].state_dict().items(), models[1].state_dict().values(), strict=True):
        torch.testing.assert_close(one, other, atol=1e-6, rtol=0, msg=key)
    assert any(not torch.equal(changed[key], tensor) for key, tensor in models[0].state_dict().items())


def test_evaluation_gives_the_mean_loss_and_both_parts(trainer_of, collate, rows_of):
    """The Trainer drops columns that the model does not name; what marks examples as masked must not be among them."""
    collator = collate(max_length=40, padding="max_length")
    data = [{**example, "text": "a"} for example in collator.premask([{"input_ids": row} for row in rows_of(8, 30)])]
    model = SpanBoundaryPretraining(bert_of()).eval()

    trainer = trainer_of(model, data, collator, per_device_eval_batch_size=8)
    once, again = trainer.evaluate(), trainer.evaluate()
    parts = trainer.predict(data)

    with torch.no_grad():
        expected = model(**collator([{k: v for k, v in row.items() if k != "text"} for row in data]))
    assert once["eval_loss"] == again["eval_loss"] == pytest.approx(float(expected.loss), abs=1e-5)
    assert [float(part) for part in parts.predictions] == pytest.approx(
        [float(expected.mlm_loss), float(expected.sbo_loss)], abs=1e-5
    )


def test_a_resumed_run_ends_where_an_unbroken_one_does(trainer_of, collate, rows_of, tmp_path):
    """Masks by epoch and example; checkpointing of activations on, as the Trainer switches it."""
    from transformers import TrainerCallback

    class Epochs(TrainerCallback):
        def __init__(self, collator):
            self.collator = collator

        def on_epoch_begin(self, args, state, control, **_):
            self.collator.set_epoch(int(state.epoch or 0))

    data = [{"input_ids": row[: 20 + i].tolist()} for i, row in enumerate(rows_of(6, 40))]
    options = {"per_device_train_batch_size": 2, "gradient_checkpointing": True, "lr_scheduler_type": "constant"}

    def run(name, steps, resume=None, **more):
        collator, model = collate(), SpanBoundaryPretraining(bert_of())
        trainer_of(model, data, collator, name, [Epochs(collator)], max_steps=steps, **options, **more).train(
            resume_from_checkpoint=resume
        )
        return model.state_dict()

    whole = run("whole", 5)
    run("broken", 4, save_strategy="steps", save_steps=4)
    resumed = run("broken", 5, resume=str(tmp_path / "broken" / "checkpoint-4"))

    for key, tensor in whole.items():
        torch.testing.assert_close(resumed[key], tensor, atol=1e-6, rtol=0, msg=key)


def test_accelerate_trains_it_with_workers_as_a_plain_loop_would(collate, rows_of):
    from accelerate import Accelerator
    from torch.utils.data import DataLoader

    data = [{"input_ids": row} for row in rows_of(8, 40)]
    model = SpanBoundaryPretraining(bert_of())
    loader = DataLoader(data, batch_size=4, collate_fn=collate(pad_to_multiple_of=8), num_workers=2)
    accelerator = Accelerator(cpu=True)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.5), loader)

    losses = []
    for _ in range(6):
        for batch in loader:
            output = model(**batch)
            accelerator.backward(output.loss)
            optimizer.step()
            optimizer.zero_grad()
            losses.append(float(output.loss.detach()))

    assert len(losses) == 12 and sum(losses[-4:]) / 4 < losses[0] - 0.1
