"""The paper's experiments: datasets, runs, records, claims; and the same for your own classifier.

Training the paper's networks needs the extra ``experiments``; everything else does not.

The public names are listed in ``__init__.pyi``. Each loads its module when it is first used, so
that ``deconfuse --help`` does not load them all.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
