/** The browser objects that modules of the page use when they are loaded: for unit tests, which have no browser. */

const nothing = () => undefined;
const style = { getPropertyValue: (name: string) => (name.startsWith('--run-') ? `#${name}` : '#000000') };

Object.assign(globalThis, {
  location: { hash: '' },
  history: { replaceState: nothing, pushState: nothing },
  addEventListener: nothing,
  matchMedia: () => ({ matches: false, addEventListener: nothing }),
  getComputedStyle: () => style,
  document: {
    baseURI: 'http://board.test/',
    documentElement: { dataset: {} },
    visibilityState: 'visible',
    addEventListener: nothing,
  },
  localStorage: { getItem: () => null, setItem: nothing, removeItem: nothing },
  requestAnimationFrame: (work: () => void) => setTimeout(work, 0),
});
