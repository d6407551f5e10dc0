#include "properties/html/style.hpp"

namespace assay::html {

std::string_view style_sheet() {
  // Colours of classes h0 to h6 are steps of an error's size: h0 is inside of the enclosure.
  return R"css(
:root{color-scheme:light dark;--ground:#fff;--ink:#1b1f24;--soft:#59636e;--line:#d1d9e0;--box:#f6f8fa;--link:#0550ae;
--good:#1a7f37;--bad:#b3261e;--warn:#8a5300;--mark:#fff1c2;
--h0:#e6ebf1;--h1:#fde0a6;--h2:#fdb863;--h3:#f0803c;--h4:#d7301f;--h5:#990000;--h6:#3b0a45;--bar:#3572b0;--shared:#7b4fb3}
@media (prefers-color-scheme:dark){:root{--ground:#11151a;--ink:#e6edf3;--soft:#a2acb7;--line:#3a424c;--box:#1a2027;
--link:#79b8ff;--good:#57c469;--bad:#ff8a80;--warn:#e8b04a;--mark:#4a3c10;
--h0:#27303a;--h1:#5f4a1b;--h2:#96651f;--h3:#cf7a2c;--h4:#f2694a;--h5:#ff9d8a;--h6:#e6a8f5;--bar:#69a7e4;--shared:#b794f0}}
*{box-sizing:border-box}
html{font:16px/1.5 system-ui,sans-serif;background:var(--ground);color:var(--ink)}
body{margin:0 auto;max-width:68rem;padding:0 1rem 3rem}
a{color:var(--link)}
:focus-visible{outline:3px solid var(--link);outline-offset:2px}
.skip{position:absolute;left:-100rem}.skip:focus{left:1rem;top:.5rem;background:var(--ground);padding:.3rem .6rem}
header{border-bottom:1px solid var(--line);padding:1rem 0}
h1{font-size:1.7rem;line-height:1.25;margin:.2rem 0 .4rem;overflow-wrap:anywhere}
h2{font-size:1.3rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}
h3{font-size:1.1rem;margin:1.4rem 0 .4rem;overflow-wrap:anywhere}
h4{font-size:1rem;margin:1rem 0 .3rem}
p,li,dd{overflow-wrap:anywhere}
.verdict{display:inline-block;border-radius:.3rem;padding:.1rem .6rem;font-weight:700;border:2px solid}
.pass{color:var(--good)}.fail{color:var(--bad)}.open{color:var(--warn)}
.soft,figcaption,caption{color:var(--soft)}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin:.6rem 0}
pre{background:var(--box);border:1px solid var(--line);border-radius:.3rem;padding:.6rem;overflow-x:auto;margin:.4rem 0;
font:.85rem/1.45 ui-monospace,"DejaVu Sans Mono",monospace}
pre.command{white-space:pre-wrap;overflow-wrap:anywhere;border-left:4px solid var(--link)}
pre.wraps{white-space:pre-wrap;overflow-wrap:anywhere}
code{font-family:ui-monospace,"DejaVu Sans Mono",monospace}
mark{background:var(--mark);color:inherit;display:block}
article{border:1px solid var(--line);border-left:4px solid var(--bad);border-radius:.3rem;padding:.2rem 1rem 1rem;
margin:1rem 0}
.wide,.drawing{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-size:.9rem;margin:.5rem 0;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0}
th,td{padding:.2rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
thead th{background:var(--box)}tbody th{font-weight:400}
th.n,td.n{text-align:right;white-space:nowrap}
td.low{background:var(--mark)}
figure{margin:1rem 0}figcaption{margin-bottom:.3rem}
svg{display:block;max-width:none}
svg text{fill:var(--ink);font:12px system-ui,sans-serif}svg text.soft{fill:var(--soft)}
.h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}.h3{fill:var(--h3)}.h4{fill:var(--h4)}.h5{fill:var(--h5)}
.h6{fill:var(--h6)}.bar{fill:var(--bar)}.dead{fill:var(--box);stroke:var(--soft);stroke-dasharray:3 2}
.live{fill:var(--bar)}.shared{fill:var(--shared)}.tail{fill:var(--h0)}.frame{fill:none;stroke:var(--soft)}
.axis{stroke:var(--line)}.gap{stroke:var(--bad);stroke-width:2;stroke-dasharray:5 4}.spark{fill:none;stroke:var(--bar);stroke-width:2}
.first{fill:var(--bar)}.second{fill:var(--bad)}
.key{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;margin:.3rem 0}
.key svg{display:inline-block;vertical-align:-2px;margin-right:.3rem}
summary{cursor:pointer;padding:.2rem 0}
.charts{display:flex;flex-wrap:wrap;gap:0 2rem}.charts figure{max-width:24rem}
@media print{html{font-size:11pt;background:#fff;color:#000}nav,.skip,details:not([open]){display:none}
figure,pre,tr,article table{break-inside:avoid}h2,h3,h4,h5,caption,figcaption,p:has(+pre),p:has(+.wide){break-after:avoid}
.wide,.drawing{overflow:visible}pre{white-space:pre-wrap}a{color:inherit}}
@media (max-width:30rem){h1{font-size:1.35rem}article{padding:.2rem .6rem .6rem}table{font-size:.8rem}th,td{padding:.2rem .35rem}
th.n{white-space:normal}}
)css";
}

std::string_view style_hash() {
  return "sha256-RvwydtdGrhlToSbzAysThBZ5Ek4Hq8QqpIioYsEAp2s=";
}

}  // namespace assay::html
