"""Symbol-Invariant Transformer, by itself and as a fairseq plug-in (``--user-dir sit_fairseq``).

Nothing is imported here. fairseq finds ``tasks`` and ``models`` in a ``--user-dir`` by itself, and
what registers the plug-in is there.
"""

__version__ = "0.5.0"
