"""Published studies as code: a package per study, found by listing this folder.

What several studies share is in ``common``, which is none.
"""
