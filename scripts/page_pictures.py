"""Make the pictures of the served page that README and docs show: python scripts/page_pictures.py docs/images

Starts `spanwise serve` with the models that ship and drives Chromium as the tests of the page do. Debian has what this
needs: apt-get install -y chromium fonts-nanum
"""

import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.serving.chromium import Chromium

WIDE, PHONE = (1200, 640), (390, 760)
ANSWER = "document.querySelector('#result .answer')"
SERVE = ["serve", "spanwise-mini", "spanwise-nano-ko", "--precision", "fp32", "--port", "0"]


def ask(page: Chromium) -> None:
    page.js("document.getElementById('question').value = 'When did Marie move to Paris?'")
    page.click("#ask button")
    page.wait(ANSWER)


def ask_in_korean(page: Chromium) -> None:
    page.click("#language")
    page.click("#ask button")
    page.wait(ANSWER)


def who(page: Chromium) -> None:
    page.click("[data-task=coreference]")
    page.click("#run")
    page.wait("document.querySelector('#view .tone')")
    page.hover("#view .tone")


def names(page: Chromium) -> None:
    page.click("[data-task=token-classification]")
    page.click("#run")
    page.wait("document.querySelector('#view .tone sup')")


def hidden(page: Chromium) -> None:
    page.dark(True)
    page.click("[data-task=fill-mask]")
    for word in ("Paris", "school"):
        page.js(f"[...document.querySelectorAll('.word')].find(e => e.innerText === '{word}').click()")
    page.click("#run")
    page.wait("document.querySelectorAll('#result .guesses > div').length === 4")


PICTURES: dict[str, tuple[tuple[int, int], Callable[[Chromium], None]]] = {
    "serve-ask": (WIDE, ask),
    "serve-ask-ko": (WIDE, ask_in_korean),
    "serve-who": (WIDE, who),
    "serve-names": (WIDE, names),
    "serve-hidden": (WIDE, hidden),
    "serve-phone-ko": (PHONE, ask_in_korean),
}


def main() -> None:
    out = Path(sys.argv[1])
    with subprocess.Popen([sys.executable, "-m", "spanwise", *SERVE], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = next(found[0] for line in server.stdout if (found := re.search(r"http://[\d.:]+", line)))
            for name, ((width, height), act) in PICTURES.items():
                with Chromium(width=width, height=height) as page:
                    page.shape(width, height, is_phone=width < height)
                    page.open(address)
                    act(page)
                    time.sleep(1.0)  # until what lights up is lit
                    page.screenshot(out / f"{name}.png")
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
