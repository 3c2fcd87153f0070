"""The report's plots, each as SVG and PNG."""
