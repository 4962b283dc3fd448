/** A chart as a file: drawn again by the same code, with a title and the names of its curves. */
import { fitCanvas, textWidth } from '../scene/canvas_surface.ts';
import type { Pen } from '../scene/pen.ts';
import { SvgPen } from '../scene/svg_pen.ts';
import { safeText } from '../strings/safe_text.ts';
import { chartColours } from './chart_colours.ts';
import type { Curve } from './chart_model.ts';
import { arrange, type ChartColours } from './draw_chart.ts';
import { drawPlot } from './plot_svg.ts';
import type { ShownChart } from './shown_charts.ts';

const MARGIN = 12;
const TITLE = 26;
const ROW = 16;
const MOST_NAMED = 40;

interface Sheet {
  width: number;
  height: number;
  draw(pen: Pen, onCurve?: (curve: Curve) => void): void;
}

/** A sheet with title, chart and legend. */
function sheetOf(chart: ShownChart, colours: ChartColours): Sheet {
  const width = Math.max(480, chart.width) + MARGIN * 2;
  const height = Math.max(260, chart.height);
  const font = `11px ${colours.font}`;
  const named = chart.curves.slice(0, MOST_NAMED);
  const widest = Math.max(60, ...named.map((c) => textWidth(labelOf(c, chart), font))) + 38;
  const columns = Math.max(1, Math.floor((width - MARGIN * 2) / widest));
  const rows = Math.ceil(named.length / columns) + (chart.curves.length > named.length ? 1 : 0);
  const view = chart.view!;
  return {
    width,
    height: TITLE + height + rows * ROW + MARGIN * 2,
    draw(pen, onCurve) {
      pen.fillStyle = colours.ground;
      pen.fillRect(0, 0, width, TITLE + height + rows * ROW + MARGIN * 2);
      pen.font = `600 13px ${colours.font}`;
      pen.fillStyle = colours.text;
      pen.textAlign = 'left';
      pen.textBaseline = 'middle';
      pen.fillText(safeText(chart.title, 200), MARGIN, MARGIN + 8);
      const axes = arrange(view, width - MARGIN * 2, height, (text) => textWidth(text, font));
      const plot = { ...axes.plot, left: axes.plot.left + MARGIN, top: axes.plot.top + TITLE };
      drawPlot(pen, chart.curves, view, { ...axes, plot }, colours, onCurve);
      pen.font = font;
      pen.textAlign = 'left';
      pen.textBaseline = 'middle';
      named.forEach((curve, i) => {
        const x = MARGIN + (i % columns) * widest;
        const y = TITLE + height + MARGIN + Math.floor(i / columns) * ROW + 6;
        pen.strokeStyle = curve.colour;
        pen.lineWidth = 2.5;
        pen.setLineDash(curve.dash);
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(x + 18, y);
        pen.stroke();
        pen.setLineDash([]);
        pen.fillStyle = colours.text;
        pen.fillText(safeText(labelOf(curve, chart), 200), x + 24, y);
      });
      if (chart.curves.length > named.length) {
        pen.fillStyle = colours.soft;
        const y = TITLE + height + MARGIN + (rows - 1) * ROW + 6;
        pen.fillText(`and ${chart.curves.length - named.length} more`, MARGIN, y);
      }
    },
  };
}

/** The name of a curve in the legend. */
export function labelOf(curve: Curve, chart: ShownChart): string {
  const several = chart.curves[0]?.tag !== chart.curves.at(-1)?.tag;
  return several ? `${curve.label} ${curve.tag}`.trim() : curve.label;
}

/** An SVG document with one path (class "curve", data-run) for each curve. */
export function chartSvg(chart: ShownChart): string {
  const sheet = sheetOf(chart, chartColours());
  const pen = new SvgPen(sheet.width, sheet.height);
  sheet.draw(pen, (curve) => {
    pen.attributes = { class: 'curve', 'data-run': curve.label, 'data-tag': curve.tag };
  });
  return pen.toString();
}

export function chartPng(chart: ShownChart): Promise<Blob | null> {
  const sheet = sheetOf(chart, chartColours());
  const canvas = document.createElement('canvas');
  const pen = fitCanvas(canvas, sheet.width, sheet.height);
  const ratio = 2;
  canvas.width = sheet.width * ratio;
  canvas.height = sheet.height * ratio;
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  sheet.draw(pen);
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/png'));
}
