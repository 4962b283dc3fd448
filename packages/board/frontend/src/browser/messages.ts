/** Messages above the page, until they are dismissed. */
import { signal } from '@preact/signals';

export const messages = signal<string[]>([]);

/** Shows a message, once. */
export function showMessage(text: string): void {
  if (!messages.peek().includes(text)) messages.value = [...messages.peek(), text];
}

export function dismiss(text: string): void {
  messages.value = messages.peek().filter((one) => one !== text);
}
