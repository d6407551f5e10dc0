"""Opens pages in a browser, as a reader does, and checks what only a browser knows.

check_pages.py BROWSER FOLDER NAME...: FOLDER/NAME.html, in light and dark, wide and 400 pixels narrow, and on paper.
Pictures go to FOLDER/NAME_light.png and so on. It exits with 1 if a page breaks a rule.
"""
import os
import sys
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser  # noqa: E402

VIEWS = {"light": (1100, "light"), "dark": (1100, "dark"), "narrow": (400, "light"), "narrow_dark": (400, "dark")}

# The worst contrast of text and its ground that a reader meets, by WCAG's formula; and where it is.
CONTRAST = """(() => {
  const parts = c => c.match(/[\\d.]+/g).map(Number);
  const light = c => { const [r, g, b] = parts(c).map(v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor, p = parts(c);
    if (p.length < 4 || p[3] > 0) return c; } return 'rgb(255, 255, 255)'; };
  let worst = [99, ''];
  for (const e of document.querySelectorAll('p,li,th,td,h1,h2,h3,h4,h5,pre,code,summary,a:not(.skip),caption,figcaption,svg text')) {
    const style = getComputedStyle(e), ink = e.closest('svg') ? style.fill : style.color;
    const pair = [light(ink), light(ground(e))].sort((a, b) => a - b), ratio = (pair[1] + .05) / (pair[0] + .05);
    if (ratio < worst[0]) worst = [ratio, e.outerHTML.slice(0, 120)];
  }
  return worst; })()"""

# Texts of pictures that leave the picture.
CUT = """[...document.querySelectorAll('svg text')].filter(t => { const s = t.ownerSVGElement;
  if (!s.getClientRects().length) return false; const b = t.getBBox();
  return b.x < -1 || b.x + b.width > s.viewBox.baseVal.width + 1 || b.y + b.height > s.viewBox.baseVal.height + 3;
  }).map(t => t.textContent)"""


def colours(png):
    """How much a picture shows: its bytes before compression that differ from their neighbours are many."""
    data, at = b"", 8
    while at < len(png):
        size, kind = int.from_bytes(png[at:at + 4], "big"), png[at + 4:at + 8]
        if kind == b"IDAT":
            data += png[at + 8:at + 8 + size]
        at += size + 12
    return len(set(zlib.decompress(data)))


def check(browser, folder, name):
    file, wrong = os.path.join(folder, name + ".html"), []
    for view, (width, scheme) in VIEWS.items():
        complaints, asked = browser.show(file, width=width, scheme=scheme)
        wrong += [view + ": the browser says: " + c for c in complaints]
        wrong += [view + ": it asks for " + url for url in asked if not url.endswith(name + ".html")]
        wide = browser.value("document.documentElement.scrollWidth")
        if wide > width:
            wrong.append("%s: the page is %d pixels wide" % (view, wide))
        if browser.picture(os.path.join(folder, "%s_%s.png" % (name, view)), whole=True) and \
                colours(browser.picture(os.path.join(folder, "%s_%s_top.png" % (name, view)))) < 20:
            wrong.append(view + ": the picture is empty")
        ratio, where = browser.value(CONTRAST)
        if ratio < 4.5:
            wrong.append("%s: the contrast is %.2f: %s" % (view, ratio, where))
        wrong += ["%s: a text leaves its picture: %s" % (view, t) for t in browser.value(CUT)]
    ground = browser.value("getComputedStyle(document.documentElement).backgroundColor")
    if ground == "rgb(255, 255, 255)":
        wrong.append("the dark page is white")
    wrong += keyboard(browser) + reader(browser)
    if len(browser.ask("Page.printToPDF")["data"]) < 1000:
        wrong.append("it does not print")
    return wrong


def keyboard(browser):
    """The first key leads past the navigation, and what has the focus shows it."""
    for kind in ("rawKeyDown", "keyUp"):
        browser.ask("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
    first = browser.value("document.activeElement.className")
    shown = browser.value("getComputedStyle(document.activeElement).outlineStyle")
    return ([] if first == "skip" else ["the first key reaches: %s" % first]) + \
        ([] if shown == "solid" else ["the focus is not shown"])


def reader(browser):
    """What a screen reader meets: names for all pictures and tables, one first heading, a main part."""
    nodes, wrong = browser.nodes(), []
    roles = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes]
    for role, word in roles:
        if role in ("image", "img", "table", "region", "link") and not word:
            wrong.append("a %s has no name" % role)
    if sum(1 for role, _ in roles if role == "main") != 1:
        wrong.append("there is no main part")
    if browser.value("document.querySelectorAll('h1').length") != 1:
        wrong.append("there is not one first heading")
    return wrong


def main():
    browser = Browser(sys.argv[1])
    failed = False
    try:
        for name in sys.argv[3:]:
            wrong = check(browser, sys.argv[2], name)
            print("%s.html: %s" % (name, "good" if not wrong else "; ".join(wrong)))
            failed = failed or bool(wrong)
    finally:
        browser.close()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
