/** Takes the strokes of the canvas and writes them as SVG, in text that any program reads. */
import type { Surface } from './surface.ts';

export class SvgSurface implements Surface {
  fillStyle: string | CanvasGradient | CanvasPattern = '#000';
  strokeStyle: string | CanvasGradient | CanvasPattern = '#000';
  lineWidth = 1;
  globalAlpha = 1;
  font = '400 12px sans-serif';
  textAlign: CanvasTextAlign = 'left';
  textBaseline: CanvasTextBaseline = 'alphabetic';
  lineCap: CanvasLineCap = 'butt';
  private dash: number[] = [];
  private path: string[] = [];
  private readonly parts: string[] = [];
  private open = false;

  beginPath(): void {
    this.path = [];
  }
  closePath(): void {
    this.path.push('Z');
  }
  moveTo(x: number, y: number): void {
    this.path.push(`M${n(x)} ${n(y)}`);
  }
  lineTo(x: number, y: number): void {
    this.path.push(`L${n(x)} ${n(y)}`);
  }
  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    this.path.push(`C${n(ax)} ${n(ay)} ${n(bx)} ${n(by)} ${n(x)} ${n(y)}`);
  }
  roundRect(x: number, y: number, w: number, h: number, radius: number): void {
    const r = Math.min(radius, w / 2, h / 2);
    const arc = (dx: number, dy: number) => `a${n(r)} ${n(r)} 0 0 1 ${n(dx)} ${n(dy)}`;
    this.path.push(
      `M${n(x + r)} ${n(y)}h${n(w - 2 * r)}${arc(r, r)}v${n(h - 2 * r)}${arc(-r, r)}` +
        `h${n(2 * r - w)}${arc(-r, -r)}v${n(2 * r - h)}${arc(r, -r)}Z`,
    );
  }
  fillRect(x: number, y: number, w: number, h: number): void {
    this.add(`<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${this.fillStyle}"`);
  }
  fill(): void {
    this.add(`<path d="${this.path.join('')}" fill="${this.fillStyle}"`);
  }
  stroke(): void {
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(n).join(' ')}"` : '';
    this.add(
      `<path d="${this.path.join('')}" fill="none" stroke="${this.strokeStyle}" stroke-width="${n(this.lineWidth)}"${dash}`,
    );
  }
  fillText(text: string, x: number, y: number): void {
    const [, weight = '400', size = '12', family = 'sans-serif'] =
      /^(\d+) ([\d.]+)px (.*)$/.exec(this.font) ?? [];
    const anchor = this.textAlign === 'center' ? ' text-anchor="middle"' : '';
    const bold = weight === '400' ? '' : ` font-weight="${weight}"`;
    const below = this.textBaseline === 'middle' ? Number(size) * 0.34 : 0;
    this.parts.push(
      `<text x="${n(x)}" y="${n(y + below)}" font-size="${size}"${bold} font-family="${xmlText(family)}"` +
        `${anchor} fill="${this.fillStyle}"${this.alpha()}>${xmlText(text)}</text>`,
    );
  }
  setLineDash(dash: number[]): void {
    this.dash = dash;
  }
  setTransform(a: number, _b: number, _c: number, d: number, e: number, f: number): void {
    if (this.open) this.parts.push('</g>');
    this.parts.push(`<g transform="matrix(${n(a)} 0 0 ${n(d)} ${n(e)} ${n(f)})">`);
    this.open = true;
  }

  private alpha(): string {
    return this.globalAlpha < 1 ? ` opacity="${n(this.globalAlpha)}"` : '';
  }
  private add(tag: string): void {
    this.parts.push(`${tag}${this.alpha()}/>`);
  }

  text(width: number, height: number): string {
    const body = this.parts.join('\n') + (this.open ? '</g>' : '');
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${n(width)}" height="${n(height)}" ` +
      `viewBox="0 0 ${n(width)} ${n(height)}">\n${body}\n</svg>\n`
    );
  }
}

function n(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function xmlText(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they have no place in XML
  const clean = text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '�');
  return clean
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}
