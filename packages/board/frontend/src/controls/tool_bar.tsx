/** The tool bar at the top of a card. */
import type { ComponentChildren } from 'preact';

export function ToolBar({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="tool-bar" role="toolbar" aria-label={label}>
      {children}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: T;
  options: [T, string][];
  onChange: (value: T) => void;
  /** A menu instead of buttons. */
  quiet?: boolean;
}

export function ToolChoice<T extends string>({ label, value, options, onChange, quiet }: ChoiceProps<T>) {
  if (quiet) {
    return (
      <select
        class="tool"
        aria-label={label}
        title={label}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value as T)}
      >
        {options.map(([key, title]) => (
          <option key={key} value={key}>
            {title}
          </option>
        ))}
      </select>
    );
  }
  return (
    <div class="segments" role="radiogroup" aria-label={label}>
      {options.map(([key, title], i) => (
        // biome-ignore lint/a11y/useSemanticElements: a radio cannot look like a segment without a label around it
        <button
          type="button"
          role="radio"
          key={key}
          data-value={key}
          aria-checked={key === value}
          tabIndex={key === value ? 0 : -1}
          onClick={() => onChange(key)}
          onKeyDown={(event) => {
            const by = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
            if (!by) return;
            event.preventDefault();
            event.stopPropagation();
            const next = (i + by + options.length) % options.length;
            onChange(options[next]![0]);
            (event.currentTarget.parentElement?.children[next] as HTMLElement | undefined)?.focus();
          }}
        >
          {title}
        </button>
      ))}
    </div>
  );
}

interface ToggleProps {
  label: string;
  on: boolean;
  onChange: (on: boolean) => void;
  children: ComponentChildren;
}

export function ToolToggle({ label, on, onChange, children }: ToggleProps) {
  return (
    <button
      type="button"
      class="tool toggle"
      aria-label={label}
      title={label}
      aria-pressed={on}
      onClick={() => onChange(!on)}
    >
      {children}
    </button>
  );
}
