"""Wait for what a test of the page needs: a condition that is asked again until it holds.

No test sleeps. ``LIMIT`` only ends the wait for something that never comes.
"""

import itertools

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver.support.wait import WebDriverWait

LIMIT = 180.0  # seconds; far more than a machine needs whose cores are all busy
ATTEMPTS = 3  # chromedriver itself waits a minute for Chromium in each of them
OPENINGS = itertools.count(1)

# Resolves when an element has kept its place for three frames. Cards outside the screen are
# laid out only when they come near it, so the page may move after a scroll.
SETTLED = """
const [element, done] = arguments;
element.scrollIntoView({block: "center", behavior: "instant"});
let last = "";
let kept = 0;
function look() {
  const box = element.getBoundingClientRect();
  const place = [box.x, box.y, box.width, box.height, scrollX, scrollY].join();
  kept = place === last ? kept + 1 : 0;
  last = place;
  if (kept >= 3) done(true); else requestAnimationFrame(look);
}
look();
"""

# Resolves when the sprites behind all tiles of an element are decoded and two frames were drawn.
DECODED = """
const [element, done] = arguments;
const tiles = [...element.querySelectorAll(".tile")];
const links = new Set(tiles.map(tile => getComputedStyle(tile).backgroundImage.slice(5, -2)));
const sprites = [...links].map(link => Object.assign(new Image(), {src: link}).decode());
Promise.all(sprites).then(
  () => requestAnimationFrame(() => requestAnimationFrame(() => done(links.size))),
  error => done(`a sprite cannot be decoded: ${error}`),
);
"""


def until(browser, condition, what):
    """Ask until ``condition(browser)`` is true and return its value; ``what`` names it."""
    wait = WebDriverWait(browser, LIMIT, ignored_exceptions=[StaleElementReferenceException])
    return wait.until(condition, f"waited {LIMIT:.0f} s for {what}")


def start(options, driver_path):
    """Start the browser; on a busy machine chromedriver may give up on it before it answers."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            service = webdriver.ChromeService(driver_path)
            browser = webdriver.Chrome(options=options, service=service)
            break
        except WebDriverException:
            if attempt == ATTEMPTS:
                raise
    browser.set_page_load_timeout(LIMIT)
    browser.set_script_timeout(LIMIT)
    return browser


def open_page(browser, uri):
    """Open a page and wait until its script is through.

    The address is new every time, so that an earlier copy of the page is not taken for this one.
    """
    address = f"{uri}?opening={next(OPENINGS)}"
    browser.get(address)
    script = (
        "return location.href === arguments[0] && document.readyState === 'complete'"
        " && document.documentElement.dataset.ready === 'true'"
    )
    until(browser, lambda b: b.execute_script(script, address), "the page to be built")
    until(browser, averages_drawn, "the average pictures to be decoded")


def averages_drawn(browser):
    """Whether every <img> of the page is there."""
    return browser.execute_script(
        "return [...document.images].every(image => image.complete && image.naturalWidth > 0)"
    )


def settle(browser, element):
    """Scroll an element into view and wait until it stays where it is."""
    assert browser.execute_async_script(SETTLED, element)


def decode(browser, element):
    """Wait until the tiles of an element can be drawn."""
    found = browser.execute_async_script(DECODED, element)
    assert isinstance(found, int), found
    assert found > 0
