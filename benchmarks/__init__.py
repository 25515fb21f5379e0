"""What the published figures are measured with: ``python -m benchmarks`` (or ``make bench``)."""
