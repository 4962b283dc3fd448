"""RNN cells: `hr.nn.rnn_cell`."""
