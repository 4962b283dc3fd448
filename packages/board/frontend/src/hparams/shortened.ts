/** A text of at most so many characters, with an ellipsis where some are left out. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}
