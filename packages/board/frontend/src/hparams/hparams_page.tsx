export default function HparamsPage() {
  return <p class="empty">Nothing here yet.</p>;
}
