"""Whether a stack keeps what it declares: stories over an impaired link, and what has to be true after each."""
