/** Light, dark or high contrast; canvases read the same CSS variables. */
import { effect, signal } from '@preact/signals';
import { localSignal } from '../browser/local_storage.ts';

export type Theme = 'auto' | 'light' | 'dark' | 'contrast';
const themes: Theme[] = ['auto', 'light', 'dark', 'contrast'];

export const theme = localSignal<Theme>('theme', 'auto', themes);
/** Grows whenever colours change; canvases depend on it. */
export const themeVersion = signal(0);

let colours = new Map<string, string>();

/** The value of a CSS variable, without its two dashes: colour('text-faint'). */
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    value = plain(getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
    colours.set(name, value);
  }
  return value;
}

/** A colour of the system's palette, or a mixture, as #rrggbb, which canvases and `rgbOf` can read. */
function plain(value: string): string {
  if (!/^([A-Za-z]+|color-mix\(.*\))$/.test(value) || value === 'none') return value;
  const probe = document.createElement('i');
  probe.style.setProperty('forced-color-adjust', 'none');
  probe.style.color = value;
  document.body.append(probe);
  const computed = getComputedStyle(probe).color;
  probe.remove();
  const scale = computed.startsWith('color(') ? 255 : 1; // color(srgb 0.2 0.2 0.2) or rgb(51, 51, 51)
  const parts = (computed.match(/[\d.]+/g) ?? []).slice(0, 3).map((part) => Math.round(scale * Number(part)));
  return `#${parts.map((part) => part.toString(16).padStart(2, '0')).join('')}`;
}

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const prefersContrast = matchMedia('(prefers-contrast: more)');
// tokens.css uses a forced palette: canvases read it from there too.
const forced = matchMedia('(forced-colors: active)');
/** Grows when the system's settings change. */
const system = signal(0);

effect(() => {
  void system.value;
  const asSystem =
    prefersContrast.matches && !forced.matches ? 'contrast' : prefersDark.matches ? 'dark' : 'light';
  document.documentElement.dataset.theme = theme.value === 'auto' ? asSystem : theme.value;
  colours = new Map();
  themeVersion.value = themeVersion.peek() + 1;
});
for (const setting of [prefersDark, prefersContrast, forced]) {
  setting.addEventListener('change', () => {
    system.value++;
  });
}
