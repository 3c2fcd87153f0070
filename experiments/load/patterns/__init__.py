"""How clients of each pattern send and receive: one module for each, under the pattern's name."""
