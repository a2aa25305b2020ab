"""Take a confusion matrix apart: which classes look alike, which are only over-predicted.

The public names are listed in ``__init__.pyi``. Each loads its module when it is first used, so
``import deconfuse`` stays light.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
