"""Geometric Confusion Matrices: how much the clusters of labels and of predictions overlap.

The public names of this package are listed in ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
