"""Link profiles: plain values, their files, and the timeline that they describe."""
