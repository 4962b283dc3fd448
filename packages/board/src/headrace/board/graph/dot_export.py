"""Exports a view of the graph in the DOT language of Graphviz; open groups become clusters."""

from __future__ import annotations

import numpy as np

from headrace.board.graph.graph_bundle import GraphAnalysis

VERTEX_LIMIT = 20_000


class TooManyVertices(ValueError):
    """The view has more vertices than Graphviz can draw."""


def dot_of_view(analysis: GraphAnalysis, open_groups: list[int]) -> str:
    """Returns the view in which the root and some groups are open.

    Args:
      open_groups: vertices; a group is open only if all groups that contain it are open too.
    Raises: TooManyVertices.
    """
    tree, columns = analysis.tree, analysis.columns
    is_open = np.zeros(len(tree), bool)
    is_open[[g for g in open_groups if tree.n_ops <= g < len(tree)]] = True
    is_open[tree.root] = True
    for group in range(tree.root + 1, len(tree)):  # parents come first
        is_open[group] &= is_open[tree.parent[group]]
    seen = is_open[tree.parent] & ~is_open
    seen[tree.root] = False
    if int(seen.sum()) > VERTEX_LIMIT:
        raise TooManyVertices(
            f"the view has {int(seen.sum())} vertices, more than {VERTEX_LIMIT}: close some groups"
        )
    lines = ["digraph G {", "  rankdir=BT; node [shape=box, style=rounded, fontsize=10];"]
    _write_group(analysis, tree.root, is_open, lines, 1)
    shown = np.arange(len(tree))
    for _ in range(int(tree.depth.max())):
        hidden = ~(seen | is_open)[shown]
        if not hidden.any():
            break
        shown[hidden] = tree.parent[shown[hidden]]
    src, dst = shown[columns.edge_src], shown[columns.edge_dst]
    control = columns.edge_port < 0
    apart = src != dst
    pairs, index, counts = np.unique(
        src[apart].astype(np.int64) * len(tree) + dst[apart],
        return_inverse=True,
        return_counts=True,
    )
    of_data = np.bincount(index, ~control[apart], len(pairs))
    for pair, count, data in zip(pairs.tolist(), counts.tolist(), of_data.tolist()):
        a, b = divmod(pair, len(tree))
        style = [] if data else ["style=dashed"]
        if count > 1:
            style.append(f'label="{count}"')
        lines.append(f"  v{a} -> v{b}{' [' + ', '.join(style) + ']' if style else ''};")
    return "\n".join([*lines, "}", ""])


def _write_group(
    analysis: GraphAnalysis, group: int, is_open: np.ndarray, lines: list[str], depth: int
) -> None:
    tree, columns = analysis.tree, analysis.columns
    pad = "  " * depth
    for child in tree.children(group).tolist():
        if is_open[child]:
            lines.append(f"{pad}subgraph cluster_{child} {{")
            lines.append(f'{pad}  label="{quoted(tree.labels[child])}";')
            _write_group(analysis, child, is_open, lines, depth + 1)
            lines.append(f"{pad}}}")
            continue
        label = quoted(tree.labels[child])
        if child < tree.n_ops:
            label += "\\n" + quoted(columns.ops[columns.op[child]])
            shape = ", shape=ellipse"
        else:
            label += f"\\n{int(tree.size[child])} ops"
            shape = ""
        lines.append(f'{pad}v{child} [label="{label}"{shape}];')


def quoted(text: str) -> str:
    """Returns text for a double-quoted string of DOT; control characters become escapes."""
    out = []
    for c in text:
        if c in '"\\':
            out.append("\\" + c)
        elif c < " " or c == "\x7f":
            out.append(f"\\\\x{ord(c):02x}")
        else:
            out.append(c)
    return "".join(out)
