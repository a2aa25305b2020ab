"""Statistics of normalized confusion matrices: uncertainty, similarity, diagnosis, comparison."""
