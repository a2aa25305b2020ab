"""Speed as ratios against peers, measured in one run. ``python -m benchmarks`` runs everything."""
