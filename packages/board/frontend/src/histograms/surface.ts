/** What the board's canvas pictures draw with; a canvas and an SVG file both are one. */

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
> & {
  fillStyle: string | CanvasGradient | CanvasPattern;
  strokeStyle: string | CanvasGradient | CanvasPattern;
  lineWidth: number;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
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
    this.parts.push(`<path d="${this.path}" fill="${this.paint(this.fillStyle)}"${this.alpha()}/>`);
  }
  stroke(): void {
    const style = `stroke="${this.paint(this.strokeStyle)}" stroke-width="${short(this.lineWidth)}"`;
    this.parts.push(`<path d="${this.path}" fill="none" ${style}${this.dash}${this.alpha()}/>`);
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    const box = `x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"`;
    this.parts.push(`<rect ${box} fill="${this.paint(this.fillStyle)}"${this.alpha()}/>`);
  }
  fillText(text: string, x: number, y: number): void {
    const place = `x="${short(x)}" y="${short(y)}" text-anchor="${ANCHOR[this.textAlign] ?? 'start'}"`;
    const base = `dominant-baseline="${BASELINE[this.textBaseline] ?? 'auto'}"`;
    const font = /(?:(\d+) )?([\d.]+)px (.*)/.exec(this.font);
    const letters = `font-size="${font?.[2] ?? 12}" font-family="${escaped(font?.[3] ?? 'sans-serif')}"`;
    const weight = font?.[1] ? ` font-weight="${font[1]}"` : '';
    const style = `fill="${this.paint(this.fillStyle)}"${this.alpha()}`;
    this.parts.push(`<text ${place} ${base} ${letters}${weight} ${style}>${escaped(text)}</text>`);
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
