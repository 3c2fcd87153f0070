"""What is not a campaign: calibration, agreement, a shell behind a link."""
