"""Small documents of both languages whose names, numbers and nouns come back."""

import pytest

ENGLISH = [
    "Clara Winter was born in Harlow in 1851. Clara Winter studied botany at the Royal Garden and "
    "wrote letters to many "
    "scientists of her time. The Royal Garden was founded in 1790 by Peter Hale and keeps 12,000 "
    "plants in its houses. "
    "In 1888, Clara Winter discovered the blue moss near Lake Orrin.",
    "The blue moss grows on wet stones, and Clara Winter described its spores in a long report to "
    "the Royal Garden. The "
    "report said that the moss was common near Lake Orrin before the dam was built. Peter Hale never saw the moss, "
    "because he died long before scientists studied it.",
    "Visitors to Harlow find the house of Clara Winter behind the old market. The house was sold in "
    "1888 after a fire, "
    "and the plants of its garden went to the Royal Garden. The blue moss is shown there among "
    "12,000 plants of other "
    "countries. Harlow holds a fair in spring.",
    "The dam at Lake Orrin was finished in 1790 by Peter Hale, who had bought the land from farmers. "
    "Fishing boats still "
    "cross Lake Orrin every morning, and the market of Harlow sells what they catch. The dam "
    "supplies water to Harlow "
    "and to many villages in the valley.",
]
KOREAN = [
    "김수연은 1901년에 강릉시에서 태어났다. 김수연은 왕립식물원에서 식물학을 "
    "공부하였고, 여러 학자와 편지를 주고받았다. "
    "왕립식물원은 1890년에 박한길이 세운 연구 기관이다. 김수연은 1925년에 오대산에서 푸른 이끼를 발견하였다.",
    "푸른 이끼는 오대산의 젖은 바위에서 자란다. 김수연은 푸른 이끼의 홀씨를 긴 보고서에 "
    "기록하였다. 보고서는 왕립식물원의 "
    "도서관에 있으며, 학자들은 1925년에 발견된 이끼를 지금도 연구한다. 박한길은 이끼를 보지 못하고 사망하였다.",
    "강릉시의 시장 뒤에는 김수연의 집이 있다. 이 집의 식물은 왕립식물원으로 옮겨졌다. "
    "왕립식물원의 온실에는 식물 300종이 "
    "전시되어 있다. 강릉시에서는 봄마다 축제가 열린다. 오대산의 이끼 300종을 소개하는 전시도 열린다.",
]


@pytest.fixture
def english() -> list[str]:
    return list(ENGLISH)


@pytest.fixture
def korean() -> list[str]:
    return list(KOREAN)


@pytest.fixture
def text(tmp_path):
    """A file of two documents."""
    path = tmp_path / "text.txt"
    path.write_text("\n".join(ENGLISH) + "\n\n" + "\n".join(line.replace("Clara", "Anna") for line in ENGLISH) + "\n")
    return path
