/** Draws into an SVG document by the calls of a canvas. */
import type { Pen } from './pen.ts';

const escapeText = (text: string): string =>
  text
    // biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no place for them
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd')
    .replace(/[&<>"]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[c]!);

const short = (value: number): string => String(Math.round(value * 100) / 100);

interface State {
  strokeStyle: Pen['strokeStyle'];
  fillStyle: Pen['fillStyle'];
  lineWidth: number;
  lineJoin: CanvasLineJoin;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  dash: number[];
  clip: string;
}

const anchors: Record<string, string> = {
  left: 'start',
  start: 'start',
  center: 'middle',
  right: 'end',
  end: 'end',
};
const baselines: Record<string, string> = {
  top: 'hanging',
  hanging: 'hanging',
  middle: 'central',
  alphabetic: 'alphabetic',
  bottom: 'text-after-edge',
  ideographic: 'ideographic',
};

export class SvgPen implements Pen {
  strokeStyle: Pen['strokeStyle'] = '#000';
  fillStyle: Pen['fillStyle'] = '#000';
  lineWidth = 1;
  lineJoin: CanvasLineJoin = 'miter';
  globalAlpha = 1;
  font = '10px sans-serif';
  textAlign: CanvasTextAlign = 'start';
  textBaseline: CanvasTextBaseline = 'alphabetic';
  /** Attributes of the next element only, for readers of the file. */
  attributes: Record<string, string> = {};
  private readonly width: number;
  private readonly height: number;
  private readonly parts: string[] = [];
  private readonly definitions: string[] = [];
  private readonly states: State[] = [];
  private path = '';
  private dash: number[] = [];
  private clipped = '';

  private readonly idPrefix: string;

  /** `idPrefix` keeps the ids of several drawings in one document apart. */
  constructor(width: number, height: number, idPrefix = '') {
    this.width = width;
    this.height = height;
    this.idPrefix = idPrefix;
  }

  beginPath(): void {
    this.path = '';
  }
  closePath(): void {
    this.path += 'Z';
  }
  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.path += `L${short(x)} ${short(y)}`;
  }
  rect(x: number, y: number, width: number, height: number): void {
    this.path += `M${short(x)} ${short(y)}h${short(width)}v${short(height)}h${short(-width)}Z`;
  }
  arc(x: number, y: number, radius: number, start: number, end: number): void {
    const r = short(radius);
    if (Math.abs(end - start) >= Math.PI * 2 - 1e-9) {
      this.path += `M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${short(radius * 2)} 0a${r} ${r} 0 1 0 ${short(-radius * 2)} 0Z`;
      return;
    }
    const wide = Math.abs(end - start) > Math.PI ? 1 : 0;
    const from = `${short(x + radius * Math.cos(start))} ${short(y + radius * Math.sin(start))}`;
    const to = `${short(x + radius * Math.cos(end))} ${short(y + radius * Math.sin(end))}`;
    this.path += `${this.path ? 'L' : 'M'}${from}A${r} ${r} 0 ${wide} ${end > start ? 1 : 0} ${to}`;
  }
  stroke(): void {
    if (!this.path) return;
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.join(' ')}"` : '';
    this.add(
      `<path d="${this.path}" fill="none" stroke="${this.paint(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}" stroke-linejoin="${this.lineJoin}"${dash}`,
    );
  }
  fill(): void {
    // A path may be empty: nothing to fill.
    if (this.path) this.add(`<path d="${this.path}" fill="${this.paint(this.fillStyle)}"`);
  }
  clip(): void {
    const id = `${this.idPrefix}clip${this.definitions.length}`;
    this.definitions.push(`<clipPath id="${id}"><path d="${this.path}"/></clipPath>`);
    this.clipped = id;
  }
  save(): void {
    this.states.push({
      strokeStyle: this.strokeStyle,
      fillStyle: this.fillStyle,
      lineWidth: this.lineWidth,
      lineJoin: this.lineJoin,
      globalAlpha: this.globalAlpha,
      font: this.font,
      textAlign: this.textAlign,
      textBaseline: this.textBaseline,
      dash: this.dash,
      clip: this.clipped,
    });
  }
  restore(): void {
    const state = this.states.pop();
    if (!state) return;
    const { dash, clip, ...rest } = state;
    Object.assign(this, rest);
    this.dash = dash;
    this.clipped = clip;
  }
  setLineDash(dash: number[]): void {
    this.dash = dash;
  }
  fillRect(x: number, y: number, width: number, height: number): void {
    this.add(
      `<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" height="${short(height)}" fill="${this.paint(this.fillStyle)}"`,
    );
  }
  fillText(text: string, x: number, y: number): void {
    const [, weight = '', size = '10px', family = 'sans-serif'] =
      /^(?:(\d+|bold|normal)\s+)?([\d.]+px)(?:\/\S+)?\s+(.*)$/.exec(this.font) ?? [];
    this.add(
      `<text x="${short(x)}" y="${short(y)}" fill="${this.paint(this.fillStyle)}" font-size="${size}" font-family="${escapeText(family)}"` +
        `${weight ? ` font-weight="${weight}"` : ''} text-anchor="${anchors[this.textAlign]}" dominant-baseline="${baselines[this.textBaseline]}"`,
      escapeText(text),
    );
  }

  /** The whole document. */
  toString(): string {
    const { width, height } = this;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}">` +
      `${this.definitions.length > 0 ? `<defs>${this.definitions.join('')}</defs>` : ''}${this.parts.join('\n')}</svg>\n`
    );
  }

  private paint(style: Pen['strokeStyle']): string {
    return typeof style === 'string' ? escapeText(style) : '#888';
  }
  private add(open: string, text?: string): void {
    const alpha = this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : '';
    const clip = this.clipped ? ` clip-path="url(#${this.clipped})"` : '';
    const more = Object.entries(this.attributes).map(([k, v]) => ` ${k}="${escapeText(v)}"`);
    this.attributes = {};
    this.parts.push(`${open}${more.join('')}${alpha}${clip}${text === undefined ? '/>' : `>${text}</text>`}`);
  }
}
