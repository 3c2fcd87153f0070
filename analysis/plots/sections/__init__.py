"""Plots of a whole campaign: a module for each section that the report has of them."""
