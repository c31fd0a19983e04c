"""Streams never change between releases, and draws are what their laws say."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from spanwise.runtime.seed import (
    below,
    child_key,
    derive_key,
    high_product,
    keys_for,
    mix,
    seed_device,
    signed,
    token_keys,
    uniform,
    uniforms,
)

# seed, purpose, counters, key
KEYS = [
    (0, "masking", (), 0x65BA4A0C1E8464E7),
    (0, "masking", (0,), 0x62D277F1887B379A),
    (0, "masking", (0, 0), 0x6847445A360C6155),
    (0, "masking", (0, 1), 0xD99BF7B202B47E4D),
    (0, "masking", (1, 0), 0xF79D1009EA61B436),
    (1, "masking", (0, 0), 0xB7D27695C5C3699C),
    (-1, "masking", (0, 0), 0x5CEFCECEDB437890),
    (0, "replacement", (0, 0), 0xA1801D50ACA31F67),
    (42, "order", (7,), 0x09AFB96B10A245CD),
    (42, "dropout", (1000, 3), 0x0DFA92F2867B1227),
    (9223372036854775808, "maßnahme 가", (5,), 0xF0FEE6C11DD1C626),
    (123456789, "", (), 0x92735E306C5AB63B),
    (18446744073709551615, "masking", (1099511627776, 8589934592), 0x917A9168EF0F577A),
]
# key, counter, the 64 bits, n, the integer below n
DRAWS = [
    (0x0000000000000000, 0, 0xE220A8397B1DCDAF, 1, 0),
    (0x0000000000000000, 1, 0x6E789E6AA1B965F4, 2, 0),
    (0x0000000000000000, 2, 0x06C45D188009454F, 7, 0),
    (0x0000000000000000, 511, 0x4980AF326A4B65D8, 1, 0),
    (0x0000000000000000, 4294967296, 0x46093CF9861EC2E4, 30522, 8350),
    (0x0000000000000000, 9223372036854775807, 0x25C26EA579CEA98A, 1, 0),
    (0x0000000000000000, -1, 0x0000000000000000, 4611686018427387904, 0),
    (0x0000000000000001, 0, 0x910A2DEC89025CC1, 2, 1),
    (0x0000000000000001, 1, 0xBEEB8DA1658EEC67, 7, 5),
    (0x0000000000000001, 2, 0xF893A2EEFB32555E, 510, 495),
    (0x0000000000000001, 511, 0x619B42A21ECC04B3, 2, 0),
    (0x0000000000000001, 4294967296, 0x16C3E976BF22DC37, 2147483659, 190969020),
    (0x0000000000000001, 9223372036854775807, 0x22CB06B07578BBFE, 2, 0),
    (0x0000000000000001, -1, 0x5692161D100B05E5, 1, 0),
    (0xFFFFFFFFFFFFFFFF, 0, 0xE4D971771B652C20, 7, 6),
    (0xFFFFFFFFFFFFFFFF, 1, 0xE99FF867DBF682C9, 510, 465),
    (0xFFFFFFFFFFFFFFFF, 2, 0x382FF84CB27281E9, 30522, 6699),
    (0xFFFFFFFFFFFFFFFF, 511, 0x4A3B4C96B4EB3F84, 7, 2),
    (0xFFFFFFFFFFFFFFFF, 4294967296, 0xC5AA1D1D7E827744, 4611686018427387904, 3560807196006587857),
    (0xFFFFFFFFFFFFFFFF, 9223372036854775807, 0x5A682AFE7965DEBD, 7, 2),
    (0xFFFFFFFFFFFFFFFF, -1, 0xB4D055FCF2CBBD7B, 2, 1),
    (0x65BA4A0C1E8464E7, 0, 0xCD4322EAEA204612, 510, 408),
    (0x65BA4A0C1E8464E7, 1, 0x98CA71F363D71412, 30522, 18216),
    (0x65BA4A0C1E8464E7, 2, 0x1AF98E7C232E35E6, 2147483659, 226281279),
    (0x65BA4A0C1E8464E7, 511, 0xFEDCB5D35CE7DD88, 510, 507),
    (0x65BA4A0C1E8464E7, 4294967296, 0x038C126FD2433293, 1, 0),
    (0x65BA4A0C1E8464E7, 9223372036854775807, 0x8E30C80EC93456D8, 510, 283),
    (0x65BA4A0C1E8464E7, -1, 0x90235CD987D84236, 7, 3),
    (0x62D277F1887B379A, 0, 0xA8CB977972AA60A2, 30522, 20124),
    (0x62D277F1887B379A, 1, 0xF392EAD6DC7FE836, 2147483659, 2043245941),
    (0x62D277F1887B379A, 2, 0xCA43023C205661A5, 4611686018427387904, 3643623819091220585),
    (0x62D277F1887B379A, 511, 0xC39A0036B58A64A7, 30522, 23320),
    (0x62D277F1887B379A, 4294967296, 0x0329A72D56067152, 2, 0),
    (0x62D277F1887B379A, 9223372036854775807, 0x48260E0889B312BD, 30522, 8602),
    (0x62D277F1887B379A, -1, 0x56316A497B2C4CFE, 510, 171),
    (0x6847445A360C6155, 0, 0x88423DBB8923F42A, 2147483659, 1143021283),
    (0x6847445A360C6155, 1, 0x647A74B64F228E4E, 4611686018427387904, 1810056919328007059),
    (0x6847445A360C6155, 2, 0x85D5DED1BC0F4CD1, 1, 0),
    (0x6847445A360C6155, 511, 0x1AEDE6752D0E2B3B, 2147483659, 225899323),
    (0x6847445A360C6155, 4294967296, 0x23142C70B2C33157, 7, 0),
    (0x6847445A360C6155, 9223372036854775807, 0xF537CA27742BD3BE, 2147483659, 2057037086),
    (0x6847445A360C6155, -1, 0x33A04BE0B3538372, 30522, 6155),
    (0xD99BF7B202B47E4D, 0, 0x15949B34FB7C9572, 4611686018427387904, 388759605802378588),
    (0xD99BF7B202B47E4D, 1, 0x8EA969929ACD8941, 1, 0),
    (0xD99BF7B202B47E4D, 2, 0x7D72353C95978C13, 2, 0),
    (0xD99BF7B202B47E4D, 511, 0x6DEF3DFD02E0921F, 4611686018427387904, 1980404606613070983),
    (0xD99BF7B202B47E4D, 4294967296, 0xCFB55357996EDD93, 510, 413),
    (0xD99BF7B202B47E4D, 9223372036854775807, 0x77BA9E3A905F16B6, 4611686018427387904, 2156845502637262253),
    (0xD99BF7B202B47E4D, -1, 0x63ED38B47C39276B, 2147483659, 838245470),
]


def reference_mix(key: int, counter: int) -> int:
    """splitmix64 with Python's integers."""
    mask = (1 << 64) - 1
    z = (key + (counter + 1) * 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


@pytest.mark.parametrize(("seed", "purpose", "counters", "key"), KEYS)
def test_keys_never_change(seed, purpose, counters, key):
    assert derive_key(seed, purpose, *counters) == key


@pytest.mark.parametrize(("key", "counter", "bits", "n", "number"), DRAWS)
def test_draws_never_change(key, counter, bits, n, number):
    assert int(mix(np.uint64(key), counter)) == bits == reference_mix(key, counter)
    assert below(np.uint64(key), counter, n) == number == (bits * n) >> 64
    assert uniform(np.uint64(key), counter) == (bits >> 11) * 2.0**-53


def test_the_stream_of_key_0_is_the_published_splitmix64():
    # first outputs of the reference program of Vigna (splitmix64.c) from state 1234567
    published = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]

    assert [int(mix(np.uint64(1234567), counter)) for counter in range(4)] == published


