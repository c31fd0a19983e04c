"""The page in Debian's Chromium: what a person does with mouse, keyboard, files, phone and two languages."""

import pytest

from spanwise.serving.models import ServedModel, open_models

from .chromium import NAMES, Chromium, find_chromium
from .conftest import serving

pytestmark = pytest.mark.slow
ANSWER = "document.querySelector('#result .answer')?.innerText"


@pytest.fixture(scope="module")
def address():
    with serving(open_models(["spanwise-mini", "spanwise-nano-ko"], "fp32")) as running:
        yield running.address


@pytest.fixture
def page(address):
    with Chromium() as browser:
        browser.open(address)
        yield browser
        assert not browser.errors
        assert all(url.startswith((address, "data:")) for url in browser.requests)


def test_a_browser_that_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(RuntimeError, match="apt-get install -y chromium"):
        find_chromium()
    assert NAMES


def test_a_question_by_keyboard_lights_up_its_answer_in_place(page):
    page.js("document.getElementById('text').select()")
    page.click("#text")
    page.js("document.getElementById('text').select()")
    page.type("😀 The bridge was built in 1890 by the city of Boston.")
    page.js("document.getElementById('question').value = ''")
    page.click("#question")
    page.type("When was the bridge built?")
    page.key("Enter")
    page.wait("document.querySelector('#view mark')")
    lit = page.js("document.querySelector('#view mark.best')?.innerText ?? null")
    said = page.js(ANSWER)
    assert lit is None or lit in said  # a text may have no answer; then nothing is lit as the best
    assert page.js("document.getElementById('view').innerText").startswith("😀 The bridge was built")


def test_files_that_are_dropped_are_searched_together(page, tmp_path):
    for name, text in (
        ("rain.txt", "It rained all day in Scotland."),
        ("ada.txt", "Ada Smith was born in 1861 in Paris."),
    ):
        (tmp_path / name).write_text(text)
    page.drop("#paper", tmp_path / "rain.txt", tmp_path / "ada.txt")
    page.wait("document.querySelectorAll('#documents button').length === 2")
    page.js("document.getElementById('question').value = 'When was Ada Smith born?'")
    page.click("#ask button")
    page.wait("document.querySelector('#result .passage')")
    assert "ada.txt" in page.js("document.querySelector('#result').innerText")


def test_a_file_that_is_no_text_is_named_and_left_out(page, tmp_path):
    (tmp_path / "ada.txt").write_text("Ada Smith was born in Paris.")
    (tmp_path / "scan.pdf").write_bytes(b"%PDF-1.7\n\x00\xff\xfe")
    page.drop("#paper", tmp_path / "scan.pdf", tmp_path / "ada.txt")
    page.wait("document.getElementById('status').innerText.includes('scan.pdf')")
    assert page.js("document.getElementById('text').value") == "Ada Smith was born in Paris."


def test_no_answer_stands_beside_the_alternatives_and_a_typed_text_outlives_the_language(page):
    page.js("setDocuments([{name: 'a', text: 'The bridge was built in 1890.'}])")
    page.js("document.getElementById('question').value = 'When was the bridge built?'")
    page.click("#ask button")
    page.wait("document.querySelectorAll('#result .rows li').length > 1")
    assert "no answer" in page.js("document.getElementById('result').innerText").lower()
    page.click("#language")
    assert page.js("document.getElementById('text').value") == "The bridge was built in 1890."


def test_pointing_at_a_mention_shows_its_chain(page):
    page.click("[data-task=coreference]")
    page.click("#run")
    page.wait("document.querySelector('#view .tone')")
    page.hover("#view .tone")
    group = page.js("document.querySelector('#view .tone').dataset.group")
    shown = page.js("[...document.querySelectorAll('#view .tone.on')].map(e => e.dataset.group)")
    assert len(shown) > 1 and set(shown) == {group}


def test_hidden_words_are_filled_from_context_and_borders(page):
    page.click('[data-task="fill-mask"]')
    page.click(".word:nth-of-type(2)")
    page.click("#run")
    page.wait("document.querySelectorAll('#result .guesses > div').length === 2")
    assert page.js("document.querySelector('.word.filled') !== null")


def test_a_page_says_what_a_model_has_no_place_for_and_how_often_it_guesses(related, mini):
    one = mini["spanwise-mini"]
    heads = {"mlm": one.heads["mlm"]}
    relate = {"relation-extraction": related["both"].pipelines["relation-extraction"]}
    models = {
        "fill": ServedModel(name="fill", pipelines={"fill-mask": heads["mlm"]}, heads=heads),
        "relate": ServedModel(name="relate", pipelines=relate),
    }
    hint = "(document.getElementById('hint')?.innerText ?? '')"  # empty until the page is there
    with serving(models) as running, Chromium() as browser:
        browser.send("Page.navigate", url=running.address)
        browser.wait(f"{hint}.includes('guesses them from all the context')")
        browser.js("document.getElementById('model').value = 'relate'")
        browser.js("document.getElementById('model').dispatchEvent(new Event('change'))")
        browser.wait(f"{hint}.includes('no place on this page')")
        assert browser.js("document.getElementById('run').hidden && document.getElementById('ask').hidden")
        assert not browser.errors


def test_tabs_move_with_arrows_and_names_have_their_kind(page):
    page.js("document.querySelector('[data-task=coreference]').focus()")
    page.key("ArrowRight")
    assert page.js("document.querySelector('[aria-selected=true]').dataset.task") == "token-classification"
    page.key("Enter", modifiers=2)
    page.wait("document.querySelector('#view .tone sup')")
    assert "PER" in page.js("document.getElementById('view').innerText")


def test_a_phone_has_one_column_without_sideways_scrolling(page):
    page.shape(360, 740, is_phone=True)
    for task in ("question-answering", "coreference", "fill-mask"):
        page.click(f'[data-task="{task}"]')
        assert page.js("document.documentElement.scrollWidth") <= 360


def test_dark_follows_the_system_and_the_button(page):
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.js(ground)
    page.dark(True)
    page.wait(f"{ground} !== {light!r}")
    page.click("#theme")
    page.wait(f"{ground} === {light!r}")


def test_korean_words_and_a_korean_answer(page):
    page.click("#language")
    assert page.js("document.querySelector('#ask button').innerText") == "질문"
    assert page.js("document.getElementById('model').value") == "spanwise-nano-ko"  # with its example
    page.click("#ask button")
    assert "1997년" in page.wait(ANSWER)


def test_a_writer_goes_on_where_the_text_ends(writer):
    with serving(writer) as running, Chromium() as browser:
        browser.open(running.address)
        browser.js("setDocuments([{name: 'a', text: '😀 The old river'}])")
        browser.click("#run")
        written = browser.wait("document.querySelector('#view mark.best')?.innerText")
        assert browser.js("document.getElementById('view').innerText").startswith("😀 The old river") and written


def test_names_and_their_relations_are_drawn(related):
    with serving(related) as running, Chromium() as browser:
        browser.open(running.address)
        browser.js("setDocuments([{name: 'a', text: 'Bob Dylan met Ada Lovelace in Paris.'}])")
        browser.click("#run")
        browser.wait("document.querySelectorAll('#result .rows li').length > 0")
        assert "→" in browser.js("document.getElementById('result').innerText")
