"""Recurrent cells: `hr.nn.rnn_cell`."""
