"""Ops of boosted trees in trained models."""

from __future__ import annotations

from headrace.graph.framework.op_registry import no_gradient

no_gradient("BoostedTreesBucketize", "buckets are integers")