def test_a_sequence_has_the_key_of_its_block_whatever_its_batch_mates():
    together = keys_for(5, "masking", 2, np.array([9, 0, 77]))
    alone = keys_for(5, "masking", 2, np.array([77]))

    assert together.dtype == np.uint64
    assert [int(key) for key in together] == [derive_key(5, "masking", 2, block) for block in (9, 0, 77)]
    assert together[2] == alone[0]


def test_a_child_key_is_not_a_number_of_its_parent():
    key = np.uint64(derive_key(0, "masking"))

    assert not {int(mix(key, c)) for c in range(100)} & {int(child_key(key, c)) for c in range(100)}


def test_the_upper_half_of_a_product_is_exact():
    key = np.uint64(9)
    for counter in range(200):
        a, b = int(mix(key, counter)), int(mix(key, counter + 1000)) >> (counter % 64)
        assert int(high_product(np.uint64(a), np.uint64(b))) == (a * b) >> 64


def test_many_numbers_at_once_are_the_same_numbers():
    key = derive_key(1, "init")

    np.testing.assert_array_equal(uniforms(key, 5, first=3), [uniform(np.uint64(key), c) for c in range(3, 8)])


def test_numbers_are_uniform_over_counters_and_over_keys():
    over_counters = uniforms(derive_key(3, "test"), 1_000_000)
    over_keys = (keys_for(3, "test", 0, np.arange(1_000_000)) >> np.uint64(11)) * 2.0**-53

    for numbers in (over_counters, over_keys):
        bins = np.histogram(numbers, bins=64, range=(0, 1))[0]
        assert np.abs(bins - 1e6 / 64).max() < 4.5 * np.sqrt(1e6 / 64)
        assert abs(np.corrcoef(numbers[:-1], numbers[1:])[0, 1]) < 0.005


def test_a_token_has_a_key_of_its_sequence_and_its_place_there():
    keys = np.array([5, 2**64 - 1, 5], dtype=np.uint64)
    found = token_keys(keys, np.array([0, 3, 4, 6]))
    assert found.dtype == np.int64 and found[:2].tolist() == found[4:].tolist() and len(set(found.tolist())) == 4
    assert found.tolist() == [
        signed(int(mix(key, place))) for key, place in zip(keys[[0, 0, 0, 1, 2, 2]], (0, 1, 2, 0, 0, 1), strict=True)
    ]


def test_a_key_has_the_same_bits_with_a_sign():
    assert [signed(key) for key in (0, 2**63 - 1, 2**63, 2**64 - 1)] == [0, 2**63 - 1, -(2**63), -1]


def test_torchs_generator_is_reseeded_by_step_and_pack():
    def draw(*counters: int) -> torch.Tensor:
        seed_device(1, "pack", *counters)
        return torch.rand(4)

    assert torch.equal(draw(10, 0), draw(10, 0))
    assert not torch.equal(draw(10, 0), draw(10, 1))
    assert not torch.equal(draw(10, 0), draw(11, 0))
