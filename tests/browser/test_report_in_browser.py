"""The report in a real browser, from disk, with the network blocked."""

import io
import shutil

import numpy as np
import pytest
from PIL import Image
from selenium import webdriver
from selenium.webdriver.common.keys import Keys

import rankfold as rf
from browser.waiting import decode, open_page, settle, start, until
from rankfold import runs, storage
from rankfold.datasets import rendered_heads
from rankfold.report import write_report
from rankfold.report.figures import PLOTS

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
DRIVER = shutil.which("chromedriver")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND",
]

pytestmark = pytest.mark.skipif(
    not (CHROMIUM and DRIVER),
    reason="needs Chromium and chromedriver; on Debian: apt install chromium chromium-driver",
)
HOSTILE = "<img src=x onerror=alert(1)>.png"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """A report on twelve heads with hostile names."""
    heads = rendered_heads(12, occluded=0.3, seed=2)
    names = [HOSTILE, "</script><b>.png", *(f"head {k}.png" for k in range(2, 12))]
    stack = rf.Stack.of(heads.images, names=names)
    result = rf.align(stack, method="rasl", frame=heads.frame, init=heads.start)
    folder = tmp_path_factory.mktemp("report") / "run"
    with storage.whole_or_nothing(folder) as draft:
        config = {
            "title": "<i>twelve</i> & heads",
            "command": "rankfold align '<x>'",
            "seconds": 1.0,
        }
        runs.fill(draft, result, stack, None, config)
    return write_report(folder), result


@pytest.fixture(scope="module")
def browser():
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = start(options, DRIVER)
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    yield driver
    driver.quit()


@pytest.fixture(params=[1280, 400])
def opened(browser, page, request):
    """The page at two widths; no console error and no request may be left when a test ends."""
    size = {
        "width": request.param,
        "height": 900,
        "deviceScaleFactor": 1,
        "mobile": request.param < 500,
    }
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get_log("performance")
    open_page(browser, page[0].as_uri())
    yield browser
    assert browser.get_log("browser") == []
    asked = [
        entry["message"]
        for entry in browser.get_log("performance")
        if "requestWillBeSent" in entry["message"]
    ]
    assert not [message for message in asked if '"url":"http' in message]


def one(browser, selector):
    return browser.find_element("css selector", selector)


def cards(browser):
    return browser.find_elements("css selector", ".card")


def names(browser):
    return [
        card.find_element("css selector", ".name").get_attribute("textContent")
        for card in cards(browser)
    ]


def press(browser, *keys):
    webdriver.ActionChains(browser).send_keys(*keys).perform()


def until_open(browser, is_open=True):
    """Wait for the dialog to be on the screen, or to be gone."""
    state = "open" if is_open else "closed"
    until(
        browser, lambda b: one(b, "dialog").is_displayed() == is_open, f"the dialog to be {state}"
    )


def until_named(browser, name):
    """Wait for the dialog to show the picture ``name``."""
    until(browser, lambda b: one(b, "#large-name").text == name, f"the picture {name!r}")


def test_numbers_first_nothing_wider_than_the_screen_names_escaped(opened, page):
    assert one(opened, "h1").text == "<i>twelve</i> & heads"
    assert "converged" in one(opened, "#status").text or "stopped at" in one(opened, "#status").text
    facts = one(opened, ".facts").text
    assert "pictures\n12" in facts
    width = opened.execute_script(
        "return [document.documentElement.scrollWidth, window.innerWidth]"
    )
    assert width[0] <= width[1]
    assert HOSTILE in names(opened)
    assert "rankfold align '<x>'" in one(opened, "#command").text
    assert len(opened.find_elements("css selector", ".plots svg")) == len(PLOTS)


def test_worst_first_and_sorting(opened, page):
    lost = page[1].lost
    expected = [page[1].names[i] for i in np.argsort(-lost, kind="stable")]
    assert names(opened) == expected
    opened.execute_script(
        "const s = arguments[0]; s.value = 'index'; s.dispatchEvent(new Event('change'))",
        one(opened, "#sort"),
    )
    until(opened, lambda b: names(b) == list(page[1].names), "the order of the files")


def test_a_picture_opens_slides_and_shows_its_frame(opened):
    assert not one(opened, "dialog").is_displayed()
    first = cards(opened)[0]
    settle(opened, first)
    first.click()
    until_open(opened)
    before = one(opened, "#over").value_of_css_property("clip-path")
    slider = one(opened, "#slider")
    settle(opened, slider)
    slider.send_keys(Keys.ARROW_RIGHT * 10)
    until(opened, lambda _: slider.get_attribute("value") == "60", "the slider to stand at 60")
    until(
        opened,
        lambda b: one(b, "#over").value_of_css_property("clip-path") != before,
        "the picture to follow the slider",
    )
    corners = one(opened, "#outline").get_attribute("points").split()
    assert len(corners) == 4
    assert all(-0.5 < float(v) < 1.5 for corner in corners for v in corner.split(","))
    tile = one(opened, "#under").value_of_css_property("background-image")
    assert tile.startswith('url("blob:')
    close = one(opened, "#close")
    settle(opened, close)
    close.click()
    until_open(opened, False)


def test_the_keyboard_is_enough(opened):
    order = names(opened)
    third = cards(opened)[2]
    settle(opened, third)
    opened.execute_script("arguments[0].focus()", third)
    press(opened, Keys.ENTER)
    until_open(opened)
    until_named(opened, order[2])
    press(opened, Keys.ARROW_RIGHT)
    until_named(opened, order[3])
    press(opened, Keys.ARROW_LEFT)
    until_named(opened, order[2])
    for _ in range(12):  # past the last one and back
        press(opened, Keys.ARROW_RIGHT)
    until_named(opened, order[-1])
    press(opened, Keys.ARROW_LEFT)
    until_named(opened, order[-2])
    press(opened, Keys.ESCAPE)
    until_open(opened, False)
    until(
        opened,
        lambda b: b.execute_script("return document.activeElement.className").startswith("card"),
        "the focus to be back on a card",
    )


def test_pictures_are_really_drawn(opened):
    """A screenshot of one card has the contrast of a face, not of an empty box."""
    card = cards(opened)[-1]
    settle(opened, card)
    decode(opened, card)

    def contrast(_):
        shot = Image.open(io.BytesIO(card.screenshot_as_png)).convert("L")
        return np.asarray(shot, dtype=float)[10:80, 10:80].std()

    until(opened, lambda b: contrast(b) > 20, "a face on the last card")


def test_dark_takes_the_page_and_the_plots_along(opened):
    def brightness(selector, style):
        text = one(opened, selector).value_of_css_property(style)
        return sum(float(v) for v in text[text.index("(") + 1 : -1].split(",")[:3])

    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": dark})
    try:
        until(opened, lambda _: brightness("body", "background-color") < 150, "dark paper")
        until(opened, lambda _: brightness(".plots svg text", "fill") > 500, "bright ink")
    finally:
        opened.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
