"""A link in force, whatever makes it, what the kernel can do of it, and captures at its ports."""
