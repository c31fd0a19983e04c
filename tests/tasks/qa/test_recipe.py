"""The paper's values."""

from spanwise.tasks.qa.recipe import question_answering


def test_the_recipe_is_the_papers():
    recipe = question_answering()
    training, task = recipe.training, recipe.task
    assert (training.learning_rate, training.num_epochs, training.warmup_steps) == (2e-5, 4, 0.1)
    assert (training.schedule, training.weight_decay, recipe.batch_size) == ("linear", 0.01, 32)
    assert (task.doc_stride, task.max_question_tokens, task.max_answer_tokens, task.num_best) == (128, 64, 30, 20)
