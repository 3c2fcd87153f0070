"""The shapes that a network can have: a module each, with a subclass of Topology."""
