/** The drawing interface that canvases and SVG files share. */

export type Surface = Pick<
  CanvasRenderingContext2D,
  | 'beginPath'
  | 'moveTo'
  | 'lineTo'
  | 'closePath'
  | 'rect'
  | 'arc'
  | 'fill'
  | 'stroke'
  | 'fillRect'
  | 'fillText'
  | 'setLineDash'
  | 'bezierCurveTo'
  | 'strokeRect'
  | 'strokeText'
  | 'save'
  | 'restore'
  | 'translate'
  | 'rotate'
> & {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  measureText(text: string): { width: number };
};

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
// biome-ignore lint/suspicious/noControlCharactersInRegex: XML has no way to hold these
const FORBIDDEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

function escaped(text: string): string {
  return text.replace(FORBIDDEN, '').replace(/[&<>"]/g, (c) => ESCAPES[c]!);
}

const ANCHOR: Partial<Record<CanvasTextAlign, string>> = { center: 'middle', right: 'end', end: 'end' };
const BASELINE: Partial<Record<CanvasTextBaseline, string>> = { middle: 'central', top: 'hanging' };

/** Draws into the text of an SVG file. */
export class SvgSurface implements Surface {
  fillStyle: string | CanvasGradient | CanvasPattern = '#000';
  strokeStyle: string | CanvasGradient | CanvasPattern = '#000';
  lineWidth = 1;
  globalAlpha = 1;
  font = '12px sans-serif';
  textAlign: CanvasTextAlign = 'left';
  textBaseline: CanvasTextBaseline = 'alphabetic';
  private path = '';
  private dash = '';
  private turned = '';
  private readonly saved: string[] = [];
  private readonly parts: string[] = [];
  private readonly width: number;
  private readonly height: number;

  constructor(width: number, height: number) {
    this.width = width;
    this.height = height;
  }

  beginPath(): void {
    this.path = '';
  }
  moveTo(x: number, y: number): void {
    this.path += `M${short(x)} ${short(y)}`;
  }
  lineTo(x: number, y: number): void {
    this.path += `${this.path ? 'L' : 'M'}${short(x)} ${short(y)}`;
  }
  bezierCurveTo(x1: number, y1: number, x2: number, y2: number, x: number, y: number): void {
    this.path += `C${[x1, y1, x2, y2, x, y].map(short).join(' ')}`;
  }
  closePath(): void {
    this.path += 'Z';
  }
  rect(x: number, y: number, w: number, h: number): void {
    this.path += `M${short(x)} ${short(y)}h${short(w)}v${short(h)}h${short(-w)}Z`;
  }
  arc(x: number, y: number, r: number): void {
    this.path += `M${short(x - r)} ${short(y)}a${short(r)} ${short(r)} 0 1 0 ${short(2 * r)} 0`;
    this.path += `a${short(r)} ${short(r)} 0 1 0 ${short(-2 * r)} 0`;
  }
  fill(): void {
    this.put(`<path d="${this.path}" fill="${this.paint(this.fillStyle)}"${this.alpha()}/>`);
  }
  stroke(): void {
    this.put(`<path d="${this.path}" fill="none" ${this.line()}${this.dash}${this.alpha()}/>`);
  }
  strokeRect(x: number, y: number, w: number, h: number): void {
    const box = `x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"`;
    this.put(`<rect ${box} fill="none" ${this.line()}${this.alpha()}/>`);
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    const box = `x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"`;
    this.put(`<rect ${box} fill="${this.paint(this.fillStyle)}"${this.alpha()}/>`);
  }
  fillText(text: string, x: number, y: number): void {
    this.letters(text, x, y, `fill="${this.paint(this.fillStyle)}"`);
  }
  strokeText(text: string, x: number, y: number): void {
    this.letters(text, x, y, `fill="none" stroke-linejoin="round" ${this.line()}`);
  }
  /** An estimate, because the reader's fonts are not known. */
  measureText(text: string): { width: number } {
    return { width: text.length * 0.56 * Number(/([\d.]+)px/.exec(this.font)?.[1] ?? 12) };
  }
  save(): void {
    this.saved.push(this.turned);
  }
  restore(): void {
    this.turned = this.saved.pop() ?? '';
  }
  translate(x: number, y: number): void {
    this.turned += `translate(${short(x)} ${short(y)})`;
  }
  rotate(angle: number): void {
    this.turned += `rotate(${short((angle * 180) / Math.PI)})`;
  }
  setLineDash(segments: Iterable<number>): void {
    const list = [...segments];
    this.dash = list.length ? ` stroke-dasharray="${list.join(' ')}"` : '';
  }

  /** The whole file. */
  toString(): string {
    const size = `width="${this.width}" height="${this.height}" viewBox="0 0 ${this.width} ${this.height}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}>\n${this.parts.join('\n')}\n</svg>\n`;
  }

  private put(shape: string): void {
    this.parts.push(this.turned ? `<g transform="${this.turned}">${shape}</g>` : shape);
  }
  private letters(text: string, x: number, y: number, style: string): void {
    const place = `x="${short(x)}" y="${short(y)}" text-anchor="${ANCHOR[this.textAlign] ?? 'start'}"`;
    const base = `dominant-baseline="${BASELINE[this.textBaseline] ?? 'auto'}"`;
    const font = /(?:(\d+) )?([\d.]+)px (.*)/.exec(this.font);
    const letters = `font-size="${font?.[2] ?? 12}" font-family="${escaped(font?.[3] ?? 'sans-serif')}"`;
    const weight = font?.[1] ? ` font-weight="${font[1]}"` : '';
    this.put(`<text ${place} ${base} ${letters}${weight} ${style}${this.alpha()}>${escaped(text)}</text>`);
  }
  private line(): string {
    return `stroke="${this.paint(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"`;
  }
  private paint(style: string | CanvasGradient | CanvasPattern): string {
    return typeof style === 'string' ? escaped(style) : 'none';
  }
  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${short(this.globalAlpha)}"` : '';
  }
}

function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}
