export default function ProblemsPage() {
  return <p class="empty">Nothing here yet.</p>;
}
