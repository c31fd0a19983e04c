import dataclasses

import numpy as np
import pytest

from spanwise.pretraining.packs import Hidden, Pack, Spans


@pytest.mark.parametrize("shape", [Pack, Spans, Hidden])
def test_shapes_are_frozen_so_no_part_edits_what_another_made(shape):
    fields = [field for field in dataclasses.fields(shape) if field.default is dataclasses.MISSING]
    value = shape(**{field.name: np.zeros(1) for field in fields})
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, fields[0].name, None)
