/** A report as one HTML document: without scripts, and without anything that is fetched. */
import { Html, html } from '../../strings/html_text.ts';
import { safeText } from '../../strings/safe_text.ts';
import { markdownHtml } from '../../text/markdown_html.ts';
import { count, counted, shortNumber } from '../../units/numbers.ts';
import { MOST_NAMED } from './limits.ts';
import type { ChartContent, LeftOut, Line, Report, ReportCard, ReportSection } from './report.ts';
import { REPORT_STYLE } from './report_style.ts';

const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'";
const DIGITS = 5;

/** `colours` is CSS that declares the colours of both themes. */
export function reportHtml(report: Report, colours: string): string {
  const cards = report.sections.reduce((sum, section) => sum + section.cards.length, 0);
  const facts: [string, string][] = [
    ['log folder', report.folder],
    ['made', report.made],
    ['cards', count(cards)],
    ...report.settings,
  ];
  const { text } = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="generator" content="headrace-board">
<title>${safeText(report.title)}</title>
<style>${new Html(colours + REPORT_STYLE)}</style>
</head>
<body>
<header>
<h1>${safeText(report.title)}</h1>
<dl>${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${safeText(value)}</dd></div>`)}</dl>
${
  report.leftOut.length > 0
    ? html`<p><a href="#left-out">What this report leaves out: ${counted(report.leftOut.length, 'item')}</a></p>`
    : null
}
</header>
<main>
${report.panels.map(panelHtml)}
${report.sections.map(sectionHtml)}
${report.leftOut.length > 0 ? leftOutHtml(report.leftOut) : null}
</main>
</body>
</html>
`;
  return text;
}

const panelHtml = (text: string): Html => html`<div class="panel markdown">${markdownHtml(text)}</div>
`;

const sectionHtml = ({ title, panels, cards }: ReportSection): Html =>
  html`<section>
<h2>${safeText(title)}</h2>
${panels.map(panelHtml)}
<div class="cards">
${cards.map(cardHtml)}</div>
</section>
`;

const cardHtml = ({ title, notes, content }: ReportCard): Html =>
  html`<article class="card ${content.kind}">
<h3>${safeText(title)}</h3>
${notes.map((note) => html`<p class="note">${safeText(note)}</p>`)}
${
  content.kind === 'chart'
    ? chartHtml(title, content)
    : content.kind === 'images'
      ? content.images.map(
          ({ run, place, source, width, height }) =>
            html`<figure><img src="${source}" width="${width}" height="${height}" alt="${safeText(`${title}, ${run}, ${place}`)}"><figcaption>${safeText(run)} <small>${place}</small></figcaption></figure>`,
        )
      : content.texts.map(
          ({ run, place, text }) =>
            html`<h4>${safeText(run)} <small>${place}</small></h4><pre tabindex="0">${text}</pre>`,
        )
}
</article>
`;

function chartHtml(title: string, { svg, legend, values, steps }: ChartContent): Html {
  const name = safeText(title);
  return html`${
    svg === null
      ? html`<p class="note">There are no points here.</p>`
      : html`<div class="plot" role="img" aria-label="${`${name}: chart`}">${new Html(svg)}</div>`
  }
${
  legend.length > 0
    ? html`<ul class="legend">${legend.map((line) => html`<li>${swatch(line)} ${safeText(line.name)}</li>`)}</ul>`
    : null
}
${
  values.length > 0
    ? html`<div class="table" role="region" tabindex="0" aria-label="${`Values of ${name}`}"><table>
<caption>Values without smoothing, ${steps}</caption>
<thead><tr><th scope="col">run</th><th scope="col">last</th><th scope="col">at step</th><th scope="col">min</th><th scope="col">max</th></tr></thead>
<tbody>${values.map(
        (row) =>
          html`<tr><th scope="row">${row.line && swatch(row.line)} ${safeText(row.name)}</th>${number(row.last)}<td>${count(row.at)}</td>${number(row.min)}${number(row.max)}</tr>`,
      )}</tbody>
</table></div>`
    : null
}`;
}

const number = (value: number): Html => html`<td title="${String(value)}">${shortNumber(value, DIGITS)}</td>`;

const swatch = ({ colour, dash }: Line): Html =>
  html`<svg class="swatch" viewBox="0 0 18 8" aria-hidden="true"><line x1="0" y1="4" x2="18" y2="4" stroke="${colour}" stroke-width="2.5" stroke-dasharray="${dash.join(' ')}"/></svg>`;

const leftOutHtml = (leftOut: LeftOut[]): Html =>
  html`<section id="left-out">
<h2>What this report leaves out</h2>
<ul>${leftOut
    .slice(0, MOST_NAMED)
    .map(({ what, why }) => html`<li><strong>${safeText(what)}</strong>: ${safeText(why)}</li>`)}${
    leftOut.length > MOST_NAMED ? html`<li>and ${count(leftOut.length - MOST_NAMED)} more</li>` : null
  }</ul>
</section>
`;
