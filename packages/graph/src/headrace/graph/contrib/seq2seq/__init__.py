"""`hr.contrib.seq2seq`: decoders, attention and beam search."""

from headrace.graph.api.namespace import prefer_public_names

prefer_public_names(__name__)
