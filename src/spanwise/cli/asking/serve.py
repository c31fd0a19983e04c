"""`spanwise serve`: fine-tuned models behind an address, for programs and for people."""

import importlib.util
import os
import sys
import threading
import webbrowser
from typing import Annotated, Literal

from cyclopts import Parameter

from spanwise.cli.console import say
from spanwise.cli.options.ranges import Count, Port, Seconds
from spanwise.errors import ConfigError

SCREENS = ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")  # one of these is set where a browser has somewhere to appear


def serve(
    *model: str,
    host: str = "127.0.0.1",
    port: Port = 8000,
    api_key: Annotated[str | None, Parameter(env_var="SPANWISE_API_KEY")] = None,
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto",
    device: str | None = None,
    pack_tokens: Count = 1056,
    waiting: Count = 256,
    deadline: Seconds = 30.0,
    open: bool = False,
) -> None:
    """Serve fine-tuned models: a page that answers, and an address for programs. Stop it with Ctrl-C.

    Needs the extra: pip install 'spanwise[serve]'.

    Parameters
    ----------
    model
        Folders of fine-tuned or combined models, or hub ids. Default: spanwise-mini, which ships.
    host
        Address to listen at. Default: this machine alone can ask.
    port
        Port to listen at; 0 takes a free one.
    api_key
        Key that programs must send (Authorization: Bearer KEY). Better in the variable SPANWISE_API_KEY, which other
        users of the machine don't see.
    precision
        Precision of the computation; auto is bf16 where the machine has it. int8 makes bytes of the layers' weights.
    device
        cpu, cuda or cuda:1. Default: a GPU where there is one.
    pack_tokens
        Tokens of every forward. Larger packs answer more requests a second, and each of them later.
    waiting
        Inputs that may wait; further ones are told to come again.
    deadline
        Seconds that a client waits for its answer at most.
    open
        Open the page in a browser.
    """
    serve_models(
        model or ("spanwise-mini",),
        host=host,
        port=port,
        api_key=api_key,
        precision=precision,
        device=device,
        pack_tokens=pack_tokens,
        waiting=waiting,
        deadline=deadline,
        browser=open,
    )


def serve_models(
    models: tuple[str, ...],
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    api_key: str | None = None,
    precision: Literal["auto", "fp32", "bf16", "int8"] = "auto",
    device: str | None = None,
    pack_tokens: int = 1056,
    waiting: int = 256,
    deadline: float = 30.0,
    browser: bool = False,
    start_text: str | None = None,
) -> None:
    """Open the models, listen, and serve until asked to stop. start_text: what the page shows first."""
    check_installed()
    from spanwise.runtime.device import choose_device
    from spanwise.serving.app import make_app
    from spanwise.serving.guard import LOOPBACK
    from spanwise.serving.limits import Limits
    from spanwise.serving.models import open_models
    from spanwise.serving.server import listen, run
    from spanwise.serving.workers import answerers_for

    api_key = None if api_key is None else _checked_key(api_key)
    # One request never has more inputs than may wait: it would be told to come again for ever.
    limits = Limits(waiting=waiting, deadline=deadline, inputs=min(Limits.inputs, waiting))
    at = listen(host, port)  # before the models are read: a port that is taken shows at once
    address = f"http://{f'[{host}]' if ':' in host else host}:{at.getsockname()[1]}"
    opened = open_models(models, precision, device, pack_tokens)
    is_local = host in LOOPBACK
    for name, model in opened.items():
        say(f"{name}: {', '.join(model.pipelines)}")
    if not is_local and api_key is None:
        say("Everybody who reaches this machine can ask; --api-key asks for a key.")

    def started() -> None:
        say(f"Serving at {address} (stop with Ctrl-C)")
        if browser:  # in a thread that nobody waits for: a browser may return only when it is closed
            threading.Thread(target=_open_page, args=(address,), daemon=True).start()

    of_all = [pipeline for model in opened.values() for pipeline in model.all_pipelines()]
    with answerers_for(choose_device(device, precision).type, of_all, at) as answerers:
        app = make_app(
            opened,
            limits=limits,
            api_key=api_key,
            hosts=LOOPBACK if is_local else None,
            start_text=start_text,
            answerers=answerers,
        )
        run(app, at, limits, started)


def _checked_key(key: str) -> str:
    """Return a key without the white space around it, as a file or a shell may have added. Raises: ConfigError for one
    that no header of HTTP can carry."""
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable():
        what = "is empty" if not key else "holds a character that is no printable ASCII"
        raise ConfigError(
            f"the key of --api-key (or of the variable SPANWISE_API_KEY) {what}; give letters and digits, or leave it "
            "out to ask for no key."
        )
    return key


def _open_page(address: str) -> None:
    """Open a page, or say that there is no screen; browsers inside a terminal would take it over and don't count."""
    has_screen = sys.platform in ("darwin", "win32") or any(map(os.environ.get, SCREENS))
    try:
        is_open = has_screen and webbrowser.open(address)
    except (OSError, webbrowser.Error):
        is_open = False
    if not is_open:
        say(f"There is no browser to open here; {address} is the page.")


def check_installed() -> None:
    """Raises: ConfigError where the packages that serving needs are not installed."""
    for name in ("fastapi", "uvicorn", "httptools"):
        if importlib.util.find_spec(name) is None:
            raise ConfigError(f"serving needs {name}, which is not installed: pip install 'spanwise[serve]'.")
