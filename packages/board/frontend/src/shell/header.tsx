/** The header of every page: tabs, the title of the board, the command palette, the live indicator, the theme. */
import { address, goTo } from '../address/url_state.ts';
import { Icon, type IconName } from '../controls/icons.tsx';
import { meta, seriousProblems } from '../state/catalogue.ts';
import { isSmall, runsOpen } from '../state/small_screen.ts';
import { safeText } from '../strings/safe_text.ts';
import { nextTheme, type Theme, theme } from '../style/theme.ts';
import { paletteOpen } from './command_palette.tsx';
import { LiveIndicator } from './live_indicator.tsx';
import { type Page, pages } from './pages.ts';

export function Header({ shown }: { shown: Page }) {
  return (
    <header class="header">
      {isSmall.value && shown.runs && (
        <button
          type="button"
          aria-label="Runs"
          aria-expanded={runsOpen.value}
          onClick={() => {
            runsOpen.value = true;
          }}
        >
          <Icon name="menu" />
        </button>
      )}
      <strong class="logo">
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M1 5c3 0 3 6 7 6s4-6 7-6" />
          <path d="M1 11c3 0 3-6 7-6s4 6 7 6" />
        </svg>
        {!isSmall.value && 'Headrace'}
      </strong>
      <nav class="tabs" aria-label="Pages">
        {pages.map((p) => (
          <a
            key={p.id}
            href={`#/${p.id}`}
            aria-current={p === shown ? 'page' : undefined}
            onPointerDown={(event) => {
              event.currentTarget.href = address(p.id); // for a new tab: with the view as it is now
            }}
            onClick={(event) => {
              if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
              event.preventDefault();
              goTo(p.id);
            }}
          >
            {p.title}
            {p.id === 'problems' && seriousProblems.value.length > 0 && (
              <span class="count" title="Errors and warnings">
                {seriousProblems.value.length}
              </span>
            )}
          </a>
        ))}
      </nav>
      <span class="grow" />
      {meta.value && <span class="header-title">{safeText(meta.value.title || meta.value.logdir, 60)}</span>}
      <button
        type="button"
        class="palette-button"
        aria-label={isSmall.value ? 'Go to' : undefined}
        onClick={() => {
          paletteOpen.value = true;
        }}
      >
        <Icon name="search" />
        {!isSmall.value && (
          <>
            Go to <kbd>Ctrl K</kbd>
          </>
        )}
      </button>
      <LiveIndicator />
      <ThemeButton />
    </header>
  );
}

const THEME_ICONS: Record<Theme, IconName> = {
  auto: 'auto',
  light: 'sun',
  dark: 'moon',
  contrast: 'contrast',
};

function ThemeButton() {
  return (
    <button
      type="button"
      class="icon"
      onClick={nextTheme}
      aria-label={`Theme: ${theme.value}`}
      title={`Theme: ${theme.value}. Click for the next`}
    >
      <Icon name={THEME_ICONS[theme.value]} />
    </button>
  );
}
