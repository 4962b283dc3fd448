"""Objects by which the steps of several threads wait for each other."""
