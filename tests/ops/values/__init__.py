"""Public functions with the values that NumPy, a closed form or TensorFlow's pages give."""
