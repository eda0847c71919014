"""The style sheet of the page: light and dark, wide and narrow, screen and paper."""

from __future__ import annotations

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--paper:#fff;--soft:#56606b;--line:#d9dee3;--card:#f6f8fa;--seen:#0b62c4;
--other:#8a4fbf;--claimed:#b3261e;--floor:#2e7d32;--good:#1b7f3b;--bad:#b3261e;--odd:#8a5a00}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--paper:#14181c;--soft:#a3adb8;--line:#333b43;--card:#1c2227;
--seen:#6cb2ff;--other:#cf9bff;--claimed:#ff8a80;--floor:#7fd08a;--good:#6fd08c;--bad:#ff8a80;--odd:#e9b949}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:64rem;margin:2rem auto;
padding:0 1rem;overflow-wrap:break-word}
h1{font-size:1.5rem;line-height:1.3}h2{font-size:1.2rem;margin:2.4rem 0 .6rem}h3{font-size:1rem;margin:1.4rem 0 .5rem}
.lead{font-size:1.06rem;border-left:.3rem solid var(--line);padding-left:1rem}
.lead.refuted,.lead.fault,.lead.adapter-failed{border-color:var(--bad)}.lead.stands{border-color:var(--good)}
.lead.inconclusive,.lead.deviates{border-color:var(--odd)}
table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.4rem .6rem;
border-bottom:1px solid var(--line)}td,code,pre,li,dd{overflow-wrap:anywhere}code,pre{font-size:.85em}
td:first-child{min-width:10rem}.detail{white-space:pre-line}
pre{white-space:pre-wrap;background:var(--card);border:1px solid var(--line);padding:.8rem;border-radius:.3rem}
b.stands{color:var(--good)}h1 .stands{color:var(--good)}.refuted,.fault,.adapter-failed,h1 .refuted{color:var(--bad)}
p.lead{color:var(--ink)}b.inconclusive,b.waived,b.deviates,b.skipped,h1 .inconclusive,h1 .deviates{color:var(--odd)}
.missing{color:var(--odd);font-weight:600}b[class]{white-space:nowrap}
.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(20rem,100%),1fr));gap:1.6rem}
@media print,(min-width:40.01rem){.statement td{width:40%}.statement td:first-child{width:20%}
.coverage td:nth-child(2){min-width:11rem}.coverage td:nth-child(3){min-width:7rem}}
figure{margin:0;min-width:0;max-width:34rem}td figure{margin:.8rem 0;max-width:30rem}
figcaption,.note{color:var(--soft);font-size:.88rem}svg{display:block;width:100%;height:auto}
svg text{font:12px system-ui,sans-serif;fill:var(--ink)}svg .tick{fill:var(--soft)}
.axis{stroke:var(--soft);fill:none}.grid{stroke:var(--line);fill:none}
polyline{fill:none;stroke-width:1.8}.seen{stroke:var(--seen)}.other{stroke:var(--other)}
.claimed{stroke:var(--claimed);stroke-dasharray:6 3}
.floor{stroke:var(--floor)}.band{stroke:var(--seen);stroke-dasharray:2 3}.dots{fill:var(--seen);stroke:none}
.legend{list-style:none;display:flex;flex-wrap:wrap;gap:.2rem 1rem;padding:0;margin:.2rem 0;font-size:.88rem}
.legend i{display:inline-block;width:1.6rem;height:0;border-top:2px solid;margin:0 .4rem .25rem 0}
.legend .dot{width:.5rem;height:.5rem;border:0;border-radius:50%;background:var(--seen);margin-bottom:.1rem}
.legend .seen{border-color:var(--seen)}.legend .claimed{border-color:var(--claimed);border-top-style:dashed}
.legend .other{border-color:var(--other)}.legend .floor{border-color:var(--floor)}
.legend .band{border-color:var(--seen);border-top-style:dotted}
abbr{text-decoration:none}abbr a{color:inherit;text-decoration:underline dotted;text-underline-offset:.2em}
dt{font-weight:600}dt:target,dt:target+dd{background:var(--card)}dd{margin:0 0 .6rem}summary{cursor:pointer}
@media(max-width:40rem){body{margin-top:1rem}table,tbody,tr,td{display:block;width:auto}thead{display:none}
tr{border-bottom:1px solid var(--line);padding:.5rem 0}td{border:0;padding:.1rem 0}td[data-name]::before{
content:attr(data-name) ": ";color:var(--soft);font-size:.85rem}td:first-child{font-weight:600}svg text{font-size:14px}}
@page{margin:16mm}
@media print{:root{color-scheme:light;--ink:#000;--paper:#fff;--soft:#444;--line:#bbb;--card:#fff;--seen:#0b62c4;
--other:#6b2fa0;--claimed:#b3261e;--floor:#2e7d32;--good:#14602c;--bad:#8f1d17;--odd:#6b4600}
body{max-width:none;margin:0;padding:0;font-size:10.5pt}abbr a{text-decoration:none}
figure,tr,dd{break-inside:avoid}h2,h3,dt{break-after:avoid}.plots{grid-template-columns:1fr 1fr}.folded{display:none}
td figure{max-width:16rem}tr:has(figure){break-inside:auto}figure h3{margin:.2rem 0}
.legend .dot{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
"""
