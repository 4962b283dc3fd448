"""z[i, j] = sin(frequency * x[i]) * y[j], for Headrace."""
