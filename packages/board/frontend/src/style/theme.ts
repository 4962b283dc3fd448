/** Light, dark or high contrast; what canvases draw with comes from the same CSS variables. */
import { effect, signal } from '@preact/signals';

export type Theme = 'auto' | 'light' | 'dark' | 'contrast';
const themes: Theme[] = ['auto', 'light', 'dark', 'contrast'];
const KEY = 'headrace.theme';

export const theme = signal<Theme>(themes.find((t) => t === stored()) ?? 'auto');
/** Grows whenever colours change; canvases depend on it. */
export const themeVersion = signal(0);

let colours = new Map<string, string>();

/** The value of a CSS variable, without its two dashes: colour('text-faint'). */
export function colour(name: string): string {
  let value = colours.get(name);
  if (value === undefined) {
    value = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
    colours.set(name, value);
  }
  return value;
}

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length]!;
}

function stored(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage is forbidden: the choice lasts as long as the page
  }
}

const prefersDark = matchMedia('(prefers-color-scheme: dark)');

effect(() => {
  const chosen = theme.value;
  document.documentElement.dataset.theme =
    chosen === 'auto' ? (prefersDark.matches ? 'dark' : 'light') : chosen;
  colours = new Map();
  themeVersion.value = themeVersion.peek() + 1;
  try {
    localStorage.setItem(KEY, chosen);
  } catch {
    // as above
  }
});
prefersDark.addEventListener('change', () => {
  theme.value = theme.peek() === 'auto' ? 'light' : theme.peek();
  theme.value = 'auto';
});
