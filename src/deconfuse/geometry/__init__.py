"""Geometric Confusion Matrices: how much the clusters of labels and of predictions overlap."""
