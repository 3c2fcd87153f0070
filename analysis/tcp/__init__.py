"""What TCP did in a capture: directed flows, repetitions, acknowledgements, round trips, loss recovery."""
