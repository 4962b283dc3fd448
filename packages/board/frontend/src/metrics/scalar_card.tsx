import type { CardProps } from './cards.ts';

export default function ScalarCard({ tag }: CardProps) {
  return <p class="empty">{tag.name}</p>;
}
