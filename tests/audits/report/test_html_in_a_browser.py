"""The HTML report as a browser sees it: everything is there, nothing is fetched, nothing is complained about."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path

import pytest

from audits.games.executors import executor
from audits.gate.claim_file import read_claim_file
from audits.gate.report import GateReport
from audits.gate.run import GateOptions, run_gate
from audits.report import RENDERERS
from audits.report.text import headline
from tests.audits.gate.test_gate import claim_file, zoo

pytestmark = pytest.mark.slow  # a gate, and a browser for every test
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--enable-logging=stderr",
    # no name can be resolved, so that nothing leaves the machine, whatever a browser does on its own account
    "--host-resolver-rules=MAP * ~NOTFOUND",
)
# what the page's own console says goes to stderr as `[...:INFO:CONSOLE(line)] "text", source: ...`
_CONSOLE = re.compile(r"^.*:CONSOLE[:(].*$", re.MULTILINE)


def opened(page: Path, scratch: Path, *more: str) -> tuple[str, list[str], set[str]]:
    """Return the DOM after loading, the console's lines, and the addresses that the page asked for."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    log = scratch / "net.json"
    command = [chromium, *_FLAGS, *more, f"--user-data-dir={scratch / 'profile'}", f"--log-net-log={log}", "--dump-dom"]
    done = subprocess.run([*command, page.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout, _CONSOLE.findall(done.stderr), _asked_by_the_page(json.loads(log.read_text(encoding="utf-8")))


_MEASURE = """<!doctype html><p id=o></p>
<iframe id=f style="border:0;width:{width}px;height:900px" src="{page}"></iframe>
<script>f.onload=()=>{{const d=f.contentDocument,w=f.clientWidth,cut=[];
for(const e of d.querySelectorAll("body *")){{const r=e.getBoundingClientRect();
if(r.width&&(r.right>w+1||r.left<-1))cut.push(e.tagName);
if(e.tagName=="text"){{const s=e.ownerSVGElement.getBoundingClientRect();
if(r.left<s.left-1||r.right>s.right+1||r.top<s.top-1||r.bottom>s.bottom+1)cut.push("text "+e.textContent)}}}}
const walk=d.createTreeWalker(d.body,NodeFilter.SHOW_TEXT);
while(walk.nextNode()){{const t=walk.currentNode;if(!t.parentElement.closest("td,th"))continue;
for(const m of t.data.matchAll(/[A-Za-z]{{2,24}}/g)){{const r=d.createRange();
r.setStart(t,m.index);r.setEnd(t,m.index+m[0].length);
if(new Set([...r.getClientRects()].map(b=>b.top)).size>1&&!/[0-9a-f]{{64}}/.test(t.data))cut.push("word "+m[0])}}}}
o.textContent="scroll "+d.documentElement.scrollWidth+" inner "+f.contentWindow.innerWidth+" cut "+cut}}</script>
"""


def measured(page: Path, scratch: Path, width: int) -> tuple[int, int, str]:
    """Return the page's scroll width and inner width in a window of this width, and what sticks out of it or is cut.

    A word of a table's cell that stands on two lines is cut; digests are no words.
    """
    frame = scratch / f"frame-{width}.html"
    frame.write_text(_MEASURE.format(width=width, page=page.as_uri()), encoding="utf-8")
    more = ("--allow-file-access-from-files", "--window-size=1400,1000", "--virtual-time-budget=5000")
    dom, _, _ = opened(frame, scratch, *more)
    found = re.search(r"scroll (\d+) inner (\d+) cut ([^<]*)", dom)
    assert found is not None, dom[-500:]
    return int(found[1]), int(found[2]), found[3]


def _asked_by_the_page(log: dict[str, list[dict[str, dict[str, object]]]]) -> set[str]:
    """What was asked for on behalf of the file; what a browser asks for itself has another isolation key, or none."""
    requests = [event["params"] for event in log["events"] if "params" in event]
    return {str(r["url"]) for r in requests if str(r.get("network_isolation_key", "")).startswith("file:")}


class _Seen(HTMLParser):
    """The text of the page, of its heading and of its cells, and how many plots it draws."""

    def __init__(self, dom: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.heading = ""
        self.plots = 0
        self.lines = 0
        self._inside: list[str] = []
        self.feed(dom)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("meta", "br"):
            return
        self._inside.append(tag)
        self.plots += tag == "svg"
        self.lines += tag in ("polyline", "circle", "path", "rect") and "svg" in self._inside
        if tag == "td":
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside.pop()

    def handle_data(self, data: str) -> None:
        if "h1" in self._inside:
            self.heading += data
        if "td" in self._inside:
            self.cells[-1] += data


@pytest.fixture(scope="module")
def refuted(tmp_path_factory: pytest.TempPathFactory) -> GateReport:
    folder = tmp_path_factory.mktemp("claim")
    claims = read_claim_file(claim_file(folder, zoo("variance-as-deviation")))
    with executor(1) as pool:
        return run_gate(claims, pool, GateOptions(1, ("price", "games"), source=folder / "claim.toml"))


def test_a_browser_shows_verdict_findings_and_plots_and_asks_nobody(refuted: GateReport, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(RENDERERS["html"](refuted), encoding="utf-8")
    dom, console, asked = opened(page, tmp_path)
    seen = _Seen(dom)
    assert "refuted" in headline(refuted)
    assert seen.heading == f"Privacy gate: {headline(refuted)}"
    assert len(refuted.findings) >= 2
    for finding in refuted.findings:
        row = seen.cells.index(finding.name)
        assert seen.cells[row + 1] == finding.outcome.value
        assert finding.detail in seen.cells[row + 2]
        assert finding.reproduction in seen.cells[row + 2]
    assert seen.plots >= 3
    assert seen.lines >= seen.plots
    assert console == []
    assert asked == set()


def test_the_browser_test_would_see_a_fetch_and_a_complaint(refuted: GateReport, tmp_path: Path) -> None:
    """The same page with a picture from elsewhere: refused by the page's own policy, and without it, fetched."""
    picture = '<img src="http://elsewhere.invalid/a.png"></body>'
    page = tmp_path / "report.html"
    whole = RENDERERS["html"](refuted).replace("</body>", picture)
    page.write_text(whole, encoding="utf-8")
    _, console, asked = opened(page, tmp_path)
    assert any("Content Security Policy" in line for line in console)
    assert asked == set()
    page.write_text(re.sub(r"<meta http-equiv[^>]*>", "", whole), encoding="utf-8")
    _, console, asked = opened(page, tmp_path)
    assert asked == {"http://elsewhere.invalid/a.png"}


@pytest.mark.parametrize("width", [375, 672, 1200])  # 672: what A4 leaves between its margins
def test_nothing_sticks_out_of_the_window(refuted: GateReport, tmp_path: Path, width: int) -> None:
    page = tmp_path / "report.html"
    page.write_text(RENDERERS["html"](refuted), encoding="utf-8")
    scroll, inner, cut = measured(page, tmp_path, width)
    assert inner == width
    assert scroll <= inner
    assert cut == ""


def test_the_measure_would_see_a_cut_word(refuted: GateReport, tmp_path: Path) -> None:
    narrow = "<style>td{max-width:2rem;width:2rem;min-width:0 !important;display:block}</style></head>"
    page = tmp_path / "report.html"
    page.write_text(RENDERERS["html"](refuted).replace("</head>", narrow), encoding="utf-8")
    _, _, cut = measured(page, tmp_path, 1200)
    assert "word " in cut


def test_the_measure_would_see_what_sticks_out(refuted: GateReport, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(RENDERERS["html"](refuted).replace("<h1>", '<h1 style="width:900px">'), encoding="utf-8")
    scroll, inner, cut = measured(page, tmp_path, 375)
    assert scroll > inner
    assert "H1" in cut


def test_words_from_outside_stay_words(refuted: GateReport, tmp_path: Path) -> None:
    """What an adapter says becomes no tag, and is shown as it was said."""
    hostile = "</td><script>document.title='taken'</script><b onclick=x>"
    first = dataclasses.replace(refuted.findings[0], detail=hostile)
    page = tmp_path / "report.html"
    page.write_text(RENDERERS["html"](dataclasses.replace(refuted, findings=(first,))), encoding="utf-8")
    dom, console, _ = opened(page, tmp_path)
    assert "<script" not in dom
    assert "<title>taken" not in dom
    assert hostile in _Seen(dom).cells
    assert console == []
