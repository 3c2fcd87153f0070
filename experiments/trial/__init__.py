"""One trial, from an empty machine to a finished folder."""
