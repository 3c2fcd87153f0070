"""`python -m lab` is `lab`."""

from lab.main import main

main()
