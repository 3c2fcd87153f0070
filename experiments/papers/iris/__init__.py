"""The study of Iris: what of it is computed or simulated; its other files are data."""
