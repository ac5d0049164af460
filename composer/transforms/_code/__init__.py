"""How the built-ins are written as plain JAX: what several `code` methods share."""
