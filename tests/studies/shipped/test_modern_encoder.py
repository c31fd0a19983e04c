from spanwise.pretraining.system import outline_model
from spanwise.studies.shipped.modern_encoder import modern_encoder
from spanwise.studies.study import arm_difference, check_study


def test_arms_have_as_many_weights_in_their_layers_and_differ_in_their_encoder_alone():
    study = modern_encoder()
    check_study(study)
    sizes = [
        sum(matrix.numel() for matrix in outline_model(recipe, 8_000).encoder.layers.parameters())
        for recipe in study.arms.values()
    ]
    assert abs(sizes[0] - sizes[1]) < 0.02 * sizes[0]
    assert study.seconds == 1_500 and next(iter(study.arms)) == "post-norm"
    changed = arm_difference(*study.arms.values())
    assert all(line[0].startswith(("encoder.", "initial.positions")) for line in changed)
