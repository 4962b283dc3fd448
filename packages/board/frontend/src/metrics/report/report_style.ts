/** The style sheet of a report; its colours are declared before it. */
export const REPORT_STYLE = `
*{box-sizing:border-box}
body{margin:0 auto;max-width:1320px;padding:24px 20px 48px;background:var(--ground);color:var(--text);font:14px/1.5 var(--font)}
h1{margin:0 0 8px;font-size:24px;line-height:1.25}
h2{margin:32px 0 10px;font-size:17px}
h3{margin:0 0 6px;font-size:14px}
h4{margin:10px 0 4px;font-size:13px}
h1,h2,h3,h4,dd,li,figcaption,.note{overflow-wrap:anywhere}
small,.note,caption{color:var(--text-soft);font-size:12px;font-weight:400}
a{color:var(--accent)}
dl{display:flex;flex-wrap:wrap;gap:4px 22px;margin:0}
dl div{display:flex;gap:6px}
dt{color:var(--text-faint);white-space:nowrap}
dd{margin:0}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr));gap:12px;align-items:start}
.card{min-width:0;padding:12px;background:var(--surface);border:1px solid var(--line);border-radius:6px}
.note{margin:0 0 6px}
.plot svg{display:block;width:100%;height:auto}
.legend{display:flex;flex-wrap:wrap;gap:2px 14px;margin:8px 0 0;padding:0;list-style:none;font-size:12.5px}
.swatch{width:18px;height:8px;flex:none;vertical-align:middle}
.table{max-height:320px;margin-top:8px;overflow:auto}
table{width:100%;border-collapse:collapse;font-size:12.5px}
caption{padding-bottom:3px;text-align:left}
th,td{padding:3px 6px;border-top:1px solid var(--line);text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
thead th{border-top:none;color:var(--text-soft);font-weight:400}
th:first-child{padding-left:0;text-align:left;white-space:normal;word-break:break-all;min-width:84px}
th:last-child,td:last-child{padding-right:2px}
tbody th{font-weight:400}
.images{display:flex;flex-wrap:wrap;gap:10px}
.images>h3,.images>.note{flex:0 0 100%}
figure{margin:0;max-width:100%}
img{display:block;max-width:100%;height:auto;min-width:64px;image-rendering:pixelated;background:var(--sunken)}
figcaption{font-size:12.5px}
pre{max-height:420px;margin:0;padding:8px 10px;overflow:auto;background:var(--sunken);border-radius:4px;font:12.5px/1.5 var(--mono);white-space:pre-wrap;overflow-wrap:anywhere}
.panel{margin:12px 0;padding:6px 14px;background:var(--surface);border:1px solid var(--line);border-radius:6px;overflow-wrap:anywhere}
.markdown h4{font-size:16px}
.markdown h5{margin:10px 0 4px;font-size:14px}
.markdown h6{margin:8px 0 4px;font-size:13px}
.markdown :is(p,ul,ol,blockquote){margin:6px 0}
.markdown blockquote{padding-left:10px;border-left:3px solid var(--line);color:var(--text-soft)}
.markdown code{padding:1px 4px;background:var(--sunken);border-radius:4px;font:12.5px var(--mono)}
.markdown pre code{padding:0;background:none}
.markdown table{width:auto}
.markdown :is(th,td){padding:2px 8px;border:1px solid var(--line);text-align:left;white-space:normal;word-break:normal;min-width:0}
.markdown .align-right{text-align:right}
.markdown .align-center{text-align:center}
.dead-link{text-decoration:underline dotted}
#left-out ul{margin:0;padding-left:20px}
@media(max-width:480px){body{padding:16px 12px 40px}.card{padding:10px}th,td{padding:3px 4px}table{font-size:12px}}
@media print{.table,pre{max-height:none}.card{break-inside:avoid}}
`;
